//! `lowtide bench`: how fast the simulator is on this machine.

use lowtide_lab::bench::{BENCHMARKS, Benchmark, Row, measure};
use serde::Serialize;

use crate::cmd::explain::unknown;
use crate::failure::Failure;
use crate::output::Output;

#[derive(Serialize)]
struct Bench {
    schema: &'static str,
    version: &'static str,
    rows: Vec<Row>,
}

pub(crate) fn bench(names: &[String], runs: u32, out: Output) -> Result<(), Failure> {
    let mut chosen: Vec<&Benchmark> = BENCHMARKS.iter().collect();
    if !names.is_empty() {
        let known: Vec<String> = BENCHMARKS.iter().map(|b| b.name.to_string()).collect();
        if let Some(strange) = names.iter().find(|n| !known.contains(n)) {
            return Err(unknown("benchmark", strange, &known));
        }
        chosen.retain(|b| names.iter().any(|n| n == b.name));
    }
    let mut rows = Vec::new();
    for benchmark in chosen {
        out.note(&format!("{}: {} ({runs} runs)", benchmark.name, benchmark.summary));
        rows.push(measure(benchmark, runs).map_err(|e| Failure::Run(e.to_string()))?);
    }
    if out.json {
        let version = env!("CARGO_PKG_VERSION");
        return out.json(&Bench { schema: "lowtide.bench/1", version, rows });
    }
    let header = [
        "benchmark",
        "packet-hops",
        "cpu s (min to max)",
        "Mhops/cpu s",
        "ns/segment",
        "events/hop",
        "B/flow",
        "peak MiB",
        "digest",
    ];
    let cells: Vec<Vec<String>> = rows
        .into_iter()
        .map(|r| {
            let [min, max] = r.cpu_s_range;
            vec![
                r.name,
                r.hops.to_string(),
                format!("{:.3} ({min:.3} to {max:.3})", r.cpu_s),
                format!("{:.2}", r.hops_per_cpu_s / 1e6),
                format!("{:.0}", r.ns_per_segment),
                format!("{:.3}", r.events_per_hop),
                r.bytes_per_flow.map_or_else(|| "–".into(), |b| b.to_string()),
                r.peak_rss_mib.map_or_else(|| "–".into(), |m| format!("{m:.1}")),
                r.digest,
            ]
        })
        .collect();
    out.table(&header, &[1, 2, 3, 4, 5, 6, 7], &cells)
}
