//! Goodput by pair of classes: all flows of the pair together, and one unlimited flow.
//!
//! Contract: goodput is that of `summary.json`, of one run. Over seeds it is the mean of those in
//! which the pair has such flows. It is compared with the goodput of the same flows of the same
//! seeds with no host moved.

use std::collections::BTreeMap;

use serde::Serialize;

use super::delivered::{GoodputOf, HostPairFlows};
use super::flows::{ClassPair, RolloutRun};
use super::queries::ShareRuns;
use crate::estimate::Estimate;

/// Goodput of a pair of classes at a share.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct GoodputRow {
    /// Moved share of the hosts, percent.
    pub share_percent: f64,
    /// Moved hosts.
    pub moved_hosts: u32,
    /// The classes of sender and receiver: `old>new`.
    pub pair: &'static str,
    /// Its flows.
    pub of: GoodputOf,
    /// Seeds in which the pair has such flows.
    pub seeds: usize,
    /// Goodput after the warm-up, Mbit/s.
    pub goodput_mbps: Estimate,
    /// Goodput of the same flows with no host moved; null at a share of 0.
    pub before_mbps: Option<Estimate>,
}

/// Returns the flows of each pair, with the hosts and flows of `flows` and the classes of `run`.
fn by_pair(run: &RolloutRun, flows: &RolloutRun) -> BTreeMap<ClassPair, HostPairFlows> {
    let mut out: BTreeMap<ClassPair, HostPairFlows> = BTreeMap::new();
    for (hosts, delivered) in &flows.delivered {
        if let Some(pair) = run.pair_of(*hosts) {
            let all = out.entry(pair).or_default();
            *all = all.merge(*delivered);
        }
    }
    out
}

/// Returns the rows of all pairs with flows.
pub(super) fn goodput_rows(share: &ShareRuns<'_>) -> Vec<GoodputRow> {
    let (mut after, mut before) = (Vec::new(), Vec::new());
    for (run, _, base) in &share.runs {
        after.push(by_pair(run, run));
        before.extend(base.map(|base| by_pair(run, base)));
    }
    let row = |(pair, of): (ClassPair, GoodputOf)| {
        let values = |runs: &[BTreeMap<ClassPair, HostPairFlows>]| {
            let each = runs.iter().filter_map(|of_pair| of_pair.get(&pair)?.mbps(of));
            each.map(Some).collect::<Vec<_>>()
        };
        let now = values(&after);
        let moved = share.share_percent > 0.0;
        Some(GoodputRow {
            share_percent: share.share_percent,
            moved_hosts: share.moved_hosts,
            pair: pair.name(),
            of,
            seeds: now.len(),
            goodput_mbps: Estimate::over_seeds(now)?,
            before_mbps: moved.then(|| Estimate::over_seeds(values(&before))).flatten(),
        })
    };
    let kinds = |of| ClassPair::ALL.into_iter().map(move |pair| (pair, of));
    GoodputOf::ALL.into_iter().flat_map(kinds).filter_map(row).collect()
}
