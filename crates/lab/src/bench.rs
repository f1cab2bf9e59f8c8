//! Speed of the simulator on fixed scenarios, probes off.
//!
//! A packet-hop is one packet serialised by one output queue; hosts' own ports and ACKs count. Times
//! are processor seconds of this thread, so that other jobs on the machine disturb as little as they
//! can; the median of several runs is reported, with the extremes beside it.

use cpu_time::ThreadTime;
use lowtide_host::{Outcome, ProbePlan, Setup};
use lowtide_scenario::Scenario;
use serde::Serialize;

use crate::error::LabError;

/// One benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Benchmark {
    /// Its name.
    pub name: &'static str,
    /// What it measures.
    pub summary: &'static str,
    scenario: &'static str,
    overrides: &'static [(&'static str, &'static str)],
}

/// Every benchmark.
pub static BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        name: "dumbbell",
        summary: "10 Gbit/s dumbbell, 10 long DCTCP flows",
        scenario: "bench-dumbbell",
        overrides: &[],
    },
    Benchmark {
        name: "buildup",
        summary: "the main job's DCTCP run: long and short flows on one 1 Gbit/s switch",
        scenario: "queue-buildup",
        overrides: &[
            ("compare.schemes", "dctcp"),
            ("traffic.short.size", "800 kB"),
            ("run.seeds", "1"),
        ],
    },
];

/// What one benchmark took.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Runs that were counted.
    pub runs: u32,
    /// Packet-hops of one run.
    pub hops: u64,
    /// Events of one run.
    pub events: u64,
    /// Segments delivered to a connection in one run.
    pub segments: u64,
    /// Processor seconds of the median run.
    pub cpu_s: f64,
    /// The fastest and the slowest run, processor seconds.
    pub cpu_s_range: [f64; 2],
    /// Packet-hops per processor second, median.
    pub hops_per_cpu_s: f64,
    /// Nanoseconds of processor time per delivered segment, median.
    pub ns_per_segment: f64,
    /// Events per packet-hop.
    pub events_per_hop: f64,
    /// Bytes of memory per flow that is open at the end, both ends.
    pub bytes_per_flow: Option<u64>,
    /// Largest resident memory of this process so far, MiB; where the system tells.
    pub peak_rss_mib: Option<f64>,
    /// Digest of the run.
    pub digest: String,
}

fn setup(benchmark: &Benchmark) -> Result<Setup, LabError> {
    let mut scenario = Scenario::load(benchmark.scenario)?;
    for (key, value) in benchmark.overrides {
        scenario = scenario.with_override(key, value)?;
    }
    let plan = scenario.expand()?;
    let run = plan.runs.first().ok_or_else(|| LabError::NoRuns(benchmark.scenario.to_string()))?;
    let mut setup = run.setup()?;
    setup.probes = ProbePlan::default();
    Ok(setup)
}

/// Runs `benchmark` once to warm up and `runs` times to count.
pub fn measure(benchmark: &Benchmark, runs: u32) -> Result<Row, LabError> {
    let setup = setup(benchmark)?;
    let first = lowtide_host::run(&setup, &mut |_| false)?;
    let mut times = Vec::new();
    for _ in 0..runs.max(1) {
        let start = ThreadTime::now();
        let outcome = lowtide_host::run(&setup, &mut |_| false)?;
        times.push(start.elapsed().as_secs_f64());
        if outcome.digest != first.digest {
            return Err(LabError::Unstable { benchmark: benchmark.name.to_string() });
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(row(benchmark, &first, &times))
}

fn row(benchmark: &Benchmark, outcome: &Outcome, times: &[f64]) -> Row {
    let median = times.get(times.len() / 2).copied().unwrap_or(f64::NAN);
    let counts = outcome.counts;
    Row {
        name: benchmark.name.to_string(),
        runs: times.len() as u32,
        hops: counts.hops,
        events: counts.events,
        segments: counts.segments,
        cpu_s: median,
        cpu_s_range: [
            times.first().copied().unwrap_or(median),
            times.last().copied().unwrap_or(median),
        ],
        hops_per_cpu_s: counts.hops as f64 / median,
        ns_per_segment: median * 1e9 / counts.segments as f64,
        events_per_hop: counts.events as f64 / counts.hops as f64,
        bytes_per_flow: counts.flow_bytes.checked_div(counts.open_flows),
        peak_rss_mib: peak_rss_mib(),
        digest: format!("{:016x}", outcome.digest),
    }
}

/// `VmHWM` of Linux; elsewhere unknown.
fn peak_rss_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib / 1024.0)
}
