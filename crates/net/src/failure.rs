//! The failures of links while the network runs.

use std::collections::BTreeMap;

use lowtide_sim::Digest;
use lowtide_units::Instant;

use crate::route::{Edges, Routes};
use crate::{Blueprint, BlueprintError, Failure, Routing};

/// What happens to a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LinkChange {
    /// It fails.
    Down,
    /// It works again.
    Up,
    /// Routes leave it.
    Leave,
    /// Routes come back to it.
    Return,
}

/// What happens at one instant: links and what becomes of each.
pub(crate) type FailureStep = (Instant, Vec<(usize, LinkChange)>);

/// The failures of a network that has some.
#[derive(Clone, Debug)]
pub(crate) struct Failures {
    edges: Edges,
    routing: Routing,
    salt_seed: u64,
    /// By time.
    pub(crate) steps: Vec<FailureStep>,
    /// Per link: routes avoid it.
    avoid: Vec<bool>,
    /// Per switch: time and identity of each packet to whose host it had no way.
    pub(crate) digests: Vec<Digest>,
    /// Packets without a route since the end of the warm-up.
    pub(crate) no_route_drops: u64,
}

impl Failures {
    /// Checks the failures of `plan`, if it has some.
    pub(crate) fn new(
        plan: &Blueprint,
        edges: Edges,
        salt_seed: u64,
    ) -> Result<Option<Box<Self>>, BlueprintError> {
        if plan.failures.is_empty() {
            return Ok(None);
        }
        let links = plan.links.len();
        for (failure, &Failure { link, down_at, up_at, .. }) in plan.failures.iter().enumerate() {
            if link >= links {
                return Err(BlueprintError::FailureOfNoLink { failure, link, links });
            }
            if let Some(up_at) = up_at.filter(|up_at| *up_at <= down_at) {
                return Err(BlueprintError::FailureEndsEarly { failure, down_at, up_at });
            }
        }
        one_at_a_time(&plan.failures)?;
        Ok(Some(Box::new(Self {
            edges,
            routing: plan.routing,
            salt_seed,
            steps: steps(&plan.failures),
            avoid: vec![false; links],
            digests: vec![Digest::new(); plan.switches.len()],
            no_route_drops: 0,
        })))
    }

    /// From now on the routes avoid `link`, or no longer do.
    pub(crate) fn avoid(&mut self, link: usize, avoid: bool) {
        self.avoid[link] = avoid;
    }

    /// The routes as they now must be.
    pub(crate) fn routes(&self) -> Option<Routes> {
        // No link avoided is the most there can be of switches and racks, and that was found before.
        Routes::find(&self.edges, self.routing, self.salt_seed, &self.avoid).ok()
    }
}

/// The failures of one link must follow one another, and so must what the routes hear of them.
fn one_at_a_time(failures: &[Failure]) -> Result<(), BlueprintError> {
    let mut order: Vec<usize> = (0..failures.len()).collect();
    order.sort_by_key(|&i| (failures[i].link, failures[i].down_at));
    for pair in order.windows(2) {
        let (a, b) = (&failures[pair[0]], &failures[pair[1]]);
        let apart =
            a.up_at.is_some_and(|up| up < b.down_at && up + a.detect < b.down_at + b.detect);
        if a.link == b.link && !apart {
            let (first, second) = (pair[0], pair[1]);
            return Err(BlueprintError::FailuresOverlap { first, second });
        }
    }
    Ok(())
}

/// All that happens, by time; at one time by link.
fn steps(failures: &[Failure]) -> Vec<FailureStep> {
    let mut steps: BTreeMap<Instant, Vec<(usize, LinkChange)>> = BTreeMap::new();
    for &Failure { link, down_at, up_at, detect } in failures {
        let mut add = |at, change| steps.entry(at).or_default().push((link, change));
        add(down_at, LinkChange::Down);
        add(down_at + detect, LinkChange::Leave);
        if let Some(up_at) = up_at {
            add(up_at, LinkChange::Up);
            add(up_at + detect, LinkChange::Return);
        }
    }
    let mut steps: Vec<FailureStep> = steps.into_iter().collect();
    for (_, changes) in &mut steps {
        changes.sort_by_key(|c| c.0);
    }
    steps
}
