//! One experiment: its plan, and its claims judged by the tables of a complete run directory.

use std::path::Path;

use lowtide_scenario::Plan;

use super::check::Names;
use super::judge::{self, Judged};
use super::measure::Measure;
use super::source::Source;
use super::{ClaimError, Expected, Row, Variation};
use crate::error::LabError;
use crate::stored;

/// Which form of an experiment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mode {
    /// The reduced form that its file of claims states.
    pub quick: bool,
    /// Seeds in place of the file's.
    pub seeds: Option<u64>,
}

/// What an experiment came to.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Its claims, in the order of the file.
    pub claims: Vec<Judged>,
    /// Packet-hops of all its runs.
    pub hops: u64,
    /// What its reduced form may take; `None` for the whole form, and where the file does not say.
    pub budget: Option<u64>,
    /// What was varied, if it was asked for.
    pub variations: Vec<Variation>,
}

/// The runs of an experiment. Its claims are held against the whole form first, so that a wrong one is
/// refused before anything runs.
pub fn plan(row: &Row, mode: Mode) -> Result<Plan, LabError> {
    let expected = Expected::parse(row.expected, &row.file())?;
    let whole = row.scenario()?;
    let full = whole.expand()?;
    let names = Names::new(&full);
    let refuse = |message: String| ClaimError { file: row.file(), message };
    for claim in &expected.claims {
        names.check(claim).map_err(|e| refuse(format!("claim `{}`: {e}", claim.id)))?;
    }
    for figure in &expected.figures {
        figure.check(&names).map_err(|e| refuse(format!("figure `{}`: {e}", figure.id)))?;
    }
    if !mode.quick && mode.seeds.is_none() {
        return Ok(full);
    }
    let swept = full.points.first().map_or(&[][..], Vec::as_slice);
    let mut form = if mode.quick { expected.quick.apply(whole, swept)? } else { whole };
    if let Some(seeds) = mode.seeds {
        form = form.seeds(seeds)?;
    }
    Ok(form.expand()?)
}

/// The verdicts, from the complete run directory `root` of the plan of the same mode.
pub fn judge(row: &Row, root: &Path, mode: Mode) -> Result<Outcome, LabError> {
    let expected = Expected::parse(row.expected, &row.file())?;
    let (dir, finished) = stored::load_open(root)?;
    let manifest = &finished.manifest;
    let source = Source { dir: &dir, runs: &finished.results.runs, seeds: &manifest.seeds };
    let (id, seeds) = (row.id(), manifest.seeds.len());
    // Fewer seeds than the file has may leave open what they all decide.
    let reduced = mode.quick || mode.seeds.is_some();
    let verdict = |claim: &super::Claim| {
        if let Some(why) = claim.full_only.as_ref().filter(|_| mode.quick) {
            return Ok(judge::left_open(&id, claim, seeds, why));
        }
        let of = std::iter::once(&claim.measure).chain(&claim.trials);
        if mode.quick && !of.flat_map(Measure::leaves).all(|leaf| leaf.is_at(&manifest.points)) {
            let why = "the reduced form leaves its point out";
            return Ok(judge::left_open(&id, claim, seeds, why));
        }
        let fail = |message: String| ClaimError {
            file: row.file(),
            message: format!("claim `{}`: {message}", claim.id),
        };
        let values = claim.measure.values(source).map_err(fail)?;
        let trials = claim.trials.as_ref().map(|t| t.values(source));
        let trials = trials.transpose().map_err(fail)?;
        Ok(judge::judge(&id, claim, &values, trials.as_deref(), reduced))
    };
    let claims = expected.claims.iter().map(verdict).collect::<Result<_, LabError>>()?;
    let budget = expected.quick.hops.filter(|_| mode.quick && mode.seeds.is_none());
    Ok(Outcome { claims, hops: manifest.hops, budget, variations: Vec::new() })
}
