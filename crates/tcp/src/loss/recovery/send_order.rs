//! The order in which segments were sent (RFC 8985 §6.2).

use lowtide_units::Instant;

/// The order of transmission: send time, then end offset as the tie-breaker (`RACK_sent_after`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct SendOrder {
    pub(crate) at: Instant,
    pub(crate) end: u64,
}
