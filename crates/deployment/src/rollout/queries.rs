//! Completion times of queries by the class of the client.
//!
//! Contract: a query is compared with the same query of the same seed with no host moved, by the
//! class that its client has at the share. Its servers may be of both classes. Queries that began
//! during the warm-up are left out, as in `summary.json`.

use std::collections::BTreeSet;

use lowtide_rows::{DeploymentClass, FlowStatus};
use serde::Serialize;

use super::effect::Effect;
use super::flows::RolloutRun;
use super::statistics::{Percentiles, Resamples, Sample};
use super::timed_query::TimedQuery;
use crate::thresholds::RolloutThresholds;

/// Queries of a traffic group whose clients have one class, at a share.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct QueryClassRow {
    /// Moved share of the hosts, percent.
    pub share_percent: f64,
    /// Moved hosts.
    pub moved_hosts: u32,
    /// The traffic group.
    pub group: String,
    /// The class of the clients: `old` or `new`.
    pub client: &'static str,
    /// Queries after the warm-up, of all seeds.
    pub queries: usize,
    /// Of these, censored by the end of the run.
    pub unfinished: usize,
    /// Of these, failed.
    pub failed: usize,
    /// Completion time, ms.
    pub qct_ms: Percentiles,
    /// Completion time of the same queries with no host moved; null at a share of 0.
    pub before: Option<Percentiles>,
    /// `qct_ms` over `before`, paired by seed; null at a share of 0.
    pub ratio: Option<Percentiles>,
    /// Effect on the 99th percentile; null at a share of 0.
    pub effect: Option<Effect>,
}

/// The runs of one share.
pub(super) struct ShareRuns<'a> {
    pub(super) share_percent: f64,
    pub(super) moved_hosts: u32,
    /// Each run, the index of its seed, and the run of that seed with no host moved.
    pub(super) runs: Vec<(&'a RolloutRun, u32, Option<&'a RolloutRun>)>,
}

impl ShareRuns<'_> {
    /// Returns the rows of all groups with queries.
    pub(super) fn query_rows(
        &self,
        resamples: &Resamples,
        thresholds: RolloutThresholds,
    ) -> Vec<QueryClassRow> {
        let queries = self.runs.iter().flat_map(|(run, ..)| &run.queries);
        let groups: BTreeSet<&str> = queries.map(|query| query.group.as_str()).collect();
        let of_group = |group| {
            let classes = [DeploymentClass::Old, DeploymentClass::New].into_iter();
            classes.filter_map(move |class| self.query_row(group, class, resamples, thresholds))
        };
        groups.into_iter().flat_map(of_group).collect()
    }

    fn query_row(
        &self,
        group: &str,
        class: DeploymentClass,
        resamples: &Resamples,
        thresholds: RolloutThresholds,
    ) -> Option<QueryClassRow> {
        let (mut after, mut before, mut statuses) = (Vec::new(), Vec::new(), Vec::new());
        for (run, seed, base) in &self.runs {
            let wanted = |query: &&TimedQuery| {
                let moved = class == DeploymentClass::New;
                query.group == group && run.is_moved(query.client) == Some(moved)
            };
            let now = run.queries.iter().filter(wanted);
            statuses.extend(now.clone().map(|query| query.status));
            after.extend(now.map(|query| (query.time, *seed)));
            let then = base.iter().flat_map(|base| &base.queries).filter(wanted);
            before.extend(then.map(|query| (query.time, *seed)));
        }
        if after.is_empty() {
            return None;
        }
        let (now, then) = (Sample::new(&after), Sample::new(&before));
        let moved = self.share_percent > 0.0;
        let ratio = moved.then(|| now.ratios(&then, resamples));
        let count = |status| statuses.iter().filter(|s| **s == status).count();
        Some(QueryClassRow {
            share_percent: self.share_percent,
            moved_hosts: self.moved_hosts,
            group: group.to_owned(),
            client: class.name(),
            queries: after.len(),
            unfinished: count(FlowStatus::Unfinished),
            failed: count(FlowStatus::Failed),
            qct_ms: now.percentiles(resamples),
            before: moved.then(|| then.percentiles(resamples)),
            effect: ratio.map(|r| Effect::of(r.p99, thresholds)),
            ratio,
        })
    }
}
