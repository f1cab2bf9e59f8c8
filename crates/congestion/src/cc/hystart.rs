//! HyStart++: leaves the first slow start when the round-trip time rises, before a loss.
//!
//! A helper for controls, not a control: [`super::CongestionWindow`] grows.
//!
//! If the minimum round trip of a round exceeds that of the round before by a threshold, the window
//! grows at a quarter of the rate (Conservative Slow Start). If the round trip falls again, slow
//! start goes on. After five conservative rounds it ends.
//!
//! Deviations from RFC 9406: L is the limit of the window (switch `abc-limit`), whether packets are
//! paced or not. An idle restart begins a new round without a comparison, because the round trips
//! before it are of another queue.

use core::mem::replace;

use lowtide_schema::{DefaultValue, Param, ValueKind, Values};
use lowtide_units::Duration;

use super::AckSample;

/// CSS_GROWTH_DIVISOR (RFC 9406 §4.3).
pub(super) const CSS_GROWTH_DIVISOR: u64 = 4;
/// CSS_ROUNDS (RFC 9406 §4.3).
const CSS_ROUNDS: u32 = 5;
/// N_RTT_SAMPLE (RFC 9406 §4.3).
const N_RTT_SAMPLE: u32 = 8;
/// MIN_RTT_DIVISOR (RFC 9406 §4.3).
const MIN_RTT_DIVISOR: u64 = 8;

const MAX_THRESH: Duration = Duration::from_secs(1);

/// Parameter: whether it is used.
pub(super) const HYSTART: Param = Param {
    name: "hystart",
    kind: ValueKind::Bool,
    default: DefaultValue::Is("true"),
    doc: "Leave the first slow start when the round-trip time rises (HyStart++; HyStart as Linux has it with `variant = \"linux\"`).",
    source: "RFC 9438 §4.10, RFC 9406; tcp_cubic.c",
};

/// Parameter: the least rise of the round trip that counts.
pub(super) const MIN_RTT_THRESH: Param = Param {
    name: "hystart-min-rtt-thresh",
    kind: ValueKind::Duration { min: Duration::ZERO, max: MAX_THRESH },
    default: DefaultValue::Is("4 ms"),
    doc: "HyStart++: lower bound of RttThresh, the rise of the round-trip time that starts Conservative Slow Start. The default is that of RFC 9406; queues of a data centre rarely reach it.",
    source: "RFC 9406 §4.3 MIN_RTT_THRESH",
};

/// Parameter: the rise of the round trip that always counts.
pub(super) const MAX_RTT_THRESH: Param = Param {
    name: "hystart-max-rtt-thresh",
    kind: ValueKind::Duration { min: Duration::ZERO, max: MAX_THRESH },
    default: DefaultValue::Is("16 ms"),
    doc: "HyStart++: upper bound of RttThresh, the rise of the round-trip time that starts Conservative Slow Start.",
    source: "RFC 9406 §4.3 MAX_RTT_THRESH",
};

/// The round-trip time of a round without a sample (RFC 9406 §4.2).
const INFINITY: Duration = Duration::MAX;

/// Phase of the first slow start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Slow start.
    SlowStart,
    /// Conservative Slow Start: `cssBaselineMinRtt`, and the rounds that ended in it.
    Conservative { baseline: Duration, rounds: u32 },
    /// The first slow start is over; a later one is standard (RFC 9406 §4.3).
    Over,
}

/// State of HyStart++ (RFC 9406 §4.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct HyStart {
    min_thresh: Duration,
    max_thresh: Duration,
    phase: Phase,
    /// `windowEnd`: SND.NXT at the start of the round; its ACK ends the round.
    window_end: u64,
    /// `lastRoundMinRTT`.
    last_min: Duration,
    /// `currentRoundMinRTT`.
    current_min: Duration,
    /// `rttSampleCount`.
    samples: u32,
}

impl HyStart {
    /// At the start of a connection; over at once if [`HYSTART`] is false.
    pub(super) fn new(values: &Values) -> Self {
        Self {
            min_thresh: values.duration(MIN_RTT_THRESH.name),
            max_thresh: values.duration(MAX_RTT_THRESH.name),
            phase: if values.bool(HYSTART.name) { Phase::SlowStart } else { Phase::Over },
            window_end: 0,
            last_min: INFINITY,
            current_min: INFINITY,
            samples: 0,
        }
    }

    /// The phase that the growth of the next ACK follows.
    pub(super) const fn phase(&self) -> Phase {
        self.phase
    }

    /// Ends HyStart++ for the lifetime of the connection, after a loss, a timeout or a mark.
    pub(super) const fn stop(&mut self) {
        self.phase = Phase::Over;
    }

    /// Forgets the round trips before a pause.
    pub(super) const fn restart(&mut self) {
        self.last_min = INFINITY;
        self.current_min = INFINITY;
        self.samples = 0;
    }

    /// Takes the round trip of an ACK in slow start, after the window has grown. Returns true if
    /// slow start ends at the present window.
    pub(super) fn ends_slow_start(&mut self, ack: &AckSample) -> bool {
        if ack.snd_una >= self.window_end && self.begin_round(ack.snd_nxt) {
            self.phase = Phase::Over;
            return true;
        }
        let Some(rtt) = ack.rtt else { return false };
        let current = self.current_min.min(rtt);
        self.current_min = current;
        self.samples = self.samples.saturating_add(1);
        if self.samples < N_RTT_SAMPLE {
            return false;
        }
        match (self.phase, self.last_min) {
            (Phase::SlowStart, last) if last < INFINITY && current >= last + self.thresh(last) => {
                self.phase = Phase::Conservative { baseline: current, rounds: 0 };
            }
            (Phase::Conservative { baseline, .. }, _) if current < baseline => {
                self.phase = Phase::SlowStart;
            }
            _ => {}
        }
        false
    }

    /// Begins a round; returns true if the last conservative one ended.
    fn begin_round(&mut self, snd_nxt: u64) -> bool {
        self.window_end = snd_nxt;
        self.last_min = replace(&mut self.current_min, INFINITY);
        self.samples = 0;
        let Phase::Conservative { rounds, .. } = &mut self.phase else { return false };
        *rounds += 1;
        *rounds >= CSS_ROUNDS
    }

    /// `RttThresh` after a round with this minimum.
    fn thresh(&self, last_min: Duration) -> Duration {
        (last_min / MIN_RTT_DIVISOR).min(self.max_thresh).max(self.min_thresh)
    }
}

#[cfg(test)]
mod tests {
    use lowtide_units::Duration;

    use super::*;

    fn hystart(given: &[(&str, &str)]) -> HyStart {
        HyStart::new(&Values::parse(&[HYSTART, MIN_RTT_THRESH, MAX_RTT_THRESH], given).unwrap())
    }

    /// One round of `acks` ACKs with these round trips; returns whether slow start ended in it.
    fn round(state: &mut HyStart, acks: u64, rtt: impl Fn(u64) -> Option<Duration>) -> bool {
        let una = state.window_end;
        (0..acks).any(|i| {
            let (snd_una, snd_nxt) = (una + i, una + acks + i);
            state.ends_slow_start(&AckSample {
                snd_una,
                snd_nxt,
                rtt: rtt(i),
                ..Default::default()
            })
        })
    }

    fn steady(state: &mut HyStart, rtt_ms: u64) -> bool {
        round(state, 10, |_| Some(Duration::from_ms(rtt_ms)))
    }

    fn is_conservative(state: &HyStart) -> bool {
        matches!(state.phase(), Phase::Conservative { .. })
    }

    #[test]
    fn a_rise_by_the_threshold_begins_conservative_slow_start_and_five_rounds_end_it() {
        let mut state = hystart(&[]);
        assert!(!steady(&mut state, 64) && !steady(&mut state, 71));
        assert_eq!(state.phase(), Phase::SlowStart, "an eighth of 64 ms is 8 ms");
        assert!(!steady(&mut state, 80));
        assert!(is_conservative(&state), "71 ms and an eighth of it are 79.9 ms");
        // The round in which it began counts (RFC 9406 §4.2).
        for _ in 0..4 {
            assert!(!steady(&mut state, 80));
        }
        assert!(steady(&mut state, 80));
        assert_eq!(state.phase(), Phase::Over);
    }

    #[test]
    fn a_fall_below_the_baseline_resumes_slow_start() {
        let mut state = hystart(&[]);
        for ms in [50, 60] {
            assert!(!steady(&mut state, ms));
        }
        assert!(is_conservative(&state));
        assert!(!steady(&mut state, 60));
        assert!(is_conservative(&state), "equal to the baseline");
        assert!(!steady(&mut state, 59));
        assert_eq!(state.phase(), Phase::SlowStart);
    }

    #[test]
    fn the_threshold_has_bounds() {
        for (last, thresh) in [(8, 4), (32, 4), (64, 8), (128, 16), (400, 16)] {
            let last = Duration::from_ms(last);
            assert_eq!(hystart(&[]).thresh(last), Duration::from_ms(thresh));
        }
        let low = hystart(&[("hystart-min-rtt-thresh", "10 us")]);
        assert_eq!(low.thresh(Duration::from_us(100)), Duration::from_ns(12_500));
    }

    #[test]
    fn fewer_than_eight_samples_decide_nothing() {
        let mut state = hystart(&[]);
        assert!(!steady(&mut state, 50));
        assert!(!round(&mut state, 7, |_| Some(Duration::from_ms(90))));
        assert_eq!(state.phase(), Phase::SlowStart);
        // Ambiguous ACKs have no round trip (Karn).
        assert!(!round(&mut state, 20, |i| (i < 7).then_some(Duration::from_ms(200))));
        assert_eq!(state.phase(), Phase::SlowStart);
    }

    #[test]
    fn a_pause_leaves_nothing_to_compare_with() {
        let mut state = hystart(&[]);
        assert!(!steady(&mut state, 50));
        state.restart();
        assert!(!steady(&mut state, 90));
        assert_eq!(state.phase(), Phase::SlowStart);
    }

    #[test]
    fn it_can_be_off_and_stops_for_good() {
        assert_eq!(hystart(&[("hystart", "false")]).phase(), Phase::Over);
        let mut state = hystart(&[]);
        state.stop();
        for ms in [50, 90, 200] {
            assert!(!steady(&mut state, ms));
        }
        assert_eq!(state.phase(), Phase::Over);
    }
}
