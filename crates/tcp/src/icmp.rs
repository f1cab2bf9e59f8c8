//! ICMP errors for packets of a connection: packet too big, or destination unreachable.
//!
//! An error is accepted only if it quotes a sequence number in flight (RFC 5927 §4.1). A smaller
//! MTU lowers the MSS at once. Segments in flight that are too long are split and retransmitted
//! without a reaction of congestion control, which is not involved (RFC 8201 §5.4). The congestion
//! window stays equal in bytes. A later increase of the MTU is not detected.
//!
//! Deviation: a destination-unreachable error ends a connection in SYN-SENT only. Later it counts
//! as a soft error, whatever its code (in RFC 1122 §4.2.3.9 "protocol" and "port" abort any
//! connection). RFC 5927 §5.2 and Linux do the same.
//!
//! Deviation: at most 64 reports lower the MTU of a connection (RFC 1191 and RFC 8201 have no
//! limit). None may split the data in flight into too many pieces. Each costs a walk of the
//! scoreboard, and reports that take one byte each would split every segment into bytes.

use alloc::sync::Arc;

use lowtide_units::Instant;
use lowtide_wire::SeqNum;

use crate::connection::Connection;
use crate::event::CloseReason;
use crate::send::sender::Sender;
use crate::state::State;

/// Minimum accepted MTU, bytes: that of IPv6 for IPv6 (RFC 8201 §4), for IPv4 that of Linux
/// (`net.ipv4.route.min_pmtu`), as a smaller one is an attack.
const MIN_PMTU: [u32; 2] = [552, 1280];

/// Maximum reports that lower the MTU of a connection; an honest path has only a few.
const MAX_PMTU_REDUCTIONS: u8 = 64;

/// An ICMP error for a packet of this connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IcmpReport {
    /// A link on the path has this MTU, IP header included.
    TooBig {
        /// The MTU; zero if the router does not report it, which then has no effect.
        mtu: u32,
    },
    /// Port or protocol unreachable, or prohibited.
    HardError,
}

impl Connection {
    /// Processes an ICMP error for a packet with the sequence number `seq`. True if it was accepted
    /// and had an effect; poll as after a segment.
    pub fn handle_icmp_report(&mut self, now: Instant, seq: SeqNum, report: IcmpReport) -> bool {
        let offset = self.snd.offset(seq);
        let unanswered = self.state == State::SynSent;
        // Before data only the SYN is in flight, one below the first byte.
        let in_flight =
            if unanswered { -1..=-1 } else { self.snd.una() as i64..=self.snd.nxt() as i64 };
        if self.state == State::Closed || !in_flight.contains(&offset) {
            return false;
        }
        match report {
            IcmpReport::HardError if unanswered => {
                self.end(CloseReason::Refused);
                true
            }
            IcmpReport::HardError => false,
            IcmpReport::TooBig { mtu } => self.set_pmtu(now, mtu),
        }
    }

    /// Lowers the MTU to `mtu`.
    fn set_pmtu(&mut self, now: Instant, mtu: u32) -> bool {
        let least = MIN_PMTU[usize::from(self.ip.header_len() > 20)];
        if mtu == 0 || mtu >= self.config.mtu || self.config.mtu <= least {
            return false;
        }
        let mtu = mtu.max(least);
        if !self.state.is_synchronised() {
            Arc::make_mut(&mut self.config).mtu = mtu;
            return true;
        }
        if !self.snd.count_pmtu_reduction(MAX_PMTU_REDUCTIONS) {
            return false;
        }
        let options = self.option_bytes();
        let floor = self.config.min_mss.saturating_sub(options).max(1);
        let mss = mtu.saturating_sub(self.ip.headers_len() + options).max(floor);
        let most = 2 * Sender::max_segments(&self.config);
        let cut =
            if mss < self.snd.mss() { self.snd.board.resegment(mss, most) } else { Some(false) };
        let Some(lost) = cut else { return false };
        Arc::make_mut(&mut self.config).mtu = mtu;
        if mss >= self.snd.mss() {
            return false;
        }
        self.snd.set_mss(mss, &self.config);
        self.snd.reset_quota();
        if lost && !self.snd.episode.in_recovery() {
            self.snd.board.begin_episode(self.snd.una());
            // The state after a timeout, without its congestion response: lost segments are
            // retransmitted as the window allows, and cwnd stays.
            self.snd.episode.on_rto(self.snd.nxt());
        }
        self.track_unacked(now);
        true
    }
}
