//! What the network says of a packet that was sent: too big, or not taken (ICMP).
//!
//! An error is believed when it quotes a sequence number that is in flight (RFC 5927 §4.1). One that names a
//! smaller MTU lowers the MSS at once; what is in flight and too long is cut and sent again without a reaction
//! of congestion control, which has nothing to do with it (RFC 8201 §5.4). The window that the control holds
//! stays, in bytes. An MTU that a link takes again is not looked for.
//!
//! Deviation: what a router refuses ends a connection in SYN-SENT only; afterwards it is taken for an error
//! that may pass, whatever its code (RFC 1122 §4.2.3.9 has "protocol" and "port" end any connection).
//! RFC 5927 §5.2 and Linux do the same.
//!
//! Deviation: at most 64 reports lower the MTU of a connection, and none that would cut what is in flight
//! into too many pieces (RFC 1191 and RFC 8201 have no bound). Each costs a walk, and reports that take a byte
//! each would cut every segment into bytes.

use alloc::sync::Arc;

use lowtide_units::Instant;
use lowtide_wire::{DelayStamps, SeqNum};

use crate::connection::Connection;
use crate::event::CloseReason;
use crate::handshake::TIMESTAMPS_LEN;
use crate::sender::{SendQuota, Sender};
use crate::state::State;

/// The least MTU that is believed, bytes: that of IPv6 for IPv6 (RFC 8201 §4), for IPv4 what Linux takes
/// (`net.ipv4.route.min_pmtu`), as less is an attack.
const MIN_PMTU: [u32; 2] = [552, 1280];

/// Reports that lower the MTU of a connection; an honest path has a few.
const MAX_PMTU_REDUCTIONS: u8 = 64;

/// What the network reports of a packet of this connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IcmpReport {
    /// A link on its way takes no more than so many bytes, IP header included.
    TooBig {
        /// Those bytes; zero where the router does not say, which then changes nothing.
        mtu: u32,
    },
    /// Its port or protocol is not there, or prohibited.
    HardError,
}

impl Connection {
    /// The network reports what became of a packet with the sequence number `seq`. True when that is believed
    /// and changed something; poll as after a segment.
    pub fn handle_icmp_report(&mut self, now: Instant, seq: SeqNum, report: IcmpReport) -> bool {
        let offset = self.snd.una as i64 + i64::from(seq.diff(self.snd.seq(self.snd.una)));
        let unanswered = self.state == State::SynSent;
        // Before data there is the SYN, one below the first byte.
        let in_flight =
            if unanswered { -1..=-1 } else { self.snd.una as i64..=self.snd.nxt as i64 };
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

    /// Packets may have `mtu` bytes from now on.
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
        if self.snd.pmtu_reductions == MAX_PMTU_REDUCTIONS {
            return false;
        }
        self.snd.pmtu_reductions += 1;
        let options = if self.ts.is_some() { TIMESTAMPS_LEN } else { 0 }
            + if self.delay.is_some() { DelayStamps::WIRE_LEN as u32 } else { 0 };
        let floor = self.config.min_mss.saturating_sub(options).max(1);
        let mss = mtu.saturating_sub(self.ip.headers_len() + options).max(floor);
        let most = 2 * Sender::max_segments(&self.config);
        let cut =
            if mss < self.snd.mss { self.snd.board.resegment(mss, most) } else { Some(false) };
        let Some(lost) = cut else { return false };
        Arc::make_mut(&mut self.config).mtu = mtu;
        if mss >= self.snd.mss {
            return false;
        }
        self.snd.set_mss(mss, &self.config);
        self.snd.quota = SendQuota::UNKNOWN;
        if lost && !self.snd.episode.in_recovery() {
            self.snd.board.begin_episode(self.snd.una);
            // The state after a timeout, without what congestion control makes of one: what is lost goes again
            // as the window lets it, and nothing follows from it in the end.
            self.snd.episode.on_rto(self.snd.nxt);
        }
        self.track_unacked(now);
        true
    }
}
