//! Verdict of a claim.

use serde::{Deserialize, Serialize};

/// Confidence level of verdicts but those of further looks.
pub(crate) use lowtide_stats::LEVEL;

lowtide_units::named_enum! {
    /// Verdict of a claim.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum ClaimVerdict ALL {
        /// The whole interval is inside the band.
        Reproduced = "reproduced",
        /// The order of the paper, outside the band.
        Direction = "direction",
        /// The interval straddles the edge of the band, or there is no interval.
        Undecided = "undecided",
        /// Neither value nor order of the paper.
        NotReproduced = "not-reproduced",
    }
}
