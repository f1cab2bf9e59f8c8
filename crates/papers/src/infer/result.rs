//! Result of an inference: consistent settings, influence of each parameter, scores on fitted and
//! held-back claims, contradictions.

use lowtide_lab::program_digest;
use serde::{Deserialize, Serialize};

use super::best_case::{BestCase, best_cases};
use super::contradictions::{Contradiction, contradictions};
use super::cross_validation::{CrossValidation, cross_validation};
use super::evaluate::SeedValue;
use super::further::FurtherResults;
use super::loss::loss;
use super::open::OpenParameter;
use super::prediction::rank_correlation;
use super::search::{EvaluatedSetting, InferenceSize, SearchOutcome, consistent, side_loss};
use super::sensitivity::{RANGE_GROUPS, Sensitivity, sensitivity};
use super::setting::Setting;
use super::split::ClaimSide;
use super::subject::{InferenceSubject, InferredClaim};
use crate::error::PaperError;
use crate::{ClaimKind, ClaimVerdict};

/// Result of an inference; `lowtide.inference/1`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct InferenceResult {
    /// Schema of the result.
    pub schema: String,
    /// Version of lowtide.
    pub version: String,
    /// Digest of the program that evaluated the settings.
    pub program: String,
    /// The folder of the paper.
    pub paper: String,
    /// Numbers of settings by phase.
    pub settings: SettingCounts,
    /// Claims by kind and side.
    pub split: Vec<SideCount>,
    /// The parameters, with their inferred values.
    pub parameters: Vec<InferredParameter>,
    /// Parameters on which no fitted claim can depend, and which stay as they are.
    pub not_inferable: Vec<String>,
    /// Scores by side, kind and group of settings.
    pub scores: Vec<InferenceScore>,
    /// Rank correlation between the losses of the fitted claims and of those held back, among the
    /// draws: whether the first predict the second.
    pub correlation: Option<f64>,
    /// Other divisions of the claims; `None` with too few groups of claims.
    pub cross_validation: Option<CrossValidation>,
    /// Whether the inferred setting is one of the consistent ones: it is chosen by verdicts of five
    /// seeds, those by the loss of three.
    pub inferred_is_consistent: bool,
    /// The claims.
    pub claims: Vec<ClaimOutcome>,
    /// The most claims of each side and kind in their bands under one setting.
    pub best_case: Vec<BestCase>,
    /// Claims that hold under no setting.
    pub never_in_band: Vec<String>,
    /// Pairs of claims that hold under no setting together.
    pub contradictions: Vec<Contradiction>,
    /// Claims that no reduced form measures, each with the reason.
    pub unmeasured: Vec<(String, String)>,
    /// All settings with one seed, by loss of the fitted claims, the least first.
    pub screened: Vec<ScreenedSetting>,
}

/// Numbers of settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SettingCounts {
    /// Draws of the prior.
    pub draws: usize,
    /// Draws and proposals.
    pub screened: usize,
    /// Settings with three seeds.
    pub confirmed: usize,
    /// Those that are consistent with the fitted claims.
    pub consistent: usize,
    /// The best of them, with five seeds.
    pub finalists: usize,
    /// Most seeds for an undecided claim held back.
    pub decide: u64,
}

/// Claims of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SideCount {
    /// The kind.
    pub kind: ClaimKind,
    /// Fitted claims.
    pub fitted: usize,
    /// Held-back claims.
    pub held_back: usize,
}

/// The inferred values of a parameter.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct InferredParameter {
    /// Its name.
    pub name: String,
    /// Its meaning.
    pub says: String,
    /// Words of the paper that leave it open, and their place.
    pub quote: String,
    /// Place of the quote.
    pub source: String,
    /// Why it is open.
    pub why: String,
    /// Its range or choices.
    pub values: String,
    /// Whether it is a range.
    pub is_range: bool,
    /// Reason of the range or the choices.
    pub prior: String,
    /// The value in the experiments as they are: a choice, or the distinct values of a range.
    pub default: String,
    /// The value of the inferred setting; empty if it leaves the parameter as the experiments
    /// have it.
    pub inferred: String,
    /// Whether that is a bound of the range, so that the best value may be beyond.
    pub at_bound: bool,
    /// Values of the consistent settings: least and largest of a range, or choices, each with its
    /// number of settings.
    pub consistent: Vec<(String, usize)>,
    /// Consistent settings that leave it as the experiments have it.
    pub at_default: usize,
    /// Influence on the loss of the fitted claims.
    pub sensitivity: Option<Sensitivity>,
}

impl InferredParameter {
    /// Values of the consistent settings as text: `10 kB to 30 kB`, or `split (7), new-echo (2)`.
    pub fn consistent_text(&self) -> String {
        let values = self.consistent.iter();
        let default = (self.at_default > 0).then(|| format!("default ({})", self.at_default));
        // A range has its two ends, choices have their counts.
        if self.is_range {
            let ends: Vec<&str> = values.map(|(value, _)| value.as_str()).collect();
            let range = (!ends.is_empty()).then(|| ends.join(" to "));
            return range.into_iter().chain(default).collect::<Vec<_>>().join(", ");
        }
        let values = values.map(|(value, count)| format!("{value} ({count})"));
        values.chain(default).collect::<Vec<_>>().join(", ")
    }
}

/// The settings of a score.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScoredSettings {
    /// The defaults: the experiments as they are, with our choice for what the paper leaves open.
    Defaults,
    /// The inferred setting.
    Inferred,
    /// The finalists, of which the inferred setting is the first.
    Finalists,
    /// Draws of the prior.
    Draws,
    /// The defaults, with more seeds for undecided claims.
    DefaultsDecided,
    /// The inferred setting, with more seeds for undecided claims.
    InferredDecided,
}

/// Share of reproduced claims.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct InferenceScore {
    /// The settings.
    pub of: ScoredSettings,
    /// The side of the claims.
    pub side: ClaimSide,
    /// Their kind; `None` for all.
    pub kind: Option<ClaimKind>,
    /// Only claims without a variation on record.
    pub without_varied: bool,
    /// Number of claims.
    pub claims: usize,
    /// Reproduced ones: mean, least and most over the settings.
    pub reproduced: [f64; 3],
    /// Undecided ones: mean.
    pub undecided: f64,
    /// Loss of the claims: mean.
    pub loss: f64,
}

/// A claim at one setting.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct SettingVerdict {
    /// The verdict.
    pub verdict: ClaimVerdict,
    /// The mean over seeds.
    pub measured: Option<f64>,
    /// Its interval.
    pub ci95: Option<[f64; 2]>,
    /// The last look with more seeds, if the verdict was undecided for want of seeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub further: Option<FurtherLook>,
}

/// A claim with more seeds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct FurtherLook {
    /// Number of seeds.
    pub seeds: usize,
    /// The verdict.
    pub verdict: ClaimVerdict,
    /// The mean over seeds.
    pub measured: Option<f64>,
    /// Its interval.
    pub ci95: Option<[f64; 2]>,
}

/// A claim of an inference.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ClaimOutcome {
    /// `td-fig7/throughput-k6`.
    pub id: String,
    /// The paper's statement.
    pub says: String,
    /// Its kind.
    pub kind: ClaimKind,
    /// Place in the paper.
    pub source: String,
    /// The paper's value.
    pub reported: Option<f64>,
    /// The band; null for an open end.
    pub band: [Option<f64>; 2],
    /// The unit.
    pub unit: String,
    /// Its side.
    pub side: ClaimSide,
    /// Whether a variation of it is on record, so that its result was seen before.
    pub varied_before: bool,
    /// Whether an earlier calibration has used it.
    pub calibrated: bool,
    /// With the defaults.
    pub defaults: SettingVerdict,
    /// With the inferred setting.
    pub inferred: SettingVerdict,
    /// Share of the draws in whose runs it is in its band, with one seed.
    pub in_band_of_draws: f64,
    /// Share of the consistent settings in whose runs it is in its band.
    pub in_band_of_consistent: f64,
    /// Share of the finalists that reproduce it.
    pub reproduced_by_finalists: f64,
    /// Share of as many draws that reproduce it.
    pub reproduced_by_draws: f64,
}

/// A setting with one seed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ScreenedSetting {
    /// Its values, in the order of the parameters.
    pub setting: Setting,
    /// Mean loss of the figures with fitted claims.
    pub loss: f64,
    /// Whether it is a draw of the prior, and not a proposal.
    pub drawn: bool,
    /// For each claim, in order: `1` in its band, `0` outside.
    pub in_band: String,
}

/// Evaluates the outcome of a search.
pub(super) fn result(
    subject: &InferenceSubject,
    size: InferenceSize,
    outcome: &SearchOutcome,
) -> Result<InferenceResult, PaperError> {
    let claims: Vec<&InferredClaim> = subject.claims().collect();
    let consistent = consistent(subject, &outcome.confirmed);
    let draws = &outcome.screened[..outcome.draws];
    let never_in_band = never_in_band(&claims, outcome);
    let screened = screened(&claims, outcome);
    let pairs = exclusive(&claims, draws, outcome);
    Ok(InferenceResult {
        schema: "lowtide.inference/1".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        program: program_digest().to_owned(),
        paper: subject.paper.clone(),
        settings: SettingCounts {
            draws: outcome.draws,
            screened: outcome.screened.len(),
            confirmed: outcome.confirmed.len(),
            consistent: consistent.len(),
            finalists: outcome.finalists.len().min(size.finalists),
            decide: size.decide,
        },
        split: side_counts(&claims),
        parameters: parameters(subject, outcome, &consistent)?,
        not_inferable: subject.not_inferable.iter().map(|p| p.name.clone()).collect(),
        scores: scores(subject, outcome),
        correlation: correlation(subject, draws),
        cross_validation: cross_validation(subject, outcome.independent(), outcome.draws),
        inferred_is_consistent: consistent.iter().any(|s| s.setting == outcome.inferred().setting),
        claims: claims
            .iter()
            .map(|claim| ClaimOutcome {
                id: claim.id.clone(),
                says: claim.claim.says.clone(),
                kind: claim.claim.kind,
                source: claim.claim.source.clone(),
                reported: claim.claim.reported,
                band: claim.claim.band().map(|end| end.is_finite().then_some(end)),
                unit: claim.claim.unit.clone(),
                side: claim.side,
                varied_before: claim.varied_before,
                calibrated: claim.claim.calibrated,
                defaults: verdict(claim, &outcome.defaults, &outcome.defaults_further),
                inferred: verdict(claim, outcome.inferred(), &outcome.inferred_further),
                in_band_of_draws: share(claim, draws.iter()),
                in_band_of_consistent: share(claim, consistent.iter().copied()),
                reproduced_by_finalists: reproduced(claim, &outcome.finalists),
                reproduced_by_draws: reproduced(claim, &outcome.sample),
            })
            .collect(),
        best_case: best_cases(&claims, &screened),
        never_in_band,
        contradictions: pairs,
        unmeasured: subject.unmeasured.clone(),
        screened,
    })
}

fn side_counts(claims: &[&InferredClaim]) -> Vec<SideCount> {
    let count =
        |kind, side| claims.iter().filter(|c| c.claim.kind == kind && c.side == side).count();
    let of = ClaimKind::ALL.map(|kind| SideCount {
        kind,
        fitted: count(kind, ClaimSide::Fitted),
        held_back: count(kind, ClaimSide::HeldBack),
    });
    of.into_iter().filter(|c| c.fitted + c.held_back > 0).collect()
}

fn in_band(claim: &InferredClaim, setting: &EvaluatedSetting) -> bool {
    loss(&claim.claim, setting.values(claim)) <= 0.0
}

fn share<'s>(
    claim: &InferredClaim,
    settings: impl ExactSizeIterator<Item = &'s EvaluatedSetting>,
) -> f64 {
    let all = settings.len().max(1) as f64;
    settings.filter(|s| in_band(claim, s)).count() as f64 / all
}

fn reproduced(claim: &InferredClaim, settings: &[EvaluatedSetting]) -> f64 {
    let is = |s: &&EvaluatedSetting| s.judge(claim).verdict == ClaimVerdict::Reproduced;
    settings.iter().filter(is).count() as f64 / settings.len().max(1) as f64
}

fn verdict(
    claim: &InferredClaim,
    setting: &EvaluatedSetting,
    further: &FurtherResults,
) -> SettingVerdict {
    let found = setting.judge(claim);
    let further = further.get(&claim.id).map(|look| FurtherLook {
        seeds: look.seeds,
        verdict: look.verdict,
        measured: look.measured,
        ci95: look.ci95,
    });
    SettingVerdict { verdict: found.verdict, measured: found.measured, ci95: found.ci95, further }
}

/// Both sides; only claims held back have further looks.
const SIDES: [ClaimSide; 2] = [ClaimSide::Fitted, ClaimSide::HeldBack];

fn scores(subject: &InferenceSubject, outcome: &SearchOutcome) -> Vec<InferenceScore> {
    let groups = [
        (ScoredSettings::Defaults, std::slice::from_ref(&outcome.defaults)),
        (ScoredSettings::Inferred, std::slice::from_ref(outcome.inferred())),
        (ScoredSettings::Finalists, &outcome.finalists),
        (ScoredSettings::Draws, &outcome.sample),
        (ScoredSettings::DefaultsDecided, std::slice::from_ref(&outcome.defaults)),
        (ScoredSettings::InferredDecided, std::slice::from_ref(outcome.inferred())),
    ];
    let none = FurtherResults::new();
    let mut out = Vec::new();
    for (of, settings) in groups {
        let (sides, further) = match of {
            ScoredSettings::DefaultsDecided => (&SIDES[1..], &outcome.defaults_further),
            ScoredSettings::InferredDecided => (&SIDES[1..], &outcome.inferred_further),
            _ => (&SIDES[..], &none),
        };
        for side in sides.iter().copied() {
            let kinds = ClaimKind::ALL.map(|kind| (Some(kind), false));
            for (kind, without_varied) in [(None, false), (None, true)].into_iter().chain(kinds) {
                let is_of = |c: &&InferredClaim| {
                    c.side == side
                        && kind.is_none_or(|kind| c.claim.kind == kind)
                        && !(without_varied && c.varied_before)
                };
                let claims: Vec<&InferredClaim> = subject.claims().filter(is_of).collect();
                if !claims.is_empty() {
                    out.push(score((of, side, kind, without_varied), &claims, settings, further));
                }
            }
        }
    }
    out
}

fn correlation(subject: &InferenceSubject, draws: &[EvaluatedSetting]) -> Option<f64> {
    let held_back = |s: &EvaluatedSetting| side_loss(subject, &s.values, ClaimSide::HeldBack);
    let fitted: Vec<f64> = draws.iter().map(|s| s.loss).collect();
    rank_correlation(&fitted, &draws.iter().map(held_back).collect::<Vec<_>>())
}

fn score(
    (of, side, kind, without_varied): (ScoredSettings, ClaimSide, Option<ClaimKind>, bool),
    claims: &[&InferredClaim],
    settings: &[EvaluatedSetting],
    further: &FurtherResults,
) -> InferenceScore {
    let count = |wanted: ClaimVerdict| -> Vec<f64> {
        let of = |c: &InferredClaim, s: &EvaluatedSetting| {
            further.get(&c.id).map_or_else(|| s.judge(c).verdict, |look| look.verdict)
        };
        let at = |s| claims.iter().filter(|c| of(c, s) == wanted).count() as f64;
        settings.iter().map(at).collect()
    };
    let mean = |counts: &[f64]| counts.iter().sum::<f64>() / counts.len().max(1) as f64;
    let losses = |s: &EvaluatedSetting| {
        mean(&claims.iter().map(|c| loss(&c.claim, s.values(c))).collect::<Vec<_>>())
    };
    let reproduced = count(ClaimVerdict::Reproduced);
    let least = reproduced.iter().copied().fold(f64::INFINITY, f64::min);
    let most = reproduced.iter().copied().fold(0.0, f64::max);
    InferenceScore {
        of,
        side,
        kind,
        without_varied,
        claims: claims.len(),
        reproduced: [mean(&reproduced), least, most],
        undecided: mean(&count(ClaimVerdict::Undecided)),
        loss: mean(&settings.iter().map(losses).collect::<Vec<_>>()),
    }
}

fn parameters(
    subject: &InferenceSubject,
    outcome: &SearchOutcome,
    consistent: &[&EvaluatedSetting],
) -> Result<Vec<InferredParameter>, PaperError> {
    let draws = &outcome.screened[..outcome.draws];
    let losses: Vec<f64> = draws.iter().map(|s| s.loss).collect();
    let one = |(i, parameter): (usize, &OpenParameter)| {
        let value = |s: &EvaluatedSetting| s.setting.values.get(i).cloned().unwrap_or_default();
        let groups: Vec<usize> = draws.iter().map(|s| group(parameter, &value(s))).collect();
        let given: Vec<String> =
            consistent.iter().map(|s| value(s)).filter(|v| !v.is_empty()).collect();
        let inferred = value(outcome.inferred());
        Ok(InferredParameter {
            name: parameter.name.clone(),
            says: parameter.says.clone(),
            quote: parameter.quote.clone(),
            source: parameter.source.clone(),
            why: parameter.why.clone(),
            values: parameter.values_text(),
            is_range: parameter.choices().is_none(),
            prior: parameter.prior.clone(),
            default: subject.default_of(parameter)?,
            at_bound: parameter.is_at_bound(&inferred),
            inferred,
            at_default: consistent.len() - given.len(),
            consistent: spread(parameter, given),
            sensitivity: sensitivity(&groups, &losses),
        })
    };
    subject.open.parameters.iter().enumerate().map(one).collect()
}

/// The choice, or the quarter of the range.
fn group(parameter: &OpenParameter, value: &str) -> usize {
    let at = parameter.coordinate(value).unwrap_or_default();
    match parameter.choices() {
        Some(_) => at as usize,
        None => ((at * RANGE_GROUPS as f64) as usize).min(RANGE_GROUPS - 1),
    }
}

fn spread(parameter: &OpenParameter, mut values: Vec<String>) -> Vec<(String, usize)> {
    let at = |v: &String| parameter.coordinate(v).unwrap_or_default();
    values.sort_by(|a, b| at(a).total_cmp(&at(b)));
    if parameter.choices().is_none() {
        let count = values.len();
        let ends = values.first().into_iter().chain(values.last());
        return ends.map(|v| (v.clone(), count)).collect();
    }
    let mut counts: Vec<(String, usize)> = Vec::new();
    for value in values {
        match counts.last_mut().filter(|(last, _)| *last == value) {
            Some((_, count)) => *count += 1,
            None => counts.push((value, 1)),
        }
    }
    counts
}

/// All evaluated settings, once with each group of seeds.
fn all(outcome: &SearchOutcome) -> impl Iterator<Item = &EvaluatedSetting> {
    let groups = [&outcome.screened, &outcome.confirmed, &outcome.finalists, &outcome.sample];
    groups.into_iter().flatten().chain([&outcome.defaults])
}

/// Claims whose mean over seeds is in their bands under no setting that was evaluated.
fn never_in_band(claims: &[&InferredClaim], outcome: &SearchOutcome) -> Vec<String> {
    let none = |claim: &&&InferredClaim| !all(outcome).any(|s| in_band(claim, s));
    claims.iter().filter(none).map(|claim| claim.id.clone()).collect()
}

/// Pairs that exclude each other: among the draws of the prior, as proposals are not independent,
/// and in no other evaluation, of one seed or of several.
fn exclusive(
    claims: &[&InferredClaim],
    draws: &[EvaluatedSetting],
    outcome: &SearchOutcome,
) -> Vec<Contradiction> {
    let holds: Vec<Vec<bool>> =
        claims.iter().map(|c| draws.iter().map(|s| in_band(c, s)).collect()).collect();
    let ids: Vec<&str> = claims.iter().map(|c| c.id.as_str()).collect();
    let with_one_seed = |claim: &InferredClaim, value: &SeedValue| {
        loss(&claim.claim, std::slice::from_ref(value)) <= 0.0
    };
    let both = |a: usize, b: usize| {
        let (a, b) = (claims[a], claims[b]);
        all(outcome).any(|s| {
            let mut seeds = s.values(a).iter().zip(s.values(b));
            in_band(a, s) && in_band(b, s)
                || seeds.any(|(x, y)| with_one_seed(a, x) && with_one_seed(b, y))
        })
    };
    contradictions(&ids, &holds, both)
}

fn screened(claims: &[&InferredClaim], outcome: &SearchOutcome) -> Vec<ScreenedSetting> {
    let mut order: Vec<(usize, &EvaluatedSetting)> = outcome.screened.iter().enumerate().collect();
    order.sort_by(|(_, a), (_, b)| a.loss.total_cmp(&b.loss));
    let one = |(i, s): (usize, &EvaluatedSetting)| ScreenedSetting {
        setting: s.setting.clone(),
        loss: s.loss,
        drawn: i < outcome.draws,
        in_band: claims.iter().map(|c| if in_band(c, s) { '1' } else { '0' }).collect(),
    };
    order.into_iter().map(one).collect()
}
