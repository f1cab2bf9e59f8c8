//! NewReno: the standard control, and the fallback of the others.
//!
//! ## Algorithm
//! Slow start; additive increase of one segment per round trip. A loss or the first mark of a
//! window of data halves the window; a timeout reduces it to one segment.
//!
//! ## Spec
//! RFC 5681; byte counting of RFC 3465; end of recovery by RFC 6582 §3.2; ECN by RFC 3168 §6.1.2.
//!
//! ## Deviations
//! Slow start stops exactly at ssthresh, and the rest of that ACK counts in congestion avoidance,
//! unless `slow-start-end = "overshoot"`. The floor of a reaction is the switch `window-floor` (RFC
//! 5681 has two segments, RFC 3168 one). An ECN cut starts from cwnd, a loss from the bytes in
//! flight, as in their RFCs. With a window of one segment, a mark does not delay the next one until
//! the retransmission timer fires, as RFC 3168 §6.1.2 requires.
//!
//! ## Kernel twin
//! `tcp_cong.c` (Reno) in Linux counts segments and takes cwnd instead of FlightSize on a loss.

use alloc::boxed::Box;

use lowtide_schema::Values;

use super::{
    AckSample, CcEntry, CcSetup, CongestionControl, CongestionEvent, CongestionWindow,
    DeclaredProperties, Factor, Reaction, Requirements, SLOW_START_END, Signal, overshoots,
};

/// Registration.
pub static ENTRY: CcEntry = CcEntry {
    name: "newreno",
    summary: "slow start and additive increase, halve on loss or ECN",
    spec: "RFC 5681, RFC 6582, RFC 3168 §6.1.2",
    equations: &[
        "slow start: cwnd += min(acked, L); avoidance: cwnd += mss per cwnd acknowledged",
        "loss or mark: ssthresh = cwnd = FlightSize / 2",
    ],
    params: &[SLOW_START_END],
    declared: DeclaredProperties {
        reacts_to: &[Signal::Loss, Signal::Ecn],
        floor_segments: 2,
        proportional: false,
        rate_based: false,
        exemptions: &[],
    },
    requires: Requirements { ecn: false, host_stamps: false, rate_samples: false },
    build,
};

fn build(values: &Values, setup: &CcSetup) -> Box<dyn CongestionControl> {
    let window = CongestionWindow::new(setup, Factor::HALF).overshooting(overshoots(values));
    Box::new(NewReno { window })
}

#[derive(Debug)]
struct NewReno {
    window: CongestionWindow,
}

impl CongestionControl for NewReno {
    fn on_ack(&mut self, ack: &AckSample) -> Reaction {
        if ack.ece && ack.may_reduce && self.window.ecn() {
            self.window.drop_unused(ack);
            self.window.cut_to(self.window.cwnd() / 2);
            return Reaction::Reduced;
        }
        self.window.grow(ack);
        Reaction::None
    }

    fn on_event(&mut self, event: &CongestionEvent) {
        self.window.on_event(event);
    }

    fn cwnd(&self) -> u64 {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh()
    }
}

#[cfg(test)]
mod tests {
    use lowtide_units::{Duration, Instant};

    use super::*;
    use crate::cc::WindowRules;

    const MSS: u64 = 1000;
    const NOW: Instant = Instant::ZERO;

    fn setup() -> CcSetup {
        CcSetup {
            mss: 1000,
            initial_window: 10 * MSS,
            floor: 2 * MSS,
            ssthresh_floor: 0,
            abc_limit: 2 * MSS,
            ecn: true,
            now: NOW,
            seed: 0,
            rtt: None,
            rules: WindowRules::RFC,
        }
    }

    fn control(setup: &CcSetup) -> Box<dyn CongestionControl> {
        build(&Values::parse(ENTRY.params, &[]).unwrap(), setup)
    }

    fn ack(bytes: u64) -> AckSample {
        AckSample { acked_bytes: bytes, may_grow: true, may_reduce: true, ..AckSample::default() }
    }

    fn loss(in_flight: u64, already_reduced: bool) -> CongestionEvent {
        CongestionEvent::Loss { now: NOW, in_flight, already_reduced }
    }

    #[test]
    fn slow_start_counts_bytes_up_to_l_and_one_segment_after_a_timeout() {
        let mut cc = control(&setup());
        for (bytes, grows) in [(1000, 1000), (400, 400), (2000, 2000), (9000, 2000)] {
            let before = cc.cwnd();
            let _ = cc.on_ack(&ack(bytes));
            assert_eq!(cc.cwnd() - before, grows, "ACK of {bytes} B");
        }
        let before = cc.cwnd();
        let _ = cc.on_ack(&AckSample { after_rto: true, ..ack(2000) });
        assert_eq!(cc.cwnd() - before, 1000);
    }

    /// Found by the fault test: a mark, a spurious loss, and a real one in one window.
    #[test]
    fn a_loss_after_one_that_was_undone_does_not_add_to_the_mark_either() {
        let mut cc = control(&setup());
        let _ = cc.on_ack(&AckSample { ece: true, ..ack(1000) });
        assert_eq!(cc.ssthresh(), 5000);
        cc.on_event(&loss(8000, true));
        cc.on_event(&CongestionEvent::Undo { now: NOW });
        cc.on_event(&loss(4000, true));
        assert_eq!((cc.cwnd(), cc.ssthresh()), (5000, 5000));
    }

    #[test]
    fn congestion_avoidance_adds_one_segment_per_window_of_bytes() {
        let mut cc = control(&setup());
        cc.on_event(&loss(20 * MSS, false));
        assert_eq!(cc.cwnd(), 10 * MSS);
        // 19 ACKs of half a segment are less than a window; the 20th completes it.
        for _ in 0..19 {
            let _ = cc.on_ack(&ack(500));
        }
        assert_eq!(cc.cwnd(), 10 * MSS);
        let _ = cc.on_ack(&ack(500));
        assert_eq!(cc.cwnd(), 11 * MSS);
    }

    #[test]
    fn slow_start_stops_at_ssthresh_however_acks_are_bundled() {
        let mut cc = control(&setup());
        cc.on_event(&CongestionEvent::Rto {
            now: NOW,
            first: true,
            in_recovery: false,
            in_flight: 7 * MSS,
        });
        assert_eq!((cc.cwnd(), cc.ssthresh()), (MSS, 3500));
        let _ = cc.on_ack(&ack(2000));
        let _ = cc.on_ack(&ack(2000));
        assert_eq!(cc.cwnd(), 3500);
        // 1500 B of the last ACK already counted; 2000 B more make a window of 3500 B.
        let _ = cc.on_ack(&ack(2000));
        assert_eq!(cc.cwnd(), 4500);
    }

    #[test]
    fn an_ecn_cut_halves_cwnd_and_does_not_grow_on_the_same_ack() {
        let mut cc = control(&setup());
        let marked = AckSample { ece: true, ..ack(2000) };
        assert_eq!(cc.on_ack(&marked), Reaction::Reduced);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (5 * MSS, 5 * MSS));
        assert_eq!(cc.on_ack(&AckSample { may_reduce: false, ..marked }), Reaction::None);
        assert_eq!(cc.cwnd(), 5 * MSS);
    }

    #[test]
    fn without_ecn_agreed_the_flag_means_nothing() {
        let mut cc = control(&CcSetup { ecn: false, ..setup() });
        assert_eq!(cc.on_ack(&AckSample { ece: true, ..ack(1000) }), Reaction::None);
        assert_eq!(cc.cwnd(), 11 * MSS);
    }

    #[test]
    fn a_mark_and_a_loss_in_one_window_halve_once() {
        let mut cc = control(&setup());
        let _ = cc.on_ack(&AckSample { ece: true, ..ack(0) });
        cc.on_event(&loss(9 * MSS, true));
        assert_eq!((cc.cwnd(), cc.ssthresh()), (5 * MSS, 5 * MSS));
        // In a later window of data the loss counts in full.
        cc.on_event(&loss(5 * MSS, false));
        assert_eq!(cc.cwnd(), 2500);
        // The window before an old cut is discarded at the first loss after it.
        cc.on_event(&loss(4 * MSS, true));
        assert_eq!((cc.cwnd(), cc.ssthresh()), (2 * MSS, 2 * MSS));
    }

    #[test]
    fn a_timeout_leaves_one_segment_and_only_the_first_lowers_ssthresh() {
        let mut cc = control(&setup());
        cc.on_event(&CongestionEvent::Rto {
            now: NOW,
            first: true,
            in_recovery: false,
            in_flight: 10 * MSS,
        });
        assert_eq!((cc.cwnd(), cc.ssthresh()), (MSS, 5 * MSS));
        cc.on_event(&CongestionEvent::Rto {
            now: NOW,
            first: false,
            in_recovery: false,
            in_flight: MSS,
        });
        assert_eq!((cc.cwnd(), cc.ssthresh()), (MSS, 5 * MSS));
        // A mark at a window of one segment lowers ssthresh and does not raise the window.
        assert_eq!(cc.on_ack(&AckSample { ece: true, ..ack(MSS) }), Reaction::Reduced);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (MSS, 2 * MSS));
    }

    #[test]
    fn a_window_that_is_cut_below_the_least_ssthresh_grows_by_slow_start_up_to_that() {
        let floors = CcSetup { floor: MSS, ssthresh_floor: 2 * MSS, ..setup() };
        for cut in [loss(2 * MSS, false), loss(3 * MSS, false)] {
            let mut cc = control(&floors);
            cc.on_event(&cut);
            assert!(cc.cwnd() < 2 * MSS);
            assert_eq!(cc.ssthresh(), 2 * MSS);
            let _ = cc.on_ack(&ack(MSS));
            assert!(cc.cwnd() >= 2 * MSS, "{}", cc.cwnd());
        }
        let mut cc = control(&floors);
        cc.on_event(&loss(10 * MSS, false));
        assert_eq!((cc.cwnd(), cc.ssthresh()), (5 * MSS, 5 * MSS));
    }

    #[test]
    fn the_end_of_recovery_bounds_the_burst() {
        let mut cc = control(&setup());
        cc.on_event(&loss(10 * MSS, false));
        cc.on_event(&CongestionEvent::Recovered { now: NOW, in_flight: 0 });
        assert_eq!((cc.cwnd(), cc.ssthresh()), (2 * MSS, 5 * MSS));
        let mut cc = control(&setup());
        cc.on_event(&loss(10 * MSS, false));
        cc.on_event(&CongestionEvent::Recovered { now: NOW, in_flight: 9 * MSS });
        assert_eq!(cc.cwnd(), 5 * MSS);
    }

    #[test]
    fn undo_restores_the_last_loss_reaction_once() {
        let undo = CongestionEvent::Undo { now: NOW };
        let mut cc = control(&setup());
        cc.on_event(&undo);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (10 * MSS, u64::MAX));
        cc.on_event(&loss(10 * MSS, false));
        cc.on_event(&undo);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (10 * MSS, u64::MAX));
        // A repeated timeout does not replace the state saved by the first.
        for first in [true, false] {
            cc.on_event(&CongestionEvent::Rto {
                now: NOW,
                first,
                in_recovery: false,
                in_flight: 10 * MSS,
            });
        }
        cc.on_event(&undo);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (10 * MSS, u64::MAX));
        // A mark after the loss is real congestion: nothing is restored.
        cc.on_event(&loss(10 * MSS, false));
        let _ = cc.on_ack(&AckSample { ece: true, ..ack(0) });
        let cut = (cc.cwnd(), cc.ssthresh());
        cc.on_event(&undo);
        assert_eq!((cc.cwnd(), cc.ssthresh()), cut);
    }

    #[test]
    fn idle_restart_goes_to_the_initial_window_and_never_up() {
        let idle =
            CongestionEvent::IdleRestart { now: NOW, idle: Duration::from_secs(1), halvings: None };
        let mut cc = control(&setup());
        for _ in 0..20 {
            let _ = cc.on_ack(&ack(2000));
        }
        cc.on_event(&idle);
        assert_eq!(cc.cwnd(), 10 * MSS);
        cc.on_event(&loss(4 * MSS, false));
        cc.on_event(&idle);
        assert_eq!(cc.cwnd(), 2 * MSS);
    }
}
