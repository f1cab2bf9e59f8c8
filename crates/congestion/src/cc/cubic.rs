//! CUBIC: the window follows a cubic function of the time since the last reduction.
//!
//! ## Algorithm
//! Grows fast after a reduction, slowly near the window at which it happened, then fast again, and
//! at least as fast as Reno. A loss or the first mark of a window of data reduces the window to 70
//! %. The first slow start ends when the round-trip time rises (HyStart++).
//!
//! ## Spec
//! RFC 9438: §4.2 growth function, §4.3 Reno-friendly region, §4.4 and §4.5 concave and convex
//! regions, §4.6 decrease, §4.7 fast convergence, §4.8 timeout, §4.9 spurious events, §4.10 slow
//! start with HyStart++ (RFC 9406).
//!
//! ## Deviations
//! Integers throughout: time in microseconds, windows in bytes. A loss starts from FlightSize, an
//! ECN cut from cwnd (§4.6 allows it if cwnd cannot grow while it is not the limit). In the
//! Reno-friendly region cwnd is raised to the estimate and never lowered to it. An ACK for more
//! than a window counts as one window (after a timeout one ACK may cover many). The floor of both
//! reactions is the switch `window-floor` (§4.6 has two segments for a loss and one for ECN). The
//! limit L of HyStart++ is the switch `abc-limit`, and an idle restart begins a new round of it.
//!
//! ## Kernel twin
//! `tcp_cubic.c` in Linux differs in the Reno-friendly region, the units and HyStart: `variant =
//! "linux"` (`cubic/linux.rs`).

mod linux;

use alloc::boxed::Box;

use lowtide_schema::{DefaultValue, Param, ValueKind, Values};
use lowtide_units::{Duration, Instant, Probe, Unit};

use super::hystart::{CSS_GROWTH_DIVISOR, HYSTART, HyStart, MAX_RTT_THRESH, MIN_RTT_THRESH, Phase};
use super::{
    AckSample, CcEntry, CcSetup, CongestionControl, CongestionEvent, CongestionWindow,
    DeclaredProperties, Exemption, Factor, Reaction, Requirements, Signal,
};

/// beta_cubic (RFC 9438 §4.6).
const BETA: Factor = Factor { num: 7, den: 10 };
/// (1 + beta_cubic) / 2 (RFC 9438 §4.7).
const FAST_CONVERGENCE: Factor = Factor { num: 17, den: 20 };
/// alpha_cubic = 3 (1 - beta) / (1 + beta) (RFC 9438 §4.3).
const ALPHA: Factor = Factor { num: 9, den: 17 };
/// C = 0.4 segments per cubic second, as 4/10.
const C_NUM: u128 = 4;
const C_DEN: u128 = 10;
/// Cubic microseconds in a cubic second.
const CUBIC_US: u128 = 1_000_000_000_000_000_000;
/// Maximum time from the plateau, about 19 hours; keeps the cube in 128 bits.
const T_MAX_US: u64 = 1 << 36;
/// Fraction bits of the Reno estimate.
const EST_BITS: u32 = 16;

/// Registration.
pub static ENTRY: CcEntry = CcEntry {
    name: "cubic",
    summary: "cubic growth over time since the last reduction, beta 0.7",
    spec: "RFC 9438",
    equations: &[
        "W = C (t - K)^3 + w_max, K = cbrt(w_max (1 - beta) / C); at least the window of Reno",
        "loss or mark: w_max = cwnd; ssthresh = beta FlightSize, beta = 0.7, C = 0.4",
    ],
    params: &[
        Param {
            name: "variant",
            kind: ValueKind::Choice(&["rfc9438", "linux"]),
            default: DefaultValue::Is("rfc9438"),
            doc: "Rules of RFC 9438, or those in which Linux differs from it.",
            source: "RFC 9438; tcp_cubic.c",
        },
        Param {
            name: "fast-convergence",
            kind: ValueKind::Bool,
            default: DefaultValue::Is("true"),
            doc: "Lower the plateau further if it was not reached again.",
            source: "RFC 9438 §4.7",
        },
        HYSTART,
        MIN_RTT_THRESH,
        MAX_RTT_THRESH,
    ],
    declared: DeclaredProperties {
        reacts_to: &[Signal::Loss, Signal::Ecn, Signal::Delay],
        floor_segments: 2,
        proportional: false,
        rate_based: false,
        exemptions: &[
            Exemption { rule: "loss-halves", source: "RFC 9438 §4.6: beta_cubic is 0.7" },
            Exemption { rule: "ecn-halves", source: "RFC 9438 §4.6: beta_cubic is 0.7" },
            Exemption { rule: "additive-increase", source: "RFC 9438 §4.4, §4.5" },
        ],
    },
    requires: Requirements { ecn: false, host_stamps: false, rate_samples: false },
    build,
};

fn build(values: &Values, setup: &CcSetup) -> Box<dyn CongestionControl> {
    if values.name("variant") == "linux" {
        return linux::build(values, setup);
    }
    Box::new(Cubic {
        window: CongestionWindow::new(setup, BETA),
        fast_convergence: values.bool("fast-convergence"),
        curve: Curve { w_max: 0, cwnd_prior: 0, reset_plateau: true, stage: None },
        hystart: HyStart::new(values),
        before_loss: None,
        srtt: None,
        last_ack: setup.now,
        was_idle: false,
        growth_remainder: 0,
    })
}

/// State kept across reductions, and the current stage.
#[derive(Clone, Copy, Debug)]
struct Curve {
    /// W_max, bytes.
    w_max: u64,
    /// cwnd_prior, bytes.
    cwnd_prior: u64,
    /// The next stage starts at its own plateau: after slow start without a loss, or after a
    /// timeout.
    reset_plateau: bool,
    /// The congestion avoidance stage, from its first ACK.
    stage: Option<Stage>,
}

/// One congestion avoidance stage.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// Start of the stage, delayed by the time in which the application was the limit.
    start: Instant,
    /// K, microseconds.
    k_us: u64,
    /// W_max of this stage, bytes.
    plateau: u64,
    /// W_est in bytes, with [`EST_BITS`] fraction bits.
    w_est: u64,
}

#[derive(Debug)]
struct Cubic {
    window: CongestionWindow,
    fast_convergence: bool,
    curve: Curve,
    hystart: HyStart,
    /// The curve before the last loss reaction, for undo (RFC 9438 §4.9).
    before_loss: Option<Curve>,
    srtt: Option<Duration>,
    last_ack: Instant,
    /// Nothing was in flight after the last ACK.
    was_idle: bool,
    /// Growth in units of 1/cwnd byte that is not yet a whole byte.
    growth_remainder: u64,
}

impl Cubic {
    /// RFC 9438 §4.6 and §4.7, before the window is reduced from `cwnd`.
    fn note_reduction(&mut self) {
        self.hystart.stop();
        let cwnd = self.window.cwnd();
        self.curve.w_max = if self.fast_convergence && cwnd < self.curve.w_max {
            FAST_CONVERGENCE.of(cwnd)
        } else {
            cwnd
        };
        self.curve.cwnd_prior = cwnd;
        self.curve.reset_plateau = false;
        self.curve.stage = None;
        self.growth_remainder = 0;
    }

    /// Grows by slow start (RFC 9438 §4.10); returns the bytes of this ACK left for congestion
    /// avoidance.
    fn slow_start(&mut self, ack: &AckSample) -> u64 {
        match self.hystart.phase() {
            Phase::Conservative { .. } => self.window.slow_start_by(ack, CSS_GROWTH_DIVISOR),
            Phase::SlowStart | Phase::Over => self.window.slow_start(ack),
        }
    }

    /// RFC 9438 §4.3 to §4.5 for `acked` bytes in congestion avoidance.
    fn avoid(&mut self, now: Instant, acked: u64) {
        let (cwnd, mss) = (self.window.cwnd(), self.window.mss());
        // After a timeout, the ACK of the retransmission that fills a hole may cover many windows.
        let acked = acked.min(cwnd);
        let mut stage = match self.curve.stage {
            Some(stage) => stage,
            None => self.begin_stage(now),
        };
        let t = now.saturating_since(stage.start);
        let step = ((u128::from(acked) * u128::from(mss)) << EST_BITS) / u128::from(cwnd.max(1));
        let reno_again = stage.w_est >> EST_BITS >= self.curve.cwnd_prior;
        let step =
            if reno_again { step } else { step * u128::from(ALPHA.num) / u128::from(ALPHA.den) };
        stage.w_est = stage.w_est.saturating_add(u64::try_from(step).unwrap_or(u64::MAX));
        self.curve.stage = Some(stage);

        let estimate = stage.w_est >> EST_BITS;
        if w_cubic(&stage, mss, t) < estimate {
            self.window.raise_to(estimate);
            return;
        }
        let rtt = self.srtt.unwrap_or(Duration::ZERO);
        let most = cwnd.saturating_add(cwnd / 2);
        let target = w_cubic(&stage, mss, t + rtt).clamp(cwnd, most);
        let growth =
            u128::from(self.growth_remainder) + u128::from(target - cwnd) * u128::from(acked);
        let divisor = u128::from(cwnd.max(1));
        let grown = u64::try_from(growth / divisor).unwrap_or(u64::MAX);
        self.growth_remainder = u64::try_from(growth % divisor).unwrap_or(0);
        self.window.raise_to(cwnd.saturating_add(grown).min(target));
    }

    /// Begins a stage at the current window (RFC 9438 §4.2, §4.8).
    fn begin_stage(&mut self, now: Instant) -> Stage {
        let cwnd = self.window.cwnd();
        self.curve.w_max = if self.curve.reset_plateau { cwnd } else { self.curve.w_max.max(cwnd) };
        self.curve.reset_plateau = false;
        let plateau = self.curve.w_max;
        Stage {
            start: now,
            k_us: k_us(plateau - cwnd, self.window.mss()),
            plateau,
            w_est: cwnd.saturating_mul(1 << EST_BITS),
        }
    }

    /// Excludes time in which the application was the limit (RFC 9438 §4.2, §5.8).
    fn skip_idle(&mut self, ack: &AckSample) {
        let since_last = ack.now.saturating_since(self.last_ack);
        if !ack.may_grow && ack.app_limited {
            self.skip(since_last);
        } else if self.was_idle {
            // All except the round trip of the segment that ended the pause.
            self.skip(since_last - ack.rtt.or(self.srtt).unwrap_or(since_last));
        }
        self.last_ack = ack.now;
        self.was_idle = ack.in_flight == 0;
    }

    fn skip(&mut self, span: Duration) {
        if let Some(stage) = &mut self.curve.stage {
            stage.start += span;
        }
    }
}

/// K = cbrt((W_max - cwnd_epoch) / C), microseconds, rounded down (RFC 9438 §4.2 figure 2).
fn k_us(below_plateau: u64, mss: u64) -> u64 {
    let segments_over_c = u128::from(below_plateau) * C_DEN * CUBIC_US;
    cube_root(segments_over_c / (C_NUM * u128::from(mss.max(1))))
}

/// W_cubic(t) = C (t - K)^3 + W_max, bytes (RFC 9438 §4.2 figure 1); never negative.
fn w_cubic(stage: &Stage, mss: u64, t: Duration) -> u64 {
    let t_us = t.as_us();
    let distance = u128::from(t_us.abs_diff(stage.k_us).min(T_MAX_US));
    let cube = distance * distance * distance;
    let bytes = cube.saturating_mul(C_NUM * u128::from(mss)) / (C_DEN * CUBIC_US);
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    if t_us < stage.k_us {
        stage.plateau.saturating_sub(bytes)
    } else {
        stage.plateau.saturating_add(bytes)
    }
}

/// The largest integer whose cube is at most `n`.
fn cube_root(n: u128) -> u64 {
    let mut root: u128 = 0;
    for bit in (0..43).rev() {
        let try_root = root + (1 << bit);
        let cube = try_root.checked_mul(try_root).and_then(|s| s.checked_mul(try_root));
        if cube.is_some_and(|c| c <= n) {
            root = try_root;
        }
    }
    root as u64
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, ack: &AckSample) -> Reaction {
        self.skip_idle(ack);
        if let Some(rtt) = ack.rtt {
            // The smoothed round-trip time of RFC 6298 §2.3.
            self.srtt = Some(self.srtt.map_or(rtt, |s| s - s / 8 + rtt / 8));
        }
        if ack.ece && ack.may_reduce && self.window.ecn() {
            self.window.drop_unused(ack);
            self.note_reduction();
            self.window.cut_to(BETA.of(self.window.cwnd()));
            return Reaction::Reduced;
        }
        if ack.may_grow {
            let rest = self.slow_start(ack);
            if rest > 0 {
                self.avoid(ack.now, rest);
            }
        }
        if self.hystart.phase() != Phase::Over && self.hystart.ends_slow_start(ack) {
            self.window.end_slow_start();
        }
        Reaction::None
    }

    fn on_event(&mut self, event: &CongestionEvent) {
        match *event {
            CongestionEvent::Loss { already_reduced, .. } => {
                self.before_loss = Some(self.curve);
                if !already_reduced {
                    self.note_reduction();
                }
            }
            CongestionEvent::Rto { first, in_recovery, .. } => {
                if first {
                    if !in_recovery || !self.window.can_undo() {
                        self.before_loss = Some(self.curve);
                    }
                    self.note_reduction();
                }
                self.curve.reset_plateau = true;
                self.curve.stage = None;
            }
            CongestionEvent::IdleRestart { now, idle, .. } => {
                self.skip(idle);
                self.last_ack = now;
                self.hystart.restart();
            }
            CongestionEvent::Undo { .. } => {
                if let Some(curve) = self.before_loss.take().filter(|_| self.window.can_undo()) {
                    self.curve = curve;
                }
            }
            CongestionEvent::Recovered { .. }
            | CongestionEvent::TransmitStart { .. }
            | CongestionEvent::SegmentLost { .. } => {}
        }
        self.window.on_event(event);
    }

    fn cwnd(&self) -> u64 {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh()
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("w_max", Unit::Bytes, self.curve.w_max);
    }
}

#[cfg(test)]
mod tests;
