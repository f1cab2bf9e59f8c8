//! Completion times of queries by the class of the client.
//!
//! Contract: a query is compared with the same query of the same seed with no host moved, by the
//! class that its client has at the share. Its servers may be of both classes. Queries that began
//! during the warm-up are left out, as in `summary.json`.

use std::collections::BTreeSet;

use lowtide_rows::DeploymentClass;
use lowtide_stats::{InvalidSample, ValueRange};
use serde::Serialize;

use super::outcome::Outcome;
use super::share_runs::{RunPair, ShareRuns, samples};
use super::timed_query::TimedQuery;

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
    /// Their completion times, ms.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// Returns the rows of all groups with queries.
pub(super) fn query_rows(
    share: &ShareRuns<'_>,
    tolerance: f64,
) -> Result<Vec<QueryClassRow>, InvalidSample> {
    let queries = share.runs.iter().flat_map(|pair| &pair.run.queries);
    let groups: BTreeSet<&str> = queries.map(|query| query.group.as_str()).collect();
    let mut rows = Vec::new();
    for group in groups {
        for class in [DeploymentClass::Old, DeploymentClass::New] {
            let moved = Some(class == DeploymentClass::New);
            let of = |runs: &RunPair<'_>| {
                let is = |query: &TimedQuery| {
                    query.group == group && runs.run.is_moved(query.client) == moved
                };
                let queries = runs.queries.iter().filter(|[query, _]| is(query));
                samples(queries.map(|both| both.map(|query| query.time)), ValueRange::NOT_NEGATIVE)
            };
            if let Some(outcome) = share.outcome(tolerance, of)? {
                rows.push(QueryClassRow {
                    share_percent: share.share_percent,
                    moved_hosts: share.moved_hosts,
                    group: group.to_owned(),
                    client: class.name(),
                    outcome,
                });
            }
        }
    }
    Ok(rows)
}
