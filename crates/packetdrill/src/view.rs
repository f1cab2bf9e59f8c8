//! Snapshot of a connection of our TCP for assertions.

use lowtide_tcp::Info;

/// Snapshot of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnView {
    /// The connection's current state, or its last one if it is closed.
    pub info: Info,
    /// DCTCP's alpha in units of 2^-20, if the congestion control has one.
    pub alpha_q20: Option<u64>,
    /// Segments not fully acknowledged.
    pub unacknowledged: u64,
    /// Retransmitted segments.
    pub retransmitted: u64,
    /// Bytes that the application could read.
    pub unread: u64,
}
