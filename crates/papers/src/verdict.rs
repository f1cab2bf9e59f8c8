//! Verdict of a claim.

use serde::{Deserialize, Serialize};

/// Confidence level of verdicts on a single sample.
pub(crate) const LEVEL: f64 = 0.95;

/// Verdict of a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimVerdict {
    /// The whole interval is inside the band.
    Reproduced,
    /// The order of the paper, outside the band.
    Direction,
    /// The interval straddles the edge of the band, or there is no interval.
    Undecided,
    /// Neither value nor order of the paper.
    NotReproduced,
}

impl ClaimVerdict {
    /// All of them, the best first.
    pub const ALL: [Self; 4] =
        [Self::Reproduced, Self::Direction, Self::Undecided, Self::NotReproduced];

    /// Printed name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Direction => "direction",
            Self::Undecided => "undecided",
            Self::NotReproduced => "not-reproduced",
        }
    }
}
