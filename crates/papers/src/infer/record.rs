//! `papers/<paper>/inferred.toml`: the reviewed result of an inference, kept small.
//!
//! Contract: an inference writes the file into its own directory, and a reviewer copies it. It has
//! verdicts of claims and no scores: those are counted from the claims. A claim on another side
//! than in `split.toml` is refused, so a fitted claim is never counted.

use std::collections::BTreeSet;

use lowtide_charts::number;
use lowtide_scenario::Scenario;
use serde::{Deserialize, Serialize};

use super::best_case::BestCase;
use super::cross_validation::CrossValidation;
use super::open::{OpenParameter, OpenSettings};
use super::prediction::{correlation_interval, mcnemar};
use super::result::{ClaimOutcome, InferenceResult, InferredParameter, SettingCounts};
use super::sensitivity::{corrected, probability};
use super::setting::Setting;
use super::split::ClaimSide;
use super::subject::split_of;
use crate::catalogue::paper_file;
use crate::error::PaperError;
use crate::{Claim, ClaimError, ClaimVerdict, Experiment, ExperimentClaims};

/// The file.
pub const INFERENCE_RECORD: &str = "inferred.toml";

/// Value of a parameter that the inferred setting leaves as the experiments have it.
const AT_DEFAULT: &str = "default";

const HEAD: &str = "\
# Result of `lowtide papers reproduce --infer`. Verdicts of the defaults (the experiments as they
# are) and of the inferred setting, both in the reduced form; of the finalists and of draws of the
# prior the share of settings that reproduce the claim.
";

/// Result of an inference.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct InferenceRecord {
    /// Digest of the program that evaluated the settings.
    pub program: String,
    /// Numbers of settings by phase.
    pub settings: SettingCounts,
    /// Rank correlation between the losses of the fitted claims and of those held back, among the
    /// draws.
    pub correlation: Option<f64>,
    /// Other divisions of the claims.
    pub cross_validation: Option<CrossValidation>,
    /// Whether the inferred setting is one of the consistent ones.
    pub inferred_is_consistent: bool,
    /// The most claims held back in their bands under one setting.
    pub best_case: Vec<BestCase>,
    /// Claims that hold under no setting.
    pub never_in_band: Vec<String>,
    /// Pairs of claims that hold under no setting together.
    pub contradictions: Vec<[String; 2]>,
    /// The parameters.
    pub parameter: Vec<RecordedParameter>,
    /// The claims.
    pub claim: Vec<RecordedOutcome>,
}

/// Numbers of claims that are reproduced.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RecordedScore {
    /// All claims.
    pub claims: f64,
    /// With the defaults.
    pub defaults: f64,
    /// With the inferred setting.
    pub inferred: f64,
    /// Mean of the finalists.
    pub finalists: f64,
    /// Mean of draws.
    pub draws: f64,
    /// With the defaults, with more seeds for undecided claims.
    pub defaults_decided: f64,
    /// With the inferred setting, with more seeds for undecided claims.
    pub inferred_decided: f64,
    /// Reproduced only with the inferred setting; not reproduced, with enough seeds, with the
    /// defaults.
    pub only_inferred: u64,
    /// And only with the defaults.
    pub only_defaults: u64,
}

/// The inferred values of a parameter.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RecordedParameter {
    /// Its name in `open.toml`.
    pub name: String,
    /// The value of the inferred setting; empty if it leaves the parameter as the experiments
    /// have it.
    pub inferred: String,
    /// Values of the consistent settings.
    pub consistent: String,
    /// Omega squared of the loss of the fitted claims, at least 0, and its p value.
    pub influence: Option<[f64; 2]>,
}

/// Verdicts on a claim.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RecordedOutcome {
    /// `td-fig7/throughput-k6`.
    pub id: String,
    /// Its side.
    pub side: ClaimSide,
    /// Whether a variation of it was on record before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub varied_before: bool,
    /// The verdict with the defaults.
    pub defaults: ClaimVerdict,
    /// The verdict with the inferred setting.
    pub inferred: ClaimVerdict,
    /// The verdict of the defaults with more seeds, if it was undecided for want of seeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defaults_decided: Option<ClaimVerdict>,
    /// And that of the inferred setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inferred_decided: Option<ClaimVerdict>,
    /// The value with the inferred setting.
    pub measured: Option<f64>,
    /// Share of the finalists that reproduce it.
    pub finalists: f64,
    /// Share of the draws that reproduce it.
    pub draws: f64,
}

impl RecordedOutcome {
    /// Whether it is reproduced at the inferred setting and not at the defaults (`true`), or the
    /// reverse (`false`). `None` if both agree or one is undecided.
    pub fn holds_only_at(&self) -> Option<bool> {
        let defaults = self.defaults_decided.unwrap_or(self.defaults);
        let inferred = self.inferred_decided.unwrap_or(self.inferred);
        let decided = ![defaults, inferred].contains(&ClaimVerdict::Undecided);
        let [is_default, is_inferred] = [defaults, inferred].map(|v| v == ClaimVerdict::Reproduced);
        (decided && is_default != is_inferred).then_some(is_inferred)
    }
}

impl RecordedParameter {
    /// The value of the inferred setting, or that the defaults are it.
    pub fn inferred_text(&self) -> &str {
        if self.inferred.is_empty() { AT_DEFAULT } else { &self.inferred }
    }

    /// Omega squared, and its p value corrected for `parameters` tests; empty without an influence.
    pub fn influence_texts(&self, parameters: usize) -> [String; 2] {
        let texts =
            |[index, p]: [f64; 2]| [format!("{index:.2}"), probability(corrected(p, parameters))];
        self.influence.map_or_else(Default::default, texts)
    }
}

impl From<&InferenceResult> for InferenceRecord {
    fn from(result: &InferenceResult) -> Self {
        let held_back = |m: &&BestCase| m.side == ClaimSide::HeldBack;
        Self {
            program: result.program.clone(),
            settings: result.settings,
            correlation: result.correlation.map(rounded),
            cross_validation: result.cross_validation.map(|of| of.map(rounded)),
            inferred_is_consistent: result.inferred_is_consistent,
            best_case: result.best_case.iter().filter(held_back).copied().collect(),
            never_in_band: result.never_in_band.clone(),
            contradictions: result.contradictions.iter().map(|c| c.claims.clone()).collect(),
            parameter: result.parameters.iter().map(RecordedParameter::from).collect(),
            claim: result.claims.iter().map(RecordedOutcome::from).collect(),
        }
    }
}

impl From<&InferredParameter> for RecordedParameter {
    fn from(of: &InferredParameter) -> Self {
        Self {
            name: of.name.clone(),
            inferred: of.inferred.clone(),
            consistent: of.consistent_text(),
            influence: of.sensitivity.map(|s| [rounded(s.index.max(0.0)), rounded(s.p)]),
        }
    }
}

impl From<&ClaimOutcome> for RecordedOutcome {
    fn from(of: &ClaimOutcome) -> Self {
        Self {
            id: of.id.clone(),
            side: of.side,
            varied_before: of.varied_before,
            defaults: of.defaults.verdict,
            inferred: of.inferred.verdict,
            defaults_decided: of.defaults.further.map(|look| look.verdict),
            inferred_decided: of.inferred.further.map(|look| look.verdict),
            measured: of
                .inferred
                .further
                .map_or(of.inferred.measured, |look| look.measured)
                .map(rounded),
            finalists: rounded(of.reproduced_by_finalists),
            draws: rounded(of.reproduced_by_draws),
        }
    }
}

/// Four significant digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

impl InferenceRecord {
    /// The file.
    ///
    /// # Errors
    /// It cannot be written as TOML.
    pub fn to_toml(&self) -> Result<String, ClaimError> {
        let text = toml::to_string(self).map_err(|e| ClaimError {
            file: INFERENCE_RECORD.to_owned(),
            message: e.to_string(),
        })?;
        Ok(format!("{HEAD}{text}"))
    }

    /// The reviewed result of a paper; `None` if there is none.
    ///
    /// # Errors
    /// The file is wrong, or has a claim on another side than `split.toml`.
    pub fn of_paper(paper: &str) -> Result<Option<Self>, ClaimError> {
        let Some(text) = paper_file(paper, INFERENCE_RECORD) else { return Ok(None) };
        let record = Self::parse(text, &format!("papers/{paper}/{INFERENCE_RECORD}"))?;
        record.check(paper)?;
        Ok(Some(record))
    }

    fn parse(text: &str, name: &str) -> Result<Self, ClaimError> {
        toml::from_str(text)
            .map_err(|e| ClaimError { file: name.to_owned(), message: e.to_string() })
    }

    /// Refuses a claim that is counted on the wrong side.
    fn check(&self, paper: &str) -> Result<(), ClaimError> {
        let (split, _) = split_of(paper)?;
        let refuse = |message: String| ClaimError {
            file: format!("papers/{paper}/{INFERENCE_RECORD}"),
            message,
        };
        let mut unknown: BTreeSet<&str> = self.claim.iter().map(|c| c.id.as_str()).collect();
        if unknown.len() < self.claim.len() {
            return Err(refuse("it has a claim twice".to_owned()));
        }
        for row in crate::experiments().into_iter().filter(|row| row.paper == paper) {
            let expected = ExperimentClaims::parse(row.expected, &row.claims_path())?;
            for claim in &expected.claims {
                let id = format!("{}/{}", row.id(), claim.id);
                unknown.remove(id.as_str());
                let Some(recorded) = self.claim.iter().find(|c| c.id == id) else { continue };
                let side = split.side(claim).map_err(refuse)?;
                if recorded.side != side {
                    let message = format!(
                        "claim `{id}` is counted as {}, and `split.toml` has it as {}",
                        recorded.side.name(),
                        side.name()
                    );
                    return Err(refuse(message));
                }
            }
        }
        match unknown.first() {
            Some(id) => Err(refuse(format!("the paper has no claim `{id}`; infer again"))),
            None => Ok(()),
        }
    }

    /// The parameters that the inferred setting changes, if it leaves others as the experiments
    /// have them.
    fn changes(&self) -> String {
        let (changed, kept): (Vec<_>, Vec<_>) =
            self.parameter.iter().partition(|p| !p.inferred.is_empty());
        if kept.is_empty() {
            return String::new();
        }
        let list: Vec<String> =
            changed.iter().map(|p| format!("{} ({})", p.name, p.inferred)).collect();
        format!(" It changes the defaults only in {}.", list.join(", "))
    }

    /// The rank correlation with its interval and the number of draws.
    pub fn correlation_text(&self) -> Option<String> {
        let (r, n) = (self.correlation?, self.settings.draws);
        Some(match correlation_interval(r, n) {
            Some([low, high]) => {
                format!("{r:.2} (95 % interval {low:.2} to {high:.2}, {n} draws)")
            }
            None => format!("{r:.2} ({n} draws)"),
        })
    }

    /// The inferred setting.
    pub fn setting(&self) -> Setting {
        let values: Vec<String> = self.parameter.iter().map(|p| p.inferred.clone()).collect();
        if values.iter().all(String::is_empty) { Setting::defaults() } else { Setting { values } }
    }

    /// Counts the claims of a side for which `is_of` is true.
    pub fn reproduced(
        &self,
        side: ClaimSide,
        is_of: impl Fn(&RecordedOutcome) -> bool,
    ) -> RecordedScore {
        let of = || self.claim.iter().filter(|c| c.side == side && is_of(c));
        let count = |verdict: fn(&RecordedOutcome) -> ClaimVerdict| {
            of().filter(|c| verdict(c) == ClaimVerdict::Reproduced).count() as f64
        };
        RecordedScore {
            claims: of().count() as f64,
            defaults: count(|c| c.defaults),
            inferred: count(|c| c.inferred),
            finalists: of().map(|c| c.finalists).sum(),
            draws: of().map(|c| c.draws).sum(),
            defaults_decided: count(|c| c.defaults_decided.unwrap_or(c.defaults)),
            inferred_decided: count(|c| c.inferred_decided.unwrap_or(c.inferred)),
            only_inferred: of().filter(|c| c.holds_only_at() == Some(true)).count() as u64,
            only_defaults: of().filter(|c| c.holds_only_at() == Some(false)).count() as u64,
        }
    }

    /// The answer: claims reproduced on both sides, and the changes of the inferred setting.
    pub fn answer(&self) -> String {
        let fitted = self.reproduced(ClaimSide::Fitted, |_| true);
        let held = self.reproduced(ClaimSide::HeldBack, |_| true);
        let n = |value: f64| number((value * 10.0).round() / 10.0);
        if self.setting().is_default() {
            return format!(
                "No finalist reproduces more fitted claims than the defaults, which are therefore \
                 the inferred setting. With seeds not used for selection they reproduce {} of {} \
                 fitted claims (mean of draws {}) and {} of {} claims held back (mean of draws \
                 {}). With more seeds for undecided claims held back they reproduce {}.",
                n(fitted.defaults),
                n(fitted.claims),
                n(fitted.draws),
                n(held.defaults),
                n(held.claims),
                n(held.draws),
                n(held.defaults_decided)
            );
        }
        let p = mcnemar(held.only_inferred, held.only_defaults);
        let no_difference =
            if p < 0.05 { "" } else { ", so the claims held back do not tell them apart" };
        format!(
            "With seeds not used for selection, the inferred setting reproduces {} of {} fitted \
             claims (defaults {}, mean of draws {}) and {} of {} claims held back (defaults {}, \
             mean of draws {}). With more seeds for undecided claims held back it reproduces {}, \
             the defaults {}: {} hold only at the inferred setting and {} only at the defaults \
             (exact McNemar test: p {}){no_difference}.{}",
            n(fitted.inferred),
            n(fitted.claims),
            n(fitted.defaults),
            n(fitted.draws),
            n(held.inferred),
            n(held.claims),
            n(held.defaults),
            n(held.draws),
            n(held.inferred_decided),
            n(held.defaults_decided),
            held.only_inferred,
            held.only_defaults,
            probability(p),
            self.changes()
        )
    }
}

/// The scenario of an experiment at the inferred setting of its paper.
///
/// # Errors
/// The paper has no reviewed result of an inference, or a file is wrong.
pub(crate) fn at_inferred_setting(
    row: &Experiment,
    mut scenario: Scenario,
) -> Result<Scenario, PaperError> {
    let refuse = |message: &str| ClaimError {
        file: format!("papers/{}", row.paper),
        message: message.to_owned(),
    };
    if row.path.is_some() {
        let message = "an inference is recorded for the embedded papers only, not for own files";
        return Err(refuse(message).into());
    }
    let Some(record) = InferenceRecord::of_paper(row.paper)? else {
        return Err(refuse("no inference is recorded; `--infer` makes one").into());
    };
    let text = paper_file(row.paper, "open.toml").ok_or_else(|| refuse("it has no open.toml"))?;
    let mut open = OpenSettings::parse(text, &format!("papers/{}/open.toml", row.paper))?;
    // Parameters without a fitted claim are not in the record, and stay as they are.
    let recorded = |p: &OpenParameter| record.parameter.iter().any(|r| r.name == p.name);
    open.parameters.retain(recorded);
    let names = open.parameters.iter().map(|p| p.name.as_str());
    if !names.eq(record.parameter.iter().map(|p| p.name.as_str())) {
        let message = "inferred.toml has other parameters than open.toml; infer again";
        return Err(refuse(message).into());
    }
    let setting = record.setting();
    let pairs = open.parameters.iter().zip(&setting.values);
    if let Some((parameter, value)) =
        pairs.into_iter().find(|(p, v)| !v.is_empty() && !p.contains(v))
    {
        let name = &parameter.name;
        let message = format!("inferred.toml has `{value}` for `{name}`, which open.toml lacks");
        return Err(refuse(&message).into());
    }
    for (key, value) in setting.overrides(&open, row.name, row.scenario) {
        scenario = scenario.with_override(&key, &value)?;
    }
    Ok(scenario)
}

/// A claim as it is judged at the inferred setting: without its record, which belongs to the
/// defaults, and not counted if it was fitted.
///
/// # Errors
/// A file is wrong, or the claim is on neither side.
pub(crate) fn at_inferred(row: &Experiment, claim: &Claim) -> Result<Claim, ClaimError> {
    let (split, _) = split_of(row.paper)?;
    let refuse = |message| ClaimError { file: row.claims_path(), message };
    let fitted = split.side(claim).map_err(refuse)? == ClaimSide::Fitted;
    let calibrated = claim.calibrated || fitted;
    Ok(Claim { recorded: None, reason: None, calibrated, ..claim.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClaimKind;

    fn record() -> InferenceRecord {
        let outcome = |id: &str, side, varied_before, defaults, inferred| RecordedOutcome {
            id: id.to_owned(),
            side,
            varied_before,
            defaults,
            inferred,
            defaults_decided: None,
            inferred_decided: None,
            measured: None,
            finalists: 0.5,
            draws: 0.25,
        };
        let (held, no) = (ClaimSide::HeldBack, ClaimVerdict::NotReproduced);
        let yes = ClaimVerdict::Reproduced;
        InferenceRecord {
            program: "0123".to_owned(),
            settings: SettingCounts {
                draws: 8,
                screened: 13,
                confirmed: 5,
                consistent: 2,
                finalists: 2,
                decide: 20,
            },
            correlation: Some(0.5),
            cross_validation: None,
            inferred_is_consistent: true,
            best_case: vec![BestCase {
                side: held,
                kind: Some(ClaimKind::Ratio),
                claims: 2,
                jointly: 1,
                somewhere: 2,
            }],
            never_in_band: vec!["td-fig7/a".to_owned()],
            contradictions: vec![["td-fig7/a".to_owned(), "td-fig7/b".to_owned()]],
            parameter: vec![RecordedParameter {
                name: "gain".to_owned(),
                inferred: "4".to_owned(),
                consistent: "2 to 5".to_owned(),
                influence: None,
            }],
            claim: vec![
                outcome("td-fig7/a", held, false, no, yes),
                outcome("td-fig7/b", held, true, yes, no),
                outcome("td-fig7/c", ClaimSide::Fitted, false, yes, yes),
            ],
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        assert_eq!(InferenceRecord::parse(&record().to_toml().unwrap(), "x").unwrap(), record());
        let error = InferenceRecord::parse("program = 1", "x").unwrap_err();
        assert_eq!(error.file, "x");
    }

    #[test]
    fn only_claims_held_back_are_counted() {
        let counts = |without_varied| {
            let of =
                record().reproduced(ClaimSide::HeldBack, |c| !(without_varied && c.varied_before));
            [of.claims, of.defaults, of.inferred, of.finalists, of.draws]
                .map(|n| (n * 100.0) as u32)
        };
        assert_eq!(counts(false), [200, 100, 100, 100, 50]);
        assert_eq!(counts(true), [100, 0, 100, 50, 25]);
        let mut decided = record();
        decided.claim[0].defaults = ClaimVerdict::Undecided;
        decided.claim[0].defaults_decided = Some(ClaimVerdict::Reproduced);
        let of = decided.reproduced(ClaimSide::HeldBack, |_| true);
        assert!(of.defaults < 1.5 && of.defaults_decided > 1.5 && of.inferred_decided < 1.5);
    }

    #[test]
    fn without_values_the_setting_is_that_of_the_experiments() {
        assert_eq!(record().setting().values, ["4"]);
        assert_eq!(
            record().answer(),
            "With seeds not used for selection, the inferred setting reproduces 1 of 1 fitted \
             claims (defaults 1, mean of draws 0.3) and 1 of 2 claims held back (defaults 1, mean \
             of draws 0.5). With more seeds for undecided claims held back it reproduces 1, the \
             defaults 1: 1 hold only at the inferred setting and 1 only at the defaults (exact \
             McNemar test: p 1.000), so the claims held back do not tell them apart."
        );
        let mut undecided = record();
        undecided.claim[1].inferred = ClaimVerdict::Undecided;
        assert!(undecided.answer().contains("1 hold only at the inferred setting and 0 only"));
        let mut defaults = record();
        defaults.parameter[0].inferred.clear();
        assert!(defaults.setting().is_default());
        assert_eq!(defaults.parameter[0].inferred_text(), "default");
        let mut changed = record();
        let kept = RecordedParameter { name: "cut".to_owned(), ..defaults.parameter[0].clone() };
        changed.parameter.push(kept);
        assert_eq!(changed.setting().values, ["4", ""]);
        let answer = changed.answer();
        assert!(answer.ends_with("It changes the defaults only in gain (4)."), "{answer}");
        assert_eq!(
            defaults.answer(),
            "No finalist reproduces more fitted claims than the defaults, which are therefore the \
             inferred setting. With seeds not used for selection they reproduce 1 of 1 fitted \
             claims (mean of draws 0.3) and 1 of 2 claims held back (mean of draws 0.5). With more \
             seeds for undecided claims held back they reproduce 1."
        );
    }

    #[test]
    fn a_claim_on_the_wrong_side_is_refused() {
        let mut wrong = record();
        wrong.claim = vec![RecordedOutcome {
            id: "td-fig7/throughput-700k-k6".to_owned(),
            ..wrong.claim[0].clone()
        }];
        let says = wrong.check("td").unwrap_err().message;
        assert!(
            says.contains("is counted as held back, and `split.toml` has it as fitted"),
            "{says}"
        );
        let says = record().check("td").unwrap_err().message;
        assert!(says.contains("the paper has no claim `td-fig7/a`"), "{says}");
        wrong.claim.push(wrong.claim[0].clone());
        let says = wrong.check("td").unwrap_err().message;
        assert!(says.contains("it has a claim twice"), "{says}");
    }
}
