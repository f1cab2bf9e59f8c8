//! Verdicts of comparisons, one by one and in families.
//!
//! Contract: at most one comparison in twenty states something false. `Better` and `Worse` are
//! each tested at half of that, `Same` by two one-sided tests (Schuirmann 1987). A difference
//! within the tolerance is `Same`, even if its sign is certain.

use serde::Serialize;

lowtide_units::named_enum! {
    /// Verdict of B against A.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Verdict {
        /// B is better.
        Better = "better",
        /// B is worse.
        Worse = "worse",
        /// They differ by no more than the tolerance.
        Same = "same",
        /// The results allow several of these.
        Undecided = "undecided",
    }
}

/// The direction in which a metric is better.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preference {
    /// As times, lengths and losses.
    Lower,
    /// As goodput.
    Higher,
}

/// P-values of the statements about B against A. A small one supports its statement.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Evidence {
    /// B is lower: the p-value of the hypothesis that it is not. One-sided.
    pub lower: f64,
    /// B is higher. One-sided.
    pub higher: f64,
    /// They are the same within the tolerance: the greater of two one-sided tests.
    pub same: f64,
}

impl Evidence {
    /// No evidence.
    pub const NONE: Self = Self { lower: 1.0, higher: 1.0, same: 1.0 };

    /// Returns the certain evidence of results that are equal in every seed, or differ by this.
    pub(crate) fn certain(difference: f64, [low, high]: [f64; 2]) -> Self {
        let p = |is: bool| if is { 0.0 } else { 1.0 };
        Self {
            lower: p(difference < 0.0),
            higher: p(difference > 0.0),
            same: p(difference == 0.0 || (low <= difference && difference <= high)),
        }
    }

    /// Returns the weaker evidence for each statement.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            lower: self.lower.max(other.lower),
            higher: self.higher.max(other.higher),
            same: self.same.max(other.same),
        }
    }

    /// Returns the probability of a false statement from which on there is a verdict.
    pub fn decided_from(self) -> f64 {
        self.same.min(2.0 * self.lower).min(2.0 * self.higher)
    }

    /// Returns the verdict that is false with at most the probability `error`.
    pub fn verdict(self, better: Preference, error: f64) -> Verdict {
        if self.same <= error {
            Verdict::Same
        } else if 2.0 * self.lower.min(self.higher) > error {
            Verdict::Undecided
        } else if (self.lower < self.higher) == (better == Preference::Lower) {
            Verdict::Better
        } else {
            Verdict::Worse
        }
    }
}

/// Returns the verdicts of a family of comparisons, of which any is false with at most the
/// probability `error`.
///
/// *Source*: Holm, Scandinavian Journal of Statistics 6 (1979). Verdicts have directions; that the
/// bound holds for these too is Shaffer, Annals of Statistics 8 (1980), for independent tests.
pub fn holm(family: &[(Evidence, Preference)], error: f64) -> Vec<Verdict> {
    let mut order: Vec<usize> = (0..family.len()).collect();
    let p = |i: &usize| family[*i].0.decided_from();
    order.sort_by(|a, b| p(a).total_cmp(&p(b)));
    let mut verdicts = vec![Verdict::Undecided; family.len()];
    for (rejected, i) in order.into_iter().enumerate() {
        let (evidence, better) = family[i];
        let verdict = evidence.verdict(better, error / (family.len() - rejected) as f64);
        if verdict == Verdict::Undecided {
            break;
        }
        verdicts[i] = verdict;
    }
    verdicts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lower(p: f64) -> (Evidence, Preference) {
        (Evidence { lower: p, higher: 1.0 - p, same: 1.0 }, Preference::Lower)
    }

    #[test]
    fn a_verdict_needs_half_the_error_for_a_direction() {
        let verdict = |e: Evidence, better| e.verdict(better, 0.05);
        let of = |p| lower(p).0;
        assert_eq!(verdict(of(0.025), Preference::Lower), Verdict::Better);
        assert_eq!(verdict(of(0.025), Preference::Higher), Verdict::Worse);
        assert_eq!(verdict(of(0.026), Preference::Lower), Verdict::Undecided);
        assert_eq!(verdict(of(0.98), Preference::Lower), Verdict::Worse);
        let same = Evidence { same: 0.05, ..of(0.001) };
        assert_eq!(verdict(same, Preference::Lower), Verdict::Same);
        assert_eq!(verdict(Evidence::NONE, Preference::Lower), Verdict::Undecided);
    }

    #[test]
    fn a_family_is_tested_in_the_order_of_its_evidence() {
        // Two-sided: 0.04, 0.01, 0.02; the thresholds are 0.0167, 0.025, 0.05.
        let all = holm(&[lower(0.02), lower(0.005), lower(0.01)], 0.05);
        assert_eq!(all, [Verdict::Better; 3]);
        let all = holm(&[lower(0.02), lower(0.005), lower(0.015)], 0.05);
        assert_eq!(all, [Verdict::Undecided, Verdict::Better, Verdict::Undecided]);
        assert_eq!(holm(&[], 0.05), []);
    }

    #[test]
    fn equal_results_are_certain() {
        let found = Evidence::certain(0.0, [0.0, 0.0]);
        assert_eq!(found.verdict(Preference::Lower, 0.0), Verdict::Same);
        let found = Evidence::certain(0.1, [-0.05, 0.05]);
        assert_eq!(found.verdict(Preference::Lower, 0.0), Verdict::Worse);
    }
}
