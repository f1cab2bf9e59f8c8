//! The possible range of a value.

/// The possible range of a value, ends included.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ValueRange {
    /// The least possible value.
    pub least: f64,
    /// The greatest possible value; infinite without a limit.
    pub most: f64,
}

/// Rounding error of a value beyond an end, relative to it.
pub(crate) const ROUNDING: f64 = 1e-12;

impl ValueRange {
    /// Durations, lengths, rates and counts: not negative.
    pub const NOT_NEGATIVE: Self = Self { least: 0.0, most: f64::INFINITY };
    /// Slowdown: a flow takes at least its ideal time.
    pub const SLOWDOWN: Self = Self { least: 1.0, most: f64::INFINITY };
    /// A share of something.
    pub const SHARE: Self = Self { least: 0.0, most: 1.0 };
    /// Any finite value.
    pub const ANY: Self = Self { least: f64::NEG_INFINITY, most: f64::INFINITY };

    /// Returns the value, or the end that it passes by no more than a rounding error.
    pub(crate) fn rounded(self, value: f64) -> f64 {
        let inside = value.max(self.least).min(self.most);
        let error = ROUNDING * inside.abs().max(1.0);
        if (value - inside).abs() <= error { inside } else { value }
    }

    /// Whether it contains both values.
    pub(crate) fn contains(self, [low, high]: [f64; 2]) -> bool {
        self.least <= low && high <= self.most
    }
}
