//! One experiment: its plan, and its claims judged by the tables of a complete run directory.

use std::path::Path;

use lowtide_lab::load_open;
use lowtide_scenario::RunPlan;

use super::check::ExperimentSchema;
use super::judge::{self, ClaimResult};
use super::measure::ClaimMeasure;
use super::source::RunData;
use super::{ClaimError, Experiment, ExperimentClaims, Variation};
use crate::error::PaperError;

/// Form of an experiment.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ReproduceMode {
    /// Run the reduced form of its file of claims.
    pub quick: bool,
    /// Number of seeds that overrides the file's.
    pub seeds: Option<u64>,
    /// Confidence level of the verdicts, if `seeds` are a further look at undecided claims.
    pub further_look: Option<f64>,
}

/// Result of an experiment.
#[derive(Clone, PartialEq, Debug)]
pub struct ReproductionResult {
    /// Its claims, in the order of the file.
    pub claims: Vec<ClaimResult>,
    /// Packet-hops of all its runs.
    pub hops: u64,
    /// Packet-hop limit of its reduced form; `None` for the full form, or if the file has no limit.
    pub hop_budget: Option<u64>,
    /// Its variations, if they were requested.
    pub variations: Vec<Variation>,
}

/// The runs of an experiment. Its claims are first checked against the full form, so that an
/// invalid one is rejected before anything runs.
pub fn plan(row: &Experiment, mode: ReproduceMode) -> Result<RunPlan, PaperError> {
    let expected = ExperimentClaims::parse(row.expected, &row.claims_path())?;
    let whole = row.scenario()?;
    let full = whole.expand()?;
    let names = ExperimentSchema::new(&full);
    let refuse = |message: String| ClaimError { file: row.claims_path(), message };
    // A test audits the embedded files.
    if let Some(fault) =
        row.path.and_then(|_| expected.audit(&row.claims_path()).into_iter().next())
    {
        return Err(fault.into());
    }
    for claim in &expected.claims {
        claim.check(&names).map_err(|e| refuse(format!("claim `{}`: {e}", claim.id)))?;
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

/// Judges the claims from the complete run directory `root` of the plan of the same mode.
pub fn judge(
    row: &Experiment,
    root: &Path,
    mode: ReproduceMode,
) -> Result<ReproductionResult, PaperError> {
    let expected = ExperimentClaims::parse(row.expected, &row.claims_path())?;
    let (dir, finished) = load_open(root)?;
    let manifest = &finished.manifest;
    let source = RunData { dir: &dir, runs: &finished.results.runs, seeds: &manifest.seeds };
    let (id, seeds) = (row.id(), manifest.seeds.len());
    // Fewer seeds than in the file may leave a claim undecided.
    let reduced = mode.quick || (mode.seeds.is_some() && mode.further_look.is_none());
    let level = mode.further_look.unwrap_or(super::verdict::LEVEL);
    let verdict = |claim: &super::Claim| {
        if let Some(why) = claim.full_only.as_ref().filter(|_| mode.quick) {
            return Ok(judge::undecided(&id, claim, seeds, why));
        }
        let of = std::iter::once(&claim.measure).chain(&claim.trials);
        if mode.quick && !of.flat_map(ClaimMeasure::leaves).all(|leaf| leaf.is_at(&manifest.points))
        {
            let why = "the reduced form leaves its point out";
            return Ok(judge::undecided(&id, claim, seeds, why));
        }
        let fail = |message: String| ClaimError {
            file: row.claims_path(),
            message: format!("claim `{}`: {message}", claim.id),
        };
        let values = claim.measure.values(source).map_err(fail)?;
        let trials = claim.trials.as_ref().map(|t| t.values(source));
        let trials = trials.transpose().map_err(fail)?;
        Ok(judge::judge_at(&id, claim, &values, trials.as_deref(), (reduced, level)))
    };
    let claims = expected.claims.iter().map(verdict).collect::<Result<_, PaperError>>()?;
    let budget = expected.quick.hops.filter(|_| mode.quick && mode.seeds.is_none());
    Ok(ReproductionResult {
        claims,
        hops: manifest.hops,
        hop_budget: budget,
        variations: Vec::new(),
    })
}
