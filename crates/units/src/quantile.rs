//! Order statistics, exact and in integers.
//!
//! Contract: a quantile is a value that occurred. `q = num/den` of `n` ordered values is the value
//! of rank `ceil(n q)`, counted from one (the inverse of the empirical distribution, "type 1"). It
//! is defined only if at least one value is expected on each side: `n min(q, 1 - q) >= 1`, so the
//! 99th percentile needs 100 values. An undefined quantile is absent, not the maximum.

/// A fraction of a distribution, strictly between zero and one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quantile {
    name: &'static str,
    num: u64,
    den: u64,
}

impl Quantile {
    /// The first percentile.
    pub const P1: Self = Self { name: "p1", num: 1, den: 100 };
    /// The median.
    pub const P50: Self = Self { name: "p50", num: 1, den: 2 };
    /// The 95th percentile.
    pub const P95: Self = Self { name: "p95", num: 95, den: 100 };
    /// The 99th percentile.
    pub const P99: Self = Self { name: "p99", num: 99, den: 100 };
    /// The 99.9th percentile.
    pub const P999: Self = Self { name: "p99.9", num: 999, den: 1000 };

    /// Returns the name: `p99`, `p99.9`.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Returns the fraction as a float.
    pub const fn as_f64(self) -> f64 {
        self.num as f64 / self.den as f64
    }

    /// Whether it is defined for `n` values.
    pub const fn is_defined_for(self, n: u64) -> bool {
        let smaller = if self.num < self.den - self.num { self.num } else { self.den - self.num };
        n as u128 * smaller as u128 >= self.den as u128
    }

    /// Returns the fewest values for which it is defined.
    pub const fn least_count(self) -> u64 {
        let smaller = if self.num < self.den - self.num { self.num } else { self.den - self.num };
        self.den.div_ceil(smaller)
    }

    /// Its rank among `n` values, from one; zero if there are none.
    pub const fn rank(self, n: u64) -> u64 {
        (n as u128 * self.num as u128).div_ceil(self.den as u128) as u64
    }

    /// Its value among `sorted` values, if defined.
    pub fn of<T: Copy>(self, sorted: &[T]) -> Option<T> {
        let n = sorted.len() as u64;
        if !self.is_defined_for(n) {
            return None;
        }
        sorted.get((self.rank(n) as usize).checked_sub(1)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn quantiles_are_values_that_occurred() {
        let values: Vec<u32> = (1..=100).collect();
        assert_eq!(Quantile::P50.of(&values), Some(50));
        assert_eq!(Quantile::P99.of(&values), Some(99));
        assert_eq!(Quantile::P1.of(&values), Some(1));
        assert_eq!(Quantile::P50.of(&[3, 9]), Some(3));
        assert_eq!(Quantile::P50.of(&[3, 5, 9]), Some(5));
    }

    #[test]
    fn small_samples_have_no_tail_quantiles() {
        let values: Vec<u32> = (1..=99).collect();
        assert_eq!(Quantile::P99.of(&values), None);
        assert_eq!(Quantile::P1.of(&values), None);
        assert_eq!(Quantile::P999.of(&(1..=999).collect::<Vec<u32>>()), None);
        assert_eq!(Quantile::P999.of(&(1..=1000).collect::<Vec<u32>>()), Some(999));
        assert_eq!(Quantile::P50.of::<u32>(&[7]), None);
        assert_eq!(Quantile::P50.of::<u32>(&[]), None);
        for q in [Quantile::P1, Quantile::P50, Quantile::P95, Quantile::P999] {
            let least = q.least_count();
            assert!(q.is_defined_for(least) && !q.is_defined_for(least - 1), "{least}");
        }
    }
}
