//! Reading and writing of [`Config`](crate::Config) fields by switches, and the tables of these.

use alloc::vec::Vec;

use lowtide_schema::{Value, ValueError, ValueKind};
use lowtide_units::{Bytes, Duration};

/// A type of fields. A value has the kind of its switch, which [`super::Setting::set`] has checked.
pub(super) trait Field: Sized {
    /// The field as a value of `kind`.
    fn value(&self, kind: ValueKind) -> Value;

    /// The field with the value `value` of `kind`.
    fn of(value: &Value, kind: ValueKind) -> Option<Self>;

    /// Sets the field.
    fn assign(&mut self, kind: ValueKind, value: &Value) -> Result<(), ValueError> {
        let wrong = || ValueError::new(alloc::format!("{value} is of the wrong kind"));
        *self = Self::of(value, kind).ok_or_else(wrong)?;
        Ok(())
    }
}

/// A flag, of kind [`ON_OFF`] by name.
impl Field for bool {
    fn value(&self, kind: ValueKind) -> Value {
        match kind {
            ValueKind::Name { .. } => Value::Name(if *self { "on" } else { "off" }),
            _ => Value::Bool(*self),
        }
    }

    fn of(value: &Value, _: ValueKind) -> Option<Self> {
        match value {
            Value::Bool(b) => Some(*b),
            Value::Name("on") => Some(true),
            Value::Name("off") => Some(false),
            _ => None,
        }
    }
}

/// A number. The first name of a kind that has names is the largest number.
impl Field for u32 {
    fn value(&self, kind: ValueKind) -> Value {
        match largest(kind) {
            Some(name) if *self == Self::MAX => Value::Name(name),
            _ => Value::Count(u64::from(*self)),
        }
    }

    fn of(value: &Value, kind: ValueKind) -> Option<Self> {
        match value {
            Value::Count(n) => Self::try_from(*n).ok(),
            name => (name.name()? == largest(kind)?).then_some(Self::MAX),
        }
    }
}

fn largest(kind: ValueKind) -> Option<&'static str> {
    let ValueKind::NameOrCount { allowed, .. } = kind else { return None };
    allowed().first().copied()
}

impl Field for Bytes {
    fn value(&self, _: ValueKind) -> Value {
        Value::Bytes(*self)
    }

    fn of(value: &Value, _: ValueKind) -> Option<Self> {
        if let Value::Bytes(b) = value { Some(*b) } else { None }
    }
}

impl Field for Duration {
    fn value(&self, _: ValueKind) -> Value {
        Value::Duration(*self)
    }

    fn of(value: &Value, _: ValueKind) -> Option<Self> {
        if let Value::Duration(d) = value { Some(*d) } else { None }
    }
}

/// The name of a registered file.
impl Field for &'static str {
    fn value(&self, _: ValueKind) -> Value {
        Value::Name(self)
    }

    fn of(value: &Value, _: ValueKind) -> Option<Self> {
        value.name()
    }
}

/// An enum whose variants have names.
pub(super) trait Named: Copy + PartialEq + 'static {
    /// Every variant; a test checks all names.
    const NAMES: &'static [(&'static str, Self)];

    /// The names alone.
    fn names() -> Vec<&'static str> {
        Self::NAMES.iter().map(|(name, _)| *name).collect()
    }

    /// This variant as a value.
    fn named_value(self) -> Value {
        Value::Name(Self::NAMES.iter().find(|(_, v)| *v == self).map_or("", |(name, _)| name))
    }

    /// The variant that `value` names.
    fn from_name(value: &Value) -> Option<Self> {
        let wanted = value.name()?;
        Self::NAMES.iter().find(|(name, _)| *name == wanted).map(|(_, variant)| *variant)
    }
}

/// Names the variants of enums: `Type { "name" Variant, ... }`.
macro_rules! variants {
    ($($type:ident { $($name:literal $variant:ident),* $(,)? })*) => {$(
        impl $crate::switches::field::Named for $type {
            const NAMES: &'static [(&'static str, Self)] = &[$(($name, Self::$variant)),*];
        }

        impl $crate::switches::field::Field for $type {
            fn value(&self, _: ValueKind) -> Value {
                $crate::switches::field::Named::named_value(*self)
            }

            fn of(value: &Value, _: ValueKind) -> Option<Self> {
                $crate::switches::field::Named::from_name(value)
            }
        }
    )*};
}
pub(super) use variants;

/// A table of switches, each `"name", Side, (field: kind), "sentence", "source";`. A feature that
/// this version lacks has `(only "value", not (refused, reason))`: other values are refused by name
/// with the reason, so that an absent feature cannot be mistaken for a present one.
macro_rules! switches {
    ($($name:literal, $side:ident, $field:tt, $doc:literal, $source:literal;)*) => {
        &[$(Switch {
            name: $name,
            side: Side::$side,
            kind: switches!(@kind $field),
            doc: $doc,
            source: $source,
            get: switches!(@get $field),
            set: switches!(@set $field),
        }),*]
    };
    (@kind ($field:ident: $kind:expr)) => { $kind };
    (@get ($field:ident: $kind:expr)) => { |c| Field::value(&c.$field, $kind) };
    (@set ($field:ident: $kind:expr)) => { |c, v| Field::assign(&mut c.$field, $kind, v) };
    (@kind (only $value:literal, not $refused:expr)) => {
        ValueKind::Name { allowed: || alloc::vec![$value], refused: &[$refused] }
    };
    (@get (only $value:literal, not $refused:expr)) => { |_| Value::Name($value) };
    (@set (only $value:literal, not $refused:expr)) => { |_, _| Ok(()) };
}
pub(super) use switches;

/// The kind of an enum.
pub(super) const fn choice<T: Named>() -> ValueKind {
    names(T::names)
}

/// The kind of a name.
pub(super) const fn names(allowed: fn() -> Vec<&'static str>) -> ValueKind {
    ValueKind::Name { allowed, refused: &[] }
}

/// The kind of a flag that is `on` or `off`.
pub(super) const ON_OFF: ValueKind = names(|| alloc::vec!["off", "on"]);

/// The kind of a flag.
pub(super) const FLAG: ValueKind = ValueKind::Bool;

/// The kind of a duration from `min` to `max`.
pub(super) const fn span(min: Duration, max: Duration) -> ValueKind {
    ValueKind::Duration { min, max }
}

/// The kind of a size from `min` to `max`, bytes.
pub(super) const fn size(min: u64, max: u64) -> ValueKind {
    ValueKind::Bytes { min, max }
}

/// The kind of a count from `min` to `max`.
pub(super) const fn number(min: u64, max: u64) -> ValueKind {
    ValueKind::Count { min, max }
}

/// The kind of a name, or a count from `min` to `max`.
pub(super) const fn name_or_number(
    allowed: fn() -> Vec<&'static str>,
    min: u64,
    max: u64,
) -> ValueKind {
    ValueKind::NameOrCount { allowed, min, max }
}

/// The name of a number without a limit.
pub(super) fn no_limit() -> Vec<&'static str> {
    alloc::vec!["none"]
}
