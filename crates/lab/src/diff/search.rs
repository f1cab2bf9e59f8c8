//! The first instant at which two runs differ.
//!
//! Digests that differ once never agree again. The interval is therefore narrowed twice by a factor
//! of 1024, each time with both runs from their beginning. Then both advance from event time to
//! event time.

use lowtide_host::{EntityName, RunError, Setup, SteppedRun};
use lowtide_units::{Duration, Instant};

use crate::error::LabError;

/// Number of subintervals per step.
const INTERVALS: u64 = 1024;

pub(super) enum SearchResult {
    /// The runs do not differ; their digest.
    Same(u64),
    Differ(DivergencePoint),
}

/// The first instant at which digests differ.
pub(super) struct DivergencePoint {
    pub(super) at: Instant,
    /// Index of the first entity that differs, in event order.
    pub(super) entity_index: usize,
    pub(super) entity: EntityName,
    /// Names of the others.
    pub(super) others: Vec<String>,
}

impl DivergencePoint {
    pub(super) const fn kind(&self) -> &'static str {
        match self.entity {
            EntityName::Port(..) => "port",
            EntityName::Switch(_) => "switch",
            EntityName::Host(..) => "host",
        }
    }
    pub(super) fn name(&self) -> &str {
        text(&self.entity)
    }
}

fn text(entity: &EntityName) -> &str {
    let (EntityName::Port(_, name) | EntityName::Switch(name) | EntityName::Host(_, name)) = entity;
    name
}

/// One picosecond later.
pub(super) fn after(at: Instant) -> Instant {
    at + Duration::from_ps(1)
}

/// The first names that differ if the networks differ by index; `nothing` for an entity that only
/// one of them has.
pub(super) fn first_name_mismatch(a: &Setup, b: &Setup) -> Option<(String, String)> {
    let names = |setup: &Setup| -> Vec<String> {
        let (plan, mut all) = (&setup.network, setup.network.hosts.clone());
        all.extend(plan.switches.iter().map(|s| s.name.clone()));
        let link =
            |l: &lowtide_net::LinkSpec| format!("the link {}-{}", plan.name(l.a), plan.name(l.b));
        all.extend(plan.links.iter().map(link));
        all
    };
    let (a, b) = (names(a), names(b));
    let place = (0..a.len().max(b.len())).find(|i| a.get(*i) != b.get(*i))?;
    let name = |names: &[String]| names.get(place).cloned().unwrap_or_else(|| "nothing".into());
    Some((name(&a), name(&b)))
}

struct Lockstep<'a> {
    a: SteppedRun<'a>,
    b: SteppedRun<'a>,
}

impl<'a> Lockstep<'a> {
    fn new(a: &'a Setup, b: &'a Setup) -> Result<Self, RunError> {
        Ok(Self { a: SteppedRun::new(a)?, b: SteppedRun::new(b)? })
    }
    fn advance_to(&mut self, until: Instant) {
        self.a.run_until(until);
        self.b.run_until(until);
    }
    /// Indices of the entities whose digests differ.
    fn differing(&self) -> Vec<usize> {
        let pairs = self.a.digests().zip(self.b.digests()).enumerate();
        pairs.filter(|(_, (a, b))| a != b).map(|(i, _)| i).collect()
    }
    /// The time of the next event of either; `None` if both have ended.
    fn next(&self) -> Option<Instant> {
        self.a.next_event_time().into_iter().chain(self.b.next_event_time()).min()
    }
}

/// Finds the first difference. An error of `check`, called once per interval, ends the search.
pub(super) fn find_divergence(
    a: &Setup,
    b: &Setup,
    check: &dyn Fn() -> Result<(), LabError>,
) -> Result<SearchResult, LabError> {
    let end = Instant::ZERO + a.end.at.max(b.end.at);
    let (mut from, mut to) = (Instant::ZERO, end);
    let mut suspects = Vec::new();
    for _ in 0..2 {
        let mut pair = Lockstep::new(a, b)?;
        pair.advance_to(from);
        let span = to.saturating_since(from).as_ps();
        let step = Duration::from_ps(span.div_ceil(INTERVALS).max(1));
        let mut at = from;
        loop {
            check()?;
            if pair.next().is_none() {
                return Ok(compare_at_end(pair));
            }
            let until = (at + step).min(end);
            pair.advance_to(until);
            suspects = pair.differing();
            if !suspects.is_empty() {
                (from, to) = (at, until);
                break;
            }
            at = until;
        }
    }
    let mut pair = Lockstep::new(a, b)?;
    pair.advance_to(from);
    while let Some(at) = pair.next() {
        let order_a = changed_entities(&mut pair.a, at, &suspects);
        let order_b = changed_entities(&mut pair.b, at, &suspects);
        let differs = |place: &usize| pair.a.digest(*place) != pair.b.digest(*place);
        // The first action in run `a` or, if there is none, in run `b`.
        let mut order = order_a.iter().chain(&order_b).copied().filter(differs);
        if let Some(place) = order.next() {
            let mut rest: Vec<usize> = order.filter(|p| *p != place).collect();
            rest.sort_unstable();
            rest.dedup();
            let name = |place: usize| pair.a.entity(place);
            let others = rest.into_iter().filter_map(name).map(|e| text(&e).to_owned()).collect();
            if let Some(entity) = name(place) {
                return Ok(SearchResult::Differ(DivergencePoint {
                    at,
                    entity_index: place,
                    entity,
                    others,
                }));
            }
        }
    }
    Ok(compare_at_end(pair))
}

/// No event differs; the state at the end of the run still may.
fn compare_at_end(mut pair: Lockstep<'_>) -> SearchResult {
    let at = pair.a.now().max(pair.b.now());
    let (digest_a, digest_b) = (pair.a.finish(), pair.b.finish());
    let mut places = pair.differing().into_iter();
    if digest_a == digest_b {
        return SearchResult::Same(digest_a);
    }
    let place = places.next().unwrap_or_default();
    let name = |place: usize| pair.a.entity(place);
    let others = places.filter_map(name).map(|e| text(&e).to_owned()).collect();
    match name(place) {
        Some(entity) => {
            SearchResult::Differ(DivergencePoint { at, entity_index: place, entity, others })
        }
        None => SearchResult::Same(digest_a),
    }
}

/// Handles the events at `at` and returns which of `places` changed, in order. Within one event,
/// hosts precede ports, since a host's transmissions follow from its input.
fn changed_entities(steps: &mut SteppedRun<'_>, at: Instant, places: &[usize]) -> Vec<usize> {
    let digests = |steps: &SteppedRun<'_>| -> Vec<Option<u64>> {
        places.iter().map(|p| steps.digest(*p)).collect()
    };
    let mut before = digests(steps);
    let mut order = Vec::new();
    while steps.step(after(at)) {
        let now = digests(steps);
        let changed = places.iter().zip(before.iter().zip(&now)).rev();
        order.extend(changed.filter(|(_, (b, n))| b != n).map(|(place, _)| *place));
        before = now;
    }
    order
}
