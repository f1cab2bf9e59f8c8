//! The rules against models written from the sources that their files name, and Linux's against a
//! trace of the kernel.

use std::vec::Vec;

use lowtide_units::Bytes;
use proptest::prelude::*;

use super::*;
use crate::timers::timestamps::tick;

const MS: Duration = Duration::from_ms(1);
const MAX: u64 = 2 << 20;

fn tuner(rule: BufferTuningRule, most: u64) -> BufferTuner {
    let config = Config {
        buffer_tuning: BufferTuning::Auto,
        buffer_tuning_rule: rule,
        receive_buffer: Bytes::new(most),
        ..Config::default()
    };
    BufferTuner::new(&config).unwrap()
}

/// An input of the receiver, after a number of microseconds.
#[derive(Clone, Copy, Debug)]
enum Input {
    /// An ACK is sent.
    Ack,
    /// Data arrives in order, and echoes the time so many milliseconds ago (negative: in the
    /// future).
    Data(u32, i64),
    /// Data arrives that misses header prediction.
    Other,
}

fn inputs() -> impl Strategy<Value = Vec<(u64, Input)>> {
    let input = prop_oneof![
        4 => Just(Input::Ack),
        8 => (1..30_000_u32, prop_oneof![20 => 0..6_i64, 1 => -3..1500_i64])
            .prop_map(|(len, age)| Input::Data(len, age)),
        1 => prop::bool::weighted(0.05).prop_map(|o| if o { Input::Other } else { Input::Ack }),
    ];
    prop::collection::vec((prop_oneof![9 => 0..1_500_u64, 1 => 0..400_000_u64], input), 1..400)
}

/// A model of the variables `rfbuf_ts`, `rfbuf_cnt` and `sb_hiwat` in ticks of `tcp_ts_getticks`.
struct Bsd {
    ts: Option<u32>,
    cnt: u64,
    hiwat: u64,
}

impl Bsd {
    fn over(&mut self, threshold: u64, step: u64) {
        if self.cnt > threshold && self.hiwat < MAX {
            self.hiwat = (self.hiwat + step).min(MAX);
        }
        self.ts = None;
        self.cnt = 0;
    }

    /// 11-CURRENT of 2013: `tsecr` is zero if it is missing or later than `now`.
    fn data_10(&mut self, tsecr: u32, len: u64) {
        if tsecr == 0 {
            return;
        }
        // An unset `rfbuf_ts` is zero, more than `hz` ticks before any echo.
        match self.ts {
            Some(ts) if (tsecr.wrapping_sub(ts) as i32) > 0 && tsecr.wrapping_sub(ts) < 1000 => {
                self.over(self.hiwat / 8 * 7, 16_384);
            }
            _ => self.cnt += len,
        }
    }

    /// 14-CURRENT: `srtt` is `t_srtt`, in 1/32 of a tick.
    fn data_14(&mut self, now: u32, srtt: u32, len: u64) {
        match self.ts {
            Some(ts) if srtt != 0 && now.wrapping_sub(ts) > (srtt >> 5) / 2 => {
                self.over(self.hiwat / 2 / 4 * 3, self.hiwat / 2);
            }
            _ => self.cnt += len,
        }
    }
}

/// Runs both; `start` is the tick of the first input, `base` the offset of our TSval.
fn compare(rule: BufferTuningRule, start: u64, base: u32, srtt_us: u64, inputs: &[(u64, Input)]) {
    let mut tuner = tuner(rule, MAX);
    let mut model = Bsd { ts: None, cnt: 0, hiwat: 64 << 10 };
    let mut now = Instant::ZERO + MS * start;
    let ts = TimestampState::new(MS, base, 0, now);
    let srtt = (srtt_us > 0).then(|| Duration::from_us(srtt_us));
    for (us, input) in inputs {
        now += Duration::from_us(*us);
        let clock = tick(now, MS, 0);
        let mut arrival = Arrival {
            now,
            payload: 0,
            predicted: true,
            echo: None,
            tick: MS,
            srtt,
            nxt: 0,
            consumed: 0,
        };
        let after = AfterArrival { nxt: 0, top: None, window: 0 };
        match input {
            Input::Ack => {
                tuner.on_ack_sent(now);
                model.ts.get_or_insert(clock);
            }
            Input::Other => {
                arrival.predicted = false;
                tuner.on_data(&arrival, &after);
                if rule == BufferTuningRule::FreeBsd10 {
                    (model.ts, model.cnt) = (None, 0);
                }
            }
            Input::Data(len, age) => {
                let at = clock.wrapping_sub(*age as u32);
                let echo = at.wrapping_add(base);
                (arrival.payload, arrival.echo) = (*len, Some((ts, echo)));
                tuner.on_data(&arrival, &after);
                let tsecr = if *age < 0 || echo == 0 { 0 } else { at };
                match rule {
                    BufferTuningRule::FreeBsd10 => model.data_10(tsecr, u64::from(*len)),
                    _ => model.data_14(clock, (srtt_us * 32 / 1000) as u32, u64::from(*len)),
                }
            }
        }
        assert_eq!(tuner.size(), model.hiwat, "{input:?} at tick {clock}");
    }
}

proptest! {
    #[test]
    fn freebsd_follows_models_of_its_sources(
        // The second start wraps the clock, the second base the value on the wire.
        start in prop_oneof![Just(10_000_u64), Just((1 << 32) - 150)],
        base in prop_oneof![Just(0_u32), Just(u32::MAX - 10_100), any::<u32>()],
        srtt_us in prop_oneof![Just(0_u64), 32..20_000_u64],
        inputs in inputs(),
    ) {
        compare(BufferTuningRule::FreeBsd10, start, base, 0, &inputs);
        compare(BufferTuningRule::FreeBsd14, start, base, srtt_us, &inputs);
    }
}

#[test]
fn freebsd_rounds_the_buffer_to_whole_segments_and_the_limit_of_the_driver_stays() {
    let mut tuner = tuner(BufferTuningRule::FreeBsd10, MAX);
    assert_eq!(tuner.size(), 65_536);
    tuner.on_established(Instant::ZERO, 1448);
    assert_eq!(tuner.size(), 46 * 1448);
    tuner.set_limit(10_000);
    assert_eq!(tuner.size(), 10_000);
    let small = BufferTuner::new(&Config {
        buffer_tuning: BufferTuning::Auto,
        buffer_tuning_rule: BufferTuningRule::FreeBsd14,
        receive_buffer: Bytes::new(5_000),
        ..Config::default()
    });
    assert_eq!(small.unwrap().size(), 5_000);
}

/// Adjustments of one connection in a kernel with this rule, as its author recorded them
/// (E. Dumazet, "tcp: fix too slow `tcp_rcvbuf_grow` action", 2025-10-24): `copied` less `inq`,
/// `space`, and the window clamp of the next line.
const KERNEL: [(u64, u64, u64); 10] = [
    (49_152, 40_960, 137_623),
    (86_016, 49_152, 430_079),
    (139_264, 86_016, 623_371),
    (307_200, 139_264, 2_096_187),
    (618_496, 307_200, 3_743_961),
    (1_261_568, 618_496, 7_769_921),
    (2_453_504, 1_261_568, 14_179_339),
    (4_800_512, 2_453_504, 27_969_593),
    (9_715_712, 4_800_512, 57_316_406),
    (19_726_336, 9_715_712, 57_316_406),
];

#[test]
fn linux_wants_the_windows_of_a_recorded_kernel() {
    for (copied, space, clamp) in KERNEL {
        let ours = linux::wanted(copied, space, 0).min(57_316_406);
        // The kernel rounds twice when it converts between window and memory.
        assert!(ours.abs_diff(clamp) <= 2, "{copied}, {space}: {ours}, kernel {clamp}");
    }
}

/// A reader that takes `read` of each `len` bytes, one segment per `us` microseconds, and
/// timestamps `rtt` milliseconds old.
fn linux_reader(len: u32, read: u64, us: u64, rtt: u64, segments: u64) -> Vec<u64> {
    let mut tuner = tuner(BufferTuningRule::Linux, 16 << 20);
    let start = Instant::ZERO + Duration::from_secs(1);
    tuner.on_established(start, 1448);
    let ts = TimestampState::new(MS, 77, 0, start);
    let mut sizes = Vec::new();
    for i in 0..segments {
        let now = start + Duration::from_us(us * (i + 1));
        let nxt = i * u64::from(len);
        let arrival = Arrival {
            now,
            payload: len,
            predicted: true,
            echo: Some((ts, tick(now, MS, 77).wrapping_sub(rtt as u32))),
            tick: MS,
            srtt: None,
            nxt,
            consumed: i * read,
        };
        let nxt = nxt + u64::from(len);
        tuner.on_data(&arrival, &AfterArrival { nxt, top: None, window: 2 << 20 });
        sizes.push(tuner.size());
    }
    sizes
}

#[test]
fn linux_tunes_for_a_reader_that_keeps_up_and_for_no_other() {
    // 1448 B per 12 us over 10 ms: 1.2 MB per round trip, of which a window is at least twice.
    let sizes = linux_reader(1448, 1448, 12, 10, 20_000);
    assert_eq!(sizes[0], 65_535);
    assert!(sizes.windows(2).all(|w| w[0] <= w[1]), "it never shrinks");
    let (last, per_round_trip) = (*sizes.last().unwrap(), 1448 * 10_000 / 12);
    assert!((2 * per_round_trip..=16 << 20).contains(&last), "{last}");
    // A reader that takes a twentieth falls behind.
    let slow = linux_reader(1448, 72, 12, 10, 20_000);
    assert!(slow.iter().all(|size| *size == 65_535), "{:?}", slow.last());
}

#[test]
fn linux_makes_room_for_data_beyond_a_gap() {
    let mut rule = Linux::new(16 << 20);
    rule.on_established(Instant::ZERO, 65_535, 1448);
    let arrival = Arrival {
        now: Instant::ZERO + MS,
        payload: 1448,
        predicted: false,
        echo: None,
        tick: MS,
        srtt: None,
        nxt: 0,
        consumed: 0,
    };
    let after = AfterArrival { nxt: 0, top: Some(60_000), window: 65_535 };
    // Twice ten segments and 60,000 B: the window follows by two segments.
    assert_eq!(rule.on_data(65_535, &arrival, &after), 65_535 + 2 * 1448);
    assert_eq!(rule.on_data(200_000, &arrival, &after), 200_000, "the clamp is below");
}
