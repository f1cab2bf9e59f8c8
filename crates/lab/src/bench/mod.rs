//! Speed of the simulator on fixed scenarios.
//!
//! A packet-hop is one packet serialised by one output queue, including ports of hosts and ACKs.
//! Times are CPU seconds of this thread, or of all threads of a parallel run including their waits.
//! Other jobs on the machine thus have little influence. The median of several runs is reported
//! with the extremes. A run includes building the network and producing the rows.

mod suite;

use std::time::Duration;

use cpu_time::{ProcessTime, ThreadTime};
use lowtide_host::{Outcome, ProbePlan, Setup, ThreadUsage, Threads, run_on};
use lowtide_record::{RunKey, SweepPoint, digest_text};
use lowtide_scenario::{RunSpec, Scenario};
use serde::{Deserialize, Serialize};

pub use suite::{Benchmark, all, select};

use crate::budget::ResourceLimits;
use crate::error::LabError;
use crate::unstored_run::UnstoredRun;

/// Result of one benchmark.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BenchmarkResult {
    /// Its name.
    pub name: String,
    /// Runs that were counted.
    pub runs: u32,
    /// Threads of each run.
    pub threads: u32,
    /// Reason if fewer threads ran than were requested.
    #[serde(default)]
    pub fewer_threads: Option<String>,
    /// Simulated seconds of one run.
    pub simulated_s: f64,
    /// Packet-hops of one run.
    pub hops: u64,
    /// Events of one run.
    pub events: u64,
    /// Segments delivered to a connection in one run.
    pub segments: u64,
    /// CPU seconds of the median run.
    pub cpu_s: f64,
    /// CPU seconds of the fastest and the slowest run.
    pub cpu_s_range: [f64; 2],
    /// Wall-clock seconds of the median run.
    pub wall_s: f64,
    /// Packet-hops per CPU second, median.
    pub hops_per_cpu_s: f64,
    /// Nanoseconds of CPU time per packet-hop, median.
    pub ns_per_hop: f64,
    /// Nanoseconds of CPU time per delivered segment, median.
    pub ns_per_segment: f64,
    /// Events per packet-hop.
    pub events_per_hop: f64,
    /// Bytes of memory per flow that is open at the end, for both endpoints.
    pub bytes_per_flow: Option<u64>,
    /// Bytes of memory per output port at the end.
    pub bytes_per_port: Option<u64>,
    /// Peak resident memory of this process in MiB, if the system reports it. It belongs to one
    /// benchmark only if that has its own process.
    pub peak_rss_mib: Option<f64>,
    /// Digest of the run.
    pub digest: String,
}

/// The run of a benchmark, and its setup.
fn specification(benchmark: &Benchmark) -> Result<(RunSpec, Setup), LabError> {
    let mut scenario = Scenario::load(&benchmark.scenario)?;
    for (key, value) in &benchmark.set {
        scenario = scenario.with_override(key, value)?;
    }
    let plan = scenario.expand()?;
    let run = plan.runs.into_iter().next();
    let run = run.ok_or_else(|| LabError::NoRuns(benchmark.scenario.clone()))?;
    let mut setup = run.setup()?;
    if !benchmark.probes {
        setup.probes = ProbePlan::default();
    }
    Ok((run, setup))
}

/// Runs `benchmark` once to warm up and `runs` times to measure, on at most that many threads.
/// `clock` returns wall-clock time since an arbitrary epoch. `starts` gets the number of each run
/// before it starts; zero is the one to warm up, which alone is compared with `limits`.
///
/// # Errors
/// The run fails, or does not fit into `limits`.
pub fn measure(
    benchmark: &Benchmark,
    runs: u32,
    threads: usize,
    clock: &dyn Fn() -> Duration,
    starts: &dyn Fn(u32),
    limits: &ResourceLimits<'_>,
) -> Result<BenchmarkResult, LabError> {
    let (spec, setup) = specification(benchmark)?;
    let point = SweepPoint(spec.point.clone());
    let key = RunKey { run: 0, scheme: spec.scheme.clone(), point, seed: spec.seed };
    let run = UnstoredRun { key: &key, spec: &spec, setup: &setup };
    UnstoredRun::admit(&[run], limits)?;
    let threads = Threads::up_to(threads);
    starts(0);
    let mut fits = Ok(());
    let (first, used) = run_on(&setup, threads, &mut |_| {
        fits = run.check(limits);
        fits.is_err()
    })?;
    fits?;
    let mut times = Times::default();
    for run in 1..=runs.max(1) {
        starts(run);
        let (begin, start) = (clock(), Cpu::now(used.threads));
        let (outcome, _) = run_on(&setup, threads, &mut |_| false)?;
        times.cpu.push(start.elapsed().as_secs_f64());
        times.wall.push(clock().saturating_sub(begin).as_secs_f64());
        if outcome.digest != first.digest {
            return Err(LabError::Nondeterministic { benchmark: benchmark.name.clone() });
        }
    }
    times.cpu.sort_by(f64::total_cmp);
    times.wall.sort_by(f64::total_cmp);
    Ok(row(benchmark, (&first, used), &times))
}

/// CPU time of this thread, or of the process if a run has several threads.
enum Cpu {
    One(ThreadTime),
    All(ProcessTime),
}

impl Cpu {
    fn now(threads: usize) -> Self {
        if threads > 1 { Self::All(ProcessTime::now()) } else { Self::One(ThreadTime::now()) }
    }

    fn elapsed(&self) -> Duration {
        match self {
            Self::One(start) => start.elapsed(),
            Self::All(start) => start.elapsed(),
        }
    }
}

/// Seconds of each run, ascending.
#[derive(Default)]
struct Times {
    cpu: Vec<f64>,
    wall: Vec<f64>,
}

fn row(
    benchmark: &Benchmark,
    (outcome, used): (&Outcome, ThreadUsage),
    times: &Times,
) -> BenchmarkResult {
    let middle = |all: &[f64]| all.get(all.len() / 2).copied().unwrap_or(f64::NAN);
    let cpu = middle(&times.cpu);
    let (counts, memory) = (outcome.counts, outcome.memory);
    BenchmarkResult {
        name: benchmark.name.clone(),
        runs: times.cpu.len() as u32,
        threads: used.threads as u32,
        fewer_threads: used.why.map(|why| why.to_string()),
        simulated_s: outcome.ended.as_ps() as f64 / 1e12,
        hops: counts.hops,
        events: counts.events,
        segments: counts.segments,
        cpu_s: cpu,
        cpu_s_range: [
            times.cpu.first().copied().unwrap_or(cpu),
            times.cpu.last().copied().unwrap_or(cpu),
        ],
        wall_s: middle(&times.wall),
        hops_per_cpu_s: counts.hops as f64 / cpu,
        ns_per_hop: cpu * 1e9 / counts.hops as f64,
        ns_per_segment: cpu * 1e9 / counts.segments as f64,
        events_per_hop: counts.events as f64 / counts.hops as f64,
        bytes_per_flow: memory.flow_bytes.checked_div(memory.open_flows),
        bytes_per_port: memory.port_bytes.checked_div(memory.ports),
        peak_rss_mib: peak_rss_mib(),
        digest: digest_text(outcome.digest),
    }
}

/// `VmHWM` of Linux; unknown on other systems.
fn peak_rss_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib / 1024.0)
}
