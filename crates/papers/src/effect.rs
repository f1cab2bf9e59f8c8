//! Ratios that a paper reports as effects, such as "1.2 times faster".
//!
//! Contract: the effect of a ratio r is r - 1, or 1 - 1/r below one, so that exchanging the two
//! values only changes the sign of the effect (not of the band of a ratio, which decides for ratios
//! above 2 and below 0.6). A claim with `effect = true` is reproduced if the whole interval
//! is within 50 % of the reported effect, and therefore on its side of one, and also in the band
//! of a ratio, so that the rule widens no claim.

/// Part of the reported effect by which the measured one may differ.
const TOLERANCE: f64 = 0.5;

/// Effect of a ratio.
pub(super) fn effect(ratio: f64) -> f64 {
    if ratio < 1.0 { 1.0 - ratio.recip() } else { ratio - 1.0 }
}

/// Ratio with this effect.
fn ratio(effect: f64) -> f64 {
    if effect < 0.0 { (1.0 - effect).recip() } else { 1.0 + effect }
}

/// Ratios whose effect is near that of `reported`, within `band`, the band of a ratio.
pub(super) fn effect_band(reported: f64, band: [f64; 2]) -> [f64; 2] {
    let (reported, width) = (effect(reported), (effect(reported) * TOLERANCE).abs());
    [ratio(reported - width).max(band[0]), ratio(reported + width).min(band[1])]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(band: [f64; 2], low: f64, high: f64) {
        assert!((band[0] - low).abs() < 1e-12 && (band[1] - high).abs() < 1e-12, "{band:?}");
    }

    #[test]
    fn the_band_is_half_of_the_effect_on_both_sides() {
        near(effect_band(1.2, [0.9, 1.5]), 1.1, 1.3);
        near(effect_band(2.0, [1.5, 2.5]), 1.5, 2.5);
        near(effect_band(0.8, [0.6, 1.0]), 1.0 / 1.375, 1.0 / 1.125);
    }

    #[test]
    fn it_never_contains_one_and_is_never_wider_than_that_of_the_ratio() {
        for step in 1..2000 {
            let reported = f64::from(step) / 100.0;
            if step == 100 {
                continue;
            }
            let around = [reported * 0.75, reported * 1.25];
            let [low, high] = effect_band(reported, around);
            assert!(low < reported && reported < high, "{reported}");
            assert!(low > 1.0 || high < 1.0, "{reported}: {low} {high}");
            assert!(around[0] <= low && high <= around[1], "{reported}: {low} {high}");
        }
    }

    #[test]
    fn exchanging_the_values_inverts_the_band_of_the_effect() {
        for reported in [0.7, 0.9, 0.97, 1.05, 1.3] {
            let all = [f64::NEG_INFINITY, f64::INFINITY];
            let [low, high] = effect_band(reported, all);
            near(effect_band(1.0 / reported, all), 1.0 / high, 1.0 / low);
        }
    }
}
