//! Sets of flows whose tails are computed: a group, or one of its size classes.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use lowtide_stats::{Sample, SeedSamples};

use super::{TailMetric, TailRow};
use crate::facts::RunFacts;
use crate::summary::class_names;

/// Flows whose tails are wanted: of a group, or of one of its size classes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowSet<'a> {
    /// The traffic group.
    pub group: &'a str,
    /// The size class; `None` for the whole group.
    pub class: Option<&'a str>,
    /// The metric.
    pub metric: TailMetric,
}

impl FlowSet<'_> {
    /// Returns whether a row is about these flows.
    pub fn has(self, row: &TailRow) -> bool {
        row.group == self.group && row.class.as_deref() == self.class && row.metric == self.metric
    }

    /// Returns the sample of one run.
    pub fn sample(self, run: &RunFacts) -> Option<&Sample> {
        if self.metric == TailMetric::QctMs {
            return run.queries(self.group).map(|q| &*q.sample);
        }
        if self.metric == TailMetric::StepMs {
            return run.collective(self.group).map(|c| &*c.sample);
        }
        let group = run.group(self.group)?;
        let samples = match self.class {
            Some(class) => &group.class(class)?.samples,
            None => &group.samples,
        };
        Some(match self.metric {
            TailMetric::Slowdown => &samples.slowdown,
            _ => &samples.fct_ms,
        })
    }

    /// Returns the samples of runs, which are the seeds; a run without such flows has an empty one.
    pub fn samples<'r>(self, runs: &[&'r RunFacts], none: &'r Sample) -> SeedSamples<'r> {
        SeedSamples::new(runs.iter().map(|run| self.sample(run).unwrap_or(none)).collect())
    }

    /// Returns the lower end of the sizes, or the size of all flows; `None` for queries and
    /// collectives.
    pub(super) fn above_bytes(self, runs: &[&RunFacts]) -> Option<u64> {
        let group = || runs.iter().filter_map(|run| run.group(self.group));
        match self.class {
            Some(class) => group().find_map(|g| g.class(class)).map(|c| c.above_bytes),
            None => group().find_map(|g| g.size_bytes).filter(|_| self.metric.is_of_flows()),
        }
    }

    /// Counts flows, unfinished, failed and those in the warm-up, in all runs.
    pub(super) fn counts(self, runs: &[&RunFacts], row: &mut TailRow) {
        for run in runs {
            if self.metric == TailMetric::QctMs {
                let Some(queries) = run.queries(self.group) else { continue };
                row.flows += queries.queries;
                row.unfinished += queries.unfinished;
                row.failed += queries.failed;
                continue;
            }
            if self.metric == TailMetric::StepMs {
                let Some(collective) = run.collective(self.group) else { continue };
                row.flows += collective.iterations;
                row.unfinished += collective.unfinished;
                continue;
            }
            let Some(group) = run.group(self.group) else { continue };
            let (unfinished, failed, in_warmup, blocked_on) = match self.class {
                Some(class) => {
                    let Some(class) = group.class(class) else { continue };
                    (class.unfinished, class.failed, class.in_warmup, &class.blocked_on)
                }
                None => (group.unfinished, group.failed, group.in_warmup, &group.blocked_on),
            };
            row.flows += self.sample(run).map_or(0, |s| s.count() as usize);
            row.unfinished += unfinished;
            row.failed += failed;
            row.in_warmup += in_warmup;
            for (reason, n) in blocked_on {
                *row.blocked_on.entry(reason.clone()).or_default() += n;
            }
        }
    }
}

/// Returns the flows of runs that have tails, classes after their group.
pub(crate) fn flow_sets<'a>(
    runs: &[&'a RunFacts],
    classes: &'a BTreeMap<String, Vec<String>>,
) -> Vec<FlowSet<'a>> {
    let Some(first) = runs.first() else { return Vec::new() };
    let mut sets = Vec::new();
    for group in &first.groups {
        let group = group.name.as_str();
        let classes = classes.get(group).into_iter().flatten().map(|c| Some(c.as_str()));
        for class in std::iter::once(None).chain(classes) {
            for metric in [TailMetric::Slowdown, TailMetric::FctMs] {
                sets.push(FlowSet { group, class, metric });
            }
        }
    }
    sets.extend(first.queries.iter().map(|q| FlowSet {
        group: &q.name,
        class: None,
        metric: TailMetric::QctMs,
    }));
    sets.extend(first.collectives.iter().map(|c| FlowSet {
        group: &c.name,
        class: None,
        metric: TailMetric::StepMs,
    }));
    let some = |set: &FlowSet<'_>| {
        runs.iter().any(|run| set.sample(run).is_some_and(|sample| sample.count() > 0))
    };
    sets.into_iter().filter(some).collect()
}

/// Returns the size classes of each group in any run.
pub(crate) fn all_classes(runs: &[RunFacts]) -> BTreeMap<String, Vec<String>> {
    let groups = runs.iter().flat_map(|run| &run.groups).map(|g| g.name.clone());
    let mut classes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for group in groups {
        if let Entry::Vacant(vacant) = classes.entry(group) {
            let names = class_names(runs, vacant.key());
            vacant.insert(names);
        }
    }
    classes
}
