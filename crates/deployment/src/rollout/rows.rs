//! The flows of a pair of classes at a share, beside the same flows before the move.

use std::collections::BTreeMap;

use lowtide_lab::{Results, SizeClassFacts};
use lowtide_stats::{InvalidSample, ValueRange};
use serde::Serialize;

use super::flows::{ClassPair, SizedFlow};
use super::outcome::Outcome;
use super::share_runs::{RunPair, ShareRuns, samples};

/// Name of the sizes of all flows.
pub(crate) const ALL_SIZES: &str = "all";

/// Flows of a pair of classes at a share.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RolloutRow {
    /// Moved share of the hosts, percent.
    pub share_percent: f64,
    /// Moved hosts.
    pub moved_hosts: u32,
    /// The classes of sender and receiver: `old>new`.
    pub pair: &'static str,
    /// Range of flow sizes, or `all`.
    pub sizes: String,
    /// Their slowdowns: completion time over the ideal time.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// A range of flow sizes.
pub(super) struct SizeRange {
    pub(super) name: String,
    above: u64,
    up_to: Option<u64>,
}

impl SizeRange {
    fn holds(&self, size: u64) -> bool {
        (size > self.above || self.above == 0) && self.up_to.is_none_or(|most| size <= most)
    }
}

/// Returns the range of all sizes, then the size classes in which any run has flows.
pub(super) fn size_ranges(results: &Results) -> Vec<SizeRange> {
    let groups = results.runs.iter().flat_map(|run| &run.groups);
    let classes: BTreeMap<u64, &SizeClassFacts> =
        groups.flat_map(|g| &g.classes).map(|class| (class.above_bytes, class)).collect();
    let range = |class: &SizeClassFacts| SizeRange {
        name: class.name(),
        above: class.above_bytes,
        up_to: class.up_to_bytes,
    };
    let all = SizeRange { name: ALL_SIZES.to_owned(), above: 0, up_to: None };
    std::iter::once(all).chain(classes.into_values().map(range)).collect()
}

/// Returns the rows of all pairs and ranges with flows.
pub(super) fn flow_rows(
    share: &ShareRuns<'_>,
    ranges: &[SizeRange],
    tolerance: f64,
) -> Result<Vec<RolloutRow>, InvalidSample> {
    let mut rows = Vec::new();
    for pair in ClassPair::ALL {
        for range in ranges {
            let of = |runs: &RunPair<'_>| {
                let is = |flow: &SizedFlow| {
                    range.holds(flow.size) && runs.run.pair_of(flow.hosts) == Some(pair)
                };
                let flows = runs.flows.iter().filter(|[flow, _]| is(flow));
                samples(flows.map(|both| both.map(|flow| flow.slowdown)), ValueRange::SLOWDOWN)
            };
            if let Some(outcome) = share.outcome(tolerance, of)? {
                rows.push(RolloutRow {
                    share_percent: share.share_percent,
                    moved_hosts: share.moved_hosts,
                    pair: pair.name(),
                    sizes: range.name.clone(),
                    outcome,
                });
            }
        }
    }
    Ok(rows)
}
