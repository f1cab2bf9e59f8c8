//! Numbers of the serialised form, without rounding errors of binary fractions.

use serde::{Serialize, Serializer};

/// Serialises a number without its rounding errors.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference to the field")]
pub(crate) fn rounded<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(round(*value, EXACT))
}

/// Serialises numbers without their rounding errors, with their names.
pub(crate) fn rounded_ticks<S: Serializer>(
    ticks: &[(f64, String)],
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_seq(ticks.iter().map(|(value, name)| (round(*value, EXACT), name)))
}

/// Serialises a range without its rounding errors.
#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
pub(crate) fn rounded_range<S: Serializer>(
    range: &Option<(f64, f64)>,
    to: S,
) -> Result<S::Ok, S::Error> {
    range.map(|(from, until)| [round(from, EXACT), round(until, EXACT)]).serialize(to)
}

/// Significant digits of ends and ticks of an axis.
pub(crate) const EXACT: usize = 14;

/// Rounds to significant digits.
pub(crate) fn round(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value)
}
