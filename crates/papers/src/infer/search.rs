//! The search for settings that are consistent with the fitted claims.
//!
//! Contract: draws of the prior and proposals are evaluated with one seed; the better third of them
//! with more seeds, the best of those with still more (successive halving, Jamieson and Talwalkar
//! 2016). Held-back claims are measured on the way, and decide nothing.

use std::collections::BTreeMap;

use super::design::{latin_hypercube, propose, rng};
use super::evaluate::{InferenceOptions, SeedValue, evaluate};
use super::loss::loss;
use super::setting::Setting;
use super::split::ClaimSide;
use super::subject::InferenceSubject;
use crate::ClaimError;
use crate::error::PaperError;

/// Seeds of the settings that the first comparison leaves.
pub(super) const CONFIRMED_SEEDS: u64 = 3;
/// Seeds of the best of those.
pub(super) const FINALIST_SEEDS: u64 = 5;
/// Seeds of the inferred setting and of the paper's words alone.
pub(super) const VERDICT_SEEDS: u64 = 10;
/// Seed of the designs.
const DESIGN_SEED: u64 = 1;

/// Number of settings of an inference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InferenceSize {
    /// Settings drawn from the prior.
    pub draws: usize,
    /// Rounds of proposals, each of a quarter of `draws`.
    pub rounds: usize,
    /// Settings that are compared last, and draws that are measured with as many seeds.
    pub finalists: usize,
}

impl Default for InferenceSize {
    fn default() -> Self {
        Self { draws: 64, rounds: 4, finalists: 8 }
    }
}

impl InferenceSize {
    fn batch(self) -> usize {
        self.draws.div_ceil(4)
    }

    /// Evaluations of all experiments with one seed, at most.
    pub fn evaluations(self) -> usize {
        let screened = self.draws + self.rounds * self.batch();
        let confirmed = screened.div_ceil(3).max(self.finalists);
        let more = |from: u64, to: u64| (to - from) as usize;
        1 + screened
            + confirmed * more(1, CONFIRMED_SEEDS)
            + self.finalists * more(CONFIRMED_SEEDS, FINALIST_SEEDS)
            + self.finalists * more(1, FINALIST_SEEDS)
            + more(1, VERDICT_SEEDS)
            + more(FINALIST_SEEDS, VERDICT_SEEDS)
    }
}

/// A setting with the values of its claims.
#[derive(Clone, Debug)]
pub(super) struct EvaluatedSetting {
    pub(super) setting: Setting,
    /// Values over seeds, by claim.
    pub(super) values: BTreeMap<String, Vec<SeedValue>>,
    /// Mean loss of the fitted claims.
    pub(super) loss: f64,
}

/// All settings that a search has evaluated.
#[derive(Debug)]
pub(super) struct SearchOutcome {
    /// The paper's words alone and the inferred setting.
    pub(super) stated: EvaluatedSetting,
    pub(super) inferred: EvaluatedSetting,
    /// Draws and proposals with one seed, in the order of evaluation; the draws come first.
    pub(super) screened: Vec<EvaluatedSetting>,
    pub(super) draws: usize,
    /// The better third of them, with more seeds, the best first.
    pub(super) confirmed: Vec<EvaluatedSetting>,
    /// The best of those, with still more seeds, the best first.
    pub(super) finalists: Vec<EvaluatedSetting>,
    /// Draws of the prior with as many seeds as the finalists.
    pub(super) sample: Vec<EvaluatedSetting>,
}

/// Runs the search.
pub(super) fn search(
    subject: &InferenceSubject,
    size: InferenceSize,
    options: &InferenceOptions<'_>,
) -> Result<SearchOutcome, PaperError> {
    let at = |settings: Vec<Setting>, seeds, phase: &str| {
        evaluated(subject, settings, seeds, phase, options)
    };
    let mut rng = rng(DESIGN_SEED);
    let draws = latin_hypercube(&subject.open, size.draws, &mut rng);
    let mut screened = at(draws, 1, "draws of the prior")?;
    let draws = screened.len();
    for round in 0..size.rounds {
        let known: Vec<(Setting, f64)> =
            screened.iter().map(|s| (s.setting.clone(), s.loss)).collect();
        let proposed = propose(&subject.open, &known, size.batch(), &mut rng);
        let proposed = proposed.map_err(|message| ClaimError {
            file: format!("papers/{}/open.toml", subject.paper),
            message,
        })?;
        let phase = format!("proposals, round {} of {}", round + 1, size.rounds);
        screened.extend(at(proposed, 1, &phase)?);
    }
    let third = screened.len().div_ceil(3).max(size.finalists);
    let mut confirmed = at(best(&screened, third), CONFIRMED_SEEDS, "the better third")?;
    confirmed.sort_by(|a, b| a.loss.total_cmp(&b.loss));
    let mut finalists = at(best(&confirmed, size.finalists), FINALIST_SEEDS, "the best")?;
    finalists.sort_by(|a, b| a.loss.total_cmp(&b.loss));
    let sample = screened.iter().take(draws.min(size.finalists)).map(|s| s.setting.clone());
    let sample = at(sample.collect(), FINALIST_SEEDS, "draws to compare with")?;
    let last = vec![Setting::as_stated()].into_iter().chain(best(&finalists, 1)).collect();
    let mut last = at(last, VERDICT_SEEDS, "verdicts")?.into_iter();
    let (Some(stated), Some(inferred)) = (last.next(), last.next()) else {
        let message = "an inference needs settings to choose from".to_owned();
        let file = format!("papers/{}/open.toml", subject.paper);
        return Err(ClaimError { file, message }.into());
    };
    Ok(SearchOutcome { stated, inferred, screened, draws, confirmed, finalists, sample })
}

/// The settings with the least losses, the best first; of equals the one that was evaluated first.
fn best(of: &[EvaluatedSetting], count: usize) -> Vec<Setting> {
    let mut order: Vec<&EvaluatedSetting> = of.iter().collect();
    order.sort_by(|a, b| a.loss.total_cmp(&b.loss));
    order.into_iter().take(count).map(|s| s.setting.clone()).collect()
}

fn evaluated(
    subject: &InferenceSubject,
    settings: Vec<Setting>,
    seeds: u64,
    phase: &str,
    options: &InferenceOptions<'_>,
) -> Result<Vec<EvaluatedSetting>, PaperError> {
    let values = evaluate(subject, &settings, seeds, phase, options)?;
    let with = |(setting, values): (Setting, BTreeMap<String, Vec<SeedValue>>)| {
        let loss = fitted_loss(subject, &values);
        EvaluatedSetting { setting, values, loss }
    };
    Ok(settings.into_iter().zip(values).map(with).collect())
}

/// Mean loss of the fitted claims.
fn fitted_loss(subject: &InferenceSubject, values: &BTreeMap<String, Vec<SeedValue>>) -> f64 {
    let losses = claim_losses(subject, values, ClaimSide::Fitted);
    losses.iter().sum::<f64>() / losses.len().max(1) as f64
}

/// Losses of the claims of one side, in the order of the subject.
pub(super) fn claim_losses(
    subject: &InferenceSubject,
    values: &BTreeMap<String, Vec<SeedValue>>,
    side: ClaimSide,
) -> Vec<f64> {
    let of = subject.claims().filter(|c| c.side == side);
    of.map(|c| loss(&c.claim, values.get(&c.id).map_or(&[][..], Vec::as_slice))).collect()
}

/// The settings of `sorted`, the best first, whose losses of the fitted claims are within one
/// standard error of the best one's, in pairs by claim (the one-standard-error rule of Breiman et
/// al. 1984).
pub(super) fn consistent<'s>(
    subject: &InferenceSubject,
    sorted: &'s [EvaluatedSetting],
) -> Vec<&'s EvaluatedSetting> {
    let Some(best) = sorted.first() else { return Vec::new() };
    let least = claim_losses(subject, &best.values, ClaimSide::Fitted);
    let near = |one: &&EvaluatedSetting| {
        let losses = claim_losses(subject, &one.values, ClaimSide::Fitted);
        within_one_error(&least, &losses)
    };
    sorted.iter().filter(near).collect()
}

fn within_one_error(best: &[f64], losses: &[f64]) -> bool {
    let n = losses.len() as f64;
    let more: Vec<f64> = losses.iter().zip(best).map(|(a, b)| a - b).collect();
    let mean = more.iter().sum::<f64>() / n;
    let squares: f64 = more.iter().map(|d| (d - mean) * (d - mean)).sum();
    mean <= (squares / (n - 1.0).max(1.0) / n).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_is_worse_for_most_claims_is_not_consistent() {
        let best = [0.1, 0.2, 0.0, 0.3];
        assert!(within_one_error(&best, &best));
        assert!(within_one_error(&best, &[0.2, 0.1, 0.1, 0.2]));
        assert!(!within_one_error(&best, &[0.3, 0.4, 0.2, 0.6]));
    }

    #[test]
    fn the_number_of_evaluations_is_that_of_all_phases() {
        let size = InferenceSize { draws: 8, rounds: 2, finalists: 2 };
        // 1 + (8 + 2 x 2) + 4 x 2 + 2 x 2 + 2 x 4 + 9 + 5
        assert_eq!(size.evaluations(), 1 + 12 + 8 + 4 + 8 + 9 + 5);
    }
}
