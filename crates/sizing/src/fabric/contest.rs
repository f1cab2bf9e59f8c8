//! Candidates under the fabric's own traffic, compared with the same seeds.

use lowtide_lab::{LabError, RunFacts, ShownEstimate, paired, simulate};
use lowtide_record::RunKey;
use lowtide_scenario::Scenario;
use serde::{Deserialize, Serialize};

use super::rule::{self, Choice, choose};
use super::subject::Subject;
use super::target::{RatioWithInterval, short_tail};
use super::{FIRST_SEEDS, plan, shortened};

/// Seeds of each candidate at most.
const MAX_SEEDS: u64 = 20;

/// One candidate: a K for each class, and alpha.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Candidate {
    /// Its name, as `least` or `one K`.
    pub name: String,
    /// K of each class, bytes of IP packets.
    pub k_bytes: Vec<u64>,
    /// Factor of the shared memory; null with a fixed buffer.
    pub alpha: Option<String>,
    /// Seeds that were run.
    pub seeds: usize,
    /// Share of the flows, queries, iterations and time after the warm-up of the scenario that each
    /// run has: 1, or what the budget allows for five seeds, at least 0.05.
    pub traffic_share: f64,
    /// Flows or queries of the measure that decides, of all seeds.
    pub flows: usize,
    /// Of these, cut off by the end of their run, or failed.
    pub incomplete: usize,
    /// The measure that decides.
    pub value: ShownEstimate,
    /// 99th percentile of the slowdown of flows up to 100 kB; null without them.
    pub p99: Option<f64>,
    /// Retransmission timeouts of all flows, per run.
    pub timeouts: f64,
    /// Packets dropped, per run.
    pub drops: f64,
    /// Share of the queries with a timeout; null without queries.
    pub queries_with_timeout: Option<f64>,
    /// The measure over that of the advised one, over the same seeds; null for the advised one.
    pub ratio: Option<f64>,
    /// Its 95 % interval.
    pub ratio_ci95: Option<[f64; 2]>,
    /// Whether the runs show that it is within 10 % of the advised one.
    pub as_good: bool,
}

/// The settings of a candidate.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) ks: Vec<u64>,
    pub(super) alpha: Option<String>,
    pub(super) scenario: Scenario,
}

/// The runs of candidates with the fabric's own traffic.
pub(super) struct Contest<'a> {
    subject: &'a Subject,
    entries: Vec<Entry>,
    /// Seeds run, by candidate.
    seeds: Vec<u64>,
    hops_left: u64,
    /// Share of the traffic of each run.
    share: f64,
    jobs: usize,
    pub(super) runs: Vec<RunFacts>,
}

impl<'a> Contest<'a> {
    /// # Errors
    /// Those of the scenarios.
    pub(super) fn new(
        subject: &'a Subject,
        mut entries: Vec<Entry>,
        hops: u64,
        jobs: usize,
    ) -> Result<Self, LabError> {
        let first_round = FIRST_SEEDS * entries.len().max(1) as u64;
        let own = |entry: &Entry| shortened::share(&entry.scenario, hops / first_round);
        let share = entries.first().map_or(Ok(1.0), own)?;
        for entry in &mut entries {
            entry.scenario = shortened::with_share(&entry.scenario, share)?;
        }
        let seeds = vec![0; entries.len()];
        Ok(Self { subject, entries, seeds, hops_left: hops, share, jobs, runs: Vec::new() })
    }

    /// Runs rounds with more seeds, each with the candidates that may still be the best, until the
    /// choice is decided or the next round is above the budget.
    pub(super) fn run(&mut self, progress: &dyn Fn(&str)) -> Result<(), LabError> {
        for seeds in [FIRST_SEEDS, 2 * FIRST_SEEDS, MAX_SEEDS] {
            let open = self.open().len();
            progress(&format!(
                "{open} choices of K under the fabric's traffic, seeds 1 to {seeds}"
            ));
            if !self.round(seeds)? || self.choose().confidence == rule::Confidence::Decided {
                break;
            }
        }
        Ok(())
    }

    /// Candidates that may still be the best.
    fn open(&self) -> Vec<usize> {
        let all = 0..self.entries.len();
        if self.runs.is_empty() {
            return all.collect();
        }
        let chosen = self.choose().chosen;
        all.filter(|i| *i == chosen || !self.is_shorter(chosen, *i)).collect()
    }

    /// Runs the open candidates up to this number of seeds; false if the budget does not allow it.
    /// The first round is always made, even if the least share of traffic exceeds the budget.
    pub(super) fn round(&mut self, seeds: u64) -> Result<bool, LabError> {
        let open = self.open();
        let scenarios: Vec<(String, Scenario)> = open
            .iter()
            .map(|i| {
                let entry = &self.entries[*i];
                Ok((entry.name.clone(), entry.scenario.clone().seeds(seeds)?))
            })
            .collect::<Result<_, LabError>>()?;
        let mut plan = plan(&scenarios)?;
        let known = |name: &str| {
            let place = self.entries.iter().position(|e| e.name == name);
            place.map_or(u64::MAX, |i| self.seeds[i])
        };
        let first = plan.runs.iter().map(|run| run.seed).min().unwrap_or_default();
        plan.runs.retain(|run| run.seed - first >= known(&run.scheme));
        let hops = plan.estimate().hops;
        if !self.runs.is_empty() && hops > self.hops_left {
            return Ok(false);
        }
        self.hops_left = self.hops_left.saturating_sub(hops);
        self.runs.extend(simulate(&plan, self.jobs)?.runs);
        for i in open {
            self.seeds[i] = seeds;
        }
        let place = |key: &RunKey| self.entries.iter().position(|e| e.name == key.scheme);
        self.runs.sort_by_key(|run| (place(&run.key), run.key.seed));
        Ok(true)
    }

    fn runs_of(&self, i: usize) -> Vec<&RunFacts> {
        self.runs.iter().filter(|run| run.key.scheme == self.entries[i].name).collect()
    }

    /// The measure of candidate `b` over that of `a` with the seeds of both, and its interval.
    fn ratio(&self, a: usize, b: usize) -> Option<RatioWithInterval> {
        let labels = [self.entries.get(a)?.name.as_str(), self.entries.get(b)?.name.as_str()];
        let [a, b] = paired(&self.runs.iter().collect::<Vec<_>>(), labels);
        self.subject.target.as_ref()?.ratio(&a, &b)
    }

    /// Whether the measure of `a` is shown to be less than that of `b`.
    pub(super) fn is_shorter(&self, a: usize, b: usize) -> bool {
        self.ratio(a, b).and_then(|(_, ci95)| ci95).is_some_and(|[low, _]| low > 1.0)
    }

    /// The choice; the first candidate stays unless another one is shown to be better.
    pub(super) fn choose(&self) -> Choice {
        let value = |i: usize| self.subject.target.as_ref()?.value(&self.runs_of(i)).value;
        let values: Vec<Option<f64>> = (0..self.entries.len()).map(value).collect();
        choose(&values, &self.seeds, &|a, b| self.ratio(a, b))
    }

    pub(super) fn rows(&self, chosen: usize) -> Vec<Candidate> {
        (0..self.entries.len()).map(|i| self.row(i, chosen)).collect()
    }

    fn row(&self, i: usize, chosen: usize) -> Candidate {
        let entry = &self.entries[i];
        let runs = self.runs_of(i);
        let target = self.subject.target.as_ref();
        let (flows, incomplete) = target.map_or((0, 0), |target| target.counts(&runs));
        let ratio = (i != chosen).then(|| self.ratio(chosen, i)).flatten();
        let absent = || ShownEstimate::absent("only the utilisation was asked for");
        Candidate {
            name: entry.name.clone(),
            k_bytes: entry.ks.clone(),
            alpha: entry.alpha.clone(),
            seeds: runs.len(),
            traffic_share: self.share,
            flows,
            incomplete,
            value: target.map_or_else(absent, |target| target.value(&runs)),
            ratio: ratio.map(|(ratio, _)| ratio),
            ratio_ci95: ratio.and_then(|(_, ci95)| ci95),
            as_good: i == chosen || ratio.is_some_and(rule::is_as_good),
            ..Cost::of(&runs).candidate()
        }
    }
}

/// Delays, losses and timeouts besides the measure that decides.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Cost {
    pub(super) p99: Option<f64>,
    pub(super) timeouts: f64,
    pub(super) drops: f64,
    pub(super) queries_with_timeout: Option<f64>,
}

impl Cost {
    pub(super) fn of(runs: &[&RunFacts]) -> Self {
        let per_run = |sum: u64| sum as f64 / runs.len().max(1) as f64;
        let queries = || runs.iter().flat_map(|r| &r.queries);
        let asked: usize = queries().map(|q| q.queries).sum();
        let late: usize = queries().map(|q| q.with_timeout).sum();
        let groups = runs.first().map_or(&[][..], |run| run.groups.as_slice());
        let short = groups.iter().filter_map(|g| short_tail(&g.name, runs).value);
        Self {
            p99: short.max_by(f64::total_cmp),
            timeouts: per_run(
                runs.iter().flat_map(|r| &r.groups).filter_map(|g| g.rto_count).sum(),
            ),
            drops: per_run(runs.iter().map(|r| r.losses.drops).sum()),
            queries_with_timeout: (asked > 0).then(|| late as f64 / asked as f64),
        }
    }

    fn candidate(self) -> Candidate {
        let Self { p99, timeouts, drops, queries_with_timeout } = self;
        Candidate {
            name: String::new(),
            k_bytes: Vec::new(),
            alpha: None,
            seeds: 0,
            traffic_share: 1.0,
            flows: 0,
            incomplete: 0,
            value: ShownEstimate::absent(""),
            p99,
            timeouts,
            drops,
            queries_with_timeout,
            ratio: None,
            ratio_ci95: None,
            as_good: false,
        }
    }
}
