//! Swift: keeps the delay of the fabric and that of the hosts at a target, with a window for each.
//!
//! ## Algorithm
//! The round trip is split by host timestamps ([`AckSample::fabric_delay`] and
//! [`AckSample::endpoint_delay`]). Each part has a target and a window, both by one rule, and the
//! smaller window applies. Below the target an ACK of `n` segments adds `ai n / W` segments to a
//! window `W` of one segment or more, `ai n` to a smaller one. At the target or above it, at most
//! once per round trip, the window is multiplied by
//! `max(1 - beta (delay - target) / delay, 1 - max_mdf)`. The fabric's target is
//! `base + hops h + max(0, min(a / sqrt(W) + b, fs_range))`, with
//! `a = fs_range / (1 / sqrt(fs_min) - 1 / sqrt(fs_max))` and `b = -a / sqrt(fs_max)`: the fewer
//! segments a flow has in flight, the more flows there are, and the longer the queue that their
//! bursts make. Below one segment the connection sends one segment every `srtt / W`.
//!
//! A loss multiplies both windows by `1 - max_mdf`, at most once per round trip, and so does a
//! timeout. From `retx-reset-threshold` timeouts in a row on, both are `min-cwnd`.
//!
//! ## Spec
//! Kumar et al., *Swift: Delay is Simple and Effective for Congestion Control in the Datacenter*,
//! SIGCOMM 2020: algorithm 1, §3.3 (fabric and endpoint), §3.4 (below one segment), §3.5 (target).
//! The paper tunes its constants for each network: the defaults of `ai`, `beta`, `max-mdf`, the
//! flow scaling and the reset threshold are those of htsim (`swift.cpp`), which calls them
//! guesses; the others are chosen here. [`ENTRY`] says which.
//!
//! ## Deviations
//! - A window that is *equal* to the one before is no decrease. Line 27 of algorithm 1 has
//!   `cwnd <= cwnd_prev`, by which every ACK above the target would defer the next decrease.
//! - "Once per RTT" is the last measured RTT; algorithm 1 says `rtt` only.
//! - `hops` is a parameter: segments here have no TTL, from which §3.5 counts them.
//! - The fabric's delay begins when the last bit has left the sender, so the wait in its NIC is in
//!   neither part. The endpoint's covers the peer from the arrival of the newest segment to the
//!   departure of the ACK, the wait for the line included, and here from the arrival of the ACK to
//!   TCP. In §3.1 the peer's part ends when its stack is done.
//! - The paper is silent on these: an ACK without a measurement (it covers no full segment) changes
//!   nothing; a window grows only if [`AckSample::may_grow`] is set; the EWMA of the endpoint's
//!   delay has gain 1/8; idle and spurious losses are processed as elsewhere.
//! - Windows are multiples of 2^-16 B, but the connection gets whole bytes, at least one.
//!
//! A target below the unloaded delay of its part (the base round trip, the hosts without load) is
//! always exceeded: the window falls to `min-cwnd`. If the peer has no delay option, the connection
//! uses `newreno` instead and reports it (`Info::cc`).
//!
//! ## Kernel twin
//! None; the kernel gives a control no timestamps of the NIC.

use alloc::boxed::Box;

use lowtide_schema::{DefaultValue, Param, ValueKind, Values};
use lowtide_units::{Duration, Instant, Probe, Ratio, Unit};

use super::{
    AckSample, CcEntry, CcSetup, CongestionControl, CongestionEvent, DeclaredProperties, Exemption,
    Reaction, Requirements, Signal,
};

const fn time(
    name: &'static str,
    default: &'static str,
    doc: &'static str,
    source: &'static str,
) -> Param {
    let kind = ValueKind::Duration { min: Duration::ZERO, max: Duration::from_secs(1) };
    Param { name, kind, default: DefaultValue::Is(default), doc, source }
}

const fn ratio(
    name: &'static str,
    default: &'static str,
    doc: &'static str,
    source: &'static str,
) -> Param {
    Param { name, kind: ValueKind::Ratio, default: DefaultValue::Is(default), doc, source }
}

const fn count(
    name: &'static str,
    max: u64,
    default: &'static str,
    doc: &'static str,
    source: &'static str,
) -> Param {
    let kind = ValueKind::Count { min: 1, max };
    Param { name, kind, default: DefaultValue::Is(default), doc, source }
}

/// Registration.
pub static ENTRY: CcEntry = CcEntry {
    name: "swift",
    summary: "keeps the delay of the fabric and that of the hosts at a target, with a window each",
    spec: "Swift, SIGCOMM 2020: algorithm 1, §3.3 to §3.5",
    equations: &[
        "cwnd = min(fabric window, endpoint window); each W follows its delay and its target",
        "delay < target, per ACK of n segments: W += ai n / W, or ai n if W < 1",
        "else, once per RTT: W *= max(1 - beta (delay - target) / delay, 1 - max-mdf)",
    ],
    params: &[
        time(
            "base-target",
            "25 us",
            "Target of a fabric window W: base-target + hops hop-delay + max(0, min(a / sqrt(W) + b, fs-range)); above the base round trip.",
            "Swift §3.5 has no value; chosen",
        ),
        count(
            "hops",
            255,
            "1",
            "Switches from sender to receiver.",
            "Swift §3.5 counts them by TTL; chosen: one switch",
        ),
        time("hop-delay", "1 us", "h: target for each hop.", "Swift §3.5 has no value; chosen"),
        time(
            "fs-range",
            "100 us",
            "Most that flow scaling adds; a = fs-range / (1 / sqrt(fs-min-cwnd) - 1 / sqrt(fs-max-cwnd)), b = -a / sqrt(fs-max-cwnd).",
            "Swift §3.5; htsim: five times its base target",
        ),
        ratio(
            "fs-min-cwnd",
            "0.1",
            "Window, segments, up to which the target is the longest.",
            "Swift §3.5; htsim",
        ),
        ratio(
            "fs-max-cwnd",
            "100",
            "Window, segments, from which nothing is added; above `fs-min-cwnd`.",
            "Swift §3.5; htsim",
        ),
        time(
            "endpoint-target",
            "100 us",
            "EWMA of the delay in the hosts that the endpoint window aims at; above their unloaded delay. The smaller window applies.",
            "Swift §3.3 has no value; chosen",
        ),
        ratio(
            "ai",
            "1",
            "Below the target an ACK of n segments adds ai n / W to W, or ai n if W < 1.",
            "Swift algorithm 1; htsim",
        ),
        ratio(
            "beta",
            "0.8",
            "Else, once per round trip, W = max(1 - beta (delay - target) / delay, 1 - max-mdf) W.",
            "Swift algorithm 1; htsim",
        ),
        ratio(
            "max-mdf",
            "0.5",
            "Largest share that a decrease, a loss or a timeout takes; at most 1.",
            "Swift algorithm 1; htsim",
        ),
        ratio("min-cwnd", "0.001", "Minimum window, segments.", "Swift algorithm 1; chosen"),
        count(
            "max-cwnd",
            1_000_000,
            "1000",
            "Maximum window, segments.",
            "Swift algorithm 1; htsim",
        ),
        count(
            "retx-reset-threshold",
            1000,
            "5",
            "Timeouts in a row from which the window is `min-cwnd`.",
            "Swift algorithm 1; htsim",
        ),
    ],
    declared: DeclaredProperties {
        reacts_to: &[Signal::Loss, Signal::Delay],
        floor_segments: 0,
        proportional: false,
        rate_based: false,
        exemptions: &[
            Exemption {
                rule: "additive-increase",
                source: "Swift algorithm 1: ai n / W at each ACK, without slow start",
            },
            Exemption {
                rule: "loss-halves",
                source: "Swift algorithm 1: a loss multiplies cwnd, not the bytes in flight",
            },
            Exemption {
                rule: "recovered-burst",
                source: "Swift algorithm 1: the end of recovery leaves the window",
            },
            Exemption { rule: "rto", source: "Swift algorithm 1: 1 - max_mdf of cwnd" },
        ],
    },
    requires: Requirements { ecn: false, host_stamps: true, rate_samples: false },
    build,
};

/// One byte in units of a window.
const BYTE: u64 = 1 << 16;

const fn times(ratio: Ratio, value: u128) -> u128 {
    value * ratio.num as u128 / ratio.den.get() as u128
}

/// `2^20 / sqrt(num / den)`; `num` must not be zero.
const fn inverse_root(num: u128, den: u128) -> u64 {
    ((den << 40) / num).isqrt() as u64
}

/// Returns what is wrong with these values together, and what would be right.
pub fn contradiction(values: &Values) -> Option<[&'static str; 2]> {
    let above = |a: Ratio, b: Ratio| {
        u64::from(a.num) * u64::from(b.den.get()) > u64::from(b.num) * u64::from(a.den.get())
    };
    let [least, most] = ["fs-min-cwnd", "fs-max-cwnd"].map(|name| values.ratio(name));
    let share = values.ratio("max-mdf");
    if share.num > share.den.get() {
        Some(["takes more than the window", "`max-mdf` is at most 1"])
    } else if !above(most, least) {
        Some(["scales its target over no windows", "`fs-max-cwnd` is above `fs-min-cwnd`"])
    } else if values.duration("endpoint-target") == Duration::ZERO {
        Some(["allows no delay in the hosts", "`endpoint-target` is above zero"])
    } else {
        None
    }
}

/// The fabric's target without flow scaling, which must be above the base round trip of a path.
pub fn least_target(values: &Values) -> Duration {
    values.duration("base-target") + values.duration("hop-delay") * values.count("hops")
}

fn build(values: &Values, setup: &CcSetup) -> Box<dyn CongestionControl> {
    let segment = u64::from(setup.mss) * BYTE;
    let root = |name| {
        let cwnd = values.ratio(name);
        inverse_root(cwnd.num.into(), cwnd.den.get().into())
    };
    let max = segment * values.count("max-cwnd");
    let min = times(values.ratio("min-cwnd"), segment.into()).max(BYTE.into());
    let rule = Rule {
        segment,
        ai: values.ratio("ai"),
        beta: values.ratio("beta"),
        max_mdf: values.ratio("max-mdf"),
        min: u64::try_from(min).unwrap_or(max).min(max),
        max,
        target: least_target(values),
        fs_range: values.duration("fs-range"),
        fs_near: root("fs-max-cwnd"),
        fs_far: root("fs-min-cwnd"),
    };
    let size = rule.clamp(u128::from(setup.initial_window) * u128::from(BYTE));
    let window = Window { size, decreased_at: None };
    Box::new(Swift {
        rule,
        endpoint_target: values.duration("endpoint-target"),
        reset_threshold: values.count("retx-reset-threshold"),
        initial: size,
        fabric: window,
        endpoint: window,
        fabric_delay: None,
        endpoint_delay: None,
        rtt: Duration::ZERO,
        timeouts: 0,
        ssthresh: u64::MAX,
        undo: None,
    })
}

/// Algorithm 1 and its constants. Windows are multiples of 2^-16 B.
#[derive(Debug)]
struct Rule {
    segment: u64,
    ai: Ratio,
    beta: Ratio,
    max_mdf: Ratio,
    min: u64,
    max: u64,
    /// The fabric's target without flow scaling.
    target: Duration,
    fs_range: Duration,
    /// `2^20 / sqrt(fs_max)` and `2^20 / sqrt(fs_min)`.
    fs_near: u64,
    fs_far: u64,
}

impl Rule {
    fn clamp(&self, size: u128) -> u64 {
        u64::try_from(size).unwrap_or(u64::MAX).clamp(self.min, self.max)
    }

    /// The fabric's target at that window (§3.5). `a / sqrt(W) + b` is `fs_range` times the share
    /// of `1 / sqrt(W)` on the way from `1 / sqrt(fs_max)` to `1 / sqrt(fs_min)`.
    fn fabric_target(&self, size: u64) -> Duration {
        let root = inverse_root(size.into(), self.segment.into());
        let span = self.fs_far.saturating_sub(self.fs_near).max(1);
        let share = root.saturating_sub(self.fs_near).min(span);
        let more = u128::from(self.fs_range.as_ps()) * u128::from(share) / u128::from(span);
        self.target.saturating_add(Duration::from_ps(more as u64))
    }

    fn increase(&self, window: &mut Window, acked_bytes: u64) {
        let grown = times(self.ai, u128::from(acked_bytes) * u128::from(BYTE));
        let per_window = u128::from(window.size.max(self.segment));
        let more = grown.saturating_mul(self.segment.into()) / per_window;
        window.size = self.clamp(u128::from(window.size) + more);
    }

    /// Takes `num / den` of the window, at most `max_mdf`, unless it decreased within `rtt`.
    fn decrease(&self, window: &mut Window, now: Instant, rtt: Duration, num: u64, den: u64) {
        if window.decreased_at.is_some_and(|at| now.saturating_since(at) < rtt) {
            return;
        }
        let size = u128::from(window.size);
        let most = times(self.max_mdf, size).min(size);
        let cut = (size * u128::from(num)).checked_div(den.into()).map_or(most, |c| c.min(most));
        let after = self.clamp(size - cut);
        if after < window.size {
            *window = Window { size: after, decreased_at: Some(now) };
        }
    }

    fn on_delay(
        &self,
        window: &mut Window,
        ack: &AckSample,
        rtt: Duration,
        delay: Duration,
        target: Duration,
    ) {
        if delay >= target {
            let above = times(self.beta, (delay.as_ps() - target.as_ps()).into());
            let above = u64::try_from(above).unwrap_or(u64::MAX);
            self.decrease(window, ack.now, rtt, above, delay.as_ps());
        } else if ack.may_grow {
            self.increase(window, ack.delivered_bytes);
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Window {
    size: u64,
    decreased_at: Option<Instant>,
}

#[derive(Debug)]
struct Swift {
    rule: Rule,
    endpoint_target: Duration,
    reset_threshold: u64,
    initial: u64,
    fabric: Window,
    endpoint: Window,
    /// The last one.
    fabric_delay: Option<Duration>,
    /// Its EWMA.
    endpoint_delay: Option<Duration>,
    /// The last RTT; zero before it.
    rtt: Duration,
    /// Timeouts since the last ACK.
    timeouts: u64,
    ssthresh: u64,
    /// Windows and ssthresh before the last loss reaction.
    undo: Option<(u64, u64, u64)>,
}

impl Swift {
    fn on_loss(&mut self, now: Instant) {
        for window in [&mut self.fabric, &mut self.endpoint] {
            self.rule.decrease(window, now, self.rtt, 1, 1);
        }
        self.ssthresh = self.cwnd();
    }

    fn save(&mut self) {
        self.undo = Some((self.fabric.size, self.endpoint.size, self.ssthresh));
    }
}

impl CongestionControl for Swift {
    fn on_ack(&mut self, ack: &AckSample) -> Reaction {
        let before = self.cwnd();
        self.timeouts = 0;
        self.rtt = ack.rtt.unwrap_or(self.rtt);
        if let Some(delay) = ack.fabric_delay {
            self.fabric_delay = Some(delay);
            let target = self.rule.fabric_target(self.fabric.size);
            self.rule.on_delay(&mut self.fabric, ack, self.rtt, delay, target);
        }
        if let Some(sample) = ack.endpoint_delay {
            let mean = self.endpoint_delay.map_or(sample, |mean| mean - mean / 8 + sample / 8);
            self.endpoint_delay = Some(mean);
            let target = self.endpoint_target;
            self.rule.on_delay(&mut self.endpoint, ack, self.rtt, mean, target);
        }
        if self.cwnd() < before { Reaction::Reduced } else { Reaction::None }
    }

    fn on_event(&mut self, event: &CongestionEvent) {
        match *event {
            CongestionEvent::Loss { now, .. } => {
                self.timeouts = 0;
                self.save();
                self.on_loss(now);
            }
            CongestionEvent::Rto { now, first, in_recovery, .. } => {
                if first && (!in_recovery || self.undo.is_none()) {
                    self.save();
                }
                self.timeouts = self.timeouts.saturating_add(1);
                if self.timeouts >= self.reset_threshold {
                    let window = Window { size: self.rule.min, decreased_at: Some(now) };
                    (self.fabric, self.endpoint) = (window, window);
                    self.ssthresh = self.cwnd();
                } else {
                    self.on_loss(now);
                }
            }
            CongestionEvent::IdleRestart { .. } => {
                self.fabric.size = self.fabric.size.min(self.initial);
                self.endpoint.size = self.endpoint.size.min(self.initial);
                self.undo = None;
            }
            CongestionEvent::Undo { .. } => {
                if let Some((fabric, endpoint, ssthresh)) = self.undo.take() {
                    self.fabric.size = self.fabric.size.max(fabric);
                    self.endpoint.size = self.endpoint.size.max(endpoint);
                    self.ssthresh = ssthresh;
                }
            }
            CongestionEvent::Recovered { .. }
            | CongestionEvent::TransmitStart { .. }
            | CongestionEvent::SegmentLost { .. } => {}
        }
    }

    fn cwnd(&self) -> u64 {
        self.fabric.size.min(self.endpoint.size) / BYTE
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("fabric-window", Unit::Bytes, self.fabric.size / BYTE);
        out.value("endpoint-window", Unit::Bytes, self.endpoint.size / BYTE);
        let target = self.rule.fabric_target(self.fabric.size);
        out.value("target-delay", Unit::Picoseconds, target.as_ps());
        if let Some((fabric, endpoint)) = self.fabric_delay.zip(self.endpoint_delay) {
            out.value("fabric-delay", Unit::Picoseconds, fabric.as_ps());
            out.value("endpoint-delay", Unit::Picoseconds, endpoint.as_ps());
        }
    }
}

#[cfg(test)]
mod tests;
