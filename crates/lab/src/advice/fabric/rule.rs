//! The rule that chooses a candidate, and the confidence in the choice.

use serde::{Deserialize, Serialize};

/// Utilisation may be lower than the best by this much.
const UTILISATION_MARGIN: f64 = 0.01;
/// A tail that is longer by less than this factor is as good.
const AS_GOOD: f64 = 1.10;

/// Confidence in a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// No other candidate is better by more than 10 %, or it leaves the line idle.
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
    /// Candidates that fill the line and have a tail.
    pub(super) feasible: Vec<usize>,
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

/// Chooses by the rule of the module. `tails`, `seeds` and `utilisation` are by candidate. Only a
/// candidate with the most seeds can be chosen: the others were shown to have a longer tail, and
/// percentiles of different seeds are not compared. An unknown utilisation excludes nothing.
pub(super) fn choose(
    tails: &[Option<f64>],
    seeds: &[u64],
    utilisation: &[Option<f64>],
    ratio: RatioOf<'_>,
) -> Choice {
    let best = utilisation.iter().flatten().copied().fold(0.0, f64::max);
    let fills = |i: &usize| utilisation[*i].is_none_or(|u| u >= best - UTILISATION_MARGIN);
    let feasible: Vec<usize> =
        (0..tails.len()).filter(fills).filter(|i| tails[*i].is_some()).collect();
    let by_tail = |a: &&usize, b: &&usize| {
        tails[**a].unwrap_or(f64::MAX).total_cmp(&tails[**b].unwrap_or(f64::MAX))
    };
    let most = feasible.iter().map(|i| seeds[*i]).max().unwrap_or(0);
    let in_the_running = feasible.iter().filter(|i| seeds[**i] == most);
    let Some(&chosen) = in_the_running.min_by(by_tail) else {
        return Choice { chosen: 0, confidence: Confidence::Undecided, feasible };
    };
    let settled = |i: &usize| {
        *i == chosen
            || ratio(chosen, *i).is_some_and(|(ratio, ci95)| {
                ci95.map_or_else(|| is_same(ratio), |[low, _]| low > 1.0 / AS_GOOD)
            })
    };
    let confidence =
        if feasible.iter().all(settled) { Confidence::Decided } else { Confidence::Undecided };
    Choice { chosen, confidence, feasible }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(
        tails: &[f64],
        utilisation: &[f64],
        interval: impl Fn(f64) -> Option<[f64; 2]>,
    ) -> (usize, Confidence, Vec<usize>) {
        let ratio = |a: usize, b: usize| {
            let ratio = tails[b] / tails[a];
            Some((ratio, interval(ratio)))
        };
        let tails: Vec<Option<f64>> = tails.iter().copied().map(Some).collect();
        let utilisation: Vec<Option<f64>> = utilisation.iter().copied().map(Some).collect();
        let choice = choose(&tails, &vec![4; tails.len()], &utilisation, &ratio);
        (choice.chosen, choice.confidence, choice.feasible)
    }

    #[test]
    fn the_shortest_tail_wins_among_those_that_fill_the_line() {
        let narrow = |r: f64| Some([r * 0.99, r * 1.01]);
        let (chosen, confidence, feasible) =
            decide(&[5.0, 8.0, 12.0], &[0.90, 0.985, 0.99], narrow);
        assert_eq!((chosen, confidence, feasible), (1, Confidence::Decided, vec![1, 2]));
    }

    #[test]
    fn wide_intervals_leave_it_undecided() {
        let wide = |r: f64| Some([r * 0.5, r * 2.0]);
        let (chosen, confidence, _) = decide(&[8.0, 8.1], &[0.99, 0.99], wide);
        assert_eq!((chosen, confidence), (0, Confidence::Undecided));
        let none = |_| None;
        assert_eq!(decide(&[8.0, 9.0], &[0.99, 0.99], none).1, Confidence::Undecided);
    }

    #[test]
    fn candidates_within_ten_percent_are_as_good() {
        let narrow = |r: f64| Some([r * 0.97, r * 1.03]);
        assert_eq!(decide(&[8.0, 8.2], &[0.99, 0.99], narrow).1, Confidence::Decided);
        assert!(is_as_good((1.02, Some([0.98, 1.09]))) && !is_as_good((1.02, Some([0.98, 1.11]))));
        assert!(is_as_good((1.0, None)) && !is_as_good((1.01, None)));
    }

    #[test]
    fn a_candidate_that_may_be_better_by_more_than_ten_percent_leaves_it_undecided() {
        let ratio = |low: f64| move |_: usize, _: usize| Some((1.0 / low, Some([low, 1.05])));
        let of = |low| choose(&[Some(8.0), Some(8.1)], &[4, 4], &[None, None], &ratio(low));
        assert_eq!(of(0.6).confidence, Confidence::Undecided);
        assert_eq!(of(0.95).confidence, Confidence::Decided);
    }

    #[test]
    fn a_candidate_that_was_left_out_is_not_chosen_for_its_luck_with_few_seeds() {
        let ratio = |a: usize, _: usize| Some((1.2, Some([if a == 1 { 1.1 } else { 0.5 }, 1.3])));
        let choice = choose(&[Some(7.9), Some(8.0)], &[4, 20], &[None, None], &ratio);
        assert_eq!((choice.chosen, choice.confidence), (1, Confidence::Decided));
    }

    #[test]
    fn without_a_tail_nothing_is_decided() {
        let choice = choose(&[None, None], &[4, 4], &[Some(0.9), Some(0.9)], &|_, _| None);
        assert_eq!((choice.confidence, choice.feasible), (Confidence::Undecided, Vec::new()));
    }
}
