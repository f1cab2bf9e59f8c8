//! What a paper leaves open, varied: how claims fare over the values of one key.
//!
//! Contract: a claim that is not reproduced has a reason, and where the reason is a parameter that the paper
//! does not state, `[[vary]]` shows it: the experiment is run at several values of that parameter, and its
//! claims are measured at each. What comes out moves no verdict.

use std::collections::BTreeMap;
use std::path::Path;

use lowtide_record::RunDir;
use lowtide_scenario::Plan;
use serde::{Deserialize, Serialize};
use toml::Table;

use super::judge::{self, Judged};
use super::reproduce::scenario;
use super::source::Source;
use super::{Claim, ClaimError, Expected, Quick, Row, check::Names};
use crate::error::LabError;
use crate::figure::{Axis, Dot, Figure, Look, Panel, Rule, Series};
use crate::plots::Sweep;
use crate::session;

/// `[[vary]]` of a file of claims.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vary {
    /// Its name in the experiment.
    pub id: String,
    /// What it shows, in a sentence.
    pub says: String,
    /// The claims that are measured at each value.
    pub claims: Vec<String>,
    /// The key that is varied; the experiment does not sweep it.
    pub key: String,
    /// Its values.
    pub values: Vec<String>,
    /// What else is set, as in `[quick]`: shorter runs, fewer points of the experiment's own sweep.
    #[serde(default)]
    pub set: Table,
    /// What came out when somebody last looked. No run writes it.
    #[serde(default)]
    pub recorded: Vec<Seen>,
}

/// What came out at one value.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    /// The value of the key.
    pub at: String,
    /// The mean of each claim.
    pub measured: BTreeMap<String, f64>,
}

/// What came of a claim at one value; an element of `varied` in the answer of `reproduce --json`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Varied {
    /// The key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// The claim, judged as if the experiment had that value.
    #[serde(flatten)]
    pub claim: Judged,
}

impl Vary {
    /// What is wrong with it, among these claims.
    pub(super) fn wrong(&self, claims: &[Claim]) -> Option<String> {
        let unknown = self.claims.iter().find(|id| claims.iter().all(|c| c.id != **id));
        let stray = self.recorded.iter().find(|seen| {
            !self.values.contains(&seen.at)
                || seen.measured.keys().any(|id| !self.claims.contains(id))
        });
        if let Some(id) = unknown {
            Some(format!("there is no claim `{id}`"))
        } else if self.claims.is_empty() || self.values.len() < 2 {
            Some("it needs claims, and several values".to_owned())
        } else {
            stray.map(|seen| format!("`recorded` at {} is of no value or claim of it", seen.at))
        }
    }

    /// The claims, in the order of the list.
    fn of<'e>(&'e self, expected: &'e Expected) -> impl Iterator<Item = &'e Claim> {
        self.claims.iter().filter_map(|id| expected.claims.iter().find(|c| c.id == *id))
    }

    /// The runs.
    pub(super) fn plan(&self, row: &Row, expected: &Expected) -> Result<Plan, LabError> {
        let fail = |message: String| ClaimError {
            file: row.file(),
            message: format!("[[vary]] `{}`: {message}", self.id),
        };
        let whole = scenario(row)?;
        let own = whole.expand()?;
        let swept = own.points.first().map_or(&[][..], Vec::as_slice);
        if swept.iter().any(|(key, _)| *key == self.key) {
            return Err(fail(format!("`{}` is swept by the experiment", self.key)).into());
        }
        let form = Quick::of(&self.set).map_err(fail)?.apply(whole, swept)?;
        let plan = form.with_sweep(&self.key, &self.values)?.expand()?;
        let names = Names::new(&plan);
        for claim in self.of(expected) {
            for value in names.values(&self.key) {
                let at = at(claim, &self.key, value);
                names.check(&at).map_err(|e| fail(format!("claim `{}`: {e}", claim.id)))?;
            }
        }
        Ok(plan)
    }

    /// What came out, from the complete run directory `root` of its plan: by claim, then by value.
    pub(super) fn judge(
        &self,
        row: &Row,
        expected: &Expected,
        root: &Path,
    ) -> Result<Vec<Varied>, LabError> {
        let finished = session::load(root)?;
        let (dir, manifest) = RunDir::open(root)?;
        let source = Source { dir: &dir, runs: &finished.results.runs, seeds: &manifest.seeds };
        let sweep = Sweep::of(&self.key, &manifest.points);
        let mut out = Vec::new();
        for claim in self.of(expected) {
            for (_, value) in &sweep.values {
                let at = at(claim, &self.key, value);
                let fail = |message: String| ClaimError {
                    file: row.file(),
                    message: format!("[[vary]] `{}`, claim `{}`: {message}", self.id, claim.id),
                };
                let values = at.measure.values(source).map_err(fail)?;
                let trials = at.trials.as_ref().map(|t| t.values(source));
                let trials = trials.transpose().map_err(fail)?;
                let claim = judge::judge(&row.id(), &at, &values, trials.as_deref(), true);
                out.push(Varied { key: self.key.clone(), value: value.clone(), claim });
            }
        }
        Ok(out)
    }

    /// The figure: a panel for each claim, with the paper's value as a line.
    pub(super) fn draw(
        &self,
        root: &Path,
        expected: &Expected,
        varied: &[Varied],
    ) -> Result<Figure, LabError> {
        let (_, manifest) = RunDir::open(root)?;
        let sweep = Sweep::of(&self.key, &manifest.points);
        let panels = self.of(expected).enumerate().map(|(style, claim)| {
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
            let rule = |at| Rule { label: "paper".to_owned(), at, upright: false };
            let look = if sweep.ordered { Look::Measured } else { Look::Dots };
            let (scheme, part) = (claim.id.clone(), String::new());
            Panel {
                title: format!("{}: {}", claim.id, claim.says),
                x: sweep.axis(),
                y,
                series: vec![Series { scheme, part, style, look, points }],
                rules: claim.reported.map(rule).into_iter().collect(),
                shade: None,
            }
        });
        Ok(Figure {
            id: format!("vary-{}", self.id),
            title: format!("Varied: {}", self.key),
            caption: format!(
                "{}. The paper does not state this parameter; no verdict follows from here.",
                self.says
            ),
            legend: Vec::new(),
            panels: panels.collect(),
        })
    }
}

/// The same claim, measured at one more value of a key.
fn at(claim: &Claim, key: &str, value: &str) -> Claim {
    Claim {
        measure: claim.measure.with(key, value),
        trials: claim.trials.as_ref().map(|t| t.with(key, value)),
        recorded: None,
        ..claim.clone()
    }
}
