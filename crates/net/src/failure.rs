//! Link failures at run time.

use std::collections::BTreeMap;

use lowtide_sim::Digest;
use lowtide_units::Instant;

use crate::route::{Edges, Routes};
use crate::{Blueprint, BlueprintError, Failure, Routing};

/// A stage of a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// The link fails.
    Down,
    /// It recovers.
    Up,
    /// Routes follow the failure.
    Detected,
    /// Routes follow the recovery.
    Recovered,
}

/// The changes at one instant, by link: numbers of failures.
pub(crate) type FailureStep = (Instant, Vec<(usize, Stage)>);

/// The planned failures of a network.
#[derive(Clone, Debug)]
pub(crate) struct Failures {
    edges: Edges,
    routing: Routing,
    salt_seed: u64,
    planned: Vec<Failure>,
    /// Those of the lines by port, bit/s.
    pub(crate) rates: Vec<u64>,
    /// Those that routes know.
    known_rates: Vec<u64>,
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
        let rates = plan.line_rates();
        for (failure, planned) in plan.failures.iter().enumerate() {
            let &Failure { link, down_at, up_at, rate, .. } = planned;
            if link >= links {
                return Err(BlueprintError::FailureOfNoLink { failure, link, links });
            }
            if let Some(up_at) = up_at.filter(|up_at| *up_at <= down_at) {
                return Err(BlueprintError::FailureEndsEarly { failure, down_at, up_at });
            }
            let own = planned.ports().map(|port| plan.links[link].line(port % 2 == 1).rate).min();
            if let Some((rate, own)) = rate.zip(own).filter(|(rate, own)| rate >= own) {
                return Err(BlueprintError::FailureOfNoRate { failure, rate, own });
            }
        }
        one_at_a_time(&plan.failures)?;
        Ok(Some(Box::new(Self {
            edges,
            routing: plan.routing,
            salt_seed,
            planned: plan.failures.clone(),
            known_rates: rates.clone(),
            rates,
            steps: steps(&plan.failures),
            avoid: vec![false; links],
            digests: vec![Digest::new(); plan.switches.len()],
            no_route_drops: 0,
        })))
    }

    /// Returns the stages at step `index`, each with its failure. Each step occurs once.
    pub(crate) fn take_step(&mut self, index: u32) -> Vec<(Failure, Stage)> {
        let step = self.steps.get_mut(index as usize);
        let stages = step.map(|step| std::mem::take(&mut step.1)).unwrap_or_default();
        stages.into_iter().map(|(failure, stage)| (self.planned[failure], stage)).collect()
    }

    /// Routes know whether this failure lasts.
    pub(crate) fn notify_routes(&mut self, failure: &Failure, fails: bool) {
        let Some(rate) = failure.rate else {
            self.avoid[failure.link] = fails;
            return;
        };
        for port in failure.ports() {
            self.known_rates[port] = if fails { rate.as_bps() } else { self.rates[port] };
        }
    }

    /// Returns the current routes.
    pub(crate) fn routes(&self) -> Option<Routes> {
        // The graph without avoided links is the largest; its size was checked before.
        Routes::find(&self.edges, self.routing, self.salt_seed, &self.avoid, &self.known_rates).ok()
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
    let mut steps: BTreeMap<Instant, Vec<(usize, Stage)>> = BTreeMap::new();
    for (i, failure) in failures.iter().enumerate() {
        let &Failure { down_at, up_at, detect, .. } = failure;
        let mut add = |at, stage| steps.entry(at).or_default().push((i, stage));
        let ends = [
            Some((down_at, Stage::Down, Stage::Detected)),
            up_at.map(|at| (at, Stage::Up, Stage::Recovered)),
        ];
        for (at, stage, known) in ends.into_iter().flatten() {
            add(at, stage);
            if failure.moves_routes() {
                add(at + detect, known);
            }
        }
    }
    let mut steps: Vec<FailureStep> = steps.into_iter().collect();
    for (_, changes) in &mut steps {
        changes.sort_by_key(|c| failures[c.0].link);
    }
    steps
}
