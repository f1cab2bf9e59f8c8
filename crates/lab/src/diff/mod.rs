//! Where two runs differ: which tables and digests, and the first instant, entity and packet.
//!
//! Contract: a run is compared by what its digest covers, entity by entity; what differs inside a sender
//! shows when it first does something else. Nothing must have been recorded: to find the first difference
//! both runs are made again, some times over, and looking changes neither.

mod overview;
mod search;
mod sides;
mod text;
mod witness;

use lowtide_host::{ProbePlan, Setup};
use lowtide_record::{RunKey, digest_text};
use serde::Serialize;

pub use overview::{OtherSetting, Overview, RunPair, overview};
pub use sides::Side;
pub use witness::Seen;

use crate::error::LabError;
use crate::flow::Choice;
use search::Instants;

/// Two runs, and where they first differ.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The first one.
    pub a: RunKey,
    /// The other one.
    pub b: RunKey,
    /// `None` if nothing differs to the end of both.
    pub first: Option<First>,
}

/// The first difference of two runs.
#[derive(Clone, Debug, Serialize)]
pub struct First {
    /// When, in virtual picoseconds. What a port decides as a packet leaves may be noticed here later, when
    /// the next thing happens to the port.
    pub at_ps: u64,
    /// What differs: `port`, `switch` (no way for a packet), `host`, or `network` where not even names agree.
    pub kind: &'static str,
    /// Its name.
    pub entity: String,
    /// What the first run does there: at this instant, or the next time that it does something there.
    pub a: Option<Seen>,
    /// What the other run does there.
    pub b: Option<Seen>,
    /// Names of other entities that differ at the same instant.
    pub others: Vec<String>,
}

/// The first differences of the runs of `a` and `b` that the choices name, scheme by scheme.
///
/// # Errors
/// There is no such run, it cannot be made again, or the two sides have no scheme in common and more than
/// one each.
pub fn first_divergence(
    (a, choose_a): (&Side, &Choice),
    (b, choose_b): (&Side, &Choice),
) -> Result<Vec<Comparison>, LabError> {
    let pairs = sides::pairs((a, choose_a), (b, choose_b))?;
    let mut all = Vec::new();
    for (left, right) in pairs {
        let (setup_a, setup_b) = (setup(a, left)?, setup(b, right)?);
        let first = compare(&setup_a, &setup_b)
            .map_err(|error| LabError::Run { key: Box::new(left.key.clone()), error })?;
        if let Found::Same(digest) = &first {
            let digest = digest_text(*digest);
            a.confirm(left, &digest)?;
            b.confirm(right, &digest)?;
        }
        let first = match first {
            Found::Same(_) => None,
            Found::Differs(first) => Some(*first),
        };
        all.push(Comparison { a: left.key.clone(), b: right.key.clone(), first });
    }
    Ok(all)
}

fn setup(side: &Side, run: &sides::Run) -> Result<Setup, LabError> {
    let mut setup = side.specification(run)?.setup()?;
    setup.probes = ProbePlan::default();
    Ok(setup)
}

enum Found {
    /// To the end, with this digest.
    Same(u64),
    Differs(Box<First>),
}

fn compare(a: &Setup, b: &Setup) -> Result<Found, lowtide_host::RunError> {
    if let Some((name_a, name_b)) = search::other_names(a, b) {
        let first = First {
            at_ps: 0,
            kind: "network",
            entity: format!("{name_a} in the one, {name_b} in the other"),
            a: None,
            b: None,
            others: Vec::new(),
        };
        return Ok(Found::Differs(Box::new(first)));
    }
    let instant = match search::first_instant(a, b)? {
        Instants::Same(digest) => return Ok(Found::Same(digest)),
        Instants::Differ(instant) => instant,
    };
    let (seen_a, seen_b) = witness::both(a, b, &instant)?;
    Ok(Found::Differs(Box::new(First {
        at_ps: instant.at.as_ps(),
        kind: instant.kind(),
        entity: instant.name().to_owned(),
        a: seen_a,
        b: seen_b,
        others: instant.others,
    })))
}
