//! Waiting for a larger burst (switch `tso-defer`): what segmentation offload gains is lost if each ACK
//! lets one or two segments go.
//!
//! Contract: new data that could go waits while it is less than a burst and less than one over `tso-defer` of the
//! congestion window, if more data is there and an ACK is to be expected soon: something is in flight,
//! and the oldest of it was sent half a smoothed round trip ago or more. Nothing waits for a timer: the
//! next ACK decides anew. What is sent again, the last of the data, a burst of one segment and a sender
//! with duplicate ACKs or a loss to repair never wait.
//!
//! This is what Linux does where the NIC segments (`net.ipv4.tcp_tso_win_divisor = 3`), as far as it shows on
//! the wire; Linux also sends at once when it sent nothing for a millisecond.

use lowtide_units::Instant;

use crate::connection::Connection;
use crate::recovery::RecoveryPhase;

/// New data that could go now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendOpportunity {
    /// Bytes that wait to be sent for the first time.
    pub(crate) available: u64,
    /// Bytes of them that the windows let go.
    pub(crate) room: u64,
    /// Congestion window, bytes.
    pub(crate) cwnd: u64,
}

impl Connection {
    /// Whether it waits.
    #[cold]
    #[inline(never)]
    pub(crate) fn tso_should_defer(&self, now: Instant, opportunity: SendOpportunity) -> bool {
        let burst = u64::from(self.config.tso_segments) * u64::from(self.snd.mss);
        let share = opportunity.cwnd / u64::from(self.config.tso_defer.max(1));
        let repairing =
            self.snd.episode.phase != RecoveryPhase::Open || self.snd.episode.dup_acks > 0;
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
