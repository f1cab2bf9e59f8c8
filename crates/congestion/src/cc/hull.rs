//! HULL at the host: DCTCP with a pacer whose rate follows the traffic.
//!
//! ## Algorithm
//! The window is DCTCP's. HULL marks early (a phantom queue in the switch drains slightly below the
//! line rate), so bursts must be small or they look like congestion. The pacer is a token bucket
//! with rate R. Every interval T_r, `R = (1 - eta) R + eta M / T_r + beta Q`. M is the data that
//! the window permitted in the interval and Q the data waiting in the pacer. A flow is paced after
//! several marked ACKs, so that short flows are not delayed, and until it has been silent for a
//! time.
//!
//! ## Spec
//! HULL (Alizadeh et al., *Less is More*, NSDI 2012) §4.2, §4.3: T_r 64 us, eta 1/8, beta 16,
//! association with probability 1/8 for each marked ACK, for 10 ms. DCTCP by RFC 8257 §3.3. The
//! switch marks by its phantom queue (a marker of the network), not this file. These constants were
//! written from memory of the paper and not compared with its text.
//!
//! ## Deviations
//! The paper has one pacer per host, in the NIC; here each connection has its own, so flows of one
//! host are not serialised against each other. A flow joins at the `associate-after`-th marked ACK
//! (8) instead of randomly: the average is equal, and every run is deterministic. An ACK updates R
//! for all intervals that have passed. R is never below one window per smoothed round trip;
//! otherwise a flow that was silent would wait at its idle rate until the next ACK. beta is read as
//! 1/s per interval: 1 kB of backlog adds 16 kB/s each time.
//!
//! ## Kernel twin
//! None; the paper's pacer is hardware.

use alloc::boxed::Box;

use lowtide_schema::{DefaultValue, Param, ValueKind, Values};
use lowtide_units::{Duration, Instant, Probe, Rate, Unit};

use super::dctcp::{Dctcp, INITIAL_ALPHA, SHIFT_G};
use super::{
    AckSample, CcEntry, CcSetup, CongestionControl, CongestionEvent, DeclaredProperties, Reaction,
    Requirements, Signal, per_round_trip,
};

/// After this many empty intervals the rate is zero, even with the largest `shift-eta`.
const MAX_INTERVALS: u64 = 1024;

/// Registration.
pub static ENTRY: CcEntry = CcEntry {
    name: "hull",
    summary: "DCTCP with HULL's pacer, for switches that mark by a phantom queue",
    spec: "HULL (NSDI 2012) §4.3, RFC 8257 §3.3",
    equations: &[
        "window: that of dctcp",
        "per interval T_r: R = (1 - eta) R + eta M / T_r + beta Q, M arrived and Q waiting bytes",
    ],
    params: &[
        SHIFT_G,
        INITIAL_ALPHA,
        Param {
            name: "interval",
            kind: ValueKind::Duration { min: Duration::from_us(1), max: Duration::from_ms(100) },
            default: DefaultValue::Is("64 us"),
            doc: "Time between two estimates of the pacing rate (T_r).",
            source: "HULL (NSDI 2012) §4.3",
        },
        Param {
            name: "shift-eta",
            kind: ValueKind::Count { min: 0, max: 6 },
            default: DefaultValue::Is("3"),
            doc: "Gain of the pacing rate as a power of two: eta = 2^-shift-eta.",
            source: "HULL (NSDI 2012) §4.3: 1/8",
        },
        Param {
            name: "beta",
            kind: ValueKind::Count { min: 0, max: 1_000_000 },
            default: DefaultValue::Is("16"),
            doc: "Bytes per second that each waiting byte adds to the rate in each interval.",
            source: "HULL (NSDI 2012) §4.3: 16",
        },
        Param {
            name: "associate-after",
            kind: ValueKind::Count { min: 0, max: 1_000_000 },
            default: DefaultValue::Is("8"),
            doc: "Marked ACKs until a flow is paced; 0 paces from the start.",
            source: "HULL (NSDI 2012) §4.3: each with probability 1/8",
        },
        Param {
            name: "idle",
            kind: ValueKind::Duration { min: Duration::from_us(1), max: Duration::from_secs(100) },
            default: DefaultValue::Is("10 ms"),
            doc: "Silence after which a flow is no longer paced.",
            source: "HULL (NSDI 2012) §4.3: T_i",
        },
    ],
    declared: DeclaredProperties {
        reacts_to: &[Signal::Loss, Signal::Ecn],
        floor_segments: 2,
        proportional: true,
        rate_based: false,
        exemptions: &[],
    },
    requires: Requirements { ecn: true, host_stamps: false, rate_samples: false },
    build,
};

fn build(values: &Values, setup: &CcSetup) -> Box<dyn CongestionControl> {
    Box::new(Hull {
        dctcp: Dctcp::rfc8257(values, setup),
        pacer: Pacer {
            interval: values.duration("interval"),
            shift_eta: values.count("shift-eta") as u32,
            beta: values.count("beta"),
            associate_after: values.count("associate-after"),
            idle: values.duration("idle"),
            rate: 0,
            floor: 0,
            window_edge: setup.initial_window,
            arrived: setup.initial_window,
            since: setup.now,
            last: setup.now,
            srtt: None,
            marked: 0,
        },
    })
}

#[derive(Debug)]
struct Hull {
    dctcp: Dctcp,
    pacer: Pacer,
}

/// The token bucket's rate and its inputs.
#[derive(Debug)]
struct Pacer {
    interval: Duration,
    shift_eta: u32,
    beta: u64,
    associate_after: u64,
    idle: Duration,
    /// R, bits per second.
    rate: u64,
    /// Minimum of the rate, bits per second.
    floor: u64,
    /// Highest stream offset that the window has permitted so far.
    window_edge: u64,
    /// M: bytes that the window permitted since the last estimate.
    arrived: u64,
    /// Time of the last estimate.
    since: Instant,
    /// Time of the last ACK.
    last: Instant,
    srtt: Option<Duration>,
    /// Marked ACKs since the flow was last silent.
    marked: u64,
}

impl Pacer {
    fn on_ack(&mut self, ack: &AckSample, cwnd: u64) {
        if ack.now.saturating_since(self.last) > self.idle {
            self.marked = 0;
        }
        self.last = ack.now;
        self.marked = self.marked.saturating_add(u64::from(ack.ece));
        if let Some(rtt) = ack.rtt {
            // RFC 6298 §2.3: a gain of 1/8.
            self.srtt = Some(self.srtt.map_or(rtt, |srtt| srtt - srtt / 8 + rtt / 8));
        }
        let waiting = if ack.app_limited { 0 } else { cwnd.saturating_sub(ack.in_flight) };
        let edge = ack.snd_nxt.saturating_add(waiting);
        self.arrived = self.arrived.saturating_add(edge.saturating_sub(self.window_edge));
        self.window_edge = self.window_edge.max(edge);
        self.estimate(ack.now, waiting);
        let window = self.srtt.and_then(|srtt| per_round_trip(cwnd, 100, srtt.as_ps()));
        self.floor = window.map_or(0, Rate::as_bps);
    }

    /// Updates R. The arrived bytes count in the first of the passed intervals.
    fn estimate(&mut self, now: Instant, waiting: u64) {
        let intervals = now.saturating_since(self.since).as_ps() / self.interval.as_ps().max(1);
        if intervals == 0 {
            return;
        }
        self.since += self.interval * intervals;
        let mut arriving = per_round_trip(self.arrived, 100, self.interval.as_ps());
        self.arrived = 0;
        let backlog = waiting.saturating_mul(8).saturating_mul(self.beta);
        for _ in 0..intervals.min(MAX_INTERVALS) {
            let arrived = arriving.take().map_or(0, Rate::as_bps);
            self.rate = (self.rate - (self.rate >> self.shift_eta))
                .saturating_add(arrived >> self.shift_eta)
                .saturating_add(backlog);
        }
    }

    fn rate(&self) -> Option<Rate> {
        if self.marked < self.associate_after || self.floor == 0 {
            return None;
        }
        Rate::from_bps(self.rate.max(self.floor))
    }
}

impl CongestionControl for Hull {
    fn on_ack(&mut self, ack: &AckSample) -> Reaction {
        let reaction = self.dctcp.on_ack(ack);
        self.pacer.on_ack(ack, self.dctcp.cwnd());
        reaction
    }

    fn on_event(&mut self, event: &CongestionEvent) {
        self.dctcp.on_event(event);
    }

    fn cwnd(&self) -> u64 {
        self.dctcp.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.dctcp.ssthresh()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacer.rate()
    }

    fn runs_by_the_clock(&self) -> bool {
        true
    }

    fn probe(&self, out: &mut dyn Probe) {
        self.dctcp.probe(out);
        out.value("pacer-rate", Unit::BitsPerSecond, self.pacer.rate);
    }
}

#[cfg(test)]
mod tests;
