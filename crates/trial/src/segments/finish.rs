//! End of an input: with a silent peer all connections become idle, with an honest peer all data
//! arrive.

use std::mem;

use lowtide_tcp::{CloseReason, State, WindowProbe};
use lowtide_units::Duration;
use lowtide_wire::{Flags, SeqNum};

use super::craft::PEER_MSS;
use super::harness::Harness;

/// Maximum number of timers until all retries are used up.
const MAX_TIMERS: u32 = 20_000;
/// Maximum number of exchanges with an honest peer, each with at least one segment.
const MAX_EXCHANGES: u32 = 12_000;

impl Harness {
    /// The peer is silent: connections with outstanding data give up, the others become idle.
    pub(super) fn end_in_silence(&mut self) {
        // Keep-alive probes with a user timeout are limited by time, not by number. The first ones
        // suffice, then time is advanced by the timeout.
        let mut leap =
            if self.config.keep_alive { self.config.user_timeout } else { Duration::ZERO };
        let mut timers = 0;
        while let Some(at) = self.timer() {
            if timers == MAX_TIMERS {
                assert!(leap > Duration::ZERO, "it never gives up: {:?}", self.peers);
                self.now += mem::take(&mut leap);
                timers = 0;
            }
            timers += 1;
            self.now = self.now.max(at);
            self.poll_all();
        }
        for p in &self.peers {
            let Some(conn) = p.id.and_then(|id| self.host.conn(id)) else { continue };
            let state = conn.state();
            let idle = matches!(
                state,
                State::Closed | State::Established | State::CloseWait | State::FinWait2
            );
            assert!(idle, "{state:?} without a timer");
            if state != State::Closed {
                assert_eq!(
                    conn.acked_upto(),
                    p.invariants.written,
                    "has unacknowledged data but no timer"
                );
            }
        }
    }

    /// The peer acknowledges everything and sends in order; the application reads everything.
    pub(super) fn end_honestly(&mut self) {
        for peer in 0..self.peers.len() {
            self.drain_sent_data(peer);
            self.deliver_in_order_data(peer);
        }
    }

    fn is_alive(&mut self, peer: usize) -> bool {
        let Some(id) = self.peers[peer].id else { return false };
        self.host.conn(id).is_some_and(|c| c.state().is_synchronised())
    }

    /// All written data arrive.
    fn drain_sent_data(&mut self, peer: usize) {
        let was_over = self.peers[peer].invariants.reason.is_some();
        for exchanges in 0.. {
            if !self.is_alive(peer) || self.acked(peer) == self.peers[peer].invariants.written {
                break;
            }
            assert!(
                exchanges < MAX_EXCHANGES,
                "{} of {} B acknowledged by an honest peer",
                self.acked(peer),
                self.peers[peer].invariants.written
            );
            let before = self.peers[peer].state.snd_max;
            self.honest_ack(peer);
            if self.window_stays_closed(peer) {
                break;
            }
            if self.peers[peer].state.snd_max == before {
                self.advance_to_next_timer();
            }
        }
        let timed_out = self.peers[peer].invariants.reason == Some(CloseReason::TimedOut);
        assert!(was_over || !timed_out, "timed out on an honest peer");
    }

    /// A forged segment beyond the peer's own data closed the window. The peer's own segments are
    /// older, so none opens it, and an empty probe brings no ACK of new data (Linux as well:
    /// `tcp_may_update_window`).
    fn window_stays_closed(&mut self, peer: usize) -> bool {
        let conn = self.peers[peer].id.and_then(|id| self.host.conn(id));
        self.config.window_probe == WindowProbe::Empty
            && conn.is_some_and(|c| c.info().snd_wnd == 0)
    }

    fn acked(&mut self, peer: usize) -> u64 {
        self.peers[peer].id.and_then(|id| self.host.conn(id)).map_or(0, |c| c.acked_upto())
    }

    fn advance_to_next_timer(&mut self) {
        if let Some(at) = self.timer() {
            self.now = self.now.max(at);
            self.poll_all();
        }
    }

    /// An ACK may be delayed, or rate-limited if a segment only asks for one. It is sent within the
    /// delayed-ACK timeout.
    fn await_ack(&mut self, peer: usize, seq: SeqNum) {
        let latest = self.now + self.config.delack_timer;
        while self.is_alive(peer) && self.peers[peer].state.rcv_nxt.before(seq) {
            let timer = self.timer();
            assert!(timer.is_some_and(|at| at <= latest), "no ACK of an honest segment");
            self.advance_to_next_timer();
        }
    }

    /// In-order data are accepted, segment by segment, until the peer has closed.
    fn deliver_in_order_data(&mut self, peer: usize) {
        for _ in 0..20 {
            self.read(peer, u64::MAX);
            self.poll(peer);
            let receives = self.is_alive(peer)
                && self.peers[peer]
                    .id
                    .and_then(|id| self.host.conn(id))
                    .is_some_and(|c| c.state().can_receive());
            if !receives || self.peers[peer].invariants.peer_closed {
                return;
            }
            // Earlier data are acknowledged even if the last segment was not answered.
            if let Some(seq) = self.peers[peer].invariants.rcv_nxt() {
                self.await_ack(peer, seq);
            }
            if !self.is_alive(peer) || self.peers[peer].invariants.peer_closed {
                return;
            }
            let window = self.peers[peer].state.window;
            assert!(window > 0, "everything is read and the window is closed");
            let before = self.peers[peer].invariants.readable;
            let mut taken = false;
            // An honest peer may not know the latest timestamps yet; the first answer contains
            // them.
            for _ in 0..3 {
                let mut segment = self.honest_segment(peer, Flags::PSH);
                segment.payload_len = PEER_MSS.min(u64::from(window)) as u32;
                self.deliver(peer, &segment);
                let watch = &self.peers[peer].invariants;
                taken |= watch.readable > before || watch.peer_closed || watch.reason.is_some();
                if taken {
                    break;
                }
            }
            assert!(taken, "an honest segment was not accepted: {:?}", self.peers[peer]);
        }
    }
}
