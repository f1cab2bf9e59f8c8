use std::string::ToString;

use lowtide_units::{Duration, Instant};

use super::*;
use crate::cc::WindowRules;

mod variants;
mod vectors;

const MSS: u64 = 1000;
const NOW: Instant = Instant::ZERO;
const ONE: u64 = 1 << 20;

fn setup() -> CcSetup {
    CcSetup {
        mss: 1000,
        initial_window: 100 * MSS,
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

struct Seen(u64);
impl Probe for Seen {
    fn value(&mut self, name: &str, unit: Unit, value: u64) {
        assert_eq!((name, unit), ("alpha", Unit::Q20));
        self.0 = value;
    }
}

/// A control with the sequence space of a sender: windows of ten segments.
struct Flow {
    cc: Box<dyn CongestionControl>,
    una: u64,
}

impl Flow {
    fn new(arithmetic: &'static str, initial_alpha: u64) -> Self {
        Self::at(&setup(), arithmetic, initial_alpha, 0)
    }

    fn at(setup: &CcSetup, arithmetic: &'static str, initial_alpha: u64, una: u64) -> Self {
        let mut flow = Self::with(setup, arithmetic, initial_alpha, &[]);
        flow.una = una;
        flow
    }

    fn with(
        setup: &CcSetup,
        arithmetic: &'static str,
        initial_alpha: u64,
        more: &[(&'static str, &str)],
    ) -> Self {
        let initial_alpha = initial_alpha.to_string();
        let common = [("arithmetic", arithmetic), ("initial-alpha", initial_alpha.as_str())];
        let values = Values::parse(PARAMS, &[&common, more].concat()).unwrap();
        Self { cc: build(&values, setup), una: 0 }
    }

    fn alpha(&self) -> u64 {
        let mut seen = Seen(u64::MAX);
        self.cc.probe(&mut seen);
        seen.0
    }

    /// An ACK of one segment, with ten outstanding before it.
    fn sample(&mut self, marked: bool) -> AckSample {
        self.una += MSS;
        AckSample {
            snd_una: self.una,
            snd_nxt: self.una + 9 * MSS,
            acked_bytes: MSS,
            acked_segments: 1,
            delivered_bytes: MSS,
            delivered_segments: 1,
            ce_bytes: if marked { MSS } else { 0 },
            ce_segments: u32::from(marked),
            ece: marked,
            ..AckSample::default()
        }
    }

    fn ack(&mut self, marked: bool, may_reduce: bool) -> Reaction {
        let sample = AckSample { may_reduce, ..self.sample(marked) };
        self.cc.on_ack(&sample)
    }

    /// ACKs until the observation window has ended once, with `marked` of every ten marked.
    fn rounds(&mut self, n: usize, marked: u64) {
        for _ in 0..n {
            for i in 0..10 {
                let _ = self.ack(i < marked, false);
            }
        }
    }
}

#[test]
fn alpha_follows_the_share_of_marked_bytes() {
    for (arithmetic, tolerance) in [("q20", ONE / 1000), ("freebsd", ONE / 40)] {
        for marked in [0, 1, 3, 10] {
            let mut flow = Flow::new(arithmetic, 1024);
            flow.rounds(300, marked);
            let ideal = ONE * marked / 10;
            let alpha = flow.alpha();
            // A window of eleven ACKs slides over the pattern of ten: a tolerance of a tenth of a
            // round in one window, smoothed by g.
            let slack = tolerance + ONE / 10 / 16;
            assert!(alpha.abs_diff(ideal) <= slack, "{arithmetic} {marked}: {alpha} {ideal}");
        }
    }
}

#[test]
fn pitfall_1_alpha_reaches_zero_without_marks() {
    for (arithmetic, rest) in [("q20", 0), ("linux", 0), ("freebsd", 15 << 10)] {
        let mut flow = Flow::new(arithmetic, 1024);
        flow.rounds(400, 0);
        assert_eq!(flow.alpha(), rest, "{arithmetic}");
    }
}

#[test]
fn pitfall_2_the_floor_is_the_paths_and_may_be_one_segment() {
    for floor in [1, 2] {
        for arithmetic in ["q20", "linux", "freebsd"] {
            let mut flow =
                Flow::at(&CcSetup { floor: floor * MSS, ..setup() }, arithmetic, 1024, 0);
            for _ in 0..20 {
                assert_eq!(flow.ack(true, true), Reaction::Reduced);
            }
            assert_eq!(flow.cc.cwnd(), floor * MSS, "{arithmetic}");
        }
    }
}

#[test]
fn pitfall_5_one_cut_per_permission_and_none_on_a_clean_ack() {
    for arithmetic in ["q20", "linux", "freebsd"] {
        let mut flow = Flow::new(arithmetic, 1024);
        assert_eq!(flow.ack(false, true), Reaction::None);
        assert_eq!(flow.cc.cwnd(), 100 * MSS);
        assert_eq!(flow.ack(true, true), Reaction::Reduced);
        let cut = flow.cc.cwnd();
        assert!(cut < 100 * MSS);
        for _ in 0..9 {
            assert_eq!(flow.ack(true, false), Reaction::None);
        }
        assert_eq!(flow.cc.cwnd(), cut);
        let sample = AckSample { may_reduce: true, may_grow: true, ..flow.sample(true) };
        assert_eq!(flow.cc.on_ack(&sample), Reaction::Reduced);
        assert!(flow.cc.cwnd() < cut, "the ACK that cuts does not grow the window as well");
    }
}

#[test]
fn pitfall_6_the_estimate_takes_the_ack_in_before_the_cut_or_after_it() {
    // Alpha is one. The first ACK ends the (empty) first window, with no unmarked bytes before it.
    // An ACK of two segments with one mark marks half of the bytes of the window. Estimate first:
    // the cut uses alpha = 15/16 + 1/32 = 31/32 and removes 100 kB * 31/64.
    for arithmetic in ["q20", "freebsd"] {
        for (order, expected) in [("estimate-first", 100 * MSS - 48_437), ("cut-first", 50 * MSS)] {
            let order = [("order", order)];
            let mut flow = Flow::with(&setup(), arithmetic, 1024, &order);
            let sample = AckSample { ce_bytes: MSS / 2, may_reduce: true, ..flow.sample(true) };
            assert_eq!(flow.cc.on_ack(&sample), Reaction::Reduced);
            assert_eq!(flow.cc.cwnd(), expected, "{arithmetic} {order:?}");
            assert_eq!(flow.alpha(), ONE * 31 / 32, "{arithmetic} {order:?}");
        }
    }
}

#[test]
fn pitfall_7_the_first_mark_halves_with_alpha_one_and_does_nothing_with_zero() {
    for arithmetic in ["q20", "linux", "freebsd"] {
        let mut one = Flow::new(arithmetic, 1024);
        assert_eq!(one.ack(true, true), Reaction::Reduced);
        assert_eq!(one.cc.cwnd(), 50 * MSS, "{arithmetic}");
    }
    // Cut first uses the old alpha; otherwise the first window had one marked ACK.
    for (arithmetic, order, cwnd) in [
        ("freebsd", "cut-first", 100 * MSS),
        ("freebsd", "estimate-first", 96_875),
        ("q20", "cut-first", 100 * MSS),
        ("q20", "estimate-first", 96_875),
        ("linux", "estimate-first", 97 * MSS),
    ] {
        let order = [("order", order)];
        let mut zero = Flow::with(&setup(), arithmetic, 0, &order);
        assert_eq!(zero.ack(true, true), Reaction::Reduced);
        assert_eq!(zero.cc.cwnd(), cwnd, "{arithmetic} {order:?}");
    }
}

#[test]
fn pitfall_8_a_mark_and_then_a_loss_in_one_window_halve_once() {
    let mut flow = Flow::new("q20", 0);
    assert_eq!(flow.ack(true, true), Reaction::Reduced);
    let loss =
        |already_reduced| CongestionEvent::Loss { now: NOW, in_flight: 96 * MSS, already_reduced };
    flow.cc.on_event(&loss(true));
    assert_eq!(flow.cc.cwnd(), 50 * MSS, "half of the window before the cut");
    assert_eq!(flow.cc.ssthresh(), 50 * MSS);
    // Alpha is one: the cut already removed as much as the loss may.
    let mut flow = Flow::new("freebsd", 1024);
    assert_eq!(flow.ack(true, true), Reaction::Reduced);
    flow.cc.on_event(&loss(true));
    assert_eq!(flow.cc.cwnd(), 50 * MSS);
}

#[test]
fn a_loss_is_answered_as_newreno_does_and_leaves_alpha_alone() {
    let mut flow = Flow::new("q20", 256);
    let alpha = flow.alpha();
    flow.cc.on_event(&CongestionEvent::Loss {
        now: NOW,
        in_flight: 100 * MSS,
        already_reduced: false,
    });
    assert_eq!((flow.cc.cwnd(), flow.alpha()), (50 * MSS, alpha));
    flow.cc.on_event(&CongestionEvent::Undo { now: NOW });
    assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (100 * MSS, u64::MAX));
}

#[test]
fn pitfall_9_a_timeout_starts_the_observation_window_again() {
    let rto =
        CongestionEvent::Rto { now: NOW, first: true, in_recovery: false, in_flight: 10 * MSS };
    // A clean round, four marked ACKs of the next one, then the timeout: q20 discards them.
    let mut flow = Flow::new("q20", 0);
    let _ = flow.ack(false, false);
    for _ in 0..4 {
        let _ = flow.ack(true, false);
    }
    flow.cc.on_event(&rto);
    assert_eq!((flow.cc.cwnd(), flow.alpha()), (MSS, 0));
    flow.rounds(2, 0);
    assert_eq!(flow.alpha(), 0);
    // The next window ends when the data outstanding at its first ACK is acknowledged.
    flow.cc.on_event(&rto);
    for _ in 0..10 {
        let _ = flow.ack(true, false);
        assert_eq!(flow.alpha(), 0);
    }
    let _ = flow.ack(true, false);
    assert_eq!(flow.alpha(), ONE / 16);
    // FreeBSD ends the round at the timeout, Linux does not.
    let alphas = ["freebsd", "linux"].map(|arithmetic| {
        let mut flow = Flow::new(arithmetic, 0);
        let _ = flow.ack(false, false);
        for _ in 0..4 {
            let _ = flow.ack(true, false);
        }
        assert_eq!(flow.alpha(), 0);
        flow.cc.on_event(&rto);
        flow.alpha()
    });
    assert_eq!(alphas, [64 << 10, 0]);
}

#[test]
fn pitfall_15_rounds_do_not_care_where_in_the_sequence_space_they_are() {
    let starts = [0, u64::from(u32::MAX) - 5 * MSS, 1 << 40, (1 << 62) - 5 * MSS];
    for arithmetic in ["q20", "linux", "freebsd"] {
        let traces = starts.map(|una| {
            let mut flow = Flow::at(&setup(), arithmetic, 1024, una);
            let mut trace = std::vec::Vec::new();
            for i in 0..200 {
                let _ = flow.ack(i % 3 == 0, i % 20 == 0);
                trace.push((flow.alpha(), flow.cc.cwnd()));
            }
            trace
        });
        assert!(traces.iter().all(|t| *t == traces[0]), "{arithmetic}");
    }
}

#[test]
fn sacked_bytes_count_in_linux_and_not_in_the_rfc() {
    // A duplicate ACK that reports a marked SACKed segment, then the ACK that fills the hole.
    let run = |arithmetic| {
        let mut flow = Flow::new(arithmetic, 0);
        flow.rounds(1, 0);
        let fill = flow.sample(true);
        let dup = AckSample {
            snd_una: fill.snd_una - MSS,
            acked_bytes: 0,
            acked_segments: 0,
            sacked_bytes: MSS,
            sacked_segments: 1,
            ..fill
        };
        let _ = flow.cc.on_ack(&dup);
        for _ in 0..9 {
            let _ = flow.ack(false, false);
        }
        flow.alpha()
    };
    assert_eq!(run("q20"), 0);
    assert_ne!(run("linux"), 0);
}

#[test]
fn without_ecn_it_is_newreno() {
    let path = CcSetup { ecn: false, ..setup() };
    let mut flow = Flow::at(&path, "q20", 1024, 0);
    let newreno = &crate::cc::newreno::ENTRY;
    let mut reno = (newreno.build)(&Values::parse(newreno.params, &[]).unwrap(), &path);
    for i in 0..50 {
        let sample = AckSample { may_reduce: true, may_grow: true, ..flow.sample(i % 4 == 0) };
        assert_eq!(flow.cc.on_ack(&sample), reno.on_ack(&sample));
        if i == 20 {
            let loss =
                CongestionEvent::Loss { now: NOW, in_flight: 80 * MSS, already_reduced: false };
            flow.cc.on_event(&loss);
            reno.on_event(&loss);
        }
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (reno.cwnd(), reno.ssthresh()));
    }
}

#[test]
fn growth_is_newrenos_also_in_a_round_with_marks() {
    let mut flow = Flow::new("q20", 1024);
    let _ = flow.ack(true, true);
    let before = flow.cc.cwnd();
    for _ in 0..100 {
        let sample = AckSample { may_grow: true, ..flow.sample(true) };
        let _ = flow.cc.on_ack(&sample);
    }
    // 100 kB acknowledged over windows of 50 and 51 kB: one segment, not yet a second.
    assert_eq!(flow.cc.cwnd() - before, MSS);
}
