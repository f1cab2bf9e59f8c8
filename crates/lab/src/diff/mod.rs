//! Finds where two runs differ: tables and digests, and the first instant, entity and packet.
//!
//! Contract: a run is compared by its digests, entity by entity. A difference inside a sender
//! becomes visible at its first different action. No recording is needed: both runs are executed
//! again, several times, and observation does not change them.

mod entity_actions;
mod overview;
mod search;
mod sides;
mod text;

use lowtide_host::{ProbePlan, Setup};
use lowtide_record::{RunKey, digest_text};
use lowtide_scenario::RunSpec;
use serde::Serialize;

pub use entity_actions::EntityAction;
pub use overview::{DiffOverview, RunPair, SettingDiff, overview};
pub use sides::DiffSide;

use crate::budget::ResourceLimits;
use crate::error::LabError;
use crate::flow::FlowSelector;
use crate::unstored_run::UnstoredRun;
use search::SearchResult;

/// Two runs and their first difference.
#[derive(Clone, Debug, Serialize)]
pub struct RunDivergence {
    /// The first one.
    pub a: RunKey,
    /// The other one.
    pub b: RunKey,
    /// `None` if they do not differ.
    pub first: Option<FirstDivergence>,
}

/// The first difference of two runs.
#[derive(Clone, Debug, Serialize)]
pub struct FirstDivergence {
    /// Time in virtual picoseconds. A dequeue decision of a port may be detected later, at the next
    /// event of the port.
    pub at_ps: u64,
    /// Kind of the entity: `port`, `switch` (no route for a packet), `host`, or `network` if the
    /// names differ.
    pub kind: &'static str,
    /// Its name.
    pub entity: String,
    /// Action of the first run there, at this instant or the next one.
    pub a: Option<EntityAction>,
    /// Action of the other run there.
    pub b: Option<EntityAction>,
    /// Names of other entities that differ at the same instant.
    pub others: Vec<String>,
}

/// Returns the first differences of the selected runs of `a` and `b`, scheme by scheme.
///
/// # Errors
/// There is no such run, it cannot be executed again, two runs do not fit into `limits` together,
/// or the two sides have no scheme in common and more than one each.
pub fn first_divergence(
    (a, choose_a): (&DiffSide, &FlowSelector),
    (b, choose_b): (&DiffSide, &FlowSelector),
    limits: &ResourceLimits<'_>,
) -> Result<Vec<RunDivergence>, LabError> {
    let pairs = sides::pairs((a, choose_a), (b, choose_b))?;
    let mut all = Vec::new();
    for (left, right) in pairs {
        let ((spec_a, setup_a), (spec_b, setup_b)) = (run_setup(a, left)?, run_setup(b, right)?);
        let run_a = UnstoredRun { key: &left.key, spec: &spec_a, setup: &setup_a };
        let run_b = UnstoredRun { key: &right.key, spec: &spec_b, setup: &setup_b };
        UnstoredRun::admit(&[run_a, run_b], limits)?;
        let first = compare(run_a, &setup_b, limits)?;
        if let Divergence::Same(digest) = &first {
            let digest = digest_text(*digest);
            a.verify_digest(left, &digest)?;
            b.verify_digest(right, &digest)?;
        }
        let first = match first {
            Divergence::Same(_) => None,
            Divergence::Differs(first) => Some(*first),
        };
        all.push(RunDivergence { a: left.key.clone(), b: right.key.clone(), first });
    }
    Ok(all)
}

fn run_setup(side: &DiffSide, run: &sides::SideRun) -> Result<(RunSpec, Setup), LabError> {
    let spec = side.specification(run)?;
    let mut setup = spec.setup()?;
    setup.probes = ProbePlan::default();
    Ok((spec, setup))
}

enum Divergence {
    /// Equal to the end, with this digest.
    Same(u64),
    Differs(Box<FirstDivergence>),
}

/// Compares `run` with the run of `b`.
fn compare(
    run: UnstoredRun<'_>,
    b: &Setup,
    limits: &ResourceLimits<'_>,
) -> Result<Divergence, LabError> {
    let a = run.setup;
    let failed = |error: LabError| match error {
        LabError::Start(error) => LabError::Run { key: Box::new(run.key.clone()), error },
        other => other,
    };
    if let Some((name_a, name_b)) = search::first_name_mismatch(a, b) {
        let first = FirstDivergence {
            at_ps: 0,
            kind: "network",
            entity: format!("{name_a} in the first, {name_b} in the second"),
            a: None,
            b: None,
            others: Vec::new(),
        };
        return Ok(Divergence::Differs(Box::new(first)));
    }
    let found = search::find_divergence(a, b, &|| run.check(limits));
    let instant = match found.map_err(failed)? {
        SearchResult::Same(digest) => return Ok(Divergence::Same(digest)),
        SearchResult::Differ(instant) => instant,
    };
    let (seen_a, seen_b) =
        entity_actions::first_actions(a, b, &instant).map_err(|error| failed(error.into()))?;
    Ok(Divergence::Differs(Box::new(FirstDivergence {
        at_ps: instant.at.as_ps(),
        kind: instant.kind(),
        entity: instant.name().to_owned(),
        a: seen_a,
        b: seen_b,
        others: instant.others,
    })))
}
