use lowtide_wire::Ecn;

use super::*;
use crate::aqm::NotEct;

const PERIOD: Duration = Duration::from_ms(1);

fn pi(q_ref: u64) -> Pi {
    let (a, b) = (Fraction::from_ppb(20_000), Fraction::from_ppb(15_000));
    let signal = CongestionSignal::Mark(NotEct::Ignore);
    Pi::new(PiConfig { a, b, q_ref, period: PERIOD, signal }, Seed(1))
}

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

fn queue(packets: u32) -> Occupancy {
    Occupancy { packets, bytes: 0 }
}

#[test]
fn at_the_reference_the_probability_stays() {
    let mut pi = pi(50);
    pi.advance(at(10_001), queue(100));
    pi.advance(at(20_001), queue(50));
    let settled = pi.chance;
    assert!(settled > 0);
    pi.advance(at(90_000_001), queue(50));
    assert_eq!(pi.chance, settled, "the integrator is at rest");
}

#[test]
fn a_constant_error_adds_the_same_each_period() {
    let mut pi = pi(50);
    pi.advance(at(1_001), queue(100));
    // a x 50 + b x 50: the error before the start was that of an empty queue.
    assert_eq!(pi.chance, 50 * 20_000 + 50 * 15_000);
    let first = pi.chance;
    pi.advance(at(101_001), queue(100));
    assert_eq!(pi.chance, first + 100 * 50 * 5_000);
    pi.advance(at(3_600_000_001), queue(100));
    assert_eq!(pi.chance, 1_000_000_000, "clamped at one");
    pi.advance(at(7_200_000_001), queue(0));
    assert_eq!(pi.chance, 0, "clamped at zero");
}

#[test]
fn one_long_step_equals_many_short_ones() {
    let (mut long, mut short) = (pi(50), pi(50));
    let mut from = 0;
    for (i, until) in [(100, 7_300), (20, 9_100), (90, 9_150), (70, 64_000)] {
        long.advance(at(until), queue(i));
        for us in from..=until {
            short.advance(at(us), queue(i));
        }
        from = until;
        assert_eq!((long.chance, long.error, long.next), (short.chance, short.error, short.next));
    }
}

#[test]
fn an_update_sees_the_queue_just_before_its_instant() {
    let mut pi = pi(0);
    pi.advance(at(1_000), queue(10));
    assert_eq!(pi.chance, 0, "a change at that instant comes later");
    pi.advance(at(1_000) + Duration::from_ps(1), queue(20));
    assert_eq!(pi.chance, 20 * 20_000);
}

#[test]
fn packets_are_marked_with_that_probability() {
    let mut pi = pi(0);
    pi.chance = 30_000_000;
    let packet = EnqueueInfo {
        backlog: queue(10),
        size: 1_500,
        ecn: Ecn::Ect0,
        tx_start: at(0),
        idle_since: at(0),
    };
    let n = 100_000;
    let marks = (0..n).filter(|_| pi.on_enqueue(at(0), &packet) == AqmVerdict::Mark).count();
    // 3 % of 100000: 3000, five standard deviations of sqrt(3000 x 0.97).
    assert!(marks.abs_diff(3_000) < 5 * 54, "{marks}");
}
