//! Reading and writing of [`Config`](crate::Config) fields by switches, with one pair of functions
//! per kind of field.

use alloc::vec::Vec;

use lowtide_schema::{Value, ValueError, ValueKind};
use lowtide_units::{Bytes, Duration};

/// The names of the variants of one enum.
pub(super) type Names<T> = &'static [(&'static str, T)];

/// The names alone, for [`ValueKind::Name`].
pub(super) fn names<T>(table: Names<T>) -> Vec<&'static str> {
    table.iter().map(|(name, _)| *name).collect()
}

/// A variant as a value.
pub(super) fn name_of<T: Copy + PartialEq>(table: Names<T>, variant: T) -> Value {
    // Every variant is in its table: a test checks all names.
    Value::Name(table.iter().find(|(_, t)| *t == variant).map_or("", |(name, _)| name))
}

/// Sets `slot` to the variant that `value` names.
pub(super) fn set_name<T: Copy>(
    slot: &mut T,
    table: Names<T>,
    value: &Value,
) -> Result<(), ValueError> {
    let found = value.name().and_then(|wanted| table.iter().find(|(name, _)| *name == wanted));
    assign(slot, found.map(|(_, variant)| *variant), value)
}

/// Sets a flag.
pub(super) fn set_bool(slot: &mut bool, value: &Value) -> Result<(), ValueError> {
    assign(slot, if let Value::Bool(b) = value { Some(*b) } else { None }, value)
}

/// Sets a number.
pub(super) fn set_count(slot: &mut u32, value: &Value) -> Result<(), ValueError> {
    let n = if let Value::Count(n) = value { u32::try_from(*n).ok() } else { None };
    assign(slot, n, value)
}

/// Sets a size.
pub(super) fn set_bytes(slot: &mut Bytes, value: &Value) -> Result<(), ValueError> {
    assign(slot, if let Value::Bytes(b) = value { Some(*b) } else { None }, value)
}

/// Sets a duration.
pub(super) fn set_duration(slot: &mut Duration, value: &Value) -> Result<(), ValueError> {
    assign(slot, if let Value::Duration(d) = value { Some(*d) } else { None }, value)
}

/// Sets the name of a registered file.
pub(super) fn set_registered(slot: &mut &'static str, value: &Value) -> Result<(), ValueError> {
    assign(slot, value.name(), value)
}

fn assign<T>(slot: &mut T, new: Option<T>, value: &Value) -> Result<(), ValueError> {
    let Some(new) = new else {
        return Err(ValueError::new(alloc::format!("{value} is of the wrong kind")));
    };
    *slot = new;
    Ok(())
}

/// The kind of a duration from `min` to `max`.
pub(super) const fn span(min: Duration, max: Duration) -> ValueKind {
    ValueKind::Duration { min, max }
}

/// The kind of a count from `min` to `max`.
pub(super) const fn number(min: u64, max: u64) -> ValueKind {
    ValueKind::Count { min, max }
}
