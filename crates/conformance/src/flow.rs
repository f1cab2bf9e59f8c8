//! The synthetic sender that drives a control: always full, one ACK per segment by default.

use lowtide_units::{Duration, Instant};

use super::Subject;
use lowtide_tcp::cc::{
    AckSample, CcSetup, CongestionControl, CongestionEvent, Reaction, Signal, WindowRules,
};

/// Segment size, bytes: a full Ethernet frame with timestamps.
pub(super) const MSS: u64 = 1448;
/// Round-trip time: long enough that time-based controls differ from those that count ACKs.
pub(super) const RTT: Duration = Duration::from_ms(100);

/// Default parameters of the rules.
pub(super) const SETUP: CcSetup = CcSetup {
    mss: MSS as u32,
    initial_window: 10 * MSS,
    floor: 2 * MSS,
    ssthresh_floor: 0,
    abc_limit: 2 * MSS,
    ecn: true,
    now: Instant::ZERO,
    seed: 0,
    rtt: None,
    rules: WindowRules::RFC,
};

/// Effect of one ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AckOutcome {
    pub(super) before: u64,
    pub(super) after: u64,
    pub(super) reaction: Reaction,
}

/// A control with the sequence space and clock of a sender.
pub(super) struct SyntheticSender {
    pub(super) cc: Box<dyn CongestionControl>,
    pub(super) now: Instant,
    una: u64,
    nxt: u64,
}

impl SyntheticSender {
    pub(super) fn new(subject: Subject<'_>, setup: &CcSetup) -> Self {
        Self { cc: (subject.entry.build)(subject.values, setup), now: setup.now, una: 0, nxt: 0 }
    }

    /// A sender in congestion avoidance with a window of about `segments`; `None` if a loss does
    /// not lead there.
    pub(super) fn in_congestion_avoidance(
        subject: Subject<'_>,
        setup: &CcSetup,
        segments: u64,
    ) -> Option<Self> {
        let mut flow = Self::new(subject, setup);
        let mut acks = 0;
        while flow.cwnd() < 2 * segments * MSS {
            let _ = flow.clean_ack();
            acks += 1;
            if acks > 100 * segments {
                return None;
            }
        }
        flow.lose(2 * segments * MSS);
        (flow.cc.cwnd() >= flow.cc.ssthresh()).then_some(flow)
    }

    pub(super) fn cwnd(&self) -> u64 {
        self.cc.cwnd()
    }

    /// The next ACK of `bytes` on a full, clean path.
    pub(super) fn sample(&mut self, bytes: u64) -> AckSample {
        let cwnd = self.cwnd().max(1);
        self.nxt = self.nxt.max(self.una.saturating_add(cwnd));
        let prior_in_flight = self.nxt - self.una;
        let bytes = bytes.min(prior_in_flight);
        self.una += bytes;
        self.now += RTT * bytes / cwnd;
        let segments = bytes.div_ceil(MSS) as u32;
        AckSample {
            now: self.now,
            snd_una: self.una,
            snd_nxt: self.nxt,
            acked_bytes: bytes,
            acked_segments: segments,
            delivered_bytes: bytes,
            delivered_segments: segments,
            rtt: Some(RTT),
            queueing_delay: Some(Duration::ZERO),
            fabric_delay: Some(Duration::ZERO),
            endpoint_delay: Some(Duration::ZERO),
            in_flight: self.nxt - self.una,
            prior_in_flight,
            may_reduce: true,
            may_grow: true,
            ..AckSample::default()
        }
    }

    /// Passes `sample` to the control.
    pub(super) fn feed(&mut self, sample: &AckSample) -> AckOutcome {
        let before = self.cwnd();
        let reaction = self.cc.on_ack(sample);
        AckOutcome { before, after: self.cwnd(), reaction }
    }

    /// One clean ACK of one segment.
    pub(super) fn clean_ack(&mut self) -> AckOutcome {
        let sample = self.sample(MSS);
        self.feed(&sample)
    }

    /// One ACK of `bytes` that reports a mark; `may_reduce` as decided by the cut rule.
    pub(super) fn marked_ack(&mut self, bytes: u64, may_reduce: bool) -> AckOutcome {
        let sample = self.sample(bytes);
        let sample = AckSample {
            ece: true,
            ce_bytes: sample.delivered_bytes,
            ce_segments: sample.delivered_segments,
            may_reduce,
            ..sample
        };
        self.feed(&sample)
    }

    /// A window of one-segment ACKs, `marks` of every ten marked, none of which may change the
    /// window. At most a thousand, in case it changes anyway.
    pub(super) fn observe_round(&mut self, marks: u64) {
        for i in 0..(self.cwnd() / MSS).clamp(1, 1000) {
            let sample = self.sample(MSS);
            let marked = i % 10 < marks;
            let sample = AckSample {
                ece: marked,
                ce_bytes: if marked { sample.delivered_bytes } else { 0 },
                ce_segments: u32::from(marked),
                may_grow: false,
                may_reduce: false,
                ..sample
            };
            let _ = self.feed(&sample);
        }
    }

    /// A fast retransmit with `in_flight` bytes outstanding.
    pub(super) fn lose(&mut self, in_flight: u64) {
        let now = self.now;
        self.event(&CongestionEvent::Loss { now, in_flight, already_reduced: false });
    }

    pub(super) fn event(&mut self, event: &CongestionEvent) {
        self.cc.on_event(event);
    }

    pub(super) fn rto(&mut self, first: bool, in_flight: u64) {
        let now = self.now;
        self.event(&CongestionEvent::Rto { now, first, in_recovery: false, in_flight });
    }
}

/// True if the control declares a reaction to `signal`.
pub(super) fn declares(subject: Subject<'_>, signal: Signal) -> bool {
    subject.entry.declared.reacts_to.contains(&signal)
}

/// True if `value` is within `slack` of `ideal`.
pub(super) fn near(value: u64, ideal: u64, slack: u64) -> bool {
    value.abs_diff(ideal) <= slack
}

/// A linear congruential generator with a fixed sequence, to mix ACKs and events.
pub(super) struct Lcg(u64);

impl Lcg {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `n`, from the high half of the 64-bit state.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % n
    }
}

/// One random step of ACKs and events; timeouts only with `timeouts`.
pub(super) fn random_event(
    flow: &mut SyntheticSender,
    rng: &mut Lcg,
    timeouts: bool,
) -> Option<AckOutcome> {
    let in_flight = flow.cwnd();
    let now = flow.now;
    match rng.below(40) {
        0 => flow.lose(in_flight),
        1 => flow.event(&CongestionEvent::Loss { now, in_flight, already_reduced: true }),
        2 => flow.event(&CongestionEvent::Recovered { now, in_flight: in_flight / 2 }),
        3 => flow.event(&CongestionEvent::Undo { now }),
        4 => flow.event(&CongestionEvent::IdleRestart { now, idle: RTT * 10, halvings: None }),
        5 if timeouts => flow.rto(rng.below(2) == 0, in_flight),
        6..=15 => return Some(flow.marked_ack(MSS, rng.below(2) == 0)),
        _ => {
            let sample = flow.sample(MSS * (1 + rng.below(3)));
            let may_grow = rng.below(4) > 0;
            let sample = AckSample { may_grow, app_limited: !may_grow, ..sample };
            return Some(flow.feed(&sample));
        }
    }
    None
}
