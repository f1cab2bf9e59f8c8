//! Checks of the final state.

use lowtide_tcp::{CloseReason, SynAnswer};
use lowtide_units::Duration;

use crate::case::{Attacker, Impairment, Open, PairPlan};
use crate::end::End;
use crate::world::World;

impl World {
    pub(crate) fn check_final_state(&mut self) {
        for end in &self.ends {
            assert!(end.released, "connection {} of side {} is left", end.pair, end.side);
            if end.honest {
                self.check_end(end);
            }
        }
        for pair in 0..self.case.pairs.len() {
            let both = |side| self.ends.iter().any(|e| e.pair == pair && e.side == side);
            if self.case.pairs[pair].open == Open::Simultaneous && both(0) && both(1) {
                self.tally.simultaneous += 1;
            }
            if self.case.must_complete {
                // A SYN may meet a TIME-WAIT that outlasts it. A RST of an earlier connection may
                // end one that accepts any RST in its window (RFC 793); RFC 5961 §3 fixes this.
                let spoilt = self.case.pairs[pair].reuses_ports
                    && self.ends.iter().any(|e| {
                        let waited = e.side == 0 && e.reason == Some(CloseReason::TimedOut);
                        e.pair == pair && (waited || e.reset_by_predecessor())
                    });
                let spoilt = spoilt || self.backlog_is_taken_by_old_syns(pair);
                for side in 0..if spoilt { 0 } else { 2 } {
                    let well = self.ends.iter().any(|e| {
                        e.pair == pair
                            && e.side == side
                            && e.reason == Some(CloseReason::Normal)
                            && e.left() == 0
                            && e.inbox.read_upto() == self.total(pair, 1 - side)
                    });
                    assert!(well, "side {side} of connection {pair} did not complete");
                }
            }
        }
        self.no_reaction_without_cause();
        self.nothing_is_left();
    }

    /// True if late copies of SYNs of other connections may keep the backlog full. A peer in
    /// TIME-WAIT that ignores RSTs answers the SYN-ACK with an ACK, and then the RST for this ACK
    /// ends nothing on either side.
    fn backlog_is_taken_by_old_syns(&self, pair: usize) -> bool {
        let servers = |p: usize| self.ends.iter().filter(|e| e.pair == p && e.side == 1).count();
        let old_syns = (0..self.case.pairs.len()).filter(|p| *p != pair && servers(*p) > 1).count();
        old_syns >= self.case.backlog
    }

    fn no_reaction_without_cause(&mut self) {
        if self.case.attacker != Attacker::No {
            return;
        }
        let sack = |p: &PairPlan| p.ends.iter().all(|e| e.config.sack);
        let all_sack = self.case.pairs.iter().all(sack);
        let t = &mut self.tally;
        // If ACKs were lost a counter may have wrapped unseen (RFC 9768 §3.2.2.5.2).
        let guesses = self.case.impairment != Impairment::Perfect && t.accurate > 0;
        assert!(t.marked > 0 || t.ecn_reductions == 0 || guesses, "reduced without a mark");
        // The last segments of a dead process are retransmitted until answered.
        if self.case.impairment == Impairment::Perfect && t.vanished == 0 {
            t.spotless += 1;
            assert_eq!(t.retransmission_timeouts, 0, "a timer fired without a loss");
            // After an accepted window probe, ACKs in flight are one byte old. They are answered,
            // and for a sender without SACK three answers are three duplicates.
            if all_sack || t.closed_windows == 0 {
                let again = (t.fast_retransmits, t.retransmitted_bytes);
                assert_eq!(again, (0, 0), "retransmitted without a loss");
            }
        }
    }

    fn total(&self, pair: usize, side: usize) -> u64 {
        self.case.pairs[pair].ends[side].total
    }

    fn check_end(&self, end: &End) {
        let peers = || self.ends.iter().filter(|e| e.pair == end.pair && e.side != end.side);
        let name = format!("side {} of connection {}", end.side, end.pair);
        if end.peer_closed {
            let got = end.inbox.read_upto() + end.inbox.readable();
            let want = self.total(end.pair, 1 - end.side);
            assert_eq!(got, want, "{name}: bytes before the peer's FIN");
            assert!(peers().any(End::has_closed), "{name}: a FIN that was never sent");
        }
        match end.reason {
            Some(CloseReason::Normal) if end.established => {
                assert!(end.peer_closed && end.has_closed(), "{name}: half closed is not closed");
                let arrived =
                    peers().any(|p| p.inbox.read_upto() + p.inbox.readable() == end.out.end());
                assert!(arrived, "{name}: closed normally, but not all data arrived");
            }
            Some(CloseReason::Normal) => assert!(end.has_closed(), "{name}: never opened"),
            Some(CloseReason::Reset | CloseReason::Refused) => {
                // By RFC 793 an old SYN in the window acts like a RST: fixed by RFC 5961 §4.
                let by_syn = end.plan.config.syn_answer == SynAnswer::Reset;
                let sent = self.resets[end.pair][1 - end.side];
                assert!(sent || by_syn, "{name}: a RST that was never sent");
            }
            Some(CloseReason::Aborted | CloseReason::TimedOut) => {}
            Some(CloseReason::UserTimeout) => {
                assert!(end.plan.config.user_timeout > Duration::ZERO, "{name}: not configured");
            }
            Some(CloseReason::KeepAlive) => {
                assert!(end.plan.config.keep_alive, "{name}: not configured");
            }
            other => panic!("{name}: closed with {other:?}"),
        }
    }

    fn nothing_is_left(&mut self) {
        // Longer than the longest TIME-WAIT.
        let late = self.now + Duration::from_secs(61);
        for (side, host) in self.hosts.iter_mut().enumerate() {
            assert!(host.is_empty(), "side {side} has {} connections left", host.len());
            assert!(host.poll_reply().is_none(), "side {side} has an answer left");
            assert_eq!(host.time_waits(late), 0, "side {side}: TIME-WAIT");
            for pair in &self.case.pairs {
                host.unlisten(pair.ports[1]);
            }
            let size = format!("{host:?}").len();
            assert!(size < 1_500, "side {side} holds on to {size} characters of state");
        }
    }
}
