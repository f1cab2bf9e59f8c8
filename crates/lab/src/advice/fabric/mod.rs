//! Advises a marking threshold K, and alpha of the shared memory, for a whole fabric under its own
//! traffic.
//!
//! Contract: analysis gives the candidates, simulation decides. Candidates are compared with the
//! same seeds, so with the same flows at the same times; those with a longer tail are left out and
//! get no more seeds. The number of runs follows from their estimated cost and the budget, never
//! from the clock, so equal requests give equal advice. A question that the runs leave open is
//! called undecided.
//!
//! The rule: of the candidates at which two long flows fill a host's line within one point of the
//! best candidate, the one with the shortest tail of short flows.

mod candidates;
mod figure;
mod leaf_spine;
mod rule;

use lowtide_record::RunKey;
use lowtide_scenario::{PlanPart, RunPlan, Scenario};
use lowtide_stats::{Sample, compare_percentile};
use lowtide_units::{Bytes, Quantile};
use serde::{Deserialize, Serialize};

pub use figure::knee;
pub use leaf_spine::LeafSpine;
pub use rule::Confidence;

use crate::error::LabError;
use crate::facts::{RunFacts, paired};
use crate::ideal::base_path;
use crate::results::Results;
use crate::session::simulate;
use crate::shown_estimate::ShownEstimate;
use crate::tails::{FlowSet, TailMetric, TailRow};
use crate::theory::{bdp_packets, dctcp};
use candidates::{Subject, candidates, filled_line, subject, with_alpha, with_k};
use rule::{Choice, choose};

/// Flows up to this size are the short ones.
pub const SHORT_FLOWS: Bytes = Bytes::new(100_000);
/// IP bytes of a full packet: thresholds are in bytes, as switches have them.
pub const PACKET: Bytes = Bytes::new(1500);
/// Bytes of a full packet on the wire.
const WIRE_BYTES: f64 = 1538.0;
/// Seeds of each candidate before any is left out, and at most.
const FIRST_SEEDS: u64 = 5;
const MAX_SEEDS: u64 = 20;
/// Seeds of the runs that fill a line.
const LINE_SEEDS: u64 = 2;
/// One part in this number of the budget is for alpha.
const ALPHA_PART: u64 = 4;

/// A request for advice.
#[derive(Clone, Debug)]
pub struct FabricRequest {
    /// The fabric with its traffic: one point, one scheme.
    pub scenario: Scenario,
    /// Packet-hops that all runs together may simulate.
    pub hops: u64,
    /// Concurrent runs.
    pub jobs: usize,
}

/// One candidate.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Candidate {
    /// K in packets of 1500 bytes.
    pub k_packets: u64,
    /// K, bytes of IP packets.
    pub k_bytes: u64,
    /// Factor of the shared memory; null with a fixed buffer.
    pub alpha: Option<String>,
    /// Seeds that were run.
    pub seeds: usize,
    /// Short flows of all seeds.
    pub flows: usize,
    /// Of these, cut off by the end of their run, or failed.
    pub incomplete: usize,
    /// 99th percentile of their slowdown.
    pub p99: ShownEstimate,
    /// 99.9th percentile; absent with fewer than 1,000 flows.
    pub p999: ShownEstimate,
    /// Share of a host's line that two long flows fill; null for variants of alpha.
    pub utilisation: Option<f64>,
    /// Retransmission timeouts of all flows, per run.
    pub timeouts: f64,
    /// Packets dropped, per run.
    pub drops: f64,
    /// 99th percentile of the completion time of queries, milliseconds; null without queries, or
    /// with fewer than 100.
    pub query_p99_ms: Option<f64>,
    /// Share of the queries with a timeout; null without queries.
    pub queries_with_timeout: Option<f64>,
    /// Tail over that of the advised one, over the same seeds; null for the advised one.
    pub ratio: Option<f64>,
    /// Its 95 % interval.
    pub ratio_ci95: Option<[f64; 2]>,
    /// Whether the runs show that its tail is within 10 % of the advised one.
    pub as_good: bool,
}

/// Advice for a fabric.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FabricAdvice {
    /// Rate of the host's line, bits per second.
    pub line_bps: u64,
    /// Longest round trip of a full packet without queues, microseconds.
    pub rtt_us: f64,
    /// Hosts.
    pub hosts: usize,
    /// Most segments that a host passes to its NIC at once; 1 without segmentation offload.
    pub burst_segments: u32,
    /// Lower bound of K by the analysis (DCTCP eq. 13), packets.
    pub k_above_packets: f64,
    /// Traffic group whose short flows count.
    pub group: String,
    /// Candidates for K, ascending.
    pub candidates: Vec<Candidate>,
    /// Index of the advised one.
    pub advised: usize,
    /// Confidence in it.
    pub confidence: Confidence,
    /// Variants of alpha at the advised K, ascending; empty with a fixed buffer.
    pub alphas: Vec<Candidate>,
    /// Index of the advised one.
    pub advised_alpha: Option<usize>,
    /// Runs that were made.
    pub runs: usize,
}

impl FabricAdvice {
    /// The advised candidate.
    pub fn chosen(&self) -> &Candidate {
        &self.candidates[self.advised]
    }

    /// The advised variant of alpha.
    pub fn chosen_alpha(&self) -> Option<&Candidate> {
        self.advised_alpha.and_then(|i| self.alphas.get(i))
    }

    /// The scenario with the advised values.
    ///
    /// # Errors
    /// The scenario does not take them; it did in the runs.
    pub fn apply(&self, scenario: &Scenario) -> Result<Scenario, LabError> {
        let out = with_k(scenario, self.chosen().k_bytes)?;
        match self.chosen_alpha().and_then(|a| a.alpha.as_deref()) {
            Some(alpha) => with_alpha(&out, alpha),
            None => Ok(out),
        }
    }
}

/// Returns advice. `progress` is told what is simulated.
///
/// # Errors
/// The scenario sweeps or compares something, has no short flows, has fewer than three hosts, or a
/// run failed.
pub fn advise(request: &FabricRequest, progress: &dyn Fn(&str)) -> Result<FabricAdvice, LabError> {
    let subject = subject(&request.scenario)?;
    let path = base_path(&subject.setup, PACKET.as_u64())
        .ok_or_else(|| wrong("the hosts are not connected"))?;
    let seconds = path.rtt.as_ps() as f64 / 1e12;
    let bdp = bdp_packets(path.rate.as_bps() as f64, seconds, WIRE_BYTES);
    let k_above = dctcp::min_k(bdp).map_err(|e| wrong(&e.to_string()))?;
    let bursts = subject.setup.hosts.iter().map(|host| host.config.tso_segments);
    let burst_segments = bursts.max().unwrap_or(1);
    let packets = candidates(&subject, k_above, u64::from(burst_segments));
    if packets.len() < 2 {
        return Err(wrong(
            "the buffer leaves fewer than two values for K: it holds too few packets",
        ));
    }
    let labels: Vec<String> = packets.iter().map(|k| format!("K = {k}")).collect();
    let scenarios = each(&packets, |k| with_k(&subject.scenario, k * PACKET.as_u64()))?;
    progress(&format!("two long flows on one line, at {} values of K", packets.len()));
    let mut lines = Vec::new();
    for (scenario, label) in scenarios.iter().zip(&labels) {
        lines.push((label.clone(), filled_line(scenario, &subject, &path)?.seeds(LINE_SEEDS)?));
    }
    let lines = simulate(&plan(&lines)?, request.jobs)?;
    let utilisation: Vec<Option<f64>> = labels.iter().map(|l| busiest(&lines, l)).collect();

    let ladder: Vec<(String, Scenario)> = labels.iter().cloned().zip(scenarios).collect();
    let share = request.hops - request.hops / ALPHA_PART;
    let mut contest = Contest::new(&subject, &ladder, share, request.jobs);
    contest.run(&utilisation, progress)?;
    let choice = contest.choose(&utilisation);
    let chosen = choice.chosen;
    let confidence = choice.confidence;
    let mut rows = contest.rows(&choice, &utilisation);
    for (row, k) in rows.iter_mut().zip(&packets) {
        (row.k_packets, row.k_bytes) = (*k, k * PACKET.as_u64());
    }
    let mut made = lines.runs.len() + contest.runs.len();

    let mut alphas = Vec::new();
    let mut advised_alpha = None;
    if let Some(own) = subject.alpha.clone() {
        let k = packets[chosen];
        let at_k = with_k(&subject.scenario, k * PACKET.as_u64())?;
        let values = candidates::alphas(&own);
        let mut ladder = Vec::new();
        for alpha in &values {
            let Ok(scenario) = with_alpha(&at_k, alpha) else { continue };
            if scenario.expand().is_ok() {
                ladder.push((alpha.clone(), scenario));
            }
        }
        let mut contest = Contest::new(&subject, &ladder, request.hops / ALPHA_PART, request.jobs);
        progress(&format!("alpha of the shared memory at K = {k}: {} values", ladder.len()));
        let unlimited = vec![None; ladder.len()];
        contest.round(&unlimited, FIRST_SEEDS)?;
        made += contest.runs.len();
        let choice = contest.choose(&unlimited);
        // The present value stays unless another one is shown to be better.
        let stays = ladder.iter().position(|(name, _)| *name == own);
        let better = |i: usize| contest.is_shorter(choice.chosen, i);
        let index = match stays {
            Some(i) if !better(i) => i,
            _ => choice.chosen,
        };
        alphas = contest.rows(&Choice { chosen: index, ..choice }, &unlimited);
        for (row, (alpha, _)) in alphas.iter_mut().zip(&ladder) {
            (row.k_packets, row.k_bytes) = (k, k * PACKET.as_u64());
            row.alpha = Some(alpha.clone());
        }
        advised_alpha = Some(index);
    }
    Ok(FabricAdvice {
        line_bps: path.rate.as_bps(),
        rtt_us: path.rtt.as_ps() as f64 / 1e6,
        hosts: subject.setup.hosts.len(),
        burst_segments,
        k_above_packets: k_above,
        group: subject.group.clone(),
        candidates: rows,
        advised: chosen,
        confidence,
        alphas,
        advised_alpha,
        runs: made,
    })
}

fn wrong(message: &str) -> LabError {
    LabError::InvalidRequest { message: message.to_owned(), help: None }
}

fn each<T>(packets: &[u64], make: impl Fn(u64) -> Result<T, LabError>) -> Result<Vec<T>, LabError> {
    packets.iter().map(|k| make(*k)).collect()
}

/// One plan of several scenarios, each under its label.
fn plan(scenarios: &[(String, Scenario)]) -> Result<RunPlan, LabError> {
    let parts = scenarios.iter().map(|(label, scenario)| {
        Ok(PlanPart { scheme: label.clone(), point: Vec::new(), plan: scenario.expand()? })
    });
    Ok(RunPlan::concat("advise", "advise", parts.collect::<Result<_, LabError>>()?))
}

/// Share of the time in which the busiest queue of a candidate sent, mean over seeds.
fn busiest(results: &Results, label: &str) -> Option<f64> {
    let runs = results.runs.iter().filter(|run| run.key.scheme == label);
    let busiest =
        |run: &RunFacts| run.queues.iter().filter_map(|q| q.utilisation).max_by(f64::total_cmp);
    let values: Vec<f64> = runs.map(busiest).collect::<Option<_>>()?;
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Candidates that are run with the same seeds until they are told apart.
struct Contest<'a> {
    subject: &'a Subject,
    ladder: &'a [(String, Scenario)],
    hops_left: u64,
    jobs: usize,
    /// Seeds that each candidate has.
    seeds: Vec<u64>,
    runs: Vec<RunFacts>,
    results: Results,
}

impl<'a> Contest<'a> {
    fn new(
        subject: &'a Subject,
        ladder: &'a [(String, Scenario)],
        hops_left: u64,
        jobs: usize,
    ) -> Self {
        let seeds = vec![0; ladder.len()];
        let results = Results::new(Vec::new());
        Self { subject, ladder, hops_left, jobs, seeds, runs: Vec::new(), results }
    }

    /// Runs rounds until the rule decides, or the budget or the seeds are used up.
    fn run(
        &mut self,
        utilisation: &[Option<f64>],
        progress: &dyn Fn(&str),
    ) -> Result<(), LabError> {
        for seeds in [FIRST_SEEDS, 7, 10, 15, MAX_SEEDS] {
            let open = self.open(utilisation).len();
            progress(&format!("{open} values of K, seeds 1 to {seeds}"));
            if !self.round(utilisation, seeds)? {
                break;
            }
            if self.choose(utilisation).confidence == Confidence::Decided {
                break;
            }
        }
        Ok(())
    }

    /// Candidates that may still be the best.
    fn open(&self, utilisation: &[Option<f64>]) -> Vec<usize> {
        if self.runs.is_empty() {
            return (0..self.ladder.len()).collect();
        }
        let choice = self.choose(utilisation);
        let may_win = |i: &usize| *i == choice.chosen || !self.is_shorter(choice.chosen, *i);
        choice.feasible.iter().copied().filter(may_win).collect()
    }

    /// Runs the open candidates up to this number of seeds; false if the budget does not allow it.
    /// The first round is always made.
    fn round(&mut self, utilisation: &[Option<f64>], seeds: u64) -> Result<bool, LabError> {
        let open = self.open(utilisation);
        let scenarios: Vec<(String, Scenario)> = open
            .iter()
            .map(|i| {
                let (label, scenario) = &self.ladder[*i];
                Ok((label.clone(), scenario.clone().seeds(seeds)?))
            })
            .collect::<Result<_, LabError>>()?;
        let mut plan = plan(&scenarios)?;
        let known: Vec<(&str, u64)> =
            self.ladder.iter().map(|(label, _)| label.as_str()).zip(self.seeds.clone()).collect();
        let is_new = |scheme: &str, seed: u64| {
            known.iter().any(|(label, seeds)| *label == scheme && seed > *seeds)
        };
        plan.runs.retain(|run| is_new(&run.scheme, run.seed));
        let hops = plan.estimate().hops;
        if !self.runs.is_empty() && hops > self.hops_left {
            return Ok(false);
        }
        self.hops_left = self.hops_left.saturating_sub(hops);
        self.runs.extend(simulate(&plan, self.jobs)?.runs);
        for i in open {
            self.seeds[i] = seeds;
        }
        let place = |key: &RunKey| self.ladder.iter().position(|(label, _)| *label == key.scheme);
        self.runs.sort_by_key(|run| (place(&run.key), run.key.seed));
        self.results = Results::new(self.runs.clone());
        Ok(true)
    }

    /// Slowdown of the short flows of a candidate.
    fn tail(&self, i: usize) -> Option<&TailRow> {
        let (label, _) = self.ladder.get(i)?;
        self.results.tails.iter().find(|row| {
            row.scheme == *label
                && row.metric == TailMetric::Slowdown
                && row.group == self.subject.group
                && row.class.as_deref() == Some(self.subject.class.as_str())
        })
    }

    /// Completion time of the queries of a candidate.
    fn query_tail(&self, i: usize) -> Option<&TailRow> {
        let (label, _) = self.ladder.get(i)?;
        let is_of = |r: &&TailRow| r.scheme == *label && r.metric == TailMetric::QctMs;
        self.results.tails.iter().find(is_of)
    }

    /// Tail of candidate `b` over that of `a` with the seeds of both, and its interval.
    fn ratio(&self, a: usize, b: usize) -> Option<(f64, Option<[f64; 2]>)> {
        let labels = [self.ladder.get(a)?.0.as_str(), self.ladder.get(b)?.0.as_str()];
        let class = Some(self.subject.class.as_str());
        let set = FlowSet { group: &self.subject.group, class, metric: TailMetric::Slowdown };
        let [a, b] = paired(&self.runs.iter().collect::<Vec<_>>(), labels);
        let none = Sample::empty(set.metric.range());
        let [a, b] = [&a, &b].map(|runs| set.samples(runs, &none));
        let found = compare_percentile(&a, &b, Quantile::P99, 0.0);
        Some((found.ratio?, found.interval.confidence()))
    }

    /// Whether the tail of `a` is shown to be shorter than that of `b`.
    fn is_shorter(&self, a: usize, b: usize) -> bool {
        self.ratio(a, b).and_then(|(_, ci95)| ci95).is_some_and(|[low, _]| low > 1.0)
    }

    fn choose(&self, utilisation: &[Option<f64>]) -> Choice {
        let tails: Vec<Option<f64>> =
            (0..self.ladder.len()).map(|i| self.tail(i)?.p99.value).collect();
        choose(&tails, &self.seeds, utilisation, &|a, b| self.ratio(a, b))
    }

    fn rows(&self, choice: &Choice, utilisation: &[Option<f64>]) -> Vec<Candidate> {
        (0..self.ladder.len()).map(|i| self.row(i, choice, utilisation[i])).collect()
    }

    fn row(&self, i: usize, choice: &Choice, utilisation: Option<f64>) -> Candidate {
        let absent = ShownEstimate::absent("no flow of this size");
        let tail = self.tail(i);
        let runs: Vec<&RunFacts> =
            self.runs.iter().filter(|run| run.key.scheme == self.ladder[i].0).collect();
        let per_run = |sum: u64| sum as f64 / runs.len().max(1) as f64;
        let timeouts = runs.iter().flat_map(|r| &r.groups).filter_map(|g| g.rto_count).sum();
        let drops = runs.iter().map(|r| r.losses.drops).sum();
        let queries = || runs.iter().flat_map(|r| &r.queries);
        let asked: usize = queries().map(|q| q.queries).sum();
        let late: usize = queries().map(|q| q.with_timeout).sum();
        let ratio = (i != choice.chosen).then(|| self.ratio(choice.chosen, i)).flatten();
        Candidate {
            k_packets: 0,
            k_bytes: 0,
            alpha: None,
            seeds: runs.len(),
            flows: tail.map_or(0, |t| t.flows),
            incomplete: tail.map_or(0, |t| t.unfinished + t.failed),
            p99: tail.map_or_else(|| absent.clone(), |t| t.p99.clone()),
            p999: tail.map_or(absent, |t| t.p999.clone()),
            utilisation,
            timeouts: per_run(timeouts),
            drops: per_run(drops),
            query_p99_ms: self.query_tail(i).and_then(|t| t.p99.value),
            queries_with_timeout: (asked > 0).then(|| late as f64 / asked as f64),
            ratio: ratio.map(|(ratio, _)| ratio),
            ratio_ci95: ratio.and_then(|(_, ci95)| ci95),
            as_good: i == choice.chosen
                || ratio.is_some_and(|r| rule::is_as_good(r) && choice.feasible.contains(&i)),
        }
    }
}

#[cfg(test)]
mod tests;
