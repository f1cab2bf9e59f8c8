//! `lowtide bench`: speed of the simulator on this machine.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::Instant;

use lowtide_lab::bench::{Benchmark, BenchmarkResult, all, measure, select};
use serde::Deserialize;

use crate::args::BenchArgs;
use crate::cmd::explain::unknown;
use crate::cmd::run::processors;
use crate::error::CommandError;
use crate::invocation;
use crate::output::Output;

/// Output of the process of one benchmark.
#[derive(Deserialize)]
struct SubprocessOutput {
    rows: Vec<BenchmarkResult>,
}

pub(crate) fn bench(args: &BenchArgs, out: Output) -> Result<(), CommandError> {
    let everything = ["*".to_owned()];
    let names = if args.all { &everything[..] } else { &args.names };
    let chosen = select(names).map_err(|strange| {
        let known: Vec<String> = all().iter().map(|b| b.name.clone()).collect();
        unknown("benchmark", strange, &known)
    })?;
    let rows = match chosen[..] {
        [benchmark] => vec![here(benchmark, args, out)?],
        ref several => {
            let mut rows = Vec::new();
            for benchmark in several {
                out.note(&format!("{}: {}", benchmark.name, benchmark.summary));
                rows.extend(in_subprocess(benchmark, args, out)?);
            }
            rows
        }
    };
    print(rows, out)
}

#[expect(clippy::disallowed_methods, reason = "the command line reads the clock for wall time")]
fn here(
    benchmark: &Benchmark,
    args: &BenchArgs,
    out: Output,
) -> Result<BenchmarkResult, CommandError> {
    let start = Instant::now();
    let starts = |run: u32| {
        let (name, runs) = (&benchmark.name, args.runs);
        match run {
            0 => out.note(&format!("{name}: warming up, then {runs} measured runs")),
            run => out.note(&format!("{name}: run {run} of {runs}")),
        }
    };
    let threads = args.threads.number().unwrap_or_else(processors);
    let limits = args.memory.limits();
    let row = measure(benchmark, args.runs, threads, &|| start.elapsed(), &starts, &limits)?;
    if let Some(why) = &row.fewer_threads {
        let threads = if row.threads == 1 { "thread" } else { "threads" };
        out.note(&format!("{}: {} {threads}, because {why}", row.name, row.threads));
    }
    Ok(row)
}

/// Measures in a separate process, so that the peak memory is that of one benchmark.
fn in_subprocess(
    benchmark: &Benchmark,
    args: &BenchArgs,
    out: Output,
) -> Result<Vec<BenchmarkResult>, CommandError> {
    let failed = |why: String| CommandError::Run(format!("{}: {why}", benchmark.name));
    let program = invocation::program()
        .map_err(|e| failed(format!("cannot find this program to start it: {e}")))?;
    let done = Command::new(program)
        .args(out.quiet.then_some("--quiet"))
        .args(["--json", "bench", &benchmark.name, "-n", &args.runs.to_string()])
        .args(["--threads", &args.threads.to_string()])
        .args(args.memory.memory.map(|limit| format!("--memory={limit}")))
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| failed(format!("cannot start a process: {e}")))?;
    if !done.status.success() {
        return Err(failed(format!("its process ended with {}", done.status)));
    }
    let printed: SubprocessOutput = serde_json::from_slice(&done.stdout)
        .map_err(|e| failed(format!("its process printed no valid result: {e}")))?;
    Ok(printed.rows)
}

fn print(rows: Vec<BenchmarkResult>, out: Output) -> Result<(), CommandError> {
    if out.json {
        return out.answer("lowtide.bench/1", &BTreeMap::from([("rows", rows)]));
    }
    let header = [
        "benchmark",
        "threads",
        "packet-hops",
        "cpu s (min to max)",
        "wall s",
        "Mhops/cpu s",
        "ns/hop",
        "ns/segment",
        "events/hop",
        "B/flow",
        "B/port",
        "peak MiB",
        "digest",
    ];
    let whole = |n: Option<u64>| n.map_or_else(|| "–".into(), |b| b.to_string());
    let cells: Vec<Vec<String>> = rows
        .into_iter()
        .map(|r| {
            let [min, max] = r.cpu_s_range;
            vec![
                r.name,
                r.threads.to_string(),
                r.hops.to_string(),
                format!("{:.3} ({min:.3} to {max:.3})", r.cpu_s),
                format!("{:.3}", r.wall_s),
                format!("{:.2}", r.hops_per_cpu_s / 1e6),
                format!("{:.1}", r.ns_per_hop),
                format!("{:.0}", r.ns_per_segment),
                format!("{:.3}", r.events_per_hop),
                whole(r.bytes_per_flow),
                whole(r.bytes_per_port),
                r.peak_rss_mib.map_or_else(|| "–".into(), |m| format!("{m:.1}")),
                r.digest,
            ]
        })
        .collect();
    out.table(&header, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], &cells)
}
