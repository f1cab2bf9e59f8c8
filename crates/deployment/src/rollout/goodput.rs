//! Goodput by pair of classes: all flows of the pair together, and one unlimited flow.
//!
//! Contract: goodput is that of `summary.json`, of one run. Over seeds it is the mean of those in
//! which the pair has such flows, which depends on the drawn hosts only. It is compared with the
//! goodput of the same flows of the same seeds with no host moved. Flows of a pair together have no
//! verdict, as their goodput depends on their number.

use std::collections::BTreeMap;

use lowtide_lab::{ShownComparison, ShownEstimate};
use lowtide_stats::{Comparison, ValueRange, Verdict, compare_means, seed_mean};
use serde::Serialize;

use super::delivered::{GoodputOf, HostPairFlows};
use super::flows::{ClassPair, RolloutRun};
use super::share_runs::{RunPair, ShareRuns};

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
    pub goodput_mbps: ShownEstimate,
    /// Compared with the same flows with no host moved, which are A; null at a share of 0.
    pub comparison: Option<ShownComparison>,
    /// The verdict on an unlimited flow, of all of the answer together; null at a share of 0.
    pub verdict: Option<Verdict>,
    /// The comparison.
    #[serde(skip)]
    pub(super) compared: Option<Comparison>,
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
pub(super) fn goodput_rows(share: &ShareRuns<'_>, tolerance: f64) -> Vec<GoodputRow> {
    let of_run =
        |RunPair { run, before, .. }: &RunPair<'_>| [by_pair(run, run), by_pair(run, before)];
    let runs: Vec<[BTreeMap<ClassPair, HostPairFlows>; 2]> =
        share.runs.iter().map(of_run).collect();
    let row = |(pair, of): (ClassPair, GoodputOf)| {
        let values = |runs: &[BTreeMap<ClassPair, HostPairFlows>; 2]| {
            let [now, before] = runs.each_ref().map(|flows| flows.get(&pair)?.mbps(of));
            now.is_some().then_some((now, before))
        };
        let (now, before): (Vec<_>, Vec<_>) = runs.iter().filter_map(values).unzip();
        let range = ValueRange::NOT_NEGATIVE;
        let compared = share.moved().then(|| compare_means(&before, &now, range, tolerance));
        let judged = share.moved() && of == GoodputOf::UnlimitedFlow;
        (!now.is_empty()).then(|| GoodputRow {
            share_percent: share.share_percent,
            moved_hosts: share.moved_hosts,
            pair: pair.name(),
            of,
            seeds: now.len(),
            goodput_mbps: seed_mean(&now, range).into(),
            comparison: compared.map(|of| ShownComparison::new(&of, None)),
            verdict: judged.then_some(Verdict::Undecided),
            compared,
        })
    };
    let kinds = |of| ClassPair::ALL.into_iter().map(move |pair| (pair, of));
    GoodputOf::ALL.into_iter().flat_map(kinds).filter_map(row).collect()
}
