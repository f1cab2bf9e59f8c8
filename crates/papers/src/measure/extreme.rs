//! The extreme of several measures: a statement that holds "throughout" is one claim on the
//! hardest of its cases.

/// Which of several values counts, for each seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extreme {
    /// The smallest value.
    Smallest,
    /// The largest value.
    Largest,
    /// The largest magnitude, without its sign: the greatest error.
    LargestMagnitude,
}

impl Extreme {
    /// Each one with its key in a file.
    pub(super) const ALL: [(&'static str, Self); 3] = [
        ("smallest", Self::Smallest),
        ("largest", Self::Largest),
        ("largest-magnitude", Self::LargestMagnitude),
    ];

    /// The one of two values that counts.
    pub(super) fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Smallest => a.min(b),
            Self::Largest => a.max(b),
            Self::LargestMagnitude => a.abs().max(b.abs()),
        }
    }
}
