//! Variation of parameters that a paper leaves open: runs, claims and figure.

use std::path::{Path, PathBuf};

use lowtide_charts::{Axis, Dot, Figure, GuideLine, Panel, PlotSeries, SeriesKind};
use lowtide_lab::{Sweep, load_open};
use lowtide_record::RunDir;
use lowtide_scenario::RunPlan;
use serde::Serialize;

use super::judge::{self, ClaimResult};
use super::source::RunData;
use super::{
    Claim, ClaimError, Experiment, ExperimentClaims, QuickConfig, VarySpec, check::ExperimentSchema,
};
use crate::error::PaperError;

/// A claim at one value; an element of `varied` in the output of `reproduce --json`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct VariedClaim {
    /// The name of the `[[vary]]`.
    pub vary: String,
    /// The key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// The claim, judged as if the experiment had that value.
    #[serde(flatten)]
    pub claim: ClaimResult,
}

/// Results of varying a parameter that a paper leaves open.
#[derive(Clone, PartialEq, Debug)]
pub struct Variation {
    /// The specification.
    pub vary: VarySpec,
    /// The run directory.
    pub dir: PathBuf,
    /// The claims at each value.
    pub varied: Vec<VariedClaim>,
}

/// The variations of an experiment, with their runs.
pub fn variation_plans(row: &Experiment) -> Result<Vec<(VarySpec, RunPlan)>, PaperError> {
    let mut expected = ExperimentClaims::parse(row.expected, &row.claims_path())?;
    let all = std::mem::take(&mut expected.vary);
    let with_plan = |vary: VarySpec| vary.plan(row, &expected).map(|plan| (vary, plan));
    all.into_iter().map(with_plan).collect()
}

/// Judges the claims of `vary` from the complete run directory `root` of its plan.
pub fn judge_variation(
    row: &Experiment,
    vary: VarySpec,
    root: &Path,
) -> Result<Variation, PaperError> {
    let varied =
        vary.judge(row, &ExperimentClaims::parse(row.expected, &row.claims_path())?, root)?;
    Ok(Variation { vary, dir: root.to_owned(), varied })
}

impl VarySpec {
    /// The claims, in the order of `claims`.
    fn selected_claims<'e>(
        &'e self,
        expected: &'e ExperimentClaims,
    ) -> impl Iterator<Item = &'e Claim> {
        self.claims.iter().filter_map(|id| expected.claims.iter().find(|c| c.id == *id))
    }

    /// The runs of the variation.
    pub(super) fn plan(
        &self,
        row: &Experiment,
        expected: &ExperimentClaims,
    ) -> Result<RunPlan, PaperError> {
        let fail = |message: String| ClaimError {
            file: row.claims_path(),
            message: format!("[[vary]] `{}`: {message}", self.id),
        };
        let whole = row.scenario()?;
        let own = whole.expand()?;
        let swept = own.points.first().map_or(&[][..], Vec::as_slice);
        if swept.iter().any(|(key, _)| *key == self.key) {
            return Err(fail(format!("`{}` is swept by the experiment", self.key)).into());
        }
        let form = QuickConfig::parse(&self.set).map_err(fail)?.apply(whole, swept)?;
        let plan = form.with_sweep(&self.key, &self.values)?.expand()?;
        let names = ExperimentSchema::new(&plan);
        for claim in self.selected_claims(expected) {
            for value in names.values(&self.key) {
                let at = claim_at(claim, &self.key, value);
                at.check(&names).map_err(|e| fail(format!("claim `{}`: {e}", claim.id)))?;
            }
        }
        Ok(plan)
    }

    /// Judges the claims from the complete run directory `root` of its plan: by claim, then by
    /// value.
    pub(super) fn judge(
        &self,
        row: &Experiment,
        expected: &ExperimentClaims,
        root: &Path,
    ) -> Result<Vec<VariedClaim>, PaperError> {
        let (dir, finished) = load_open(root)?;
        let manifest = &finished.manifest;
        let source = RunData { dir: &dir, runs: &finished.results.runs, seeds: &manifest.seeds };
        let sweep = Sweep::of(&self.key, &manifest.points);
        let mut out = Vec::new();
        for claim in self.selected_claims(expected) {
            for (_, value) in &sweep.values {
                let at = claim_at(claim, &self.key, value);
                let fail = |message: String| ClaimError {
                    file: row.claims_path(),
                    message: format!("[[vary]] `{}`, claim `{}`: {message}", self.id, claim.id),
                };
                let values = at.measure.values(source).map_err(fail)?;
                let trials = at.trials.as_ref().map(|t| t.values(source));
                let trials = trials.transpose().map_err(fail)?;
                let claim = judge::judge(&row.id(), &at, &values, trials.as_deref(), true);
                let (vary, key) = (self.id.clone(), self.key.clone());
                out.push(VariedClaim { vary, key, value: value.clone(), claim });
            }
        }
        Ok(out)
    }

    /// The figure: a panel for each claim, with the paper's value as a line.
    pub(super) fn draw(
        &self,
        root: &Path,
        expected: &ExperimentClaims,
        varied: &[VariedClaim],
    ) -> Result<Figure, PaperError> {
        let (_, manifest) = RunDir::open(root)?;
        let sweep = Sweep::of(&self.key, &manifest.points);
        let panels = self.selected_claims(expected).enumerate().map(|(style, claim)| {
            let of = varied.iter().filter(|v| v.claim.id.ends_with(&format!("/{}", claim.id)));
            let mut points: Vec<Dot> = of
                .filter_map(|v| {
                    let x = sweep.values.iter().find(|(_, value)| *value == v.value)?.0;
                    Some(Dot { x, y: v.claim.measured?, interval: v.claim.ci95 })
                })
                .collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            let ends = points.iter().flat_map(|d| d.interval.unwrap_or([d.y; 2]));
            let label = if claim.unit.is_empty() { "value" } else { &claim.unit };
            let y = Axis::from_zero(label, "measured", ends.chain(claim.reported));
            let rule = |at| GuideLine { label: "paper".to_owned(), at, vertical: false };
            let look = if sweep.ordered { SeriesKind::Measured } else { SeriesKind::Dots };
            let (scheme, part) = (claim.id.clone(), String::new());
            Panel {
                title: format!("{}: {}", claim.id, claim.says),
                x: sweep.axis(),
                y,
                series: vec![PlotSeries { scheme, part, style, kind: look, points }],
                guide_lines: claim.reported.map(rule).into_iter().collect(),
                shade: None,
            }
        });
        Ok(Figure {
            id: format!("vary-{}", self.id),
            title: format!("Varied: {}", self.key),
            caption: format!(
                "{}. The paper does not state this parameter, so no verdict follows.",
                self.says
            ),
            legend: Vec::new(),
            panels: panels.collect(),
        })
    }
}

/// The claim, measured at one more value of a key.
fn claim_at(claim: &Claim, key: &str, value: &str) -> Claim {
    Claim {
        measure: claim.measure.with(key, value),
        trials: claim.trials.as_ref().map(|t| t.with(key, value)),
        recorded: None,
        ..claim.clone()
    }
}
