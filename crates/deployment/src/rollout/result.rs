//! The result of a rollout: `deployment.json`, described in `docs/reference/json.md`.

use std::collections::BTreeMap;

use lowtide_lab::{Results, RunFacts};
use lowtide_record::Manifest;
use lowtide_units::parse_fraction;
use serde::Serialize;

use lowtide_scenario::{HostDraw, MovedSides};

use super::SHARE_KEY;
use super::flows::{ClassPair, Effective, RolloutRun};
use super::goodput::{GoodputRow, goodput_rows};
use super::longest_queue::LongestQueueRow;
use super::queries::{QueryClassRow, query_rows};
use super::rows::{RolloutRow, flow_rows, size_ranges};
use super::share_runs::{RunPair, ShareRuns};
use super::who_pays::{decide, sentence};
use crate::request::RolloutRequest;
use crate::thresholds::RolloutThresholds;

/// The result of a rollout.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RolloutResult {
    /// `lowtide.deployment/2`.
    pub schema: &'static str,
    /// Version of the tool.
    pub version: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Hash of all runs without their seeds.
    pub scenario_hash: String,
    /// One digest for all runs.
    pub digest: String,
    /// Stack of the hosts before the move.
    pub from: String,
    /// Stack of the moved hosts.
    pub to: String,
    /// Sides that move.
    pub moves: MovedSides,
    /// Units in which hosts are drawn.
    pub draw: HostDraw,
    /// Hosts from which the moved ones are drawn.
    pub hosts: u32,
    /// Seeds of each share.
    pub seeds: usize,
    /// Thresholds of the verdicts.
    pub thresholds: RolloutThresholds,
    /// Who pays and who gains.
    pub verdict: String,
    /// All sizes, then the size classes in ascending order.
    pub sizes: Vec<String>,
    /// By share, pair of classes and size class.
    pub rows: Vec<RolloutRow>,
    /// By share, traffic group and class of the client; empty without queries.
    pub queries: Vec<QueryClassRow>,
    /// By share, pair of classes and kind of flows.
    pub goodput: Vec<GoodputRow>,
    /// By share.
    pub longest_queues: Vec<LongestQueueRow>,
    /// By share, pair of classes and effective transport.
    pub connections: Vec<ConnectionRow>,
}

/// Connections of a pair with one effective transport.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ConnectionRow {
    /// Moved share of the hosts, percent.
    pub share_percent: f64,
    /// The classes of the host that sends and of the one that receives.
    pub pair: &'static str,
    /// The transport.
    #[serde(flatten)]
    pub transport: Effective,
    /// Whether the congestion control fell back because the negotiation gave it no signal.
    pub fell_back: bool,
    /// Opened connections, of all seeds; also those of queries.
    pub connections: usize,
    /// Opened connections of the pair.
    pub of: usize,
}

pub(super) fn rollout_result(
    request: &RolloutRequest,
    manifest: &Manifest,
    results: &Results,
    runs: &[RolloutRun],
) -> RolloutResult {
    let tolerance = request.thresholds.tolerance;
    let ranges = size_ranges(results);
    let (mut rows, mut queries, mut connections) = (Vec::new(), Vec::new(), Vec::new());
    let (mut goodput, mut longest_queues, mut invalid) = (Vec::new(), Vec::new(), None);
    let shares = runs.chunk_by(|a, b| a.share == b.share);
    let first = shares.clone().next().unwrap_or_default();
    for of_share in shares {
        let share = of_share.first().and_then(|run| parse_fraction(&run.share).ok());
        let share_percent = share.map_or(0.0, |share| share.as_ppb() as f64 / 1e7);
        let moved_hosts = (share_percent / 100.0 * f64::from(request.hosts)).round() as u32;
        // The run of the same seed with no host moved has the same arrivals.
        let before = |run: &RolloutRun| first.iter().find(|base| base.seed == run.seed);
        let runs = of_share.iter().filter_map(|run| Some(RunPair::new(run, before(run)?)));
        let runs = runs.collect();
        let of = ShareRuns { share_percent, moved_hosts, runs };
        match flow_rows(&of, &ranges, tolerance) {
            Ok(found) => rows.extend(found),
            Err(wrong) => invalid = Some(wrong),
        }
        // Times are finite and not negative.
        queries.extend(query_rows(&of, tolerance).unwrap_or_default());
        goodput.extend(goodput_rows(&of, tolerance));
        let label = of_share.first().map(|run| run.share.as_str());
        let facts = results.runs.iter().filter(|run| run.key.point.get(SHARE_KEY) == label);
        let facts: Vec<&RunFacts> = facts.collect();
        longest_queues.extend(LongestQueueRow::new(share_percent, moved_hosts, &facts));
        connections.extend(connection_rows(share_percent, of_share));
    }
    let mut note = String::new();
    if let Some(wrong) = invalid {
        rows.clear();
        note = format!(" No slowdown is judged, as an ideal time is too long: {wrong}.");
    }
    decide(&mut rows, &mut queries, &mut goodput);
    RolloutResult {
        schema: "lowtide.deployment/2",
        version: manifest.version.clone(),
        scenario: manifest.scenario.clone(),
        scenario_hash: manifest.scenario_hash.clone(),
        digest: results.digest.clone(),
        from: request.from.clone(),
        to: request.to.clone(),
        moves: request.moves,
        draw: request.draw,
        hosts: request.hosts,
        seeds: manifest.seeds.len(),
        thresholds: request.thresholds,
        verdict: sentence(request, manifest.seeds.len(), &rows, &queries, &goodput) + &note,
        sizes: ranges.into_iter().map(|range| range.name).collect(),
        rows,
        queries,
        goodput,
        longest_queues,
        connections,
    }
}

fn connection_rows(share_percent: f64, runs: &[RolloutRun]) -> Vec<ConnectionRow> {
    let mut counts: BTreeMap<(ClassPair, &Effective), usize> = BTreeMap::new();
    for ((pair, transport), n) in runs.iter().flat_map(|run| &run.connections) {
        *counts.entry((*pair, transport)).or_default() += n;
    }
    let of_pair = |pair| counts.iter().filter(|((p, _), _)| *p == pair).map(|(_, n)| n).sum();
    let row = |(&(pair, transport), &connections): (&(ClassPair, &Effective), &usize)| {
        // Linux calls NewReno `reno`.
        let own = |name: &str| if name == "reno" { "newreno".to_owned() } else { name.to_owned() };
        ConnectionRow {
            share_percent,
            pair: pair.name(),
            transport: transport.clone(),
            fell_back: own(&transport.cc) != own(&transport.cc_used),
            connections,
            of: of_pair(pair),
        }
    };
    counts.iter().map(row).collect()
}
