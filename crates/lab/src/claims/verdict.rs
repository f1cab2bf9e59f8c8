//! The four things that a claim can come to.

use serde::{Deserialize, Serialize};

/// What a claim came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimVerdict {
    /// Inside its band, with its whole interval.
    Reproduced,
    /// The paper's order, outside the band.
    Direction,
    /// The interval straddles the edge of the band, or there is none to judge by.
    Undecided,
    /// Neither.
    NotReproduced,
}

impl ClaimVerdict {
    /// All of them, the best first.
    pub const ALL: [Self; 4] =
        [Self::Reproduced, Self::Direction, Self::Undecided, Self::NotReproduced];

    /// As it is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Direction => "direction",
            Self::Undecided => "undecided",
            Self::NotReproduced => "not-reproduced",
        }
    }
}
