use lowtide_units::{Bytes, Parts};
use lowtide_wire::Ecn;

use super::*;
use crate::{NotEct, Signal};

const MS: Duration = Duration::from_ms(1);
/// A probability of 10^-12.
const TRILLIONTH: i128 = 1_000_000;

/// As RFC 8033 has it by default.
fn spec() -> PieSpec {
    PieSpec {
        target: MS * 15,
        period: MS * 15,
        alpha: Ratio::new(1, 8).unwrap(),
        beta: Ratio::new(5, 4).unwrap(),
        burst: MS * 150,
        mark_limit: Parts::from_percent(10),
        mean_packet: Bytes::new(1_500),
        signal: Signal::Mark(NotEct::Ignore),
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
    let packet = Leaving { left: queue(9), waited, size: 1_500, ecn: Ecn::Ect0 };
    assert_eq!(pie.on_dequeue(at(0), &packet), Verdict::Forward);
}

fn arrives(pie: &mut Pie, ecn: Ecn, found: Occupancy) -> Verdict {
    let packet = Arriving { found, size: 1_500, ecn, on_line: at(0), idle_since: at(0) };
    pie.on_enqueue(at(0), &packet)
}

#[test]
fn a_step_follows_the_formula_and_is_scaled_while_the_probability_is_small() {
    let mut pie = pie();
    leaves(&mut pie, MS * 20);
    pie.pass(at(15), queue(9));
    assert_eq!(pie.chance, 0, "an update is after what happens at its instant");
    pie.pass(at(16), queue(9));
    // 1/8 x 5 ms + 5/4 x 20 ms = 0.025625, over 2048.
    assert_eq!(pie.chance, 12_512_207 * TRILLIONTH + 31_250);
    let first = pie.chance;
    pie.pass(at(31), queue(9));
    // 1/8 x 5 ms = 0.000625; between 10^-5 and 10^-4 over 128.
    assert_eq!(pie.chance - first, 4_882_812 * TRILLIONTH + 500_000);
}

#[test]
fn each_decade_has_its_own_scale() {
    // Two milliseconds above the target, as at the last update: 1/8 x 2 ms = 0.00025.
    for (chance, by) in
        [(5e-7, 2_048), (5e-6, 512), (5e-5, 128), (5e-4, 32), (5e-3, 8), (5e-2, 2), (0.5, 1)]
    {
        let mut pie = pie();
        let before = (chance * 1e18) as i128;
        (pie.chance, pie.old) = (before, MS * 17);
        pie.update(MS * 17);
        assert_eq!(pie.chance - before, 250 * ONE / 1_000_000 / by, "{chance}");
    }
}

#[test]
fn the_probability_ends_at_one_and_at_nothing_and_decays_while_nothing_waits() {
    let mut pie = pie();
    pie.update(Duration::from_secs(900));
    assert_eq!(pie.chance, ONE / 2_048 * 1_237_498_125 / 1_000_000, "1125 + 112.498125, over 2048");
    pie.update(Duration::from_secs(900));
    assert_eq!(pie.chance, ONE);
    pie.update(Duration::ZERO);
    assert_eq!(pie.chance, 0);
    pie.chance = ONE / 2;
    pie.update(Duration::ZERO);
    // 0.5 - 1/8 x 15 ms, of which 98 % stay.
    assert_eq!(pie.chance, (ONE / 2 - ONE * 15 / 8_000) * 98 / 100);
}

#[test]
fn nothing_is_chosen_while_the_allowance_lasts_and_calm_renews_it() {
    let mut pie = pie();
    leaves(&mut pie, MS * 40);
    pie.chance = ONE;
    // Ten updates of 15 ms use 150 ms up.
    for update in 1..=10 {
        assert_eq!(arrives(&mut pie, Ecn::Ect0, queue(9)), Verdict::Forward, "{update}");
        pie.pass(at(15 * update) + Duration::from_ps(1), queue(9));
        pie.chance = ONE;
    }
    assert_eq!(pie.burst, Duration::ZERO);
    assert_eq!(arrives(&mut pie, Ecn::Ect0, queue(9)), Verdict::Drop, "above 10 %");
    // It takes a probability of zero and two calm updates.
    pie.chance = 0;
    pie.update(MS * 7);
    assert_eq!(pie.burst, Duration::ZERO, "the update before was not");
    pie.chance = 0;
    pie.update(MS * 7);
    assert_eq!(pie.burst, MS * 150);
}

#[test]
fn below_the_limit_it_marks_and_from_there_on_it_drops() {
    let mut pie = pie();
    (pie.burst, pie.old) = (Duration::ZERO, MS * 15);
    let mut count = |chance: i128, ecn| {
        pie.chance = chance;
        let mut seen = [0_u32; 3];
        for _ in 0..100_000 {
            seen[arrives(&mut pie, ecn, queue(9)) as usize] += 1;
        }
        seen
    };
    // 5 % of a hundred thousand, five deviations of sqrt(5000 x 0.95).
    let [_, marks, drops] = count(ONE / 20, Ecn::Ect0);
    assert!(marks.abs_diff(5_000) < 5 * 69 && drops == 0, "{marks} {drops}");
    let [_, marks, drops] = count(ONE / 10, Ecn::Ect0);
    assert!(drops.abs_diff(10_000) < 5 * 95 && marks == 0, "{marks} {drops}");
    assert_eq!(count(ONE / 20, Ecn::NotEct), [100_000, 0, 0], "ignored");
    let [_, marks, drops] = count(ONE / 10, Ecn::NotEct);
    assert!(drops.abs_diff(10_000) < 5 * 95 && marks == 0, "{marks} {drops}");
}

#[test]
fn short_queues_and_calm_ones_are_spared() {
    let mut pie = pie();
    (pie.burst, pie.old, pie.chance) = (Duration::ZERO, MS * 15, ONE);
    assert_eq!(arrives(&mut pie, Ecn::Ect0, queue(2)), Verdict::Forward, "two packets");
    assert_eq!(arrives(&mut pie, Ecn::Ect0, queue(3)), Verdict::Drop);
    pie.old = MS * 7;
    assert_eq!(arrives(&mut pie, Ecn::Ect0, queue(3)), Verdict::Drop, "a fifth or more counts");
    pie.chance = ONE / 5 - 1;
    let spared = (0..1_000).all(|_| arrives(&mut pie, Ecn::Ect0, queue(3)) == Verdict::Forward);
    assert!(spared, "below half of the target and a fifth");
}

#[test]
fn one_long_look_equals_many_short_ones() {
    let (mut long, mut short) = (pie(), pie());
    let mut from = 0;
    for (packets, waited, until) in [(9, 30, 200), (4, 12, 460), (0, 1, 60_000), (7, 22, 60_100)] {
        leaves(&mut long, MS * waited);
        leaves(&mut short, MS * waited);
        long.pass(at(until), queue(packets));
        for ms in from..=until {
            short.pass(at(ms), queue(packets));
        }
        from = until;
        let state = |p: &Pie| (p.chance, p.old, p.burst, p.next);
        assert_eq!(state(&long), state(&short), "{until}");
    }
    assert!(long.chance > 0);
}
