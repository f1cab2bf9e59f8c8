//! DX: adjusts the window once per round trip to the mean queueing delay.
//!
//! ## Algorithm
//! Takes the mean `Q` of the one-way queueing delays of a round trip (`delay` in `tcp`). Without a
//! queue the window grows by one segment. With a queue it is reduced by the share `Q / V`, which
//! drains the queue if all flows do so. `V` depends on the minimum round trip `R` and the window
//! alone: a flow with a small share of the link infers that there are many.
//!
//! ## Spec
//! Lee et al., *DX: Latency-Based Congestion Control for Datacenters*, ToN 2017: eq. 1 and 8,
//! §IV-B, §V-B. With `V = R W / (W - 1)` a cut takes `(W - 1) Q / R` segments.
//!
//! ## Deviations
//! Ours, where the paper is silent:
//! - `W <= 1`, where eq. 8 has no value: its limit, no cut. A window of one segment stays.
//! - `Q >= V`: eq. 1 leaves nothing; the floor of the switch `window-floor` remains.
//! - Slow start until the first `Q` above the headroom, which is a cut like any other; later only
//!   after a reaction to loss. Growth counts bytes as NewReno does.
//! - `Q` up to `headroom` counts as no queue, so the window grows: §V-B says only that it is not
//!   reduced. `below-headroom = "hold"` leaves it. With noise no mean is zero, and the window then
//!   never grows: no headroom of fig. 15 fills the line.
//! - A cut takes away the delay above the headroom (`cut-by = "excess"`), with the `V` of eq. 8.
//!   Eq. 1, which knows no headroom, takes all of it (`whole`). By §VI-C 1 more headroom sustains
//!   noise, "followed by the same amount of increase in queue length". With `whole` no headroom
//!   fills the line under the noise of fig. 15. `excess-shifted` has eq. 6 at a queue of the
//!   headroom: `V = (R + headroom) W / (W - 1)`. Fig. 15 cannot tell it from `excess`; eq. 8 can,
//!   whose `R` is the base round trip.
//! - A round trip without a measurement changes nothing beyond slow start.
//! - A round ends at the first ACK of data sent after the last decision. Such an ACK and all
//!   earlier ones measure the time before that decision. §V-B averages "the last round trip", eq.
//!   1 decides "once in a round-trip", and by eq. 4 to 6 one cut drains a queue. Default (`decide =
//!   "after-cut"`): a decision in each round trip, but after a cut only data sent since counts.
//!   `each-round` always counts all, so a queue has two cuts. `fresh-round` always counts only data
//!   sent since, and thus decides in every second round trip.
//! - `W*` of eq. 8 is "the previous window size", under which `Q` arose. Here it is the window at
//!   the decision. Both are equal if all measured data was sent after the last decision. Otherwise
//!   they differ by that decision: after growth by one segment, and any window not yet doubled, a
//!   cut differs by less than `Q / R` of a segment.
//! - Loss without congestion leaves the window (§IV-B). A loss is congestion if the last `Q`, or
//!   that of the current round, is above the headroom, or if nothing was measured: then NewReno's
//!   reaction applies. A second timeout without a measurement between them always is: no ACKs
//!   return.
//! - The weight of a measurement is the number of segments that its ACK covers.
//!
//! A queue in the sender's own NIC is before `t1` and thus not a network delay. If the NIC is the
//! bottleneck, the window grows until the peer's window or the send buffer limits it.
//!
//! If the peer has no delay option, the connection uses `newreno` instead and reports it
//! (`Info::cc`).
//!
//! ## Kernel twin
//! None; the paper's is for Linux 3.13 and reads delays computed by a DPDK driver.

use alloc::boxed::Box;

use lowtide_schema::{DefaultValue, Param, ValueKind, Values};
use lowtide_units::{Duration, Probe, Unit};

use super::{
    AckSample, CcEntry, CcSetup, CongestionControl, CongestionEvent, CongestionWindow,
    DeclaredProperties, Exemption, Factor, Reaction, Requirements, Signal,
};

const CUT_BY: &[&str] = &["whole", "excess", "excess-shifted"];
const DECIDE: &[&str] = &["each-round", "fresh-round", "after-cut"];

/// Measurements that a decision counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DecideRule {
    /// All since the last decision.
    EachRound,
    /// Those of data sent after the last decision.
    FreshRound,
    /// Those of data sent after the last decision if it was a cut, else all since it.
    AfterCut,
}

/// Delay that a cut takes away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CutBy {
    /// `Q`.
    Whole,
    /// `Q - headroom`.
    Excess,
    /// `Q - headroom`, with the round trip of a queue as long as the headroom.
    ExcessShifted,
}

/// Registration.
pub static ENTRY: CcEntry = CcEntry {
    name: "dx",
    summary: "drain the queue that host timestamps measure, grow when there is none",
    spec: "DX, ToN 2017: eq. 1, eq. 8, §V-B",
    equations: &[
        "V = R W / (W - 1), R the minimum RTT, Q the mean queueing delay of an RTT",
        "per RTT: Q = 0: W += 1 segment; else W = W (1 - Q / V) + 1",
    ],
    params: &[
        Param {
            name: "headroom",
            kind: ValueKind::Duration { min: Duration::ZERO, max: Duration::from_secs(1) },
            default: DefaultValue::Is("1.2 us"),
            doc: "A mean queueing delay up to this counts as none.",
            source: "DX §V-B: as large as the error of a measurement; §III: one packet at 10 Gbit/s",
        },
        Param {
            name: "decide",
            kind: ValueKind::Choice(DECIDE),
            default: DefaultValue::Is("after-cut"),
            doc: "Measurements that a decision counts: after a cut those of data sent since, else all since the last decision (after-cut); always all (each-round); always those of data sent since (fresh-round).",
            source: "DX §V-B and eq. 1, once in a round trip; eq. 4 to 6, one cut for a queue",
        },
        Param {
            name: "cut-by",
            kind: ValueKind::Choice(CUT_BY),
            default: DefaultValue::Is("excess"),
            doc: "Delay that a cut takes away: all of it, that above the headroom, or that above it with V at a queue of the headroom.",
            source: "DX eq. 1 (whole); §VI-C 1, fig. 15 (excess); eq. 6 at a queue of the headroom (excess-shifted)",
        },
        Param {
            name: "below-headroom",
            kind: ValueKind::Choice(&["grow", "hold"]),
            default: DefaultValue::Is("grow"),
            doc: "Window after a positive delay up to the headroom.",
            source: "DX §V-B says only that it is not reduced",
        },
    ],
    declared: DeclaredProperties {
        reacts_to: &[Signal::Delay],
        floor_segments: 1,
        proportional: false,
        rate_based: false,
        exemptions: &[
            Exemption {
                rule: "rto",
                source: "DX §IV-B: a timeout without congestion leaves the window",
            },
            Exemption { rule: "recovered-burst", source: "DX §IV-B: the window remains the same" },
        ],
    },
    requires: Requirements { ecn: false, host_stamps: true, rate_samples: false },
    build,
};

fn build(values: &Values, setup: &CcSetup) -> Box<dyn CongestionControl> {
    Box::new(Dx {
        window: CongestionWindow::new(setup, Factor::HALF),
        headroom: values.duration("headroom").as_ns(),
        rule: match values.name("decide") {
            "each-round" => DecideRule::EachRound,
            "fresh-round" => DecideRule::FreshRound,
            _ => DecideRule::AfterCut,
        },
        cut_by: match values.name("cut-by") {
            "whole" => CutBy::Whole,
            "excess-shifted" => CutBy::ExcessShifted,
            _ => CutBy::Excess,
        },
        holds: values.name("below-headroom") == "hold",
        round: Round::default(),
        queueing: None,
        base_rtt: 0,
        deferred_loss: DeferredLoss::Nothing,
    })
}

/// Measurements since the last decision. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// SND.NXT at the start; an ACK beyond it ends the round.
    end: u64,
    /// So far only data sent before the last decision is acknowledged.
    stale: bool,
    sum: u64,
    segments: u64,
}

impl Round {
    fn mean(&self) -> Option<u64> {
        self.sum.checked_div(self.segments)
    }
}

/// A loss without a reaction so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DeferredLoss {
    Nothing,
    /// Fast retransmit.
    Loss,
    /// A timeout, with no measurement since.
    Timeout,
}

#[derive(Debug)]
struct Dx {
    window: CongestionWindow,
    headroom: u64,
    rule: DecideRule,
    cut_by: CutBy,
    /// A positive delay up to the headroom leaves the window.
    holds: bool,
    round: Round,
    /// `Q` of the last decision.
    queueing: Option<u64>,
    /// `R`; zero before the first measurement.
    base_rtt: u64,
    deferred_loss: DeferredLoss,
}

impl Dx {
    fn in_slow_start(&self) -> bool {
        self.window.cwnd() < self.window.ssthresh()
    }

    /// Processes the measurement of this ACK. True if a round is over.
    fn observe(&mut self, ack: &AckSample) -> bool {
        let passed = ack.snd_una > self.round.end;
        if passed && self.round.stale {
            self.round = Round { end: ack.snd_nxt, ..Round::default() };
        }
        if let Some(queueing) = ack.queueing_delay.filter(|_| !self.round.stale) {
            let weight = u64::from(ack.delivered_segments.max(1));
            let more = queueing.as_ns().saturating_mul(weight);
            self.round.sum = self.round.sum.saturating_add(more);
            self.round.segments = self.round.segments.saturating_add(weight);
            if self.deferred_loss == DeferredLoss::Timeout {
                self.deferred_loss = DeferredLoss::Nothing;
            }
        }
        // Without a value from the option, the TCP round trip is used.
        if let Some(rtt) = ack.base_rtt {
            self.base_rtt = rtt.as_ns();
        } else if let Some(rtt) = ack.rtt {
            let least = if self.base_rtt == 0 { u64::MAX } else { self.base_rtt };
            self.base_rtt = least.min(rtt.as_ns());
        }
        passed && ack.snd_una > self.round.end
    }

    /// DX eq. 1, once per round trip.
    fn decide(&mut self, ack: &AckSample, queueing: u64) -> Reaction {
        self.queueing = Some(queueing);
        let (cwnd, mss) = (self.window.cwnd(), self.window.mss());
        if queueing > self.headroom {
            let (delay, rtt) = match self.cut_by {
                CutBy::Whole => (queueing, self.base_rtt),
                CutBy::Excess => (queueing - self.headroom, self.base_rtt),
                CutBy::ExcessShifted => {
                    (queueing - self.headroom, self.base_rtt.saturating_add(self.headroom))
                }
            };
            self.window.cut_to(target_window(cwnd, mss, delay, rtt));
            return if self.window.cwnd() < cwnd { Reaction::Reduced } else { Reaction::None };
        }
        if ack.may_grow {
            if self.in_slow_start() {
                self.window.slow_start(ack);
            } else if queueing == 0 || !self.holds {
                self.window.raise_to(cwnd.saturating_add(mss));
            }
        }
        Reaction::None
    }

    /// True if the measurements show a long queue, or if there are none.
    fn congested(&self) -> bool {
        match (self.round.mean(), self.queueing) {
            (None, None) => true,
            (a, b) => a.max(b) > Some(self.headroom),
        }
    }
}

/// `W (1 - Q / V)` with `V = R W / (W - 1)`: `W - (W - 1) Q / R`, in bytes.
fn target_window(cwnd: u64, mss: u64, queueing: u64, base_rtt: u64) -> u64 {
    let above = u128::from(cwnd.saturating_sub(mss));
    let most = u128::from(cwnd);
    let cut = (above * u128::from(queueing)).checked_div(u128::from(base_rtt)).unwrap_or(most);
    (most - cut.min(most)) as u64
}

impl CongestionControl for Dx {
    fn on_ack(&mut self, ack: &AckSample) -> Reaction {
        let over = self.observe(ack);
        let mean = self.round.mean();
        if over {
            let stale = self.rule == DecideRule::FreshRound;
            self.round = Round { end: ack.snd_nxt, stale, ..Round::default() };
        }
        if let Some(queueing) = mean.filter(|_| over) {
            let reaction = self.decide(ack, queueing);
            self.round.stale |= self.rule == DecideRule::AfterCut && reaction == Reaction::Reduced;
            return reaction;
        }
        if ack.may_grow {
            self.window.slow_start(ack);
        }
        Reaction::None
    }

    fn on_event(&mut self, event: &CongestionEvent) {
        match *event {
            CongestionEvent::Loss { .. } if !self.congested() => {
                self.deferred_loss = DeferredLoss::Loss;
                return;
            }
            CongestionEvent::Rto { .. }
                if !self.congested() && self.deferred_loss != DeferredLoss::Timeout =>
            {
                self.deferred_loss = DeferredLoss::Timeout;
                return;
            }
            CongestionEvent::Rto { now, in_flight, .. }
                if self.deferred_loss == DeferredLoss::Timeout =>
            {
                // The first timeout had no reaction: this counts as the first.
                self.window.on_event(&CongestionEvent::Rto {
                    now,
                    first: true,
                    in_recovery: false,
                    in_flight,
                });
                self.reset_measurement();
                return;
            }
            // The end or the undo of a reaction that did not happen.
            CongestionEvent::Recovered { .. } | CongestionEvent::Undo { .. }
                if self.deferred_loss != DeferredLoss::Nothing =>
            {
                return;
            }
            CongestionEvent::Rto { .. } | CongestionEvent::IdleRestart { .. } => {
                self.reset_measurement();
            }
            _ => {}
        }
        self.deferred_loss = DeferredLoss::Nothing;
        self.window.on_event(event);
    }

    fn cwnd(&self) -> u64 {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh()
    }

    fn probe(&self, out: &mut dyn Probe) {
        if let Some(queueing) = self.queueing {
            out.value("queueing-delay", Unit::Picoseconds, queueing.saturating_mul(1_000));
        }
    }
}

impl Dx {
    /// Discards the measurements, which no longer apply.
    fn reset_measurement(&mut self) {
        self.deferred_loss = DeferredLoss::Nothing;
        self.queueing = None;
        self.round = Round { end: self.round.end, ..Round::default() };
    }
}

#[cfg(test)]
mod tests;
