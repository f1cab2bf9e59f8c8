use lowtide_wire::Ecn;

use super::*;
use crate::Occupancy;
use crate::aqm::NotEct;

const TARGET: Duration = Duration::from_ms(5);
const INTERVAL: Duration = Duration::from_ms(100);

fn codel(signal: CongestionSignal) -> CoDel {
    CoDel::new(CoDelConfig { target: TARGET, interval: INTERVAL, signal })
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

/// Returns the times of signals in us, with one packet every 10 us until `end`, each with delay
/// `waited`. A dropped packet is followed by another at once.
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
        // The first after an interval, then interval / sqrt(n) after the due time of the n-th.
        let (mut due, mut want) = (100_000.0, Vec::new());
        for n in 1.. {
            if due >= 2_000_000.0 {
                break;
            }
            want.push(due);
            due += 100_000.0 / f64::from(n).sqrt();
        }
        assert_eq!(got.len(), want.len());
        assert!(want.len() > 100, "the law is tested over many signals");
        for (got, want) in got.iter().zip(want) {
            // The first packet at or after the due time; packets are 10 us apart.
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
    // Again a whole interval above the target.
    let got = signals(&mut codel, 150_010, 250_020, Duration::from_ms(6));
    assert_eq!(got, [250_010]);
}

#[test]
fn a_delay_of_exactly_the_target_counts_as_above() {
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
    // The count resumes from the signals that the last episode added to its start, which was one.
    assert_eq!(again[0], 1_100_010);
    let gap = 100_000.0 / ((many - 1) as f64).sqrt();
    assert!((again[1] - again[0]) as f64 - gap < 10.001, "{again:?}, {gap}");
    // After sixteen quiet intervals it restarts.
    offer(&mut codel, 1_200_000, Duration::ZERO);
    let again = signals(&mut codel, 4_000_000, 4_300_000, Duration::from_ms(6));
    assert_eq!(again[..2], [4_100_000, 4_200_000]);
}

#[test]
fn a_queue_below_the_largest_packet_is_exempt() {
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
