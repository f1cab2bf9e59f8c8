//! A difference over seeds, estimated with an error: one-sided tests and interval by Student's t.

use crate::interval::{LEVEL, standard_error, students_t, students_t_below};
use crate::verdict::Evidence;

/// One-sided tests of a difference.
pub(crate) trait Tests {
    /// Returns the p-value of the hypothesis that the difference is at most `limit`.
    fn at_most(&self, limit: f64) -> f64;
    /// Returns the p-value of the hypothesis that the difference is at least `limit`.
    fn at_least(&self, limit: f64) -> f64;

    /// Returns the evidence for a difference of either sign, and for one within the limits.
    fn evidence(&self, [low, high]: [f64; 2]) -> Evidence {
        Evidence {
            lower: self.at_least(0.0),
            higher: self.at_most(0.0),
            same: self.at_most(low).max(self.at_least(high)),
        }
    }
}

/// A difference with its standard error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contrast {
    pub(crate) centre: f64,
    pub(crate) error: f64,
    pub(crate) freedom: f64,
}

impl Contrast {
    /// Returns the difference of `own`, one per seed, around `centre`.
    pub(crate) fn new(own: &[f64], centre: f64) -> Self {
        let error = standard_error(own.iter().copied(), centre);
        Self { centre, error, freedom: own.len() as f64 - 1.0 }
    }

    /// Returns the interval at [`LEVEL`].
    pub(crate) fn interval(self) -> [f64; 2] {
        let half = students_t(self.freedom, LEVEL) * self.error;
        [self.centre - half, self.centre + half]
    }

    fn below(self, distance: f64) -> f64 {
        if self.error > 0.0 {
            students_t_below(self.freedom, distance / self.error)
        } else if distance < 0.0 {
            0.0
        } else {
            1.0
        }
    }
}

impl Tests for Contrast {
    fn at_most(&self, limit: f64) -> f64 {
        self.below(limit - self.centre)
    }

    fn at_least(&self, limit: f64) -> f64 {
        self.below(self.centre - limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_students_t() {
        let of = Contrast::new(&[0.8, 1.0, 1.2, 0.9, 1.1], 1.0);
        assert!((of.error - 0.158_114 / 5.0_f64.sqrt()).abs() < 1e-6);
        let [low, high] = of.interval();
        assert!((of.at_most(low) - 0.025).abs() < 1e-9);
        assert!((of.at_least(high) - 0.025).abs() < 1e-9);
        assert!((of.at_most(1.0) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_difference_without_error_is_certain() {
        let of = Contrast { centre: 1.0, error: 0.0, freedom: 4.0 };
        assert_eq!((of.at_most(0.9), of.at_most(1.0), of.at_most(1.1)), (0.0, 1.0, 1.0));
        assert_eq!((of.at_least(0.9), of.at_least(1.0), of.at_least(1.1)), (1.0, 1.0, 0.0));
    }
}
