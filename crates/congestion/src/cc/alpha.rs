//! The arithmetic of DCTCP's alpha, as pure functions: the estimate and the cut.
//!
//! Alpha is the smoothed share of marked data, a fraction of `1 << bits`. `g = 2^-shift_g`, with
//! `shift_g` from 0 to 10; a larger one counts as 10.

/// Fraction bits of Linux and FreeBSD: 1024 is one.
pub const KERNEL_BITS: u32 = 10;
/// Fraction bits of the default arithmetic: 1048576 is one.
pub const Q20_BITS: u32 = 20;
/// The largest `shift_g`: one round moves alpha by a thousandth of the difference.
pub const SHIFT_G_MAX: u32 = 10;

/// `alpha (1 - g) + g marked / total` in 20 fraction bits (RFC 8257 §3.3, DCTCP eq. 1).
///
/// Computed as a step from alpha towards the share, rounded up. Therefore alpha reaches every
/// steady share exactly: zero without marks, and one if all data is marked.
pub fn alpha_q20(alpha: u32, shift_g: u32, marked: u64, total: u64) -> u32 {
    let share = (u128::from(marked.min(total)) << Q20_BITS) / u128::from(total.max(1));
    let share = share as u32;
    let step = alpha.abs_diff(share).div_ceil(1 << shift_g.min(SHIFT_G_MAX));
    if share < alpha { alpha - step } else { alpha + step }
}

/// The rule of Linux (`dctcp_update_alpha`): 10 bits, segments.
///
/// Below `2^shift_g` all of alpha is subtracted, so it does reach zero. A share below
/// `2^shift_g / 1024` of a round adds nothing.
pub fn alpha_linux(alpha: u32, shift_g: u32, ce: u64, total: u64) -> u32 {
    let step = alpha >> shift_g.min(SHIFT_G_MAX);
    let kept = alpha - if step == 0 { alpha } else { step };
    (u128::from(kept) + scaled_ce_share(shift_g, ce, total)).min(1 << KERNEL_BITS) as u32
}

/// The rule of FreeBSD (`dctcp_update_alpha`): 10 bits, bytes; alpha sticks below `2^shift_g`.
pub fn alpha_freebsd(alpha: u32, shift_g: u32, ce: u64, total: u64) -> u32 {
    let kept = alpha - (alpha >> shift_g.min(SHIFT_G_MAX));
    (u128::from(kept) + scaled_ce_share(shift_g, ce, total)).min(1 << KERNEL_BITS) as u32
}

fn scaled_ce_share(shift_g: u32, ce: u64, total: u64) -> u128 {
    (u128::from(ce) << (KERNEL_BITS - shift_g.min(SHIFT_G_MAX))) / u128::from(total.max(1))
}

/// `window (1 - alpha / 2)`, at least `floor` (RFC 8257 §3.3, DCTCP eq. 2); alpha has `bits`
/// fraction bits. Window and floor have equal units, bytes or segments.
pub fn cut(window: u64, alpha: u32, bits: u32, floor: u64) -> u64 {
    let alpha = alpha.min(1 << bits);
    let off = (u128::from(window) * u128::from(alpha)) >> (bits + 1);
    // At most half of the window is removed.
    (window - off as u64).max(floor)
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    type Rule = fn(u32, u32, u64, u64) -> u32;
    const RULES: [(&str, Rule, u32); 3] = [
        ("linux", alpha_linux, KERNEL_BITS),
        ("freebsd", alpha_freebsd, KERNEL_BITS),
        ("q20", alpha_q20, Q20_BITS),
    ];

    /// Alpha after each of `rounds` rounds with equal share.
    fn rounds(rule: Rule, mut alpha: u32, ce: u64, total: u64, rounds: usize) -> Vec<u32> {
        (0..rounds)
            .map(|_| {
                alpha = rule(alpha, 4, ce, total);
                alpha
            })
            .collect()
    }

    #[test]
    fn decay_without_marks_follows_the_vectors() {
        let linux = rounds(alpha_linux, 1024, 0, 10, 80);
        assert_eq!(linux[..11], [960, 900, 844, 792, 743, 697, 654, 614, 576, 540, 507]);
        assert_eq!(linux[71..75], [17, 16, 15, 0]);
        assert_eq!(linux[79], 0);
        let freebsd = rounds(alpha_freebsd, 1024, 0, 10, 80);
        assert_eq!(freebsd[..74], linux[..74]);
        assert!(freebsd[73..].iter().all(|a| *a == 15));
    }

    #[test]
    fn rise_follows_the_vectors() {
        for rule in [alpha_linux, alpha_freebsd] {
            assert_eq!(rounds(rule, 0, 10, 10, 6), [64, 124, 181, 234, 284, 331]);
            assert_eq!(rounds(rule, 0, 10, 10, 200)[199], 1024);
            assert_eq!(rounds(rule, 0, 5, 10, 6), [32, 62, 91, 118, 143, 167]);
            assert_eq!(rounds(rule, 0, 5, 10, 200)[199], 512);
            assert_eq!(rounds(rule, 0, 1, 65, 100)[99], 0);
            let mut alpha = 1024;
            let seen: Vec<u32> = [(10, 10), (0, 10), (3, 10), (3, 10), (0, 10), (10, 10)]
                .map(|(ce, total)| {
                    alpha = rule(alpha, 4, ce, total);
                    alpha
                })
                .to_vec();
            assert_eq!(seen, [1024, 960, 919, 881, 826, 839]);
        }
    }

    #[test]
    fn linux_cannot_climb_past_a_small_share_and_has_two_steady_states() {
        let steady = |rule: Rule, from, ce, total| rounds(rule, from, ce, total, 400)[399];
        assert_eq!(steady(alpha_linux, 0, 1, 10), 6);
        assert_eq!(steady(alpha_freebsd, 0, 1, 10), 96);
        assert_eq!(steady(alpha_linux, 0, 1, 64), 1);
        assert_eq!(steady(alpha_freebsd, 0, 1, 64), 16);
        assert_eq!(steady(alpha_linux, 1024, 1, 10), 111);
        assert_eq!((steady(alpha_linux, 0, 1, 5), steady(alpha_linux, 1024, 1, 5)), (12, 207));
        assert_eq!((steady(alpha_linux, 0, 1, 4), steady(alpha_linux, 1024, 1, 4)), (256, 271));
    }

    #[test]
    fn pitfall_1_q20_reaches_zero_and_follows_small_shares() {
        assert_eq!(rounds(alpha_q20, 1 << 20, 0, 10, 300)[299], 0);
        assert_eq!(rounds(alpha_q20, 0, 10, 10, 300)[299], 1 << 20);
        for total in [10, 64, 65, 1000, 10_000] {
            for from in [0, 1 << 20] {
                let alpha = u64::from(rounds(alpha_q20, from, 1, total, 400)[399]);
                let ideal = (1 << 20) / total;
                assert_eq!(alpha, ideal, "1/{total} from {from}");
            }
        }
    }

    #[test]
    fn with_shift_zero_alpha_is_the_share_of_the_last_window() {
        for (name, rule, bits) in RULES {
            assert_eq!(rule(1 << bits, 0, 1, 4), 1 << (bits - 2), "{name}");
            assert_eq!(rule(0, 0, 4, 4), 1 << bits, "{name}");
        }
    }

    #[test]
    fn cuts_follow_the_vectors() {
        let windows = [2, 3, 4, 10, 20, 31, 40, 100];
        let cuts = |alpha| windows.map(|w| cut(w, alpha, KERNEL_BITS, 2));
        assert_eq!(cuts(1024), [2, 2, 2, 5, 10, 16, 20, 50]);
        assert_eq!(cuts(512), [2, 3, 3, 8, 15, 24, 30, 75]);
        assert_eq!(cuts(256), [2, 3, 4, 9, 18, 28, 35, 88]);
        assert_eq!(cuts(100), [2, 3, 4, 10, 20, 30, 39, 96]);
        for w in 2..137 {
            assert_eq!(cut(w, 15, KERNEL_BITS, 2), w);
        }
        assert_eq!(cut(137, 15, KERNEL_BITS, 2), 136);
    }

    #[test]
    fn nothing_overflows_and_alpha_stays_within_one() {
        for (name, rule, bits) in RULES {
            for g in [0, 1, 4, 10, 11, 200] {
                for alpha in [0, 1, 15, 1 << (bits - 1), 1 << bits] {
                    for (ce, total) in
                        [(0, 0), (u64::MAX, 0), (u64::MAX, 1), (u64::MAX, u64::MAX), (1, u64::MAX)]
                    {
                        let next = rule(alpha, g, ce, total);
                        assert!(next <= 1 << bits, "{name} g {g}: {next}");
                    }
                }
            }
            let half = cut(u64::MAX, 1 << bits, bits, 2);
            assert_eq!(half, u64::MAX / 2 + 1, "{name}");
        }
    }
}
