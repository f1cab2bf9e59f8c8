//! The least K of each class of ports at which few long flows fill a line.
//!
//! Contract: utilisation is the share of the time in which the port sends. A K fills the line if
//! each pattern of flows loses at most the margin against the best K (0.7 percentage points, 0.1
//! for throughput), by the mean over seeds. The other classes have their greatest K meanwhile, so
//! a class is tested alone. The search halves the range on a logarithmic scale with one seed;
//! both ends of its bracket then run with more.

use std::collections::BTreeMap;

use lowtide_lab::{LabError, RunFacts, simulate};
use lowtide_scenario::Scenario;
use lowtide_stats::{ValueRange, seed_mean_at};
use serde::{Deserialize, Serialize};

use super::plan;
use super::subject::{Subject, rounded};

/// Ratio of both ends of a bracket at which the search ends.
const NARROW: f64 = 1.2;
/// Seeds of the ends of a bracket.
const SEEDS: u64 = 3;
/// Confidence level.
const LEVEL: f64 = 0.95;

/// Utilisation of a line by long flows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LineTest {
    /// Long flows, from distinct hosts.
    pub flows: usize,
    /// K of the class, bytes.
    pub k_bytes: u64,
    /// Seeds.
    pub seeds: usize,
    /// Share of the time in which the port sends, mean over seeds.
    pub utilisation: f64,
    /// Utilisation at the best K.
    pub best: f64,
}

/// The search of one class.
#[derive(Clone, Debug)]
pub(super) struct Bracket {
    /// The greatest K that loses more than the margin, as the seeds show; `None` if the least one
    /// does not.
    pub(super) below: Option<u64>,
    /// The least K that does not.
    pub(super) least: u64,
    /// Points of utilisation that `below` loses against `least`, with the 95 % interval.
    pub(super) loss: Option<(f64, Option<[f64; 2]>)>,
    /// Flows of the pattern that loses the most.
    pub(super) flows: usize,
    /// Points that the worst pattern loses, by K.
    pub(super) searched: Vec<(u64, f64)>,
}

/// A test: a class, or none for the ports between two racks; its pattern; K.
type Key = (usize, usize, u64);

/// The tests of each class, and one flow from each host of a rack to another rack.
pub(super) type Together = (Vec<(usize, LineTest)>, Option<LineTest>);

/// Utilisation by class, pattern and K.
pub(super) struct Lines<'a> {
    subject: &'a Subject,
    /// The greatest K of each class.
    top: Vec<u64>,
    margin: f64,
    jobs: usize,
    known: BTreeMap<Key, Vec<f64>>,
    pub(super) runs: usize,
    /// Packet-hops of them, by their estimate.
    pub(super) hops: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn new(subject: &'a Subject, top: Vec<u64>, margin: f64, jobs: usize) -> Self {
        Self { subject, top, margin, jobs, known: BTreeMap::new(), runs: 0, hops: 0 }
    }

    /// Runs all patterns of classes at a K of theirs, up to this number of seeds.
    fn measure(&mut self, wanted: &[(usize, u64)], seeds: u64) -> Result<(), LabError> {
        let mut keys = Vec::new();
        let mut scenarios = Vec::new();
        for (class, k) in wanted {
            for (i, pattern) in self.subject.classes[*class].patterns.iter().enumerate() {
                let mut ks = self.top.clone();
                ks[*class] = *k;
                let scenario = self.subject.filled(&ks, &pattern.pairs, true)?.seeds(seeds)?;
                keys.push((*class, i, *k));
                scenarios.push((keys.len().to_string(), scenario));
            }
        }
        let known = |i: usize| self.known.get(&keys[i]).map_or(0, Vec::len) as u64;
        let (runs, hops) = run_new(&scenarios, &|i, seed| seed > known(i), self.jobs)?;
        self.runs += runs.len();
        self.hops += hops;
        for (i, run) in runs {
            let (class, pattern, k) = keys[i];
            let port = self.subject.classes[class].patterns[pattern].port;
            let used = utilisation(&run, self.subject, port);
            self.known.entry((class, pattern, k)).or_default().push(used);
        }
        Ok(())
    }

    fn mean(&self, key: Key) -> f64 {
        let values = self.known.get(&key).map_or(&[][..], Vec::as_slice);
        values.iter().sum::<f64>() / values.len().max(1) as f64
    }

    fn best(&self, class: usize, pattern: usize) -> f64 {
        let of = |(key, _): (&Key, &Vec<f64>)| {
            ((key.0, key.1) == (class, pattern)).then(|| self.mean(*key))
        };
        self.known.iter().filter_map(of).fold(0.0, f64::max)
    }

    /// The pattern that loses the most at K, and its loss.
    fn worst(&self, class: usize, k: u64) -> (usize, f64) {
        let patterns = 0..self.subject.classes[class].patterns.len();
        let loss = |i: usize| (i, self.best(class, i) - self.mean((class, i, k)));
        patterns.map(loss).max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default()
    }

    fn fills(&self, class: usize, k: u64) -> bool {
        self.worst(class, k).1 <= self.margin
    }

    /// The values of K of a class that were tested, ascending.
    fn tested(&self, class: usize) -> Vec<u64> {
        let all = self.known.keys().filter(|(c, i, _)| (*c, *i) == (class, 0));
        all.map(|(_, _, k)| *k).collect()
    }

    /// Searches all classes that have patterns, from the least K of each.
    pub(super) fn search(
        &mut self,
        least: &[u64],
        progress: &dyn Fn(&str),
    ) -> Result<Vec<Option<Bracket>>, LabError> {
        let classes: Vec<usize> = (0..self.subject.classes.len())
            .filter(|c| !self.subject.classes[*c].patterns.is_empty())
            .collect();
        let top = self.top.clone();
        let ends: Vec<(usize, u64)> =
            classes.iter().flat_map(|c| [(*c, top[*c]), (*c, least[*c])]).collect();
        progress(&format!("few long flows; classes of ports: {}", classes.len()));
        self.measure(&ends, 1)?;
        loop {
            let next: Vec<(usize, u64)> =
                classes.iter().filter_map(|c| Some((*c, self.next(*c)?))).collect();
            if next.is_empty() {
                break;
            }
            self.measure(&next, 1)?;
        }
        // With more seeds an end may change its side.
        loop {
            let of = |c: &usize| {
                let least = self.ends(*c).1;
                self.separated(*c)
                    .into_iter()
                    .chain([least, top[*c]])
                    .map(|k| (*c, k))
                    .collect::<Vec<_>>()
            };
            let wanted: Vec<(usize, u64)> = classes.iter().flat_map(of).collect();
            let before = self.runs;
            self.measure(&wanted, SEEDS)?;
            if self.runs == before {
                break;
            }
        }
        let bracket = |c: usize| classes.contains(&c).then(|| self.bracket(c));
        Ok((0..self.subject.classes.len()).map(bracket).collect())
    }

    /// The greatest tested K below which the line is not filled, and the least K above it.
    fn ends(&self, class: usize) -> (Option<u64>, u64) {
        let tested = self.tested(class);
        let below = tested.iter().copied().filter(|k| !self.fills(class, *k)).max();
        let above = tested.iter().copied().find(|k| below.is_none_or(|below| *k > below));
        (below, above.unwrap_or(self.top[class]))
    }

    /// The next K of the search.
    fn next(&self, class: usize) -> Option<u64> {
        let (below, least) = self.ends(class);
        let below = below?;
        let middle = rounded((below as f64 * least as f64).sqrt() as u64);
        let narrow = least as f64 / below as f64 <= NARROW;
        (!narrow && below < middle && middle < least).then_some(middle)
    }

    /// Points that the worst pattern at `below` loses against `least`, with the 95 % interval.
    fn loss(&self, class: usize, below: u64, least: u64) -> (f64, Option<[f64; 2]>) {
        let pattern = self.worst(class, below).0;
        let at = |k: u64| self.known.get(&(class, pattern, k)).cloned().unwrap_or_default();
        let lost = |(a, b): (&f64, &f64)| Some((a - b) * 100.0);
        let lost: Vec<Option<f64>> = at(least).iter().zip(&at(below)).map(lost).collect();
        let mean = lost.iter().flatten().sum::<f64>() / lost.len().max(1) as f64;
        (mean, seed_mean_at(&lost, ValueRange::ANY, LEVEL).interval.confidence())
    }

    /// The greatest K below the least that fills the line of which the seeds show that it loses
    /// more, or which lacks seeds; else the least K that was tested.
    fn separated(&self, class: usize) -> Option<u64> {
        let (below, least) = self.ends(class);
        let below = below?;
        let tested: Vec<u64> = self.tested(class).into_iter().filter(|k| *k <= below).collect();
        let is_open = |k: &&u64| {
            let seeds = self.known.get(&(class, 0, **k)).map_or(0, Vec::len) as u64;
            seeds < SEEDS || self.loss(class, **k, least).1.is_none_or(|[low, _]| low > 0.0)
        };
        tested.iter().rev().find(is_open).or(tested.first()).copied()
    }

    fn bracket(&self, class: usize) -> Bracket {
        let (below, least) = (self.separated(class), self.ends(class).1);
        let pattern = self.worst(class, below.unwrap_or(least)).0;
        let loss = below.map(|below| self.loss(class, below, least));
        let flows = self.subject.classes[class].patterns[pattern].pairs.len();
        let point = |k: u64| (k, self.worst(class, k).1 * 100.0);
        let searched = self.tested(class).into_iter().map(point).collect();
        Bracket { below, least, loss, flows, searched }
    }

    /// Runs every pattern with all classes set together. Returns the tests by class, and those of
    /// one flow from each host of a rack to another rack, on the paths that the fabric chooses.
    pub(super) fn together(&mut self, ks: &[u64]) -> Result<Together, LabError> {
        let subject = self.subject;
        let patterns: Vec<_> = subject.patterns().collect();
        let mut scenarios = Vec::new();
        for (_, pattern) in &patterns {
            scenarios.push(self.subject.filled(ks, &pattern.pairs, true)?);
        }
        let racks = super::ports::between_racks(&self.subject.setup);
        if !racks.is_empty() {
            scenarios.push(self.subject.filled(ks, &racks, false)?);
            scenarios.push(self.subject.filled(&self.top, &racks, false)?);
        }
        let named = scenarios.into_iter().enumerate();
        let named: Vec<(String, Scenario)> = named
            .map(|(i, s)| Ok((i.to_string(), s.seeds(SEEDS)?)))
            .collect::<Result<_, LabError>>()?;
        let (runs, hops) = run_new(&named, &|_, _| true, self.jobs)?;
        self.runs += runs.len();
        self.hops += hops;
        let of = |i: usize| runs.iter().filter(move |(j, _)| *j == i).map(|(_, run)| run);
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let mut places = BTreeMap::<usize, usize>::new();
        let mut out = Vec::new();
        for (i, (class, pattern)) in patterns.iter().enumerate() {
            let place = places.entry(*class).or_default();
            let used = of(i).map(|run| utilisation(run, self.subject, pattern.port)).collect();
            let test = LineTest {
                flows: pattern.pairs.len(),
                k_bytes: ks[*class],
                seeds: SEEDS as usize,
                utilisation: mean(used),
                best: self.best(*class, *place),
            };
            *place += 1;
            out.push((*class, test));
        }
        let goodput = |i: usize| {
            let rates = of(i).filter_map(|run| run.groups.first()?.goodput_mbps).collect();
            mean(rates)
        };
        let between = (!racks.is_empty()).then(|| LineTest {
            flows: racks.len(),
            k_bytes: 0,
            seeds: SEEDS as usize,
            utilisation: goodput(patterns.len()) / 1e3,
            best: goodput(patterns.len() + 1) / 1e3,
        });
        Ok((out, between))
    }
}

/// Runs scenarios whose seeds, numbered from 1, are wanted; each result has the index of its
/// scenario. Returns their packet-hops by estimate too.
fn run_new(
    scenarios: &[(String, Scenario)],
    wanted: &dyn Fn(usize, u64) -> bool,
    jobs: usize,
) -> Result<(Vec<(usize, RunFacts)>, u64), LabError> {
    let place = |label: &str| scenarios.iter().position(|(own, _)| own == label);
    let mut plan = plan(scenarios)?;
    let first = plan.runs.iter().map(|run| run.seed).min().unwrap_or_default();
    let wanted = |i: usize, seed: u64| wanted(i, seed - first + 1);
    plan.runs.retain(|run| place(&run.scheme).is_some_and(|i| wanted(i, run.seed)));
    let hops = plan.estimate().hops;
    let runs = simulate(&plan, jobs)?.runs;
    let placed = runs.into_iter().filter_map(|run| Some((place(&run.key.scheme)?, run)));
    Ok((placed.collect(), hops))
}

/// Share of the time in which the port sends.
fn utilisation(run: &RunFacts, subject: &Subject, port: u32) -> f64 {
    let names = subject.setup.network.port_names();
    let name = names.get(port as usize).map(String::as_str).unwrap_or_default();
    run.queue(name).and_then(|queue| queue.utilisation).unwrap_or_default()
}
