//! The TDCTCP receiver: DCTCP's echo, and a delayed-ACK timer that adapts to the arrival rate.
//!
//! ## Algorithm
//! Echoes and acknowledges as `dctcp`. Only the delayed-ACK timer differs. It is `factor` times the
//! 99th percentile of the gap between packets that arrive at random at the measured rate. It is at
//! least the clock granularity and at most the switch `delack-timer`. A fast flow waits briefly for
//! a second segment, a slow one longer.
//!
//! ## Spec
//! TDCTCP §IV-C, algorithm 2: rate = bytes / (MSS x time); the 99th percentile of the exponential
//! distribution with that rate, ln(100) / rate; constant 4; between the granularity and 200 ms.
//!
//! ## Deviations
//! Integers: ln(100) is 19779055341 / 2^32, and one division per segment gives picoseconds. The
//! paper does not define the start of the measurement, nor the timer before there is a rate. Here
//! bytes and time both count from the first segment, excluding it; until a second one arrives the
//! timer is `delack-timer`. Duplicates are not counted. The rate is that of the whole connection,
//! as in the paper, so a long pause has a long effect. The example of §IV-C has 95.6 packets/s for
//! 1000 B in 10 ms. Its own formula gives 68.5, so its 192 ms are those of 1396 B.
//!
//! ## Kernel twin
//! None. Linux has its own timer that adapts to the gaps between segments (`tcp_event_data_recv`).

use alloc::boxed::Box;

use lowtide_schema::{DefaultValue, Param, ValueKind, Values};
use lowtide_units::{Duration, Instant};

use super::{AckAction, AckPolicy, AckPolicyEntry, AckSetup, CeState, FLIP, RxSample};

/// ln(100) in 32 fraction bits: the 99th percentile of the exponential distribution with rate one.
const LN_100: u128 = 19_779_055_341;

/// Registration.
pub static ENTRY: AckPolicyEntry = AckPolicyEntry {
    name: "tdctcp",
    summary: "DCTCP receiver whose delayed-ACK timer follows the arrival rate",
    spec: "TDCTCP §IV-C, algorithm 2; RFC 8257 §3.2",
    params: &[
        FLIP,
        Param {
            name: "factor",
            kind: ValueKind::Count { min: 1, max: 64 },
            default: DefaultValue::Is("4"),
            doc: "The timer in 99th percentiles of the gap between packets.",
            source: "TDCTCP §IV-C: 4, found by trial",
        },
        Param {
            name: "clock-granularity",
            kind: ValueKind::Duration { min: Duration::ZERO, max: Duration::from_ms(500) },
            default: DefaultValue::Is("10 ms"),
            doc: "Minimum of the timer; `delack-timer` is the maximum.",
            source: "TDCTCP §IV-C, its example",
        },
    ],
    build,
};

fn build(values: &Values, setup: &AckSetup) -> Box<dyn AckPolicy> {
    Box::new(Tdctcp {
        ce_state: CeState::new(values, setup),
        factor: values.count("factor"),
        timer_min: values.duration("clock-granularity"),
        timer_max: setup.timer,
        mss: setup.mss,
        first: None,
        bytes: 0,
    })
}

#[derive(Debug)]
struct Tdctcp {
    ce_state: CeState,
    factor: u64,
    timer_min: Duration,
    timer_max: Duration,
    mss: u32,
    /// Arrival of the first segment.
    first: Option<Instant>,
    /// Payload bytes since then.
    bytes: u64,
}

impl Tdctcp {
    fn count(&mut self, rx: &RxSample) {
        if rx.duplicate {
            return;
        }
        if self.first.is_some() {
            self.bytes = self.bytes.saturating_add(u64::from(rx.payload));
        } else {
            self.first = Some(rx.now);
        }
    }

    /// Algorithm 2.
    fn timer(&self, now: Instant) -> Duration {
        let Some(first) = self.first.filter(|_| self.bytes > 0) else { return self.timer_max };
        let elapsed = u128::from(now.saturating_since(first).as_ps());
        // No overflow: at most 2^6 x 2^35 x 2^16 x 2^64.
        let scaled = u128::from(self.factor) * LN_100 * u128::from(self.mss.min(65_535)) * elapsed;
        let ps = (scaled / u128::from(self.bytes)) >> 32;
        Duration::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
            .max(self.timer_min)
            .min(self.timer_max)
    }
}

impl AckPolicy for Tdctcp {
    fn on_data(&mut self, rx: &RxSample) -> AckAction {
        self.count(rx);
        let action = if self.ce_state.update(rx) {
            self.ce_state.action(rx)
        } else {
            self.ce_state.delayed.on_data(rx)
        };
        match action {
            AckAction::Delay(_) => AckAction::Delay(self.timer(rx.now)),
            AckAction::OldEcho { prior_rcv_nxt, .. } => {
                AckAction::OldEcho { prior_rcv_nxt, wait: self.timer(rx.now) }
            }
            at_once => at_once,
        }
    }

    fn on_ack_sent(&mut self, _now: Instant) {
        self.ce_state.delayed.on_ack_sent();
    }

    fn echo(&self) -> bool {
        self.ce_state.echo()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_ms(200);

    fn policy(mss: u32) -> Box<dyn AckPolicy> {
        build(
            &Values::parse(ENTRY.params, &[]).unwrap(),
            &AckSetup { segments: 100, timer: LONGEST, mss, ecn: true },
        )
    }

    fn data(at_us: u64, payload: u32) -> RxSample {
        RxSample {
            now: Instant::ZERO + Duration::from_us(at_us),
            in_order: true,
            duplicate: false,
            segments: 1,
            payload,
            ect: true,
            ce: false,
            cwr: false,
            ack_pending: false,
            prior_rcv_nxt: 0,
        }
    }

    fn wait(p: &mut dyn AckPolicy, rx: &RxSample) -> u64 {
        match p.on_data(rx) {
            AckAction::Delay(d) => d.as_us(),
            now => panic!("{now:?}"),
        }
    }

    #[test]
    fn four_times_the_99th_percentile_of_the_gap() {
        let mut p = policy(1460);
        assert_eq!(wait(p.as_mut(), &data(0, 1460)), 200_000, "no rate yet");
        // 1396 B in 10 ms are 95.6 packets/s: 4 x 4.605 / 95.6 = 0.1926 s.
        assert_eq!(wait(p.as_mut(), &data(10_000, 1396)), 192_651);
        // 1000 B in 10 ms, as in the example: above the upper bound.
        let mut p = policy(1460);
        let _ = wait(p.as_mut(), &data(0, 1460));
        assert_eq!(wait(p.as_mut(), &data(10_000, 1000)), 200_000);
    }

    #[test]
    fn the_clock_granularity_is_the_least() {
        let mut p = policy(1000);
        let waits = [0, 100, 200, 300].map(|at| wait(p.as_mut(), &data(at, 1000)));
        assert_eq!(waits, [200_000, 10_000, 10_000, 10_000]);
        // After a pause the average rate is lower: 4 segments of 1000 B in 8 ms.
        assert_eq!(wait(p.as_mut(), &data(8_000, 1000)), 36_841);
    }

    #[test]
    fn factor_and_bounds_can_be_set() {
        let given = [("factor", "1"), ("clock-granularity", "1 ms")];
        let values = Values::parse(ENTRY.params, &given).unwrap();
        let setup = AckSetup { segments: 100, timer: Duration::from_ms(50), mss: 1000, ecn: true };
        let mut p = build(&values, &setup);
        let waits = [0, 1000, 1001, 20_000].map(|at| wait(p.as_mut(), &data(at, 1000)));
        // One percentile: 4.605 ms at one segment per ms; half of that; three segments in 20 ms.
        assert_eq!(waits, [50_000, 4_605, 2_304, 30_701]);
        let mut p = build(&values, &setup);
        let waits = [0, 10, 100_000].map(|at| wait(p.as_mut(), &data(at, 1000)));
        assert_eq!(waits, [50_000, 1_000, 50_000], "the bounds");
    }

    #[test]
    fn the_count_of_segments_begins_anew_with_each_ack() {
        let setup = AckSetup { segments: 2, timer: LONGEST, mss: 1000, ecn: true };
        let mut p = build(&Values::parse(ENTRY.params, &[]).unwrap(), &setup);
        assert!(matches!(p.on_data(&data(0, 1000)), AckAction::Delay(_)));
        p.on_ack_sent(Instant::ZERO);
        assert!(matches!(p.on_data(&data(10, 1000)), AckAction::Delay(_)), "the first again");
        assert_eq!(p.on_data(&data(20, 1000)), AckAction::Now);
    }

    #[test]
    fn duplicates_do_not_count_and_a_flip_is_acknowledged_at_once() {
        let mut p = policy(1000);
        let _ = wait(p.as_mut(), &data(0, 1000));
        let again = RxSample { duplicate: true, in_order: false, ..data(10, 1000) };
        assert_eq!(wait(p.as_mut(), &again), 200_000);
        let marked = RxSample { ce: true, ack_pending: true, ..data(20, 1000) };
        assert_eq!(p.on_data(&marked), AckAction::SplitAt { prior_rcv_nxt: 0 });
        assert!(p.echo());
    }
}
