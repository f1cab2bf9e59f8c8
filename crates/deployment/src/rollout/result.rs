//! The result of a rollout: `deployment.json`, described in `docs/reference/json.md`.

use std::collections::BTreeMap;

use lowtide_lab::{Results, RunFacts, SizeClassFacts};
use lowtide_record::Manifest;
use lowtide_rows::FlowStatus;
use lowtide_units::parse_fraction;
use serde::Serialize;

use lowtide_scenario::{HostDraw, MovedSides};

use super::SHARE_KEY;
use super::effect::Effect;
use super::flows::{ClassPair, Effective, RolloutRun, SizedFlow};
use super::goodput::{GoodputRow, goodput_rows};
use super::longest_queue::LongestQueueRow;
use super::queries::{QueryClassRow, ShareRuns};
use super::rollout_row::{ALL_SIZES, RolloutRow};
use super::statistics::{Resamples, Sample};
use super::who_pays::{PairEffect, sentence};
use crate::request::RolloutRequest;
use crate::thresholds::RolloutThresholds;

/// The result of a rollout.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RolloutResult {
    /// `lowtide.deployment/1`.
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
    /// Thresholds of the effects.
    pub thresholds: RolloutThresholds,
    /// Who pays, in one sentence.
    pub verdict: String,
    /// By pair of classes and size class: where it is safe or harmful.
    pub pairs: Vec<PairEffect>,
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

/// A range of flow sizes.
struct SizeRange {
    name: String,
    above: u64,
    up_to: Option<u64>,
}

impl SizeRange {
    fn holds(&self, size: u64) -> bool {
        (size > self.above || self.above == 0) && self.up_to.is_none_or(|most| size <= most)
    }
}

/// Returns the range of all sizes, then the size classes in which any run has flows.
fn size_ranges(results: &Results) -> Vec<SizeRange> {
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

/// A flow with its pair and the index of its seed.
struct PairedFlow<'a> {
    flow: &'a SizedFlow,
    pair: ClassPair,
    seed: u32,
}

pub(super) fn rollout_result(
    request: &RolloutRequest,
    manifest: &Manifest,
    results: &Results,
    runs: &[RolloutRun],
) -> RolloutResult {
    let ranges = size_ranges(results);
    let resamples = Resamples::new(manifest.seeds.len());
    let (mut rows, mut queries, mut connections) = (Vec::new(), Vec::new(), Vec::new());
    let (mut goodput, mut longest_queues) = (Vec::new(), Vec::new());
    let shares = runs.chunk_by(|a, b| a.share == b.share);
    let first = shares.clone().next().unwrap_or_default();
    let seed = |run: &RolloutRun| manifest.seeds.iter().position(|s| *s == run.seed);
    for of_share in shares {
        let share = of_share.first().and_then(|run| parse_fraction(&run.share).ok());
        let share_percent = share.map_or(0.0, |share| share.as_ppb() as f64 / 1e7);
        let moved_hosts = (share_percent / 100.0 * f64::from(request.hosts)).round() as u32;
        let with_base = |run| {
            let seed = seed(run).unwrap_or_default() as u32;
            // The run of the same seed with no host moved has the same arrivals.
            (run, seed, first.iter().find(|base| base.seed == run.seed))
        };
        let paired_runs = ShareRuns {
            share_percent,
            moved_hosts,
            runs: of_share.iter().map(with_base).collect(),
        };
        let (mut after, mut before) = (Vec::new(), Vec::new());
        for (run, seed, base) in &paired_runs.runs {
            for (out, flows) in [
                (&mut after, &run.flows[..]),
                (&mut before, base.map_or(&[][..], |base| &base.flows[..])),
            ] {
                let paired =
                    |flow| Some(PairedFlow { flow, pair: run.pair_of(flow.hosts)?, seed: *seed });
                out.extend(flows.iter().filter_map(paired));
            }
        }
        for pair in ClassPair::ALL {
            for range in &ranges {
                let of = |flows: &[PairedFlow<'_>]| {
                    let wanted =
                        flows.iter().filter(|f| f.pair == pair && range.holds(f.flow.size));
                    let values: Vec<_> = wanted.map(|f| (f.flow.slowdown, f.seed)).collect();
                    Sample::new(&values)
                };
                let wanted = || after.iter().filter(|f| f.pair == pair && range.holds(f.flow.size));
                let count = |status| wanted().filter(|f| f.flow.status == status).count();
                if wanted().next().is_none() {
                    continue;
                }
                let (now, then) = (of(&after), of(&before));
                let moved = share_percent > 0.0;
                let ratio = moved.then(|| now.ratios(&then, &resamples));
                rows.push(RolloutRow {
                    share_percent,
                    moved_hosts,
                    pair: pair.name(),
                    sizes: range.name.clone(),
                    flows: wanted().count(),
                    unfinished: count(FlowStatus::Unfinished),
                    failed: count(FlowStatus::Failed),
                    slowdown: now.percentiles(&resamples),
                    before: moved.then(|| then.percentiles(&resamples)),
                    effect: ratio.map(|r| Effect::of(r.p99, request.thresholds)),
                    ratio,
                });
            }
        }
        queries.extend(paired_runs.query_rows(&resamples, request.thresholds));
        goodput.extend(goodput_rows(&paired_runs));
        let label = of_share.first().map(|run| run.share.as_str());
        let facts = results.runs.iter().filter(|run| run.key.point.get(SHARE_KEY) == label);
        let facts: Vec<&RunFacts> = facts.collect();
        longest_queues.extend(LongestQueueRow::new(share_percent, moved_hosts, &facts));
        connections.extend(connection_rows(share_percent, of_share));
    }
    RolloutResult {
        schema: "lowtide.deployment/1",
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
        verdict: sentence(request, &rows),
        pairs: pair_effects(&rows, &ranges),
        rows,
        queries,
        goodput,
        longest_queues,
        connections,
    }
}

fn pair_effects(rows: &[RolloutRow], ranges: &[SizeRange]) -> Vec<PairEffect> {
    let mut out = Vec::new();
    for pair in ClassPair::ALL {
        for range in ranges {
            let of: Vec<&RolloutRow> = rows
                .iter()
                .filter(|r| r.pair == pair.name() && r.sizes == range.name && r.effect.is_some())
                .collect();
            out.extend(PairEffect::of(&of));
        }
    }
    out
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
