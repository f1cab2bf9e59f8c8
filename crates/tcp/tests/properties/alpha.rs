//! DCTCP's alpha, exhaustively: every value of ten bits, every share of every small round, every g.

use lowtide_tcp::cc::alpha::{
    KERNEL_BITS, Q20_BITS, SHIFT_G_MAX, alpha_freebsd, alpha_linux, alpha_q20, cut,
};

const ONE: u32 = 1 << KERNEL_BITS;
/// Segments of the largest round tried.
const ROUND: u64 = 16;

type Rule = fn(u32, u32, u64, u64) -> u32;

/// Calls `with(shift_g, ce, total)` for every share of every small round.
fn every_share(mut with: impl FnMut(u32, u64, u64)) {
    for shift in 0..=SHIFT_G_MAX {
        for total in 1..=ROUND {
            for ce in 0..=total {
                with(shift, ce, total);
            }
        }
    }
}

/// `alpha (1 - g) + g F` in units of 1/1024 over the common denominator `total << shift`.
fn exact(alpha: u32, shift: u32, ce: u64, total: u64) -> (i64, i64) {
    let scale = (total << shift) as i64;
    let alpha = i64::from(alpha);
    (alpha * scale - alpha * total as i64 + ((ce as i64) << KERNEL_BITS), scale)
}

#[test]
fn kernel_rules_stay_within_one_unit_of_the_formula() {
    every_share(|shift, ce, total| {
        for alpha in 0..=ONE {
            let (numerator, scale) = exact(alpha, shift, ce, total);
            for (name, rule) in [("linux", alpha_linux as Rule), ("freebsd", alpha_freebsd)] {
                let next = rule(alpha, shift, ce, total);
                assert!(next <= ONE, "{name} {alpha} g {shift} {ce}/{total}: {next}");
                // Linux subtracts all of alpha if its share would round to zero.
                let whole_rest = name == "linux" && alpha >> shift == 0;
                let slack = if whole_rest { i64::from(alpha) + 1 } else { 1 };
                let off = i64::from(next) * scale - numerator;
                assert!(
                    off < scale && -off < slack * scale,
                    "{name} {alpha} g {shift} {ce}/{total}: {next}"
                );
            }
        }
    });
}

#[test]
fn more_marks_never_give_less_alpha_and_more_alpha_stays_more() {
    every_share(|shift, ce, total| {
        for alpha in 0..=ONE {
            for (name, rule) in [("linux", alpha_linux as Rule), ("freebsd", alpha_freebsd)] {
                let next = rule(alpha, shift, ce, total);
                if ce > 0 {
                    let fewer = rule(alpha, shift, ce - 1, total);
                    assert!(fewer <= next, "{name} {alpha} g {shift} {ce}/{total}");
                }
                if alpha > 0 {
                    let below = rule(alpha - 1, shift, ce, total);
                    assert!(below <= next, "{name} {alpha} g {shift} {ce}/{total}");
                }
            }
        }
    });
}

/// Values that do not change under a steady share.
fn fixed_points(rule: Rule, shift: u32, ce: u64, total: u64) -> Vec<u32> {
    (0..=ONE).filter(|a| rule(*a, shift, ce, total) == *a).collect()
}

#[test]
fn fixed_points_at_the_ends() {
    for shift in 0..=SHIFT_G_MAX {
        assert_eq!(fixed_points(alpha_linux, shift, 0, 10), [0], "g {shift}: Linux decays to zero");
        // FreeBSD sticks if the subtracted share rounds to zero.
        let stuck: Vec<u32> = (0..1 << shift).filter(|a| *a <= ONE).collect();
        assert_eq!(fixed_points(alpha_freebsd, shift, 0, 10), stuck, "g {shift}");
        for (name, rule) in [("linux", alpha_linux as Rule), ("freebsd", alpha_freebsd)] {
            let full = fixed_points(rule, shift, 10, 10);
            assert!(full.contains(&ONE), "{name} g {shift}: all marked and no longer one");
        }
    }
    // With the usual g, all data marked leads to one from any start.
    assert_eq!(fixed_points(alpha_linux, 4, 10, 10), [ONE]);
    assert_eq!(fixed_points(alpha_freebsd, 4, 10, 10), [ONE]);
}

#[test]
fn every_start_reaches_a_fixed_point() {
    every_share(|shift, ce, total| {
        for (name, rule) in [("linux", alpha_linux as Rule), ("freebsd", alpha_freebsd)] {
            // Monotonic maps cannot cycle: from each end they reach a fixed point.
            for start in [0, ONE] {
                let mut alpha = start;
                let steps = (0..12_000).find(|_| {
                    let next = rule(alpha, shift, ce, total);
                    std::mem::replace(&mut alpha, next) == next
                });
                assert!(steps.is_some(), "{name} g {shift} {ce}/{total}: still at {alpha}");
            }
        }
    });
}

#[test]
fn q20_moves_towards_the_share_and_never_past_it() {
    every_share(|shift, ce, total| {
        let share = ((ce << Q20_BITS) / total) as u32;
        let near = |at: u32| (at.saturating_sub(3)..=at + 3).filter(|a| *a <= 1 << Q20_BITS);
        let coarse = (0..=1_u32 << Q20_BITS).step_by(997);
        for alpha in coarse.chain(near(0)).chain(near(share)).chain(near(1 << Q20_BITS)) {
            let next = alpha_q20(alpha, shift, ce, total);
            let (before, after) = (alpha.abs_diff(share), next.abs_diff(share));
            assert!(before == 0 || after < before, "{alpha} g {shift} {ce}/{total}: {next}");
            assert_eq!((next < share) as u32 * (alpha > share) as u32, 0, "passed the share");
            assert_eq!((next > share) as u32 * (alpha < share) as u32, 0, "passed the share");
            // Within one unit of the formula.
            let step = f64::from(before) / f64::from(1 << shift);
            assert!((f64::from(before - after) - step).abs() < 1.0, "{alpha} g {shift}: {next}");
        }
    });
}

#[test]
fn cuts_take_between_nothing_and_half() {
    for window in 0..=300 {
        for alpha in 0..=ONE + 1 {
            for floor in [0, 1, 2, 10] {
                let after = cut(window, alpha, KERNEL_BITS, floor);
                let off = (window * u64::from(alpha.min(ONE))) >> (KERNEL_BITS + 1);
                let target = window - off;
                assert_eq!(after, target.max(floor), "{window} alpha {alpha}");
                assert!(after >= window.div_ceil(2).max(floor) && after <= window.max(floor));
            }
        }
    }
}
