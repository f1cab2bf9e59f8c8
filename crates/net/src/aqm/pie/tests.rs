use lowtide_wire::Ecn;

use super::*;
use crate::aqm::NotEct;

const MS: Duration = Duration::from_ms(1);
/// A probability of 10^-12.
const TRILLIONTH: i128 = 1_000_000;

/// The defaults of RFC 8033.
fn spec() -> PieConfig {
    PieConfig {
        target: MS * 15,
        period: MS * 15,
        alpha: Ratio::new(1, 8).unwrap(),
        beta: Ratio::new(5, 4).unwrap(),
        burst: MS * 150,
        mark_limit: Fraction::from_percent(10),
        derandomise: false,
        mean_packet: Bytes::new(1_500),
        signal: CongestionSignal::Mark(NotEct::Ignore),
    }
}

fn pie() -> Pie {
    Pie::new(spec(), Seed(1))
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + MS * ms
}

fn queue(packets: u32) -> Occupancy {
    Occupancy { packets, bytes: u64::from(packets) * 1_500 }
}

fn leaves(pie: &mut Pie, waited: Duration) {
    let packet = DequeueInfo { backlog: queue(9), sojourn: waited, size: 1_500, ecn: Ecn::Ect0 };
    assert_eq!(pie.on_dequeue(at(0), &packet), AqmVerdict::Forward);
}

fn arrives(pie: &mut Pie, ecn: Ecn, found: Occupancy) -> AqmVerdict {
    let packet =
        EnqueueInfo { backlog: found, size: 1_500, ecn, tx_start: at(0), idle_since: at(0) };
    pie.on_enqueue(at(0), &packet)
}

#[test]
fn a_step_follows_the_formula_and_is_scaled_while_the_probability_is_small() {
    let mut pie = pie();
    leaves(&mut pie, MS * 20);
    pie.advance(at(15), queue(9));
    assert_eq!(pie.drop_prob, 0, "an update follows the events of its instant");
    pie.advance(at(16), queue(9));
    // 1/8 x 5 ms + 5/4 x 20 ms = 0.025625, over 2048.
    assert_eq!(pie.drop_prob, 12_512_207 * TRILLIONTH + 31_250);
    let first = pie.drop_prob;
    pie.advance(at(31), queue(9));
    // 1/8 x 5 ms = 0.000625; between 10^-5 and 10^-4 over 128.
    assert_eq!(pie.drop_prob - first, 4_882_812 * TRILLIONTH + 500_000);
}

#[test]
fn each_decade_has_its_own_scale() {
    // Two milliseconds above the target, now and at the last update: 1/8 x 2 ms = 0.00025.
    for (chance, by) in
        [(5e-7, 2_048), (5e-6, 512), (5e-5, 128), (5e-4, 32), (5e-3, 8), (5e-2, 2), (0.5, 1)]
    {
        let mut pie = pie();
        let before = (chance * 1e18) as i128;
        (pie.drop_prob, pie.qdelay_old) = (before, MS * 17);
        pie.update(MS * 17);
        assert_eq!(pie.drop_prob - before, 250 * ONE / 1_000_000 / by, "{chance}");
    }
}

#[test]
fn the_probability_is_clamped_and_decays_while_the_queue_is_empty() {
    let mut pie = pie();
    pie.update(Duration::from_secs(900));
    assert_eq!(
        pie.drop_prob,
        ONE / 2_048 * 1_237_498_125 / 1_000_000,
        "1125 + 112.498125, over 2048"
    );
    pie.update(Duration::from_secs(900));
    assert_eq!(pie.drop_prob, ONE);
    pie.update(Duration::ZERO);
    assert_eq!(pie.drop_prob, 0);
    pie.drop_prob = ONE / 2;
    pie.update(Duration::ZERO);
    // 98 % of 0.5 - 1/8 x 15 ms.
    assert_eq!(pie.drop_prob, (ONE / 2 - ONE * 15 / 8_000) * 98 / 100);
}

#[test]
fn nothing_drops_while_the_burst_allowance_lasts() {
    let mut pie = pie();
    leaves(&mut pie, MS * 40);
    pie.drop_prob = ONE;
    // Ten updates of 15 ms use 150 ms up.
    for update in 1..=10 {
        assert_eq!(arrives(&mut pie, Ecn::Ect0, queue(9)), AqmVerdict::Forward, "{update}");
        pie.advance(at(15 * update) + Duration::from_ps(1), queue(9));
        pie.drop_prob = ONE;
    }
    assert_eq!(pie.burst_allowance, Duration::ZERO);
    assert_eq!(arrives(&mut pie, Ecn::Ect0, queue(9)), AqmVerdict::Drop, "above 10 %");
    // Reset requires a probability of zero and two calm updates.
    pie.drop_prob = 0;
    pie.update(MS * 7);
    assert_eq!(pie.burst_allowance, Duration::ZERO, "the update before was not");
    pie.drop_prob = 0;
    pie.update(MS * 7);
    assert_eq!(pie.burst_allowance, MS * 150);
}

#[test]
fn it_marks_below_the_limit_and_drops_above() {
    let mut pie = pie();
    (pie.burst_allowance, pie.qdelay_old) = (Duration::ZERO, MS * 15);
    let mut count = |chance: i128, ecn| {
        pie.drop_prob = chance;
        let mut seen = [0_u32; 3];
        for _ in 0..100_000 {
            seen[arrives(&mut pie, ecn, queue(9)) as usize] += 1;
        }
        seen
    };
    // 5 % of 100000, five standard deviations of sqrt(5000 x 0.95).
    let [_, marks, drops] = count(ONE / 20, Ecn::Ect0);
    assert!(marks.abs_diff(5_000) < 5 * 69 && drops == 0, "{marks} {drops}");
    let [_, marks, drops] = count(ONE / 10, Ecn::Ect0);
    assert!(drops.abs_diff(10_000) < 5 * 95 && marks == 0, "{marks} {drops}");
    assert_eq!(count(ONE / 20, Ecn::NotEct), [100_000, 0, 0], "ignored");
    let [_, marks, drops] = count(ONE / 10, Ecn::NotEct);
    assert!(drops.abs_diff(10_000) < 5 * 95 && marks == 0, "{marks} {drops}");
}

#[test]
fn short_or_low_delay_queues_are_not_dropped() {
    let mut pie = pie();
    (pie.burst_allowance, pie.qdelay_old, pie.drop_prob) = (Duration::ZERO, MS * 15, ONE);
    assert_eq!(arrives(&mut pie, Ecn::Ect0, queue(2)), AqmVerdict::Forward, "two packets");
    assert_eq!(arrives(&mut pie, Ecn::Ect0, queue(3)), AqmVerdict::Drop);
    pie.qdelay_old = MS * 7;
    assert_eq!(arrives(&mut pie, Ecn::Ect0, queue(3)), AqmVerdict::Drop, "a fifth or more counts");
    pie.drop_prob = ONE / 5 - 1;
    let spared = (0..1_000).all(|_| arrives(&mut pie, Ecn::Ect0, queue(3)) == AqmVerdict::Forward);
    assert!(spared, "below half of the target and a fifth");
}

#[test]
fn one_long_step_equals_many_short_ones() {
    let (mut long, mut short) = (pie(), pie());
    let mut from = 0;
    for (packets, waited, until) in [(9, 30, 200), (4, 12, 460), (0, 1, 60_000), (7, 22, 60_100)] {
        leaves(&mut long, MS * waited);
        leaves(&mut short, MS * waited);
        long.advance(at(until), queue(packets));
        for ms in from..=until {
            short.advance(at(ms), queue(packets));
        }
        from = until;
        let state = |p: &Pie| (p.drop_prob, p.qdelay_old, p.burst_allowance, p.next);
        assert_eq!(state(&long), state(&short), "{until}");
    }
    assert!(long.drop_prob > 0);
}

#[test]
fn derandomised_signals_are_a_random_distance_after_a_fixed_one() {
    let mut pie = Pie::new(PieConfig { derandomise: true, ..spec() }, Seed(7));
    pie.drop_prob = ONE / 20;
    let mut gaps = vec![0_u32];
    for _ in 0..200_000 {
        *gaps.last_mut().unwrap() += 1;
        if pie.chooses() {
            gaps.push(0);
        }
    }
    gaps.pop();
    // 5 % add up to 0.85 with the 17th packet, the first that may be chosen, and to 8.5 with the
    // 170th.
    assert!(gaps.iter().all(|gap| (17..=170).contains(gap)));
    let mean = f64::from(gaps.iter().sum::<u32>()) / gaps.len() as f64;
    assert!((mean - 36.0).abs() < 0.7, "16 packets, then one in 20: {mean}");
}
