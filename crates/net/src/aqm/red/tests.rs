use lowtide_units::{Bytes, Fraction};
use lowtide_wire::Ecn;

use super::*;
use crate::Occupancy;
use crate::aqm::NotEct;

const SLOT: Duration = Duration::from_us(1);

fn spec(min: u64, max: u64, percent: i64, weight: u8, gentle: bool) -> RedConfig {
    RedConfig {
        min: QueueLength::Packets(min),
        max: QueueLength::Packets(max),
        max_p: Fraction::from_percent(percent),
        weight,
        gentle,
        mean_packet: Bytes::new(1_500),
        signal: CongestionSignal::Mark(NotEct::Ignore),
    }
}

fn red(spec: RedConfig, seed: u64) -> Red {
    Red::new(spec, SLOT, Seed(seed))
}

fn offer(red: &mut Red, packets: u32, idle: Duration, ecn: Ecn) -> AqmVerdict {
    let found = Occupancy { packets, bytes: u64::from(packets) * 1_500 };
    let now = Instant::ZERO + idle;
    let idle_since = Instant::ZERO;
    red.on_enqueue(
        now,
        &EnqueueInfo { backlog: found, size: 1_500, ecn, tx_start: now, idle_since },
    )
}

fn average(red: &Red) -> f64 {
    red.average as f64 / (1_u64 << FRAC_BITS) as f64
}

#[test]
fn the_step_response_of_the_average_is_exponential() {
    for weight in [0, 1, 4, 9, 16] {
        let mut red = red(spec(1_000, 2_000, 10, weight, false), 1);
        let w = 0.5_f64.powi(i32::from(weight));
        for n in 1..=5_000 {
            offer(&mut red, 100, Duration::ZERO, Ecn::Ect0);
            let want = 100.0 * (1.0 - (1.0 - w).powi(n));
            assert!(
                (average(&red) - want).abs() < 1e-4,
                "{weight}, {n}: {}, {want}",
                average(&red)
            );
        }
    }
}

#[test]
fn idle_time_decays_the_average() {
    for weight in [0, 3, 9] {
        for (idle, slots) in [(999, 0), (1_000, 1), (7_900, 7), (512_000, 512), (1 << 40, 1 << 30)]
        {
            let mut red = red(spec(1_000, 2_000, 10, weight, false), 1);
            red.average = 100 << FRAC_BITS;
            offer(&mut red, 0, Duration::from_ns(idle), Ecn::Ect0);
            let w = 0.5_f64.powi(i32::from(weight));
            let want = 100.0 * (1.0 - w).powi(slots);
            assert!((average(&red) - want).abs() < 1e-4, "{weight}, {idle}: {}", average(&red));
        }
    }
}

/// Returns the marks among `n` packets at a constant queue, and the distances between them.
fn distances(spec: RedConfig, packets: u32, n: u32) -> (u32, Vec<u32>) {
    let mut red = red(spec, 3);
    red.average = i128::from(packets) << FRAC_BITS;
    let (mut distances, mut since) = (Vec::new(), 0);
    for _ in 0..n {
        since += 1;
        if offer(&mut red, packets, Duration::ZERO, Ecn::Ect0) == AqmVerdict::Mark {
            distances.push(since);
            since = 0;
        }
    }
    (distances.len() as u32, distances)
}

#[test]
fn in_the_linear_zone_distances_are_uniform() {
    // p_b = 10 % x (30 - 20) / (70 - 20) = 2 %: distances uniform on 1 to 50, mean 25.5.
    let n = 510_000;
    let (marks, distances) = distances(spec(20, 70, 10, 4, false), 30, n);
    // Renewal process with a variance of (50^2 - 1) / 12 = 208 per distance: a standard deviation
    // of sqrt(n x 208 / 25.5^3) = 80 marks.
    assert!(marks.abs_diff(20_000) < 5 * 80, "{marks}");
    assert_eq!(distances.iter().skip(1).max(), Some(&50));
    // 1/50 of the distances each: 400 of 20000, five binomial deviations of sqrt(400 x 0.98).
    for d in 1..=50 {
        let of = distances.iter().filter(|x| **x == d).count();
        assert!(of.abs_diff(marks as usize / 50) < 5 * 20, "{d}: {of}");
    }
}

#[test]
fn the_probability_is_linear_and_then_steep_or_gentle() {
    let chance = |average: u32, gentle| {
        let mut red = red(spec(20, 70, 10, 0, gentle), 1);
        red.average = i128::from(average) << FRAC_BITS;
        red.chance()
    };
    assert_eq!(chance(20, false), Some(0));
    assert_eq!(chance(45, false), Some(50_000_000));
    assert_eq!(chance(69, false), Some(98_000_000));
    assert_eq!(chance(70, false), None);
    assert_eq!(chance(70, true), Some(100_000_000));
    assert_eq!(chance(105, true), Some(550_000_000));
    assert_eq!(chance(140, true), None);
}

#[test]
fn outside_the_linear_zone_it_is_deterministic() {
    assert_eq!(distances(spec(20, 70, 100, 0, false), 19, 10_000).0, 0);
    assert_eq!(distances(spec(20, 70, 1, 0, false), 70, 10_000).0, 10_000);
    assert_eq!(distances(spec(20, 70, 1, 0, true), 140, 10_000).0, 10_000);
}

#[test]
fn a_step_is_red_without_an_average() {
    // "min = max = K, weight 1" as switches are configured for DCTCP: thresholds K and K + 1, all
    // above K marked.
    let mut red = red(spec(20, 21, 100, 0, false), 1);
    for packets in [0, 20, 21, 20, 40, 3] {
        let want = if packets > 20 { AqmVerdict::Mark } else { AqmVerdict::Forward };
        assert_eq!(offer(&mut red, packets, Duration::ZERO, Ecn::Ect0), want, "{packets}");
    }
}

#[test]
fn bytes_are_counted_in_bytes() {
    let (min, max) =
        (QueueLength::Bytes(Bytes::new(30_000)), QueueLength::Bytes(Bytes::new(30_001)));
    let mut red = red(RedConfig { min, max, ..spec(0, 1, 100, 0, false) }, 1);
    assert_eq!(offer(&mut red, 20, Duration::ZERO, Ecn::Ect0), AqmVerdict::Forward);
    assert_eq!(offer(&mut red, 21, Duration::ZERO, Ecn::Ect0), AqmVerdict::Mark);
}

#[test]
fn the_signal_decides_between_mark_and_drop() {
    for (signal, capable, other) in [
        (CongestionSignal::Drop, AqmVerdict::Drop, AqmVerdict::Drop),
        (CongestionSignal::Mark(NotEct::Drop), AqmVerdict::Mark, AqmVerdict::Drop),
        (CongestionSignal::Mark(NotEct::Ignore), AqmVerdict::Mark, AqmVerdict::Forward),
    ] {
        let mut red = red(RedConfig { signal, ..spec(1, 2, 10, 0, false) }, 1);
        assert_eq!(offer(&mut red, 5, Duration::ZERO, Ecn::Ect1), capable);
        assert_eq!(offer(&mut red, 5, Duration::ZERO, Ecn::NotEct), other);
    }
}

#[test]
fn the_seed_determines_the_draws() {
    let marks = |seed| {
        let mut red = red(spec(20, 70, 10, 4, false), seed);
        red.average = 40 << FRAC_BITS;
        (0..200).map(|_| offer(&mut red, 40, Duration::ZERO, Ecn::Ect0)).collect::<Vec<_>>()
    };
    assert_eq!(marks(1), marks(1));
    assert_ne!(marks(1), marks(2));
}
