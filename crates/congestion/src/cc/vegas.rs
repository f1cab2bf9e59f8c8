//! Vegas: compares the actual with the expected rate, and keeps a few segments queued.
//!
//! ## Algorithm
//! Once per round trip it estimates how many segments of its window are queued: bytes in flight
//! times `(RTT - base RTT) / RTT`. Below `alpha` segments the window grows by one over the next
//! round trip; above `beta` it shrinks by one; between them it is unchanged. Slow start doubles
//! only in every other round trip, so that the one between can be measured, and ends when more than
//! `gamma` segments are queued. The reaction to a loss, a timeout and (with ECN) a mark is
//! NewReno's.
//!
//! ## Spec
//! Brakmo and Peterson, *TCP Vegas: End to End Congestion Avoidance on a Global Internet*, IEEE
//! JSAC 1995 §III-B and §III-C; values as in ns-2, with which DX fig. 7 compares.
//!
//! ## Deviations
//! The round trip of a decision is the mean of the samples of one round, as in ns-2; the paper
//! times one segment. Slow start ends with a reduction by an eighth, as in ns-2; the paper only
//! changes the mode. The base RTT is the minimum ever seen and never expires. A longer route
//! therefore looks like a queue, and a flow that starts behind a queue counts it as part of the
//! path, as DX shows beside its fig. 7. Decisions are made only on ACKs that may grow the window:
//! not in recovery, and not if something else than the window is the limit. The early
//! retransmission of §III-A is excluded: the profile decides loss detection.
//!
//! ## Kernel twin
//! `tcp_vegas.c` in Linux 6.18 with alpha 2, beta 4, gamma 1; it uses the minimum sample of a
//! round, not the mean, and doubles in every round trip.

use alloc::boxed::Box;

use lowtide_schema::{DefaultValue, Param, ValueKind, Values};
use lowtide_units::{Duration, Probe, Unit};

use super::{
    AckSample, CcEntry, CcSetup, CongestionControl, CongestionEvent, CongestionWindow,
    DeclaredProperties, Factor, Reaction, Requirements, Signal,
};

const MAX_SEGMENTS: u64 = 1000;

/// A parameter that is a number of queued segments.
const fn segments(
    name: &'static str,
    default: &'static str,
    doc: &'static str,
    source: &'static str,
) -> Param {
    let kind = ValueKind::Count { min: 0, max: MAX_SEGMENTS };
    Param { name, kind, default: DefaultValue::Is(default), doc, source }
}

/// Registration.
pub static ENTRY: CcEntry = CcEntry {
    name: "vegas",
    summary: "keeps between alpha and beta of its segments in the queue, by round-trip time",
    spec: "Brakmo and Peterson 1995 §III-B, §III-C",
    equations: &[
        "queued = in_flight (rtt - base_rtt) / rtt",
        "per RTT: queued < alpha: cwnd += mss; queued > beta: cwnd -= mss",
    ],
    params: &[
        segments(
            "alpha",
            "1",
            "Fewer queued segments than this: the window grows.",
            "ns-2, DX fig. 7",
        ),
        segments(
            "beta",
            "3",
            "More queued segments than this: the window shrinks.",
            "ns-2, DX fig. 7",
        ),
        segments("gamma", "1", "More queued segments than this end slow start.", "ns-2"),
    ],
    declared: DeclaredProperties {
        reacts_to: &[Signal::Loss, Signal::Ecn, Signal::Delay],
        floor_segments: 2,
        proportional: false,
        rate_based: false,
        exemptions: &[],
    },
    requires: Requirements { ecn: false, host_stamps: false, rate_samples: false },
    build,
};

fn build(values: &Values, setup: &CcSetup) -> Box<dyn CongestionControl> {
    let window = CongestionWindow::new(setup, Factor::HALF);
    let bytes = |name| values.count(name) * window.mss();
    let alpha = bytes("alpha");
    Box::new(Vegas {
        alpha,
        beta: bytes("beta").max(alpha),
        gamma: bytes("gamma"),
        window,
        base: None,
        round: Round { restart: true, ..Round::default() },
        doubling: true,
        increase: true,
    })
}

/// Measurements of one round trip.
#[derive(Debug, Default)]
struct Round {
    /// The round ends when everything up to here is acknowledged.
    end: u64,
    /// Sum of the samples, picoseconds.
    sum: u128,
    samples: u32,
    /// Maximum bytes in flight.
    max_in_flight: u64,
    /// The measurements are void: the next ACK of data begins a new round.
    restart: bool,
}

impl Round {
    fn from(end: u64) -> Self {
        Self { end, ..Self::default() }
    }

    /// Bytes in flight beyond the capacity of the path; none without a sample.
    fn diff_bytes(&self, base: Duration) -> Option<u64> {
        let mean = self.sum.checked_div(u128::from(self.samples))?;
        let excess = mean.saturating_sub(u128::from(base.as_ps()));
        let bytes = u128::from(self.max_in_flight) * excess;
        // The excess is at most the mean.
        bytes.checked_div(mean).map(|bytes| bytes as u64)
    }
}

#[derive(Debug)]
struct Vegas {
    window: CongestionWindow,
    /// Thresholds, bytes.
    alpha: u64,
    beta: u64,
    gamma: u64,
    base: Option<Duration>,
    round: Round,
    /// Slow start doubles in this round trip.
    doubling: bool,
    /// Congestion avoidance adds a segment in this round trip.
    increase: bool,
}

impl Vegas {
    fn on_sample(&mut self, ack: &AckSample) {
        self.round.max_in_flight = self.round.max_in_flight.max(ack.prior_in_flight);
        if let Some(rtt) = ack.rtt {
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.round.sum += u128::from(rtt.as_ps());
            self.round.samples = self.round.samples.saturating_add(1);
        }
    }

    /// Decides from the round trip that ends now.
    fn decide(&mut self) -> Reaction {
        let Some(queued) = self.base.and_then(|base| self.round.diff_bytes(base)) else {
            return Reaction::None;
        };
        let cwnd = self.window.cwnd();
        if cwnd < self.window.ssthresh() {
            if queued > self.gamma {
                return self.shrink_to(cwnd - cwnd / 8);
            }
            self.doubling = !self.doubling;
            return Reaction::None;
        }
        self.increase = queued < self.alpha;
        if queued > self.beta {
            return self.shrink_to(cwnd - self.window.mss().min(cwnd));
        }
        Reaction::None
    }

    /// Cuts the window; congestion avoidance follows. No reduction is reported at the floor.
    fn shrink_to(&mut self, target: u64) -> Reaction {
        let before = self.window.cwnd();
        self.window.cut_to(target);
        self.increase = false;
        if self.window.cwnd() < before { Reaction::Reduced } else { Reaction::None }
    }

    fn grow(&mut self, ack: &AckSample) {
        let slow = self.window.cwnd() < self.window.ssthresh();
        let rest = match (slow, self.doubling) {
            (true, true) => self.window.slow_start(ack),
            (true, false) => 0,
            (false, _) => self.window.counted_bytes(ack),
        };
        if self.increase && self.window.cwnd() >= self.window.ssthresh() {
            self.window.congestion_avoidance(rest);
        }
    }
}

impl CongestionControl for Vegas {
    fn on_ack(&mut self, ack: &AckSample) -> Reaction {
        if ack.ece && ack.may_reduce && self.window.ecn() {
            self.window.drop_unused(ack);
            self.window.cut_to(self.window.cwnd() / 2);
            self.round.restart = true;
            return Reaction::Reduced;
        }
        let ended = !self.round.restart && ack.snd_una >= self.round.end;
        if self.round.restart && ack.acked_bytes > 0 {
            self.round = Round::from(ack.snd_nxt);
        }
        self.on_sample(ack);
        let mut reaction = Reaction::None;
        if ended {
            if ack.may_grow {
                reaction = self.decide();
            }
            self.round = Round::from(ack.snd_nxt);
        }
        if reaction == Reaction::None && ack.may_grow {
            self.grow(ack);
        }
        reaction
    }

    fn on_event(&mut self, event: &CongestionEvent) {
        // The measurements belong to the old window.
        self.round.restart = true;
        self.increase = true;
        self.doubling = true;
        self.window.on_event(event);
    }

    fn cwnd(&self) -> u64 {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh()
    }

    fn probe(&self, out: &mut dyn Probe) {
        if let Some(base) = self.base {
            out.value("base-rtt", Unit::Picoseconds, base.as_ps());
        }
    }
}

#[cfg(test)]
mod tests;
