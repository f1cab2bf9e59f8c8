//! One experiment: its plan, and its claims judged by the tables of a complete run directory.

use std::path::Path;

use lowtide_record::RunDir;
use lowtide_scenario::{Plan, Scenario};

use super::judge::{self, Judged};
use super::source::Source;
use super::{ClaimError, Expected, Row};
use crate::error::LabError;
use crate::session;

/// Which form of an experiment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mode {
    /// The reduced form that its file of claims states.
    pub quick: bool,
    /// Seeds in place of the file's.
    pub seeds: Option<u64>,
}

/// The runs of an experiment.
pub fn plan(row: &Row, mode: Mode) -> Result<Plan, LabError> {
    let id = row.id();
    let mut scenario = Scenario::parse(row.scenario, &format!("{id}.toml"))?;
    if mode.quick {
        for (key, value) in Expected::parse(row.expected, &file(row))?.quick {
            scenario = scenario.with_override(&key, &value)?;
        }
    }
    if let Some(seeds) = mode.seeds {
        scenario = scenario.seeds(seeds)?;
    }
    Ok(scenario.expand()?)
}

/// The verdicts, from the complete run directory `root`.
pub fn judge(row: &Row, root: &Path) -> Result<Vec<Judged>, LabError> {
    let expected = Expected::parse(row.expected, &file(row))?;
    let finished = session::load(root)?;
    let (dir, manifest) = RunDir::open(root)?;
    let source = Source { dir: &dir, runs: &finished.results.runs, seeds: &manifest.seeds };
    let id = row.id();
    let verdict = |claim: &super::Claim| {
        let fail = |message: String| ClaimError {
            file: file(row),
            message: format!("claim `{}`: {message}", claim.id),
        };
        let values = claim.measure.values(source).map_err(fail)?;
        let trials = claim.trials.as_ref().map(|t| t.values(source));
        let trials = trials.transpose().map_err(fail)?;
        Ok(judge::judge(&id, claim, &values, trials.as_deref()))
    };
    expected.claims.iter().map(verdict).collect()
}

fn file(row: &Row) -> String {
    format!("papers/{}/{}.expected.toml", row.paper, row.name)
}
