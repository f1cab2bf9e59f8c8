//! Whether a choice by the loss of some claims helps with other claims, for other divisions than
//! that of `split.toml`.
//!
//! Contract: cross-validation with a random half left out (Picard and Cook 1984). Claims that share
//! an experiment or a figure form a group. Half of the groups without a calibrated claim are test
//! groups; all others choose. Candidates are the defaults, the draws and the single changes of the
//! defaults, which depend on no division. The rest of the search is not repeated, and nothing is
//! simulated. Fig. 19 and 20 of DX, for instance, are different groups in spite of one network, so
//! groups can be correlated.

use std::collections::BTreeMap;

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::design::rng;
use super::loss::loss;
use super::search::EvaluatedSetting;
use super::subject::{InferenceSubject, InferredClaim};

/// Most divisions: all distinct ones if there are no more, else as many random ones.
const DIVISIONS: usize = 1000;
/// Fewest groups that are divided: of three a side would have one.
const LEAST_GROUPS: usize = 4;
/// Seed of the divisions.
const SEED: u64 = 2;

/// The candidate with the least loss of the choosing groups, measured on the test groups.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CrossValidation {
    /// Divisions of the groups.
    pub divisions: usize,
    /// Groups that are divided.
    pub divided: usize,
    /// Groups with a calibrated claim, which always choose.
    pub calibrated: usize,
    /// Settings of which one is chosen.
    pub candidates: usize,
    /// The test groups at the chosen setting, mean over divisions.
    pub chosen: TestScore,
    /// The mean of the draws.
    pub draws: TestScore,
    /// The defaults.
    pub defaults: TestScore,
    /// Share of the divisions in which the chosen setting has less loss than the mean of the draws.
    pub better_than_draws: f64,
    /// Share of the divisions in which it has less loss than the defaults.
    pub better_than_defaults: f64,
    /// Share of the divisions in which it has more loss than the defaults.
    pub worse_than_defaults: f64,
}

/// A setting on the test groups.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TestScore {
    /// Mean over groups of the mean loss of their claims.
    pub loss: f64,
    /// Share of the claims that are in their bands, with one seed.
    pub in_band: f64,
}

impl TestScore {
    fn map(self, change: &impl Fn(f64) -> f64) -> Self {
        Self { loss: change(self.loss), in_band: change(self.in_band) }
    }

    fn add(&mut self, other: Self, weight: f64) {
        self.loss += weight * other.loss;
        self.in_band += weight * other.in_band;
    }
}

impl CrossValidation {
    /// With each mean and share changed.
    #[must_use]
    pub(super) fn map(self, change: impl Fn(f64) -> f64) -> Self {
        Self {
            chosen: self.chosen.map(&change),
            draws: self.draws.map(&change),
            defaults: self.defaults.map(&change),
            better_than_draws: change(self.better_than_draws),
            better_than_defaults: change(self.better_than_defaults),
            worse_than_defaults: change(self.worse_than_defaults),
            ..self
        }
    }

    fn text(&self) -> String {
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        let score = |of: TestScore| format!("{} ({:.2})", percent(of.in_band), of.loss);
        let calibrated = match self.calibrated {
            0 => String::new(),
            n => format!("; {n} more, with calibrated claims, always choose"),
        };
        format!(
            "Cross-validation: claims that share an experiment or a figure form a group, and half \
             of {} groups test what the others choose{calibrated}. Of {} candidates (defaults, \
             draws, defaults with one parameter changed) the one with the least loss is chosen. Of \
             the test claims, {} are in their bands with one seed (mean loss {:.2}) at the chosen \
             setting, {} at the mean draw, {} at the defaults, mean of {} divisions. The chosen \
             setting has less loss than the mean draw in {} of the divisions, less than the \
             defaults in {} and more in {}. Divisions overlap, so these shares are no p values.",
            self.divided,
            self.candidates,
            percent(self.chosen.in_band),
            self.chosen.loss,
            score(self.draws),
            score(self.defaults),
            self.divisions,
            percent(self.better_than_draws),
            percent(self.better_than_defaults),
            percent(self.worse_than_defaults)
        )
    }
}

/// The result in words, or why there is none.
pub fn cross_validation_text(of: Option<CrossValidation>) -> String {
    of.map_or_else(
        || {
            format!(
                "No cross-validation: it needs {LEAST_GROUPS} groups of claims that share neither \
                 an experiment nor a figure and have no calibrated claim."
            )
        },
        |of| of.text(),
    )
}

/// `candidates` begins with `draws` draws, followed by the defaults. `None` with too few groups.
pub(super) fn cross_validation(
    subject: &InferenceSubject,
    candidates: &[EvaluatedSetting],
    draws: usize,
) -> Option<CrossValidation> {
    let claims: Vec<&InferredClaim> = subject.claims().collect();
    let experiments = subject.experiments.iter().enumerate();
    let experiment_of = experiments.flat_map(|(i, e)| std::iter::repeat_n(i, e.claims.len()));
    let figures = claims.iter().map(|c| c.figure());
    let groups = groups(&experiment_of.zip(figures).collect::<Vec<_>>());
    let places: Vec<ClaimPlace> = groups
        .iter()
        .zip(&claims)
        .map(|(group, claim)| ClaimPlace { group: *group, calibrated: claim.claim.calibrated })
        .collect();
    let losses = |s: &EvaluatedSetting| -> Vec<f64> {
        claims.iter().map(|c| loss(&c.claim, s.values(c))).collect()
    };
    let rows: Vec<Vec<f64>> = candidates.iter().map(losses).collect();
    validate(&places, &rows, draws)
}

/// The group of each claim: claims with a common experiment or figure have the same.
fn groups(of: &[(usize, &str)]) -> Vec<usize> {
    let mut group: Vec<usize> = of.iter().map(|(experiment, _)| *experiment).collect();
    loop {
        let mut least: BTreeMap<&str, usize> = BTreeMap::new();
        for ((_, figure), group) in of.iter().zip(&group) {
            let one = least.entry(figure).or_insert(*group);
            *one = (*one).min(*group);
        }
        let joined: BTreeMap<usize, usize> = of
            .iter()
            .zip(&group)
            .map(|((_, figure), group)| (*group, least[figure]))
            .filter(|(from, to)| to < from)
            .collect();
        if joined.is_empty() {
            return group;
        }
        for group in &mut group {
            *group = joined.get(group).copied().unwrap_or(*group);
        }
    }
}

/// A claim, for a division.
#[derive(Clone, Copy, Debug)]
struct ClaimPlace {
    group: usize,
    calibrated: bool,
}

/// The score of a row of losses, one for each claim, on some groups.
fn score(places: &[ClaimPlace], losses: &[f64], groups: &[usize]) -> TestScore {
    let mut total = TestScore::default();
    let (mut claims, mut in_band) = (0, 0);
    for group in groups {
        let of = places.iter().zip(losses).filter(|(place, _)| place.group == *group);
        let losses: Vec<f64> = of.map(|(_, loss)| *loss).collect();
        claims += losses.len();
        in_band += losses.iter().filter(|loss| **loss <= 0.0).count();
        // Each group has the same weight: many claims of a group have one run in common.
        total.loss += losses.iter().sum::<f64>() / losses.len().max(1) as f64;
    }
    total.loss /= groups.len().max(1) as f64;
    total.in_band = in_band as f64 / claims.max(1) as f64;
    total
}

/// Divisions of `groups` into test groups, the smaller half, and others: all, or random ones.
fn divisions(groups: &[usize]) -> Vec<(Vec<usize>, Vec<usize>)> {
    let tested = groups.len() / 2;
    let distinct = (0..tested).fold(1.0, |n, i| n * (groups.len() - i) as f64 / (i + 1) as f64);
    if distinct <= DIVISIONS as f64 {
        let masks = (0..1_u32 << groups.len()).filter(|m| m.count_ones() as usize == tested);
        let divided = |mask: u32| {
            let (a, b): (Vec<_>, Vec<_>) =
                groups.iter().enumerate().partition(|(i, _)| mask >> i & 1 == 1);
            let group = |(_, group): (usize, &usize)| *group;
            (a.into_iter().map(group).collect(), b.into_iter().map(group).collect())
        };
        return masks.map(divided).collect();
    }
    let mut rng = rng(SEED);
    let mut order = groups.to_vec();
    let random = |_| {
        order.shuffle(&mut rng);
        let (a, b) = order.split_at(tested);
        (a.to_vec(), b.to_vec())
    };
    (0..DIVISIONS).map(random).collect()
}

/// `rows` has a row of losses for each draw, then one for the defaults, then those of others.
fn validate(places: &[ClaimPlace], rows: &[Vec<f64>], draws: usize) -> Option<CrossValidation> {
    let mut all: Vec<usize> = places.iter().map(|p| p.group).collect();
    all.sort_unstable();
    all.dedup();
    let is_calibrated = |g: &usize| places.iter().any(|p| p.group == *g && p.calibrated);
    let (always, free): (Vec<usize>, Vec<usize>) = all.into_iter().partition(is_calibrated);
    let at_defaults = rows.get(draws)?;
    if free.len() < LEAST_GROUPS || draws == 0 {
        return None;
    }
    let divisions = divisions(&free);
    let mut sum = CrossValidation {
        divisions: divisions.len(),
        divided: free.len(),
        calibrated: always.len(),
        candidates: rows.len(),
        chosen: TestScore::default(),
        draws: TestScore::default(),
        defaults: TestScore::default(),
        better_than_draws: 0.0,
        better_than_defaults: 0.0,
        worse_than_defaults: 0.0,
    };
    for (tests, others) in &divisions {
        let choosing = [always.as_slice(), others].concat();
        let loss = |row: &Vec<f64>| score(places, row, &choosing).loss;
        // Of candidates with equal losses the defaults are chosen, then the first.
        let chosen =
            std::iter::once(at_defaults).chain(rows).min_by(|a, b| loss(a).total_cmp(&loss(b)))?;
        let [chosen, defaults] = [chosen, at_defaults].map(|row| score(places, row, tests));
        let mut of_draws = TestScore::default();
        for row in &rows[..draws] {
            of_draws.add(score(places, row, tests), 1.0 / draws as f64);
        }
        sum.chosen.add(chosen, 1.0);
        sum.defaults.add(defaults, 1.0);
        sum.draws.add(of_draws, 1.0);
        sum.better_than_draws += f64::from(u8::from(chosen.loss < of_draws.loss));
        sum.better_than_defaults += f64::from(u8::from(chosen.loss < defaults.loss));
        sum.worse_than_defaults += f64::from(u8::from(chosen.loss > defaults.loss));
    }
    Some(sum.map(|total| total / divisions.len() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(groups: usize) -> Vec<ClaimPlace> {
        (0..groups).map(|group| ClaimPlace { group, calibrated: false }).collect()
    }

    fn are_near(values: &[f64], expected: &[f64]) -> bool {
        values.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9)
    }

    #[test]
    fn claims_that_share_an_experiment_or_a_figure_are_one_group() {
        let of = [(0, "fig. 1"), (1, "fig. 2"), (1, "fig. 3"), (2, "fig. 3"), (3, "fig. 1")];
        assert_eq!(groups(&of), [0, 1, 1, 1, 0]);
        let chain = [(2, "a"), (1, "a"), (1, "b"), (0, "b"), (3, "c")];
        assert_eq!(groups(&chain), [0, 0, 0, 0, 3]);
    }

    #[test]
    fn few_groups_are_divided_in_all_ways_and_many_at_random() {
        let few = divisions(&[3, 5, 7, 9, 11]);
        assert_eq!(few.len(), 10);
        assert!(few.iter().all(|(tests, others)| (tests.len(), others.len()) == (2, 3)));
        assert!(few.contains(&(vec![3, 9], vec![5, 7, 11])));
        let many: Vec<usize> = (0..40).collect();
        let many = divisions(&many);
        assert_eq!(many.len(), DIVISIONS);
        assert!(many.iter().all(|(tests, others)| (tests.len(), others.len()) == (20, 20)));
    }

    #[test]
    fn a_setting_that_is_better_for_all_groups_is_better_in_all_divisions() {
        let rows = [vec![0.0; 6], vec![0.9; 6], vec![0.5; 6]];
        let found = validate(&places(6), &rows, 2).unwrap();
        let bands = [found.chosen.in_band, found.defaults.in_band, found.draws.in_band];
        assert!(are_near(&bands, &[1.0, 0.0, 0.5]), "{found:?}");
        let shares =
            [found.better_than_draws, found.better_than_defaults, found.worse_than_defaults];
        assert!(are_near(&shares, &[1.0, 1.0, 0.0]), "{found:?}");
    }

    /// For each half there is a setting that fits it and nothing else.
    #[test]
    fn a_setting_that_fits_one_half_alone_is_worse_on_the_other() {
        let two_claims: Vec<ClaimPlace> = places(4).into_iter().flat_map(|p| [p, p]).collect();
        let mut rows = vec![vec![0.9; 8], [0.0, 0.5].repeat(4)];
        for (a, b) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
            let mut losses = vec![0.9; 8];
            for group in [a, b] {
                losses[2 * group] = 0.0;
                losses[2 * group + 1] = 0.0;
            }
            rows.push(losses);
        }
        let found = validate(&two_claims, &rows, 1).unwrap();
        let values = [found.chosen.in_band, found.defaults.in_band, found.worse_than_defaults];
        assert!(are_near(&values, &[0.0, 0.5, 1.0]), "{found:?}");
        assert_eq!((found.divisions, found.divided, found.candidates), (6, 4, 8));
    }

    #[test]
    fn calibrated_groups_are_not_tested_and_of_equals_the_defaults_are_chosen() {
        let mut of = places(5);
        of[4].calibrated = true;
        let rows = [vec![0.5, 0.5, 0.5, 0.5, 0.9], vec![0.0, 0.0, 0.0, 0.0, 0.9], vec![0.5; 5]];
        let found = validate(&of, &rows, 1).unwrap();
        assert!(are_near(&[found.chosen.in_band, found.better_than_defaults], &[1.0, 0.0]));
        assert_eq!((found.divided, found.calibrated), (4, 1));
        let equal = validate(&of, &[vec![0.5; 5], vec![0.5; 5]], 1).unwrap();
        assert!(are_near(&[equal.better_than_defaults, equal.worse_than_defaults], &[0.0; 2]));
        assert_eq!(validate(&places(3), &rows, 1), None);
    }
}
