//! Random distributions in integer arithmetic, so every machine draws the same values.

use lowtide_units::Duration;

use crate::Rng;

impl Rng {
    /// Returns a span in `0..max`, each picosecond equally likely; zero if `max` is zero.
    pub fn duration_below(&mut self, max: Duration) -> Duration {
        Duration::from_ps(self.below(max.as_ps()))
    }

    /// Returns an exponentially distributed span; its mean and standard deviation are `mean`.
    ///
    /// Von Neumann's rejection by comparisons (1951): the first number of a descending run of
    /// uniform numbers is kept if the run is odd. Otherwise one mean is added and a new run starts.
    /// Exact except for rounding down to 2^-32 of the mean.
    pub fn exponential(&mut self, mean: Duration) -> Duration {
        let mut whole = 0_u64;
        loop {
            let first = self.next_u64();
            let mut last = first;
            let mut odd = true;
            loop {
                let next = self.next_u64();
                if next >= last {
                    break;
                }
                last = next;
                odd = !odd;
            }
            if odd {
                let units = u128::from(whole) << 32 | u128::from(first >> 32);
                let ps = (units * u128::from(mean.as_ps())) >> 32;
                return Duration::from_ps(u64::try_from(ps).unwrap_or(u64::MAX));
            }
            whole += 1;
        }
    }

    /// Returns a nearly normal value with mean zero and standard deviation `deviation`, in ps.
    ///
    /// The sum of twelve uniform numbers minus six (Irwin-Hall): the variance is exactly one, no
    /// value exceeds six standard deviations, and the excess kurtosis is -0.1.
    pub fn normal(&mut self, deviation: Duration) -> i64 {
        let sum: i128 = (0..12).map(|_| i128::from(self.next_u64() >> 32)).sum();
        let centred = sum - 6 * (i128::from(u32::MAX));
        let ps = (centred * i128::from(deviation.as_ps())) >> 32;
        i64::try_from(ps).unwrap_or(if ps < 0 { i64::MIN } else { i64::MAX })
    }

    /// Returns true with a probability of `ppb` parts per billion.
    pub fn chance(&mut self, ppb: u64) -> bool {
        self.below(1_000_000_000) < ppb
    }
}

#[cfg(test)]
#[allow(clippy::float_arithmetic, reason = "moments are compared with their formulas")]
mod tests {
    use super::*;
    use crate::Seed;

    #[test]
    fn spans_stay_below_their_limit() {
        let mut rng = Seed(9).rng();
        assert_eq!(rng.duration_below(Duration::ZERO), Duration::ZERO);
        let max = Duration::from_ps(3);
        let mut seen = [false; 3];
        for _ in 0..100 {
            seen[rng.duration_below(max).as_ps() as usize] = true;
        }
        assert_eq!(seen, [true; 3]);
    }

    #[test]
    fn exponential_has_its_mean_its_deviation_and_its_median() {
        let mut rng = Seed(10).rng();
        let n = 200_000_u32;
        let draws: Vec<f64> =
            (0..n).map(|_| rng.exponential(Duration::from_us(1)).as_ps() as f64 / 1e6).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n);
        // Five standard errors: 1, sqrt(8) and 1/2 over the root of n.
        let root = f64::from(n).sqrt();
        assert!((mean - 1.0).abs() < 5.0 / root, "{mean}");
        assert!((variance - 1.0).abs() < 5.0 * 8_f64.sqrt() / root, "{variance}");
        let below = draws.iter().filter(|x| **x < 2_f64.ln()).count() as f64 / f64::from(n);
        assert!((below - 0.5).abs() < 2.5 / root, "{below}");
        let far = draws.iter().filter(|x| **x > 5.0).count() as f64 / f64::from(n);
        let expected = (-5_f64).exp();
        assert!((far - expected).abs() < 5.0 * expected.sqrt() / root, "{far}");
    }

    #[test]
    fn normal_has_its_deviation_and_the_share_within_one() {
        let mut rng = Seed(11).rng();
        let n = 200_000_u32;
        let draws: Vec<f64> =
            (0..n).map(|_| rng.normal(Duration::from_us(1)) as f64 / 1e6).collect();
        let root = f64::from(n).sqrt();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
        assert!(mean.abs() < 5.0 / root, "{mean}");
        assert!((variance - 1.0).abs() < 5.0 * 2_f64.sqrt() / root, "{variance}");
        let within = draws.iter().filter(|x| x.abs() < 1.0).count() as f64 / f64::from(n);
        // 68.27 % of a normal distribution; twelve terms give 67.9 %.
        assert!((within - 0.681).abs() < 0.006, "{within}");
    }

    #[test]
    fn chances_stay_within_five_deviations() {
        let mut rng = Seed(12).rng();
        let hits = (0..100_000).filter(|_| rng.chance(10_000_000)).count();
        // Binomial: 1000 and 31.5.
        assert!((843..=1_157).contains(&hits), "{hits}");
        assert!((0..1_000).all(|_| !rng.chance(0) && rng.chance(1_000_000_000)));
    }

    #[test]
    fn golden_vectors() {
        // From an independent implementation of the text above in another language.
        let mut rng = Seed(42).rng();
        let spans = [(); 4].map(|()| rng.exponential(Duration::from_us(1)).as_ps());
        let values = [(); 4].map(|()| rng.normal(Duration::from_us(1)));
        assert_eq!(spans, [1_701_135, 1_207_717, 559_539, 1_546_003]);
        assert_eq!(values, [482_737, 1_358_496, 398_382, 1_430_066]);
    }
}
