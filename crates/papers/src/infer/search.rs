//! The search for settings that are consistent with the fitted claims.
//!
//! Contract: draws of the prior, changes of the defaults, and proposals are evaluated
//! with one seed; the better quarter of them with more seeds, the best of those with still more
//! (successive halving, Jamieson and Talwalkar 2016). The loss guides the search. The finalist that
//! reproduces most fitted claims is the inferred setting. The defaults are compared in
//! each phase, so no setting that reproduces fewer fitted claims is preferred to them. Held-back
//! claims are measured on the way, and decide nothing.

use std::collections::BTreeMap;
use std::ops::Range;

use super::design::{COMBINED, combined_changes, latin_hypercube, propose, rng, single_changes};
use super::evaluate::{InferenceOptions, SeedValue, evaluate};
use super::further::{FurtherResults, further_results};
use super::loss::loss;
use super::setting::Setting;
use super::split::ClaimSide;
use super::subject::{InferenceSubject, InferredClaim};
use crate::error::PaperError;
use crate::judge::{ClaimResult, judge};
use crate::{ClaimError, ClaimVerdict};

/// Seeds of the settings that the first comparison leaves, which begin at 0 as all that choose.
pub(super) const CONFIRMED_SEEDS: u64 = 3;
/// Seeds of the best of those.
pub(super) const FINALIST_SEEDS: u64 = 5;
/// Seeds of verdicts: others than those that chose the settings, and as many for all.
pub(super) const VERDICT_SEEDS: Range<u64> = 100..105;
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
    /// Most seeds of the default and of the inferred setting for a claim held back that is
    /// undecided.
    pub decide: u64,
}

impl Default for InferenceSize {
    fn default() -> Self {
        Self { draws: 32, rounds: 4, finalists: 8, decide: 20 }
    }
}

impl InferenceSize {
    fn batch(self) -> usize {
        self.draws.div_ceil(4)
    }

    /// Evaluations of all experiments with one seed, at most.
    pub fn evaluations(self, subject: &InferenceSubject) -> usize {
        self.evaluations_with(single_changes(&subject.open).len() + COMBINED - 1)
    }

    fn evaluations_with(self, changes: usize) -> usize {
        let screened = self.draws + 1 + changes + self.rounds * self.batch();
        let confirmed = screened.div_ceil(4).max(self.finalists);
        let more = |from: u64, to: u64| (to - from) as usize;
        screened
            + confirmed * more(1, CONFIRMED_SEEDS)
            + self.finalists * more(CONFIRMED_SEEDS, FINALIST_SEEDS)
            + (1 + 2 * self.finalists) * VERDICT_SEEDS.count()
            + 2 * self.decide.saturating_sub(VERDICT_SEEDS.end - VERDICT_SEEDS.start) as usize
    }
}

/// A setting with the values of its claims.
#[derive(Clone, Debug)]
pub(super) struct EvaluatedSetting {
    pub(super) setting: Setting,
    /// Values over seeds, by claim.
    pub(super) values: BTreeMap<String, Vec<SeedValue>>,
    /// Mean loss of the figures with fitted claims.
    pub(super) loss: f64,
}

impl EvaluatedSetting {
    /// Values of a claim over seeds.
    pub(super) fn values(&self, claim: &InferredClaim) -> &[SeedValue] {
        self.values.get(&claim.id).map_or(&[][..], Vec::as_slice)
    }

    /// The result of a claim.
    pub(super) fn judge(&self, claim: &InferredClaim) -> ClaimResult {
        let (events, trials): (Vec<_>, Vec<_>) = self.values(claim).iter().copied().unzip();
        let trials = claim.claim.trials.is_some().then_some(trials);
        judge("", &claim.claim, &events, trials.as_deref(), false)
    }
}

/// All settings that a search has evaluated.
#[derive(Debug)]
pub(super) struct SearchOutcome {
    /// The experiments as they are, with the seeds of verdicts.
    pub(super) defaults: EvaluatedSetting,
    /// Draws, the defaults, changes of them, and proposals with one seed, in the order of
    /// evaluation.
    pub(super) screened: Vec<EvaluatedSetting>,
    pub(super) draws: usize,
    /// The defaults with one parameter changed.
    singles: usize,
    /// The better quarter of them, with more seeds, the best first.
    pub(super) confirmed: Vec<EvaluatedSetting>,
    /// The best of those, with the seeds of verdicts; the first is the inferred setting.
    pub(super) finalists: Vec<EvaluatedSetting>,
    /// Draws of the prior with the seeds of verdicts.
    pub(super) sample: Vec<EvaluatedSetting>,
    /// Further looks at claims held back, at the default setting.
    pub(super) defaults_further: FurtherResults,
    /// And at the inferred one.
    pub(super) inferred_further: FurtherResults,
}

impl SearchOutcome {
    /// The draws, the defaults and their single changes: settings that no claim has influenced.
    pub(super) fn independent(&self) -> &[EvaluatedSetting] {
        &self.screened[..self.draws + 1 + self.singles]
    }

    /// The inferred setting, with the seeds of verdicts.
    pub(super) fn inferred(&self) -> &EvaluatedSetting {
        self.finalists.first().unwrap_or(&self.defaults)
    }
}

/// Runs the search.
pub(super) fn search(
    subject: &InferenceSubject,
    size: InferenceSize,
    options: &InferenceOptions<'_>,
) -> Result<SearchOutcome, PaperError> {
    let at = |settings: Vec<Setting>, seeds: Range<u64>, phase: &str| {
        evaluated(subject, settings, seeds, phase, options)
    };
    let mut rng = rng(DESIGN_SEED);
    let draws = latin_hypercube(&subject.open, size.draws, &mut rng);
    let mut screened = at(draws, 0..1, "draws of the prior")?;
    let draws = screened.len();
    // The experiments as they are compete with the settings that are tried.
    let defaults = at(vec![Setting::defaults()], 0..1, "the defaults")?;
    let loss_of_defaults = defaults.first().map_or(f64::INFINITY, |w| w.loss);
    screened.extend(defaults);
    let singles = at(single_changes(&subject.open), 0..1, "changes of the defaults")?;
    let combined = combined_changes(&with_losses(&singles), loss_of_defaults);
    let single_count = singles.len();
    screened.extend(singles);
    screened.extend(at(combined, 0..1, "combined changes")?);
    for round in 0..size.rounds {
        // A change of the defaults says nothing about its value elsewhere.
        let complete: Vec<EvaluatedSetting> =
            screened.iter().filter(|s| s.setting.is_complete()).cloned().collect();
        let known = with_losses(&complete);
        let proposed = propose(&subject.open, &known, size.batch(), &mut rng);
        let proposed = proposed.map_err(|message| ClaimError {
            file: format!("papers/{}/open.toml", subject.paper),
            message,
        })?;
        let phase = format!("proposals, round {} of {}", round + 1, size.rounds);
        screened.extend(at(proposed, 0..1, &phase)?);
    }
    let quarter = screened.len().div_ceil(4).max(size.finalists);
    let confirmed = at(best(&screened, quarter), 0..CONFIRMED_SEEDS, "the better quarter")?;
    let compared = at(best(&confirmed, size.finalists), 0..FINALIST_SEEDS, "the best")?;
    let finalists = by_verdicts(subject, &compared);
    let finalists = at(finalists, VERDICT_SEEDS, "verdicts of the best")?;
    let sample = screened.iter().take(draws.min(size.finalists)).map(|s| s.setting.clone());
    let sample = at(sample.collect(), VERDICT_SEEDS, "verdicts of draws")?;
    let mut judged = at(vec![Setting::defaults()], VERDICT_SEEDS, "verdicts of the defaults")?;
    let Some(defaults) = judged.pop() else {
        let message = "an inference needs experiments".to_owned();
        let file = format!("papers/{}/open.toml", subject.paper);
        return Err(ClaimError { file, message }.into());
    };
    let mut outcome = SearchOutcome {
        defaults,
        screened,
        draws,
        singles: single_count,
        confirmed,
        finalists,
        sample,
        defaults_further: FurtherResults::new(),
        inferred_further: FurtherResults::new(),
    };
    let further = |of, phase| further_results(subject, of, (size.decide, phase), options);
    outcome.defaults_further = further(&outcome.defaults, "more seeds for the defaults")?;
    outcome.inferred_further = further(outcome.inferred(), "more seeds for the inferred setting")?;
    Ok(outcome)
}

fn with_losses(of: &[EvaluatedSetting]) -> Vec<(Setting, f64)> {
    of.iter().map(|s| (s.setting.clone(), s.loss)).collect()
}

/// The distinct settings with the least losses, the best first; of equals the one that was
/// evaluated first. The defaults take the last place if they have none.
fn best(of: &[EvaluatedSetting], count: usize) -> Vec<Setting> {
    let mut order: Vec<&EvaluatedSetting> = of.iter().collect();
    order.sort_by(|a, b| a.loss.total_cmp(&b.loss));
    let mut out: Vec<Setting> = Vec::new();
    for one in order {
        if out.len() < count && !out.contains(&one.setting) {
            out.push(one.setting.clone());
        }
    }
    if !out.iter().any(Setting::is_default) {
        out.truncate(count.saturating_sub(1));
        out.push(Setting::defaults());
    }
    out
}

/// The settings by the number of fitted claims that they reproduce, the most first; of equals the
/// one with the least loss.
fn by_verdicts(subject: &InferenceSubject, of: &[EvaluatedSetting]) -> Vec<Setting> {
    let reproduced = |one: &EvaluatedSetting| {
        let fitted = subject.claims().filter(|c| c.side == ClaimSide::Fitted);
        fitted.filter(|c| one.judge(c).verdict == ClaimVerdict::Reproduced).count()
    };
    let mut order: Vec<(usize, &EvaluatedSetting)> =
        of.iter().map(|one| (reproduced(one), one)).collect();
    order.sort_by(|(m, a), (n, b)| n.cmp(m).then(a.loss.total_cmp(&b.loss)));
    order.into_iter().map(|(_, one)| one.setting.clone()).collect()
}

fn evaluated(
    subject: &InferenceSubject,
    settings: Vec<Setting>,
    seeds: Range<u64>,
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

/// Mean loss of the figures with fitted claims.
fn fitted_loss(subject: &InferenceSubject, values: &BTreeMap<String, Vec<SeedValue>>) -> f64 {
    side_loss(subject, values, ClaimSide::Fitted)
}

/// Mean loss of the figures with claims of this side.
pub(super) fn side_loss(
    subject: &InferenceSubject,
    values: &BTreeMap<String, Vec<SeedValue>>,
    side: ClaimSide,
) -> f64 {
    mean(&figure_losses(subject, values, side))
}

/// Loss of each figure with claims of this side: the mean of its claims. Many claims of a figure
/// have one measure or one run in common, so the figures and not the claims are the sample.
fn figure_losses(
    subject: &InferenceSubject,
    values: &BTreeMap<String, Vec<SeedValue>>,
    side: ClaimSide,
) -> Vec<f64> {
    let mut figures: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for claim in subject.claims().filter(|c| c.side == side) {
        let of = values.get(&claim.id).map_or(&[][..], Vec::as_slice);
        figures.entry(claim.figure()).or_default().push(loss(&claim.claim, of));
    }
    figures.values().map(|losses| mean(losses)).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The settings of `of` whose losses are within one standard error of the least, in pairs by fitted
/// figure (after the one-standard-error rule of Breiman et al. 1984). Figures whose loss no setting
/// changes tell nothing, and are left out.
pub(super) fn consistent<'s>(
    subject: &InferenceSubject,
    of: &'s [EvaluatedSetting],
) -> Vec<&'s EvaluatedSetting> {
    let losses: Vec<Vec<f64>> =
        of.iter().map(|s| figure_losses(subject, &s.values, ClaimSide::Fitted)).collect();
    let near = within_one_error(&losses);
    of.iter().zip(near).filter(|(_, near)| *near).map(|(one, _)| one).collect()
}

/// Which rows of losses are within one standard error of the row with the least mean.
fn within_one_error(rows: &[Vec<f64>]) -> Vec<bool> {
    let Some(best) = rows.iter().min_by(|a, b| mean(a).total_cmp(&mean(b))) else {
        return Vec::new();
    };
    let differs = |i: &usize| rows.iter().any(|row| (row[*i] - best[*i]).abs() > 0.0);
    let figures: Vec<usize> = (0..best.len()).filter(differs).collect();
    let near = |row: &Vec<f64>| {
        let more: Vec<f64> = figures.iter().map(|i| row[*i] - best[*i]).collect();
        let (n, middle) = (more.len() as f64, mean(&more));
        let squares: f64 = more.iter().map(|d| (d - middle) * (d - middle)).sum();
        // One figure has no standard error.
        middle <= if n > 1.0 { (squares / (n - 1.0) / n).sqrt() } else { 0.0 }
    };
    rows.iter().map(near).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_always_compared() {
        let one = |values: &[&str], loss| EvaluatedSetting {
            setting: Setting { values: values.iter().map(|v| (*v).to_owned()).collect() },
            values: BTreeMap::new(),
            loss,
        };
        let (a, b, defaults) = (one(&["1"], 0.1), one(&["2"], 0.2), one(&[], 0.9));
        let found = |of: &[EvaluatedSetting]| -> Vec<Vec<String>> {
            best(of, 2).into_iter().map(|s| s.values).collect()
        };
        let all = [b.clone(), defaults.clone(), a.clone(), a.clone()];
        assert_eq!(found(&all), [a.setting.values.clone(), vec![]]);
        let better = EvaluatedSetting { loss: 0.0, ..defaults };
        assert_eq!(found(&[b, better, a.clone()]), [vec![], a.setting.values]);
    }

    #[test]
    fn a_setting_that_is_worse_for_most_figures_is_not_consistent() {
        let best = vec![0.1, 0.2, 0.0, 0.3, 0.5];
        let near = vec![0.2, 0.1, 0.1, 0.3, 0.5];
        let far = vec![0.3, 0.4, 0.2, 0.6, 0.5];
        assert_eq!(within_one_error(&[far, near, best]), [false, true, true]);
        assert_eq!(within_one_error(&[vec![0.1], vec![0.2]]), [true, false]);
        assert_eq!(within_one_error(&[vec![0.1, 0.3], vec![0.2, 0.3]]), [true, false]);
        assert!(within_one_error(&[]).is_empty());
    }

    #[test]
    fn the_number_of_evaluations_is_that_of_all_phases() {
        let size = InferenceSize { draws: 8, rounds: 2, finalists: 2, decide: 10 };
        // Screened, confirmed, the best, and verdicts of these, of draws and of the defaults, with
        // more seeds at two settings.
        let verdicts = (2 + 2 + 1) * 5 + 2 * 5;
        let expected = (8 + 1 + 5 + 2 * 2) + 5 * 2 + 2 * 2 + verdicts;
        assert_eq!(size.evaluations_with(5), expected);
    }
}
