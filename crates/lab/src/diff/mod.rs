//! Where two runs differ: which tables and digests, and the first instant, entity and packet.
//!
//! Contract: a run is compared by what its digest covers, entity by entity; what differs inside a sender
//! shows when it first does something else. Nothing must have been recorded: to find the first difference
//! both runs are made again, some times over, and looking changes neither.

mod entity_actions;
mod overview;
mod search;
mod sides;
mod text;

use lowtide_host::{ProbePlan, Setup};
use lowtide_record::{RunKey, digest_text};
use serde::Serialize;

pub use entity_actions::EntityAction;
pub use overview::{DiffOverview, RunPair, SettingDiff, overview};
pub use sides::DiffSide;

use crate::error::LabError;
use crate::flow::FlowSelector;
use search::SearchResult;

/// Two runs, and where they first differ.
#[derive(Clone, Debug, Serialize)]
pub struct RunDivergence {
    /// The first one.
    pub a: RunKey,
    /// The other one.
    pub b: RunKey,
    /// `None` if nothing differs to the end of both.
    pub first: Option<FirstDivergence>,
}

/// The first difference of two runs.
#[derive(Clone, Debug, Serialize)]
pub struct FirstDivergence {
    /// When, in virtual picoseconds. What a port decides as a packet leaves may be noticed here later, when
    /// the next thing happens to the port.
    pub at_ps: u64,
    /// What differs: `port`, `switch` (no way for a packet), `host`, or `network` where not even names agree.
    pub kind: &'static str,
    /// Its name.
    pub entity: String,
    /// What the first run does there: at this instant, or the next time that it does something there.
    pub a: Option<EntityAction>,
    /// What the other run does there.
    pub b: Option<EntityAction>,
    /// Names of other entities that differ at the same instant.
    pub others: Vec<String>,
}

/// The first differences of the runs of `a` and `b` that the choices name, scheme by scheme.
///
/// # Errors
/// There is no such run, it cannot be made again, or the two sides have no scheme in common and more than
/// one each.
pub fn first_divergence(
    (a, choose_a): (&DiffSide, &FlowSelector),
    (b, choose_b): (&DiffSide, &FlowSelector),
) -> Result<Vec<RunDivergence>, LabError> {
    let pairs = sides::pairs((a, choose_a), (b, choose_b))?;
    let mut all = Vec::new();
    for (left, right) in pairs {
        let (setup_a, setup_b) = (run_setup(a, left)?, run_setup(b, right)?);
        let first = compare(&setup_a, &setup_b)
            .map_err(|error| LabError::Run { key: Box::new(left.key.clone()), error })?;
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

fn run_setup(side: &DiffSide, run: &sides::SideRun) -> Result<Setup, LabError> {
    let mut setup = side.specification(run)?.setup()?;
    setup.probes = ProbePlan::default();
    Ok(setup)
}

enum Divergence {
    /// To the end, with this digest.
    Same(u64),
    Differs(Box<FirstDivergence>),
}

fn compare(a: &Setup, b: &Setup) -> Result<Divergence, lowtide_host::RunError> {
    if let Some((name_a, name_b)) = search::first_name_mismatch(a, b) {
        let first = FirstDivergence {
            at_ps: 0,
            kind: "network",
            entity: format!("{name_a} in the one, {name_b} in the other"),
            a: None,
            b: None,
            others: Vec::new(),
        };
        return Ok(Divergence::Differs(Box::new(first)));
    }
    let instant = match search::find_divergence(a, b)? {
        SearchResult::Same(digest) => return Ok(Divergence::Same(digest)),
        SearchResult::Differ(instant) => instant,
    };
    let (seen_a, seen_b) = entity_actions::first_actions(a, b, &instant)?;
    Ok(Divergence::Differs(Box::new(FirstDivergence {
        at_ps: instant.at.as_ps(),
        kind: instant.kind(),
        entity: instant.name().to_owned(),
        a: seen_a,
        b: seen_b,
        others: instant.others,
    })))
}
