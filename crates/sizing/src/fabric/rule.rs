//! The rule that chooses a candidate, and the confidence in the choice.

use serde::{Deserialize, Serialize};

/// A tail that is longer by less than this factor is as good.
const AS_GOOD: f64 = 1.10;

/// Confidence in a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// No other candidate is better by more than 10 %.
    Decided,
    /// The runs leave open whether another candidate is better by more than 10 %.
    Undecided,
}

/// The choice among candidates.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Choice {
    /// Index of the chosen candidate.
    pub(super) chosen: usize,
    pub(super) confidence: Confidence,
}

/// Ratio of the tail of the second candidate to that of the first, with its 95 % interval.
pub(super) type RatioOf<'a> = &'a dyn Fn(usize, usize) -> Option<(f64, Option<[f64; 2]>)>;

/// Whether a ratio shows a tail of at most 10 % more.
pub(super) fn is_as_good((ratio, ci95): (f64, Option<[f64; 2]>)) -> bool {
    ci95.map_or_else(|| is_same(ratio), |[_, high]| high <= AS_GOOD)
}

/// Whether both tails are equal; equal ones for every seed have no interval.
fn is_same(ratio: f64) -> bool {
    ratio.to_bits() == 1.0_f64.to_bits()
}

/// Chooses among candidates that all fill the lines. `values` and `seeds` are by candidate. The
/// first one stays unless another, with the least value, is shown to be better. Only a candidate
/// with the most seeds can be chosen: percentiles of different seeds are not compared.
pub(super) fn choose(values: &[Option<f64>], seeds: &[u64], ratio: RatioOf<'_>) -> Choice {
    let most = seeds.iter().copied().max().unwrap_or(0);
    let running = |i: &usize| seeds[*i] == most && values[*i].is_some();
    let by_value = |a: &usize, b: &usize| {
        values[*a].unwrap_or(f64::MAX).total_cmp(&values[*b].unwrap_or(f64::MAX))
    };
    let Some(least) = (0..values.len()).filter(running).min_by(by_value) else {
        return Choice { chosen: 0, confidence: Confidence::Undecided };
    };
    let is_better = |other: usize| {
        ratio(other, 0).is_some_and(|(_, ci95)| ci95.is_some_and(|[low, _]| low > 1.0))
    };
    let chosen = if running(&0) && !is_better(least) { 0 } else { least };
    let settled = |i: usize| {
        i == chosen
            || ratio(chosen, i).is_some_and(|(ratio, ci95)| {
                ci95.map_or_else(|| is_same(ratio), |[low, _]| low > 1.0 / AS_GOOD)
            })
    };
    let decided = (0..values.len()).filter(|i| values[*i].is_some()).all(settled);
    let confidence = if decided { Confidence::Decided } else { Confidence::Undecided };
    Choice { chosen, confidence }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(values: &[f64], interval: impl Fn(f64) -> Option<[f64; 2]>) -> (usize, Confidence) {
        let ratio = |a: usize, b: usize| {
            let ratio = values[b] / values[a];
            Some((ratio, interval(ratio)))
        };
        let some: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
        let choice = choose(&some, &vec![4; values.len()], &ratio);
        (choice.chosen, choice.confidence)
    }

    #[test]
    fn the_first_stays_unless_another_is_shown_to_be_better() {
        let narrow = |r: f64| Some([r * 0.99, r * 1.01]);
        assert_eq!(decide(&[8.0, 12.0], narrow), (0, Confidence::Decided));
        assert_eq!(decide(&[8.0, 7.0, 12.0], narrow), (1, Confidence::Decided));
        let wide = |r: f64| Some([r * 0.95, r * 1.05]);
        assert_eq!(decide(&[8.0, 7.9], wide), (0, Confidence::Decided));
    }

    #[test]
    fn wide_intervals_leave_it_undecided() {
        let wide = |r: f64| Some([r * 0.5, r * 2.0]);
        assert_eq!(decide(&[8.0, 8.1], wide), (0, Confidence::Undecided));
        assert_eq!(decide(&[8.0, 9.0], |_| None).1, Confidence::Undecided);
        // At most 10 % better is as good.
        let ratio = |low: f64| move |_: usize, _: usize| Some((1.0 / low, Some([low, 1.05])));
        let of = |low| choose(&[Some(8.0), Some(8.1)], &[4, 4], &ratio(low)).confidence;
        assert_eq!((of(0.6), of(0.95)), (Confidence::Undecided, Confidence::Decided));
    }

    #[test]
    fn candidates_within_ten_percent_are_as_good() {
        assert!(is_as_good((1.02, Some([0.98, 1.09]))) && !is_as_good((1.02, Some([0.98, 1.11]))));
        assert!(is_as_good((1.0, None)) && !is_as_good((1.01, None)));
    }

    #[test]
    fn a_candidate_that_was_left_out_is_not_chosen_for_its_luck_with_few_seeds() {
        let ratio = |a: usize, _: usize| Some((1.2, Some([if a == 1 { 1.1 } else { 0.5 }, 1.3])));
        let choice = choose(&[Some(7.9), Some(8.0)], &[4, 20], &ratio);
        assert_eq!((choice.chosen, choice.confidence), (1, Confidence::Decided));
    }

    #[test]
    fn without_a_value_nothing_is_decided() {
        let choice = choose(&[None, None], &[4, 4], &|_, _| None);
        assert_eq!((choice.chosen, choice.confidence), (0, Confidence::Undecided));
    }
}
