//! Deferring for a larger TSO burst (switch `tso-defer`): segmentation offload gains nothing if
//! each ACK releases only one or two segments.
//!
//! Contract: new data is deferred while it is less than a burst and less than 1/`tso-defer` of the
//! congestion window. More data must be available and an ACK must be expected soon: the oldest
//! segment in flight was sent at least half a smoothed round trip ago. No timer is involved: the
//! next ACK decides anew. Retransmissions, the last of the data, a burst of one segment, and a
//! sender with duplicate ACKs or a loss to repair are never deferred.
//!
//! Linux does this (`net.ipv4.tcp_tso_win_divisor = 3`), as far as the wire shows, also on an
//! interface without offload, where it segments in software. It also sends at once after a
//! millisecond without sending.

use lowtide_units::Instant;

use crate::connection::Connection;

/// New data that may be sent now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendOpportunity {
    /// Bytes that were never sent.
    pub(crate) available: u64,
    /// Bytes of them that the windows permit.
    pub(crate) room: u64,
    /// Congestion window, bytes.
    pub(crate) cwnd: u64,
}

impl Connection {
    /// True if sending is deferred.
    #[cold]
    #[inline(never)]
    pub(crate) fn tso_should_defer(&self, now: Instant, opportunity: SendOpportunity) -> bool {
        let burst = u64::from(self.config.tso_segments) * u64::from(self.snd.mss);
        let share = opportunity.cwnd / u64::from(self.config.tso_defer.max(1));
        let repairing = self.snd.episode.in_recovery() || self.snd.episode.dup_acks() > 0;
        opportunity.room < opportunity.available
            && opportunity.room < burst.min(share)
            && self.config.tso_segments > 1
            && !repairing
            && self.expects_ack(now)
    }

    /// The oldest segment in flight was sent at least half a smoothed round trip ago.
    fn expects_ack(&self, now: Instant) -> bool {
        let half = self.rtt.srtt().map(|srtt| srtt / 2);
        let age = self.snd.board.first_sent_at().map(|at| now.saturating_since(at));
        half.zip(age).is_some_and(|(half, age)| age >= half)
    }
}
