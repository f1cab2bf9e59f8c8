use lowtide_wire::Ecn;

use super::*;
use crate::{CongestionSignal, NotEct, Occupancy};

const TARGET: Duration = Duration::from_ms(5);
const INTERVAL: Duration = Duration::from_ms(100);

fn codel(signal: CongestionSignal) -> CoDel {
    CoDel::new(CoDelSpec { target: TARGET, interval: INTERVAL, signal })
}

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

fn offer(codel: &mut CoDel, us: u64, waited: Duration) -> AqmVerdict {
    let left = Occupancy { packets: 100, bytes: 150_000 };
    codel.on_dequeue(
        at(us),
        &DequeueInfo { backlog: left, sojourn: waited, size: 1_500, ecn: Ecn::Ect0 },
    )
}

/// When signals are given, in us, while each packet, one every 10 us until `end`, has waited for `waited`.
/// A packet that is dropped is followed by another one at once.
fn signals(codel: &mut CoDel, from: u64, end: u64, waited: Duration) -> Vec<u64> {
    let mut out = Vec::new();
    for us in (from..end).step_by(10) {
        loop {
            let verdict = offer(codel, us, waited);
            if verdict != AqmVerdict::Forward {
                out.push(us);
            }
            if verdict != AqmVerdict::Drop {
                break;
            }
        }
    }
    out
}

#[test]
fn signals_come_at_intervals_over_the_root_of_their_number() {
    for signal in [CongestionSignal::Drop, CongestionSignal::Mark(NotEct::Ignore)] {
        let got = signals(&mut codel(signal), 0, 2_000_000, Duration::from_ms(6));
        // The first after an interval, then interval / sqrt(n) after the time the n-th was due.
        let (mut due, mut want) = (100_000.0, Vec::new());
        for n in 1.. {
            if due >= 2_000_000.0 {
                break;
            }
            want.push(due);
            due += 100_000.0 / f64::from(n).sqrt();
        }
        assert_eq!(got.len(), want.len());
        assert!(want.len() > 100, "the law is tried over many signals");
        for (got, want) in got.iter().zip(want) {
            // The first packet at or after the due time: packets are 10 us apart.
            let late = *got as f64 - want;
            assert!((-0.001..10.001).contains(&late), "{got}, due {want}");
        }
    }
}

#[test]
fn a_single_short_wait_ends_the_episode() {
    let mut codel = codel(CongestionSignal::Drop);
    assert_eq!(signals(&mut codel, 0, 100_010, Duration::from_ms(6)), [100_000]);
    assert_eq!(offer(&mut codel, 150_000, Duration::from_us(4_999)), AqmVerdict::Forward);
    // A whole interval above the target again.
    let got = signals(&mut codel, 150_010, 250_020, Duration::from_ms(6));
    assert_eq!(got, [250_010]);
}

#[test]
fn the_target_itself_counts_as_too_long_and_less_does_not() {
    assert_eq!(signals(&mut codel(CongestionSignal::Drop), 0, 100_010, TARGET), [100_000]);
    let below = Duration::from_ps(TARGET.as_ps() - 1);
    assert!(signals(&mut codel(CongestionSignal::Drop), 0, 10_000_000, below).is_empty());
}

#[test]
fn an_episode_soon_after_another_goes_on_at_its_rate() {
    let mut codel = codel(CongestionSignal::Drop);
    let many = signals(&mut codel, 0, 1_000_000, Duration::from_ms(6)).len() as u64;
    offer(&mut codel, 1_000_000, Duration::ZERO);
    let again = signals(&mut codel, 1_000_010, 1_200_000, Duration::from_ms(6));
    // The count goes on from what the last episode added to its own start, which was one.
    assert_eq!(again[0], 1_100_010);
    let gap = 100_000.0 / ((many - 1) as f64).sqrt();
    assert!((again[1] - again[0]) as f64 - gap < 10.001, "{again:?}, {gap}");
    // After sixteen intervals of quiet it begins anew.
    offer(&mut codel, 1_200_000, Duration::ZERO);
    let again = signals(&mut codel, 4_000_000, 4_300_000, Duration::from_ms(6));
    assert_eq!(again[..2], [4_100_000, 4_200_000]);
}

#[test]
fn a_packet_that_leaves_less_than_the_largest_is_left_alone() {
    let mut codel = codel(CongestionSignal::Drop);
    for us in (0..1_000_000).step_by(10) {
        let left = Occupancy { packets: 1, bytes: 1_500 };
        let waited = Duration::from_ms(50);
        let packet = DequeueInfo { backlog: left, sojourn: waited, size: 1_500, ecn: Ecn::Ect0 };
        assert_eq!(codel.on_dequeue(at(us), &packet), AqmVerdict::Forward);
    }
}

#[test]
fn a_queue_that_runs_empty_by_a_later_drop_ends_the_episode() {
    let mut codel = codel(CongestionSignal::Drop);
    signals(&mut codel, 0, 199_990, Duration::from_ms(6));
    assert_eq!(offer(&mut codel, 200_000, Duration::from_ms(6)), AqmVerdict::Drop);
    codel.on_empty();
    assert!(!codel.dropping);
    assert_eq!(signals(&mut codel, 200_010, 300_000, Duration::from_ms(6)), Vec::<u64>::new());
}
