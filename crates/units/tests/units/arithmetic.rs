//! Time and rates are exact where documented, and saturate at their limits.

use lowtide_units::{Bytes, Duration, Instant, Rate};
use proptest::prelude::*;

/// Every Ethernet rate from 10 Mbit/s to 1.6 Tbit/s, in Mbit/s, with the picoseconds of one byte.
const ETHERNET: [(u64, u64); 14] = [
    (10, 800_000),
    (100, 80_000),
    (1_000, 8_000),
    (2_500, 3_200),
    (5_000, 1_600),
    (10_000, 800),
    (20_000, 400),
    (25_000, 320),
    (40_000, 200),
    (50_000, 160),
    (100_000, 80),
    (400_000, 20),
    (800_000, 10),
    (1_600_000, 5),
];

#[test]
fn serialization_is_exact_at_ethernet_rates() {
    for (mbps, byte_ps) in ETHERNET {
        let rate = Rate::from_bps(mbps * 1_000_000).unwrap();
        for n in [0, 1, 64, 1500, 1538, 9038, 6_000_000] {
            let span = rate.serialization(Bytes::new(n));
            assert_eq!(span, Duration::from_ps(n * byte_ps), "{n} B at {rate}");
            assert_eq!(rate.bytes_in(span), Bytes::new(n), "{span} at {rate}");
        }
    }
}

#[test]
fn serialization_rounds_up_and_saturates() {
    let third = Rate::from_bps(3).unwrap();
    assert_eq!(third.serialization(Bytes::new(1)).as_ps(), 2_666_666_666_667);
    let slow = Rate::from_bps(1).unwrap();
    assert_eq!(slow.serialization(Bytes::new(u64::MAX)), Duration::MAX);
    let fast = Rate::from_bps(u64::MAX).unwrap();
    assert_eq!(fast.bytes_in(Duration::MAX), Bytes::new(u64::MAX));
    assert_eq!(Rate::from_bps(0), None);
    assert_eq!(Rate::from_gbps(0).as_bps(), 1);
    assert_eq!(Rate::from_gbps(u64::MAX).as_bps(), u64::MAX);
}

#[test]
fn time_saturates_instead_of_wrapping() {
    let far = Instant::FAR_FUTURE;
    assert_eq!(far + Duration::from_ps(1), far);
    assert_eq!(Instant::ZERO.saturating_since(far), Duration::ZERO);
    assert_eq!(far.saturating_since(Instant::ZERO), Duration::MAX);
    assert_eq!(Duration::MAX + Duration::from_ps(1), Duration::MAX);
    assert_eq!(Duration::from_us(1) - Duration::from_us(2), Duration::ZERO);
    assert_eq!(Duration::MAX * 2, Duration::MAX);
    assert_eq!(Duration::from_secs(u64::MAX), Duration::MAX);
    assert_eq!(Duration::from_us(10) / 3, Duration::from_ps(3_333_333));
    assert_eq!(Duration::from_us(10) / 0, Duration::MAX);
    assert_eq!(Duration::from_us(3).abs_diff(Duration::from_us(5)), Duration::from_us(2));
}

#[test]
fn units_agree_with_each_other() {
    assert_eq!(Duration::from_secs(1), Duration::from_ms(1_000));
    assert_eq!(Duration::from_ms(1), Duration::from_us(1_000));
    assert_eq!(Duration::from_us(1), Duration::from_ns(1_000));
    assert_eq!(Duration::from_ns(1), Duration::from_ps(1_000));
    let span = Duration::from_ps(1_234_567_890_123);
    assert_eq!((span.as_ms(), span.as_us(), span.as_ns()), (1_234, 1_234_567, 1_234_567_890));
}

#[test]
fn rounding_up_to_a_tick() {
    let tick = Duration::from_ms(1);
    assert_eq!(Duration::ZERO.round_up_to(tick), Duration::ZERO);
    assert_eq!(Duration::from_ps(1).round_up_to(tick), tick);
    assert_eq!(tick.round_up_to(tick), tick);
    assert_eq!(Duration::from_us(1_001).round_up_to(tick), Duration::from_ms(2));
    assert_eq!(Duration::from_us(7).round_up_to(Duration::ZERO), Duration::from_us(7));
    assert_eq!(Duration::MAX.round_up_to(tick), Duration::MAX);
}

proptest! {
    #[test]
    fn a_rate_never_delivers_more_than_it_can(bps in 1_u64.., size: u64) {
        let rate = Rate::from_bps(bps).unwrap();
        let span = rate.serialization(Bytes::new(size));
        if span != Duration::MAX {
            // Rounded up by less than a picosecond: the bytes fit, and in one picosecond less they
            // do not.
            prop_assert!(rate.bytes_in(span).as_u64() >= size);
            if span != Duration::ZERO {
                let less = span - Duration::from_ps(1);
                prop_assert!(rate.bytes_in(less).as_u64() < size);
            }
        }
    }

    #[test]
    fn parts_serialize_no_faster_than_the_whole(bps in 1_u64..2_000_000_000_000, a in 0_u64..10_000, b in 0_u64..10_000) {
        let rate = Rate::from_bps(bps).unwrap();
        let parts = rate.serialization(Bytes::new(a)) + rate.serialization(Bytes::new(b));
        let whole = rate.serialization(Bytes::new(a + b));
        prop_assert!(parts >= whole && parts - whole <= Duration::from_ps(1));
    }
}
