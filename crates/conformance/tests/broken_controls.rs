//! Every rule of the conformance kit can fail: one control per rule that is broken on purpose.

use std::sync::atomic::{AtomicU64, Ordering};

use lowtide_conformance::{RULES, check};
use lowtide_tcp::Values;
use lowtide_tcp::cc::{
    AckSample, CcEntry, CcSetup, CongestionControl, CongestionEvent, CongestionWindow,
    DeclaredProperties, Exemption, Factor, Reaction, Requirements, Signal, dctcp,
};
use lowtide_units::{Duration, Rate};

/// Fault of a control. Each is a mistake that a real implementation made or could make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    Nothing,
    ShrinksByItself,
    GrowsWhileFrozen,
    CountsWholeAcks,
    IgnoresTimeoutInSlowStart,
    TwoSegmentsPerRound,
    NeverGrowsInAvoidance,
    IgnoresMarks,
    IgnoresLoss,
    ReactsToDelay,
    CutsOnEveryMark,
    CutsOnCleanAcks,
    CutsAndGrows,
    HidesCuts,
    CutsTooLittleOnMarks,
    ReactsWithoutEcn,
    CutsTooLittleOnLoss,
    AddsMarkAndLoss,
    BurstsAfterRecovery,
    TwoSegmentsAfterTimeout,
    EveryTimeoutLowersSsthresh,
    GrowsAtIdle,
    IgnoresUndo,
    UndoesTwice,
    NoFloor,
    Wraps,
    SharedState,
}

static CALLS: AtomicU64 = AtomicU64::new(0);

/// A correct NewReno with one fault.
#[derive(Debug)]
struct Broken {
    fault: Fault,
    path: CcSetup,
    window: CongestionWindow,
    acks: u64,
    marked: bool,
    saved: u64,
    /// Set if the window differs from `window`.
    cwnd: Option<u64>,
}

impl Broken {
    fn new(fault: Fault, setup: &CcSetup) -> Self {
        let floor = if fault == Fault::NoFloor { 1 } else { setup.floor };
        let beta = if fault == Fault::CutsTooLittleOnLoss {
            Factor { num: 9, den: 10 }
        } else {
            Factor::HALF
        };
        Self {
            fault,
            path: *setup,
            window: CongestionWindow::new(&CcSetup { floor, ..*setup }, beta),
            acks: 0,
            marked: false,
            saved: 0,
            cwnd: None,
        }
    }

    fn cut(&mut self, num: u64, den: u64) -> Reaction {
        self.window
            .cut_to((u128::from(self.window.cwnd()) * u128::from(num) / u128::from(den)) as u64);
        Reaction::Reduced
    }

    fn marked(&mut self, ack: &AckSample) -> Option<Reaction> {
        let allowed = ack.may_reduce && self.path.ecn;
        match self.fault {
            Fault::IgnoresMarks => None,
            Fault::CutsOnEveryMark if self.path.ecn => Some(self.cut(1, 2)),
            Fault::ReactsWithoutEcn if ack.may_reduce => Some(self.cut(1, 2)),
            Fault::CutsTooLittleOnMarks if allowed => Some(self.cut(9, 10)),
            Fault::CutsAndGrows if allowed => {
                let reaction = self.cut(99, 100);
                let more = u64::from(self.path.mss);
                self.window.raise_to(self.window.cwnd().saturating_add(more));
                Some(reaction)
            }
            Fault::HidesCuts if allowed => {
                let _ = self.cut(1, 2);
                Some(Reaction::None)
            }
            _ if allowed => Some(self.cut(1, 2)),
            _ => None,
        }
    }

    fn grow(&mut self, ack: &AckSample) {
        let mss = u64::from(self.path.mss);
        match self.fault {
            Fault::GrowsWhileFrozen => {
                let mut ack = *ack;
                ack.may_grow = true;
                self.window.grow(&ack);
            }
            Fault::CountsWholeAcks if self.window.cwnd() < self.window.ssthresh() => {
                self.window.raise_to(self.window.cwnd().saturating_add(ack.acked_bytes));
            }
            Fault::IgnoresTimeoutInSlowStart => {
                let mut ack = *ack;
                ack.after_rto = false;
                self.window.grow(&ack);
            }
            Fault::TwoSegmentsPerRound if self.window.cwnd() >= self.window.ssthresh() => {
                self.window.grow(ack);
                self.window.grow(ack);
            }
            Fault::NeverGrowsInAvoidance if self.window.cwnd() >= self.window.ssthresh() => {}
            Fault::Wraps if ack.acked_bytes > u64::MAX / 2 => {
                self.cwnd = Some(self.window.cwnd().wrapping_add(ack.acked_bytes) / 8);
            }
            Fault::SharedState => {
                // A counter shared by all connections: FreeBSD once replaced a method for all.
                if CALLS.fetch_add(1, Ordering::Relaxed).is_multiple_of(3) {
                    self.window.raise_to(self.window.cwnd().saturating_add(mss));
                }
            }
            _ => self.window.grow(ack),
        }
    }
}

impl CongestionControl for Broken {
    fn on_ack(&mut self, ack: &AckSample) -> Reaction {
        self.acks += 1;
        self.cwnd = None;
        if ack.ece {
            self.marked = true;
            if let Some(reaction) = self.marked(ack) {
                return reaction;
            }
        }
        match self.fault {
            Fault::ShrinksByItself if self.acks.is_multiple_of(100) => return self.cut(99, 100),
            Fault::CutsOnCleanAcks if self.marked && ack.may_reduce => return self.cut(9, 10),
            Fault::ReactsToDelay if ack.queueing_delay.is_some_and(|d| d.as_us() > 10) => {
                return self.cut(9, 10);
            }
            _ => {}
        }
        self.grow(ack);
        Reaction::None
    }

    fn on_event(&mut self, event: &CongestionEvent) {
        self.cwnd = None;
        let mss = u64::from(self.path.mss);
        match (self.fault, *event) {
            (Fault::IgnoresLoss, CongestionEvent::Loss { .. })
            | (Fault::BurstsAfterRecovery, CongestionEvent::Recovered { .. })
            | (Fault::IgnoresUndo, CongestionEvent::Undo { .. }) => {}
            (Fault::AddsMarkAndLoss, CongestionEvent::Loss { now, already_reduced: true, .. }) => {
                let in_flight = self.window.cwnd();
                self.window.on_event(&CongestionEvent::Loss {
                    now,
                    in_flight,
                    already_reduced: false,
                });
            }
            (Fault::TwoSegmentsAfterTimeout, CongestionEvent::Rto { .. }) => {
                self.window.on_event(event);
                self.cwnd = Some(2 * mss);
            }
            (Fault::EveryTimeoutLowersSsthresh, CongestionEvent::Rto { now, in_flight, .. }) => {
                self.window.on_event(&CongestionEvent::Rto {
                    now,
                    first: true,
                    in_recovery: false,
                    in_flight,
                });
            }
            (Fault::GrowsAtIdle, CongestionEvent::IdleRestart { .. }) => {
                self.window.raise_to(self.path.initial_window);
            }
            (Fault::UndoesTwice, CongestionEvent::Loss { .. }) => {
                self.saved = self.window.cwnd();
                self.window.on_event(event);
            }
            (Fault::UndoesTwice, CongestionEvent::Undo { .. }) => {
                self.window.on_event(event);
                self.window.raise_to(self.saved);
            }
            _ => self.window.on_event(event),
        }
    }

    fn cwnd(&self) -> u64 {
        self.cwnd.unwrap_or(self.window.cwnd())
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh()
    }
}

const DECLARES: DeclaredProperties = DeclaredProperties {
    reacts_to: &[Signal::Loss, Signal::Ecn],
    floor_segments: 2,
    proportional: false,
    rate_based: false,
    exemptions: &[],
};

/// An entry that builds a control with this fault; `build` cannot capture.
macro_rules! entry {
    ($fault:ident) => {
        CcEntry {
            name: stringify!($fault),
            summary: "broken on purpose",
            spec: "none",
            equations: &[],
            params: &[],
            declared: DECLARES,
            requires: Requirements { ecn: false, host_stamps: false, rate_samples: false },
            build: |_: &Values, setup: &CcSetup| Box::new(Broken::new(Fault::$fault, setup)),
        }
    };
}

/// A fault of a rate-based control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RateFault {
    None,
    Slow,
    NoWindow,
    KeepsTheMaximum,
    CountsAppLimited,
}

/// Paces at the mean of the last delivery rates, a little faster, with a window of two BDP.
#[derive(Debug)]
struct Pacer {
    fault: RateFault,
    rate: u64,
    min_rtt: Duration,
    /// Ten segments.
    base: u64,
    window: u64,
}

impl CongestionControl for Pacer {
    fn on_ack(&mut self, ack: &AckSample) -> Reaction {
        let sample = ack.rate_sample.filter(|sample| sample.delivered < 1 << 40);
        let Some(sample) = sample else { return Reaction::None };
        self.min_rtt = self.min_rtt.min(ack.rtt.unwrap_or(Duration::MAX));
        let rate = sample.rate().map_or(0, Rate::as_bps);
        let kept = self.fault == RateFault::KeepsTheMaximum && rate < self.rate;
        if !kept && (!sample.app_limited || self.fault == RateFault::CountsAppLimited) {
            self.rate = (self.rate * 31 + rate) / 32;
        }
        let rate = Rate::from_bps(self.rate.max(1)).expect("not zero");
        self.window = match self.fault {
            RateFault::NoWindow => u64::MAX,
            _ => rate.bytes_in(self.min_rtt).as_u64() * 2 + self.base,
        };
        Reaction::None
    }

    fn on_event(&mut self, _: &CongestionEvent) {}

    fn cwnd(&self) -> u64 {
        self.window
    }

    fn ssthresh(&self) -> u64 {
        u64::MAX
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let percent = if self.fault == RateFault::Slow { 50 } else { 125 };
        Rate::from_bps(self.rate * percent / 100)
    }
}

macro_rules! rate_entry {
    ($fault:ident) => {
        CcEntry {
            declared: DeclaredProperties {
                reacts_to: &[],
                floor_segments: 1,
                rate_based: true,
                ..DECLARES
            },
            requires: Requirements { rate_samples: true, ..entry!(Nothing).requires },
            build: |_: &Values, setup: &CcSetup| {
                Box::new(Pacer {
                    fault: RateFault::$fault,
                    rate: 5_000_000,
                    min_rtt: Duration::MAX,
                    base: 10 * u64::from(setup.mss),
                    window: setup.initial_window,
                })
            },
            ..entry!(Nothing)
        }
    };
}

#[test]
fn the_rate_based_control_that_the_faults_are_put_into_is_sound() {
    assert_eq!(check(&rate_entry!(None)), []);
}

fn broken_rules(entry: &CcEntry) -> Vec<&'static str> {
    check(entry).iter().map(|v| v.rule).collect()
}

#[test]
fn the_control_that_the_faults_are_put_into_is_sound() {
    assert_eq!(check(&entry!(Nothing)), []);
}

/// A window below one segment breaks the floor only if it is not declared.
#[test]
fn a_window_below_one_segment_is_declared() {
    let small = entry!(NoFloor);
    assert!(broken_rules(&small).contains(&"floor"));
    let declared =
        CcEntry { declared: DeclaredProperties { floor_segments: 0, ..DECLARES }, ..small };
    assert!(!broken_rules(&declared).contains(&"floor"));
}

#[test]
fn every_rule_can_fail_and_finds_its_fault() {
    let mut covered = vec!["proportional"];
    macro_rules! faults {
        ($($fault:ident => $rule:literal),* $(,)?) => {$(
            let broken = broken_rules(&entry!($fault));
            assert!(broken.contains(&$rule), "{} breaks {broken:?}", stringify!($fault));
            covered.push($rule);
        )*};
    }
    faults! {
        ShrinksByItself => "no-shrink",
        GrowsWhileFrozen => "frozen",
        CountsWholeAcks => "slow-start",
        IgnoresTimeoutInSlowStart => "slow-start",
        TwoSegmentsPerRound => "additive-increase",
        NeverGrowsInAvoidance => "additive-increase",
        IgnoresMarks => "signals",
        IgnoresLoss => "signals",
        ReactsToDelay => "signals",
        CutsOnEveryMark => "one-cut",
        CutsOnCleanAcks => "clean-ack",
        CutsAndGrows => "cut-or-grow",
        HidesCuts => "reports-cuts",
        CutsTooLittleOnMarks => "ecn-halves",
        ReactsWithoutEcn => "no-ecn",
        CutsTooLittleOnLoss => "loss-halves",
        AddsMarkAndLoss => "one-reduction",
        BurstsAfterRecovery => "recovered-burst",
        TwoSegmentsAfterTimeout => "rto",
        EveryTimeoutLowersSsthresh => "rto",
        GrowsAtIdle => "idle-restart",
        IgnoresUndo => "undo",
        UndoesTwice => "undo",
        NoFloor => "floor",
        Wraps => "limits",
        SharedState => "deterministic",
    }
    macro_rules! rate_faults {
        ($($fault:ident => $rule:literal),* $(,)?) => {$(
            let broken = broken_rules(&rate_entry!($fault));
            assert!(broken.contains(&$rule), "{} breaks {broken:?}", stringify!($fault));
            covered.push($rule);
        )*};
    }
    rate_faults! {
        Slow => "fills-the-line",
        NoWindow => "bounds-the-flight",
        KeepsTheMaximum => "follows-the-line",
        KeepsTheMaximum => "follows-the-line-in-two-probes",
        CountsAppLimited => "app-limited",
    }
    for rule in RULES {
        assert!(covered.contains(&rule.name), "nothing proves that `{}` can fail", rule.name);
    }
}

#[test]
fn a_control_that_halves_is_not_proportional_and_one_that_is_does_not_halve() {
    let halves = CcEntry {
        declared: DeclaredProperties { proportional: true, ..DECLARES },
        ..entry!(Nothing)
    };
    assert_eq!(broken_rules(&halves), ["proportional"]);
    let undeclared = CcEntry {
        name: "undeclared",
        summary: "DCTCP that hides what it is",
        spec: "none",
        equations: &[],
        params: dctcp::ENTRY.params,
        declared: DECLARES,
        requires: Requirements { ecn: true, host_stamps: false, rate_samples: false },
        build: dctcp::ENTRY.build,
    };
    assert_eq!(broken_rules(&undeclared), ["ecn-halves"]);
}

/// DCTCP with a wrong reaction to a loss.
#[derive(Debug)]
struct WrongOnLoss {
    inner: Box<dyn CongestionControl>,
    /// If set, a loss cuts by alpha, so without marks not at all. Otherwise a loss after a mark in
    /// one window of data has no reaction, however small the cut was.
    by_alpha: bool,
}

impl CongestionControl for WrongOnLoss {
    fn on_ack(&mut self, ack: &AckSample) -> Reaction {
        self.inner.on_ack(ack)
    }

    fn on_event(&mut self, event: &CongestionEvent) {
        match event {
            CongestionEvent::Loss { .. } if self.by_alpha => {
                let mark = AckSample { ece: true, may_reduce: true, ..AckSample::default() };
                let _ = self.inner.on_ack(&mark);
            }
            CongestionEvent::Loss { already_reduced: true, .. } => {}
            _ => self.inner.on_event(event),
        }
    }

    fn cwnd(&self) -> u64 {
        self.inner.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.inner.ssthresh()
    }
}

#[test]
fn a_dctcp_that_does_not_answer_a_loss_as_tcp_does_is_found() {
    let declares = DeclaredProperties { proportional: true, ..DECLARES };
    let by_alpha = CcEntry {
        declared: declares,
        equations: &[],
        params: dctcp::ENTRY.params,
        build: |values, path| {
            Box::new(WrongOnLoss { inner: (dctcp::ENTRY.build)(values, path), by_alpha: true })
        },
        ..entry!(Nothing)
    };
    assert!(broken_rules(&by_alpha).contains(&"loss-halves"));
    let forgets = CcEntry {
        declared: declares,
        equations: &[],
        params: dctcp::ENTRY.params,
        build: |values, path| {
            Box::new(WrongOnLoss { inner: (dctcp::ENTRY.build)(values, path), by_alpha: false })
        },
        ..entry!(Nothing)
    };
    assert_eq!(broken_rules(&forgets), ["one-reduction"]);
}

#[test]
fn exemptions_must_be_needed_known_and_cited() {
    let with = |exemptions| CcEntry {
        declared: DeclaredProperties { exemptions, ..DECLARES },
        ..entry!(CutsTooLittleOnMarks)
    };
    let cited = with(&[Exemption { rule: "ecn-halves", source: "RFC 8511" }]);
    assert_eq!(check(&cited), []);
    for (exemptions, says) in [
        (&[Exemption { rule: "ecn-halves", source: "" }], "no source"),
        (&[Exemption { rule: "loss-halves", source: "RFC 8511" }], "but follows it"),
        (&[Exemption { rule: "no-such-rule", source: "RFC 8511" }], "no rule"),
    ] {
        let broken = check(&with(exemptions));
        let found = broken.iter().any(|v| v.rule == "exemption" && v.detail.contains(says));
        assert!(found, "{exemptions:?}: {broken:?}");
    }
}

#[test]
fn a_violation_reads_as_rule_and_detail() {
    let broken = check(&entry!(TwoSegmentsAfterTimeout));
    let text = broken.iter().map(ToString::to_string).find(|t| t.starts_with("rto: ")).unwrap();
    assert!(text.contains("cwnd is 2896"), "{text}");
}
