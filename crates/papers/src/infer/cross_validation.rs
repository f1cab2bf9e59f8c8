//! Other divisions of the claims: how much the answer depends on the one in `split.toml`.
//!
//! Contract: Monte Carlo cross-validation (Picard and Cook 1984). Claims that share an experiment
//! or a figure form a group, and groups are divided at random, so neither a run nor a figure is on
//! both sides. Candidates are the draws, the defaults and the single changes of the defaults:
//! settings whose choice does not depend on any division. It needs no further simulation.

use std::collections::BTreeMap;

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::design::rng;
use super::loss::loss;
use super::search::EvaluatedSetting;
use super::subject::{InferenceSubject, InferredClaim};

/// Divisions.
const DIVISIONS: usize = 200;
/// Fewest groups of claims: with three, a side can have one.
const LEAST_GROUPS: usize = 4;
/// Seed of the divisions.
const SEED: u64 = 2;

/// Score of the candidate with the least loss of the claims of one half, on those of the other
/// half, over random divisions. A claim counts if its value with one seed is in its band.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CrossValidation {
    /// Divisions.
    pub divisions: usize,
    /// Groups of claims that share experiments or figures.
    pub groups: usize,
    /// Settings among which a division chooses.
    pub candidates: usize,
    /// Mean share of the claims not used that are in their bands at the chosen setting.
    pub chosen: f64,
    /// At the defaults.
    pub defaults: f64,
    /// Mean of the draws.
    pub draws: f64,
    /// Share of the divisions in which the chosen setting has more claims in band than the
    /// defaults.
    pub ahead_of_defaults: f64,
    /// And fewer.
    pub behind_defaults: f64,
    /// Share of the divisions in which it has more than the mean of the draws.
    pub ahead_of_draws: f64,
}

impl CrossValidation {
    /// With each share changed.
    #[must_use]
    pub(super) fn map(self, change: impl Fn(f64) -> f64) -> Self {
        Self {
            chosen: change(self.chosen),
            defaults: change(self.defaults),
            draws: change(self.draws),
            ahead_of_defaults: change(self.ahead_of_defaults),
            behind_defaults: change(self.behind_defaults),
            ahead_of_draws: change(self.ahead_of_draws),
            ..self
        }
    }

    fn text(&self) -> String {
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        format!(
            "Cross-validation over {} random divisions into halves, in which no experiment and no \
             figure is on both sides ({} groups of claims): the one of {} settings with the least \
             loss on one half has on average {} of the claims of the other half in their bands \
             (one seed), the defaults {}, the mean draw {}. It is ahead of the defaults in {} of \
             the divisions and behind them in {}, and ahead of the mean draw in {}.",
            self.divisions,
            self.groups,
            self.candidates,
            percent(self.chosen),
            percent(self.defaults),
            percent(self.draws),
            percent(self.ahead_of_defaults),
            percent(self.behind_defaults),
            percent(self.ahead_of_draws)
        )
    }
}

/// The result in words, or why there is none.
pub fn cross_validation_text(of: Option<CrossValidation>) -> String {
    of.map_or_else(
        || {
            format!(
                "No cross-validation: it needs {LEAST_GROUPS} groups of claims that share neither \
                 an experiment nor a figure."
            )
        },
        |of| of.text(),
    )
}

/// `screened` begins with `draws` draws. `None` if there are too few groups.
pub(super) fn cross_validation(
    subject: &InferenceSubject,
    screened: &[EvaluatedSetting],
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
    let independent = |(i, s): &(usize, &EvaluatedSetting)| {
        *i < draws || s.setting.values.iter().filter(|v| !v.is_empty()).count() <= 1
    };
    let candidates: Vec<Candidate> = screened
        .iter()
        .enumerate()
        .filter(independent)
        .map(|(i, s)| Candidate {
            role: match (i < draws, s.setting.is_default()) {
                (true, _) => CandidateRole::Draw,
                (_, true) => CandidateRole::Defaults,
                _ => CandidateRole::Change,
            },
            losses: claims.iter().map(|c| loss(&c.claim, s.values(c))).collect(),
        })
        .collect();
    validate(&places, &candidates)
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
    /// It is never counted, and its group is always on the side that chooses.
    calibrated: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CandidateRole {
    Draw,
    Defaults,
    Change,
}

#[derive(Clone, Debug)]
struct Candidate {
    role: CandidateRole,
    /// Loss of each claim.
    losses: Vec<f64>,
}

impl Candidate {
    /// Mean over groups of the mean loss of their claims, as figures have in the search.
    fn loss(&self, places: &[ClaimPlace], chooses: &[usize]) -> f64 {
        let mean = |group: &usize| {
            let of = places.iter().zip(&self.losses).filter(|(p, _)| p.group == *group);
            let losses: Vec<f64> = of.map(|(_, loss)| *loss).collect();
            losses.iter().sum::<f64>() / losses.len().max(1) as f64
        };
        chooses.iter().map(mean).sum::<f64>() / chooses.len().max(1) as f64
    }

    /// Share of the claims of these groups that are in their bands.
    fn in_band(&self, places: &[ClaimPlace], tests: &[usize]) -> f64 {
        let of = places.iter().zip(&self.losses).filter(|(p, _)| tests.contains(&p.group));
        let bands: Vec<bool> = of.map(|(_, loss)| *loss <= 0.0).collect();
        bands.iter().filter(|is| **is).count() as f64 / bands.len().max(1) as f64
    }
}

fn validate(places: &[ClaimPlace], candidates: &[Candidate]) -> Option<CrossValidation> {
    let mut all: Vec<usize> = places.iter().map(|p| p.group).collect();
    all.sort_unstable();
    all.dedup();
    let is_calibrated = |g: &usize| places.iter().any(|p| p.group == *g && p.calibrated);
    let (always, mut free): (Vec<usize>, Vec<usize>) = all.iter().partition(|g| is_calibrated(g));
    let of_role = |role| candidates.iter().filter(move |c| c.role == role);
    let defaults = of_role(CandidateRole::Defaults).next()?;
    let draws = of_role(CandidateRole::Draw).count();
    if free.len() < LEAST_GROUPS || draws == 0 {
        return None;
    }
    let mut rng = rng(SEED);
    let mut sum = CrossValidation {
        divisions: DIVISIONS,
        groups: all.len(),
        candidates: candidates.len(),
        chosen: 0.0,
        defaults: 0.0,
        draws: 0.0,
        ahead_of_defaults: 0.0,
        behind_defaults: 0.0,
        ahead_of_draws: 0.0,
    };
    let one = |is: bool| if is { 1.0 } else { 0.0 };
    for _ in 0..DIVISIONS {
        free.shuffle(&mut rng);
        let (tests, chooses) = free.split_at(free.len() / 2);
        let chooses = [&always, chooses].concat();
        let loss = |c: &Candidate| c.loss(places, &chooses);
        let chosen = candidates.iter().min_by(|a, b| loss(a).total_cmp(&loss(b)))?;
        let score = |c: &Candidate| c.in_band(places, tests);
        let (at_chosen, at_defaults) = (score(chosen), score(defaults));
        let of_draws = of_role(CandidateRole::Draw).map(score).sum::<f64>() / draws as f64;
        sum.chosen += at_chosen;
        sum.defaults += at_defaults;
        sum.draws += of_draws;
        sum.ahead_of_defaults += one(at_chosen > at_defaults);
        sum.behind_defaults += one(at_chosen < at_defaults);
        sum.ahead_of_draws += one(at_chosen > of_draws);
    }
    Some(sum.map(|total| total / DIVISIONS as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(groups: usize) -> Vec<ClaimPlace> {
        (0..groups).map(|group| ClaimPlace { group, calibrated: false }).collect()
    }

    fn candidate(role: CandidateRole, losses: &[f64]) -> Candidate {
        Candidate { role, losses: losses.to_vec() }
    }

    #[test]
    fn claims_that_share_an_experiment_or_a_figure_are_one_group() {
        let of = [(0, "fig. 1"), (1, "fig. 2"), (1, "fig. 3"), (2, "fig. 3"), (3, "fig. 1")];
        assert_eq!(groups(&of), [0, 1, 1, 1, 0]);
        let chain = [(2, "a"), (1, "a"), (1, "b"), (0, "b"), (3, "c")];
        assert_eq!(groups(&chain), [0, 0, 0, 0, 3]);
    }

    #[test]
    fn a_setting_that_is_better_for_all_groups_is_ahead_in_all_divisions() {
        let candidates = [
            candidate(CandidateRole::Draw, &[0.0; 6]),
            candidate(CandidateRole::Draw, &[0.9; 6]),
            candidate(CandidateRole::Defaults, &[0.5; 6]),
        ];
        let found = validate(&places(6), &candidates).unwrap();
        let shares = [found.chosen, found.defaults, found.draws, found.ahead_of_defaults];
        assert!(shares.iter().zip([1.0, 0.0, 0.5, 1.0]).all(|(a, b)| (a - b).abs() < 1e-9));
        assert!((found.ahead_of_draws - 1.0).abs() < 1e-9 && found.behind_defaults <= 0.0);
    }

    /// For each half there is a setting that fits it and nothing else.
    #[test]
    fn a_setting_that_fits_one_half_alone_is_behind_on_the_other() {
        let two_claims: Vec<ClaimPlace> = places(4).into_iter().flat_map(|p| [p, p]).collect();
        let mut candidates = vec![
            candidate(CandidateRole::Defaults, &[0.0, 0.5].repeat(4)),
            candidate(CandidateRole::Draw, &[0.9; 8]),
        ];
        for (a, b) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
            let mut losses = [0.9; 8];
            for group in [a, b] {
                losses[2 * group] = 0.0;
                losses[2 * group + 1] = 0.0;
            }
            candidates.push(candidate(CandidateRole::Change, &losses));
        }
        let found = validate(&two_claims, &candidates).unwrap();
        let shares = [found.chosen, found.defaults, found.behind_defaults];
        assert!(shares.iter().zip([0.0, 0.5, 1.0]).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?}");
        assert_eq!((found.groups, found.candidates), (4, 8));
    }

    #[test]
    fn calibrated_groups_are_never_counted() {
        let mut of = places(5);
        of[4].calibrated = true;
        let good = [0.0, 0.0, 0.0, 0.0, 0.9];
        let candidates =
            [candidate(CandidateRole::Draw, &good), candidate(CandidateRole::Defaults, &good)];
        let found = validate(&of, &candidates).unwrap();
        assert!((found.chosen - 1.0).abs() < 1e-9);
        assert_eq!(validate(&places(3), &candidates), None);
    }
}
