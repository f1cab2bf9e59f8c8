//! Link failures at run time.

use std::collections::BTreeMap;

use lowtide_sim::Digest;
use lowtide_units::Instant;

use crate::route::{Edges, Routes};
use crate::{Blueprint, BlueprintError, Failure, Routing};

/// A change of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LinkChange {
    /// It goes down.
    Down,
    /// It comes up.
    Up,
    /// Routes stop using it.
    Leave,
    /// Routes use it again.
    Return,
}

/// The changes at one instant, by link.
pub(crate) type FailureStep = (Instant, Vec<(usize, LinkChange)>);

/// The planned failures of a network.
#[derive(Clone, Debug)]
pub(crate) struct Failures {
    edges: Edges,
    routing: Routing,
    salt_seed: u64,
    /// By port, bit/s.
    rates: Vec<u64>,
    /// By time.
    pub(crate) steps: Vec<FailureStep>,
    /// Per link: routes avoid it.
    avoid: Vec<bool>,
    /// Per switch: time and identity of each packet without a route to its host.
    pub(crate) digests: Vec<Digest>,
    /// Packets without a route since the end of the warm-up.
    pub(crate) no_route_drops: u64,
}

impl Failures {
    /// Checks the failures of `plan`, if any.
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
            rates: plan.line_rates(),
            steps: steps(&plan.failures),
            avoid: vec![false; links],
            digests: vec![Digest::new(); plan.switches.len()],
            no_route_drops: 0,
        })))
    }

    /// Sets whether routes avoid `link`.
    pub(crate) fn avoid(&mut self, link: usize, avoid: bool) {
        self.avoid[link] = avoid;
    }

    /// Returns the current routes.
    pub(crate) fn routes(&self) -> Option<Routes> {
        // The graph without avoided links is the largest; its size was checked before.
        Routes::find(&self.edges, self.routing, self.salt_seed, &self.avoid, &self.rates).ok()
    }
}

/// Checks that the failures of one link, and their detections, do not overlap.
fn one_at_a_time(failures: &[Failure]) -> Result<(), BlueprintError> {
    let mut order: Vec<usize> = (0..failures.len()).collect();
    order.sort_by_key(|&i| (failures[i].link, failures[i].down_at));
    for pair in order.windows(2) {
        let (a, b) = (&failures[pair[0]], &failures[pair[1]]);
        let disjoint =
            a.up_at.is_some_and(|up| up < b.down_at && up + a.detect < b.down_at + b.detect);
        if a.link == b.link && !disjoint {
            let (first, second) = (pair[0], pair[1]);
            return Err(BlueprintError::FailuresOverlap { first, second });
        }
    }
    Ok(())
}

/// Returns all changes by time, then by link.
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
