//! Advises a marking threshold K for each class of ports of a fabric, and alpha of the shared
//! memory, under the fabric's own traffic.
//!
//! Contract: analysis gives the range, simulation decides. Candidates are compared with the same
//! seeds, so with the same flows at the same times; those that are shown to be worse get no more
//! seeds. The number of runs follows from their estimated cost and the budget, never from the
//! clock, so equal requests give equal advice. A question that the runs leave open is called
//! undecided, and a class that no run tested is called untested.
//!
//! The rule: [`lines`] finds for each class the least K at which few long flows fill the line, and
//! raises it where they do not with all classes set together; that table, and tables with larger K,
//! run with the fabric's own traffic ([`contest`]), and flows fill the lines of the advised one.

mod contest;
mod figure;
mod growth;
mod leaf_spine;
mod lines;
mod ports;
mod rule;
mod shortened;
mod subject;
mod target;
mod tenants;

use lowtide_lab::LabError;
use lowtide_scenario::{PlanPart, RunPlan, Scenario};
use lowtide_units::{Duration, Fraction};
use serde::{Deserialize, Serialize};

pub use contest::Candidate;
pub use figure::knee;
pub use growth::GrowthStep;
pub use leaf_spine::LeafSpine;
pub use lines::LineTest;
pub use rule::Confidence;
pub use target::Goal;
pub use target::SHORT_FLOWS;
pub use tenants::{TenantRun, TenantTail, TenantsAdvice};

use crate::analysis::{SizingInput, recommend};
use contest::{Contest, Entry};
use lines::{Bracket, Lines};
use ports::PortClass;
use subject::{Subject, subject};

/// Seeds of each candidate before any is left out.
const FIRST_SEEDS: u64 = 5;
/// One part in this number of the budget is for alpha, for the growth of the load, and for hosts
/// without ECN.
const ALPHA_PART: u64 = 5;
const GROWTH_PART: u64 = 10;
const TENANTS_PART: u64 = 10;
/// The tables of K have the rest after the tests by long flows, and at least this part.
const LEAST_CONTEST_PART: u64 = 4;
/// Utilisation that K may lose in the tests, and for throughput alone: less than the point that is
/// promised, so that numbers of flows between those tested stay within it (benches/fabrics).
const MARGIN: f64 = 0.007;
const MARGIN_OF_THROUGHPUT: f64 = 0.001;
/// Times that K of the classes that lose utilisation together is raised.
const RAISES: usize = 3;

/// A request for advice.
#[derive(Clone, Debug)]
pub struct FabricRequest {
    /// The fabric with its traffic: one point, one scheme.
    pub scenario: Scenario,
    /// The measure that decides; `None`: the scenario's question, its queries, or its short flows.
    pub goal: Option<Goal>,
    /// Share of the hosts that are without ECN in a last comparison; zero for none.
    pub tenants: Fraction,
    /// Packet-hops at which all runs together aim, by their estimate: the tests by long flows have
    /// no bound, and the least share of the traffic may exceed it.
    pub hops: u64,
    /// Concurrent runs.
    pub jobs: usize,
}

/// A class of ports and its threshold.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ClassAdvice {
    /// Its name, as `leaf-spine`: the pipe of the scenario has it too.
    pub name: String,
    /// Rate of its lines, bits per second.
    pub line_bps: u64,
    /// Its ports.
    pub ports: usize,
    /// Whether data of the traffic uses it.
    pub loaded: bool,
    /// Whether long flows tested its utilisation. K of an untested class is that of a tested class
    /// with the same rate, else that of the analysis and a burst.
    pub tested: bool,
    /// K, bytes of IP packets.
    pub k_bytes: u64,
    /// IP bytes of the largest packet through it: of two hosts the smaller MTU counts.
    pub mtu_bytes: u64,
    /// K in these packets.
    pub k_packets: f64,
    /// Time in which the line sends K, microseconds.
    pub k_us: f64,
    /// The greatest K that loses more than a point of utilisation, and the least that does not; the
    /// first is null if the least K of all does not. Null if untested.
    pub bracket_bytes: Option<(Option<u64>, u64)>,
    /// Points of utilisation between both ends.
    pub bracket_loss: Option<f64>,
    /// Its 95 % interval over seeds.
    pub bracket_loss_ci95: Option<[f64; 2]>,
    /// Longest round trip through it without queues, microseconds: lines only.
    pub rtt_us: f64,
    /// Greatest delay that both hosts add to a round trip, microseconds.
    pub hosts_us: f64,
    /// C x RTT / 7 (DCTCP eq. 13) in bytes of IP packets, without and with the hosts' delay.
    pub analysis_bytes: [f64; 2],
    /// Flows of the pattern that needs the largest K.
    pub senders: usize,
    /// One burst of each of them, bytes.
    pub burst_floor_bytes: u64,
    /// Ports congested at once, each with a queue of K, with which the dynamic threshold is below
    /// K; null if the switch has fewer, or with a fixed buffer.
    pub ports_until_drops: Option<u64>,
    /// Points of utilisation that the worst pattern loses, by K in bytes, as the search found them.
    pub searched: Vec<(u64, f64)>,
    /// Long flows with all classes set together.
    pub tests: Vec<LineTest>,
}

/// Hosts of one MTU.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HostBurst {
    /// IP bytes of their largest packet.
    pub mtu_bytes: u64,
    /// Their number.
    pub hosts: usize,
    /// Most IP bytes that one passes to its NIC at once; one packet without offload.
    pub burst_bytes: u64,
}

/// Advice for a fabric.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FabricAdvice {
    /// Hosts.
    pub hosts: usize,
    /// The hosts by MTU, the largest first.
    pub bursts: Vec<HostBurst>,
    /// The measure that decides between candidates; null if utilisation alone does.
    pub measure: Option<String>,
    /// Its unit; empty for a ratio.
    pub unit: String,
    /// Points of utilisation that K may lose.
    pub margin_points: f64,
    /// The classes with their advised K.
    pub classes: Vec<ClassAdvice>,
    /// Tables of K under the fabric's traffic.
    pub candidates: Vec<Candidate>,
    /// Index of the advised one.
    pub advised: usize,
    /// Index of the one with a single K for all; null if the advised one has it.
    pub one_k: Option<usize>,
    /// Confidence in the choice among the candidates.
    pub confidence: Confidence,
    /// One long flow from each host of a rack to another rack, all classes set together: goodput in
    /// Gbit/s, `best` with the greatest K; null with one rack.
    pub between_racks: Option<LineTest>,
    /// Packets that a full buffer dropped in the runs of the candidates.
    pub overflow_drops: u64,
    /// Variants of alpha at the advised K, ascending; empty with a fixed buffer, or if no buffer
    /// was full: then alpha had no effect.
    pub alphas: Vec<Candidate>,
    /// Index of the advised one.
    pub advised_alpha: Option<usize>,
    /// The advised values under more load and larger fan-in.
    pub growth: Vec<GrowthStep>,
    /// Hosts without ECN under the advised values; null if they were not asked for, or refused.
    pub tenants: Option<TenantsAdvice>,
    /// Why this traffic cannot have them.
    pub tenants_refused: Option<String>,
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

    /// Whether all classes have one K.
    pub fn is_one_k(&self) -> bool {
        self.classes.windows(2).all(|two| two[0].k_bytes == two[1].k_bytes)
    }

    /// The scenario with the advised values.
    ///
    /// # Errors
    /// The scenario does not take them; it did in the runs.
    pub fn apply(&self, scenario: &Scenario) -> Result<Scenario, LabError> {
        let setup = subject::first_run(scenario)?.setup()?;
        let classes = ports::classes(&setup).unwrap_or_default();
        let ks: Vec<u64> = self.classes.iter().map(|class| class.k_bytes).collect();
        let alpha = self.chosen_alpha().and_then(|a| a.alpha.as_deref());
        subject::applied(scenario, (&setup, &classes, &ks), alpha)
    }
}

/// Returns the names of the classes of ports, in the order of the advice.
///
/// # Errors
/// Those of the scenario.
pub fn class_names(scenario: &Scenario) -> Result<Vec<String>, LabError> {
    let subject = subject(scenario, None)?;
    Ok(subject.classes.into_iter().map(|class| class.name).collect())
}

/// Returns advice. `progress` is told what is simulated.
///
/// # Errors
/// The scenario sweeps or compares something, no port can be filled, it has nothing of what was
/// asked for, or a run failed.
pub fn advise(request: &FabricRequest, progress: &dyn Fn(&str)) -> Result<FabricAdvice, LabError> {
    let subject = subject(&request.scenario, request.goal)?;
    let margin = if subject.target.is_some() { MARGIN } else { MARGIN_OF_THROUGHPUT };
    let analysis: Vec<[f64; 2]> =
        (0..subject.classes.len()).map(|i| analysis(&subject, i)).collect::<Result<_, _>>()?;
    let ranges: Vec<[u64; 2]> = analysis
        .iter()
        .enumerate()
        .map(|(i, k)| subject.range(i, k[1]))
        .collect::<Result<_, _>>()?;
    let top: Vec<u64> = ranges.iter().map(|[_, top]| *top).collect();
    let least: Vec<u64> = ranges.iter().map(|[least, _]| *least).collect();
    let mut lines = Lines::new(&subject, top.clone(), margin, request.jobs);
    let brackets = lines.search(&least, progress)?;
    let mut floors = floors(&subject, &brackets, &analysis, &top);

    progress("all classes set together");
    let (mut tests, mut between) = lines.together(&floors)?;
    for _ in 0..RAISES {
        let short = |(class, test): &(usize, LineTest)| {
            (test.best - test.utilisation > margin && floors[*class] < top[*class])
                .then_some(*class)
        };
        let mut raised: Vec<usize> = tests.iter().filter_map(short).collect();
        raised.dedup();
        if raised.is_empty() {
            break;
        }
        for class in raised {
            floors[class] = subject::rounded(floors[class] * 5 / 4).min(top[class]);
        }
        (tests, between) = lines.together(&floors)?;
    }

    let with_tenants = request.tenants > Fraction::ZERO;
    let for_tenants = if with_tenants { request.hops / TENANTS_PART } else { 0 };
    let kept = request.hops / ALPHA_PART + request.hops / GROWTH_PART + for_tenants + lines.hops;
    let share = request.hops.saturating_sub(kept).max(request.hops / LEAST_CONTEST_PART);
    let entries = entries(&subject, &floors, &top)?;
    let mut contest = Contest::new(&subject, entries.clone(), share, request.jobs)?;
    let mut choice = rule::Choice { chosen: 0, confidence: Confidence::Decided };
    if subject.target.is_some() {
        contest.run(progress)?;
        choice = contest.choose();
    }
    let candidates = contest.rows(choice.chosen);
    let ks = candidates[choice.chosen].k_bytes.clone();
    if ks != floors {
        (tests, between) = lines.together(&ks)?;
    }
    let mut made = lines.runs + contest.runs.len();

    let (mut alphas, mut advised_alpha) = (Vec::new(), None);
    // Without an overflow no queue reached the limit that alpha sets.
    let overflows = contest.runs.iter().map(|run| run.losses.overflow_drops).sum::<u64>();
    if let Some(own) = subject.alpha.clone().filter(|_| overflows > 0) {
        progress("alpha of the shared memory");
        let (rows, index, runs) = alpha(&subject, &ks, &own, request)?;
        (alphas, advised_alpha) = (rows, Some(index));
        made += runs;
    }
    progress("more load and larger fan-in");
    let growth = growth::growth(&subject.with(&ks)?, request.hops / GROWTH_PART, request.jobs)?;
    made += growth.len();
    let (mut tenants, mut tenants_refused) = (None, None);
    if with_tenants {
        progress("hosts without ECN");
        let budget = (for_tenants, request.jobs);
        match tenants::tenants(&subject, &ks, request.tenants, budget)? {
            Ok(found) => {
                made += found.runs.len() * found.seeds as usize;
                tenants = Some(found);
            }
            Err(why) => tenants_refused = Some(why),
        }
    }

    let mut classes = Vec::new();
    for (i, class) in subject.classes.iter().enumerate() {
        let own = tests.iter().filter(|(c, _)| *c == i).map(|(_, test)| test.clone()).collect();
        classes.push(class_advice(&subject, i, ks[i], brackets[i].as_ref(), analysis[i], own));
        debug_assert_eq!(class.name, classes[i].name);
    }
    let one = entries.iter().position(|e| e.ks.windows(2).all(|two| two[0] == two[1]));
    Ok(FabricAdvice {
        hosts: subject.setup.hosts.len(),
        bursts: subject.bursts.clone(),
        measure: subject.target.as_ref().map(target::Target::words),
        unit: subject.target.as_ref().map_or("", |t| t.unit()).to_owned(),
        margin_points: margin * 100.0,
        classes,
        one_k: one.filter(|i| *i != choice.chosen),
        candidates,
        advised: choice.chosen,
        confidence: choice.confidence,
        between_racks: between,
        overflow_drops: overflows,
        alphas,
        advised_alpha,
        growth,
        tenants,
        tenants_refused,
        runs: made,
    })
}

/// C x RTT / 7 of a class in bytes, without and with the delay of the hosts, as `plan` has it.
fn analysis(subject: &Subject, class: usize) -> Result<[f64; 2], LabError> {
    let class = &subject.classes[class];
    let mtu = u32::try_from(class.mtu).unwrap_or(u32::MAX);
    let of = |rtt: Duration| -> Result<f64, LabError> {
        let link = SizingInput { rate: class.rate, rtt, mtu, ..SizingInput::ONE_FLOW };
        Ok(recommend(&link)?.k_above_packets * f64::from(mtu))
    };
    Ok([of(class.rtt)?, of(class.rtt.saturating_add(subject.hosts_delay))?])
}

/// The least K of each class that fills its line: by its test, else of a tested class with the
/// same rate, else the analysis and one burst.
fn floors(
    subject: &Subject,
    brackets: &[Option<Bracket>],
    analysis: &[[f64; 2]],
    top: &[u64],
) -> Vec<u64> {
    let tested = |i: usize| brackets[i].as_ref().map(|b| b.least);
    let alike = |i: usize| {
        let same = |j: &usize| subject.classes[*j].rate == subject.classes[i].rate;
        (0..brackets.len()).filter(same).filter_map(tested).max()
    };
    let floor = |i: usize| {
        let computed =
            subject::rounded(analysis[i][1] as u64 + subject.classes[i].burst).min(top[i]);
        tested(i).or_else(|| alike(i)).unwrap_or(computed)
    };
    (0..brackets.len()).map(floor).collect()
}

/// The tables of K that run with the fabric's traffic, the first one with the least K of all.
fn entries(subject: &Subject, floors: &[u64], top: &[u64]) -> Result<Vec<Entry>, LabError> {
    let scaled = |factor: u64, wanted: &dyn Fn(&PortClass) -> bool| -> Vec<u64> {
        let all = subject.classes.iter().zip(floors.iter().zip(top));
        all.map(|(class, (k, top))| if wanted(class) { (k * factor).min(*top) } else { *k })
            .collect()
    };
    let largest = floors.iter().copied().max().unwrap_or_default();
    let to_hosts = |class: &PortClass| class.ends[1] == "host";
    let tables = [
        ("least", floors.to_vec()),
        ("one K", vec![largest; floors.len()]),
        ("to hosts x 2", scaled(2, &to_hosts)),
        ("others x 2", scaled(2, &|class| !to_hosts(class))),
        ("all x 4", scaled(4, &|_| true)),
    ];
    let mut out: Vec<Entry> = Vec::new();
    for (name, ks) in tables {
        if out.iter().all(|other| other.ks != ks) {
            let scenario = subject.with(&ks)?;
            let (name, alpha) = (name.to_owned(), subject.alpha.clone());
            out.push(Entry { name, ks, alpha, scenario });
        }
    }
    Ok(out)
}

/// Variants of alpha at the advised K: their rows, the advised one, and the number of runs.
fn alpha(
    subject: &Subject,
    ks: &[u64],
    own: &str,
    request: &FabricRequest,
) -> Result<(Vec<Candidate>, usize, usize), LabError> {
    let at_k = subject.with(ks)?;
    let mut entries = Vec::new();
    for alpha in subject::alphas(own) {
        let Ok(scenario) = subject::with_alpha(&at_k, &alpha) else { continue };
        if scenario.expand().is_ok() {
            let name = alpha.clone();
            entries.push(Entry { name, ks: ks.to_vec(), alpha: Some(alpha), scenario });
        }
    }
    let stays = entries.iter().position(|e| e.alpha.as_deref() == Some(own));
    let mut contest = Contest::new(subject, entries, request.hops / ALPHA_PART, request.jobs)?;
    contest.round(FIRST_SEEDS)?;
    let chosen = contest.choose().chosen;
    // The present value stays unless another one is shown to be better.
    let index = stays.filter(|i| !contest.is_shorter(chosen, *i)).unwrap_or(chosen);
    Ok((contest.rows(index), index, contest.runs.len()))
}

fn class_advice(
    subject: &Subject,
    i: usize,
    k: u64,
    bracket: Option<&Bracket>,
    analysis_bytes: [f64; 2],
    tests: Vec<LineTest>,
) -> ClassAdvice {
    let class = &subject.classes[i];
    let us = |span: Duration| span.as_ps() as f64 / 1e6;
    let senders = bracket.map_or(0, |b| b.flows);
    ClassAdvice {
        name: class.name.clone(),
        line_bps: class.rate.as_bps(),
        ports: class.ports.len(),
        loaded: class.loaded,
        tested: bracket.is_some(),
        k_bytes: k,
        mtu_bytes: class.mtu,
        k_packets: k as f64 / class.mtu as f64,
        k_us: k as f64 * 8e6 / class.rate.as_bps() as f64,
        bracket_bytes: bracket.map(|b| (b.below, b.least)),
        bracket_loss: bracket.and_then(|b| Some(b.loss?.0)),
        bracket_loss_ci95: bracket.and_then(|b| b.loss?.1),
        rtt_us: us(class.rtt),
        hosts_us: us(subject.hosts_delay),
        analysis_bytes,
        senders,
        burst_floor_bytes: class.burst * senders as u64,
        ports_until_drops: subject.ports_until_drops(class, k),
        searched: bracket.map_or_else(Vec::new, |b| b.searched.clone()),
        tests,
    }
}

fn wrong(message: &str) -> LabError {
    LabError::InvalidRequest { message: message.to_owned(), help: None }
}

/// One plan of several scenarios, each under its label.
fn plan(scenarios: &[(String, Scenario)]) -> Result<RunPlan, LabError> {
    let parts = scenarios.iter().map(|(label, scenario)| {
        Ok(PlanPart { scheme: label.clone(), point: Vec::new(), plan: scenario.expand()? })
    });
    Ok(RunPlan::concat("advise", "advise", parts.collect::<Result<_, LabError>>()?))
}

#[cfg(test)]
mod tests;
