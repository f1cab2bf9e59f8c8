//! `lowtide live bench`: our TCP and the kernel's on the same line and CPUs.

use lowtide_live::bench::{BenchResult, BenchRun, LinkKind, TcpStack};
use lowtide_live::config;
use serde::Serialize;

use crate::args::LiveBenchArgs;
use crate::error::CommandError;
use crate::output::Output;

/// Measurements: line, sender and receiver. The kernel's first row without and with offloads is the
/// reference of the other rows.
const ROWS: [(LinkKind, [TcpStack; 2]); 12] = {
    use LinkKind::{Tun, TunOffload, Veth, VethOffloads};
    use TcpStack::{Kernel, Lowtide};
    [
        (Veth, [Kernel, Kernel]),
        (Veth, [Lowtide, Kernel]),
        (Veth, [Kernel, Lowtide]),
        (Veth, [Lowtide, Lowtide]),
        (Tun, [Lowtide, Kernel]),
        (Tun, [Kernel, Lowtide]),
        (VethOffloads, [Kernel, Kernel]),
        (VethOffloads, [Lowtide, Kernel]),
        (VethOffloads, [Kernel, Lowtide]),
        (VethOffloads, [Lowtide, Lowtide]),
        (TunOffload, [Lowtide, Kernel]),
        (TunOffload, [Kernel, Lowtide]),
    ]
};

#[derive(Serialize)]
struct Row {
    line: &'static str,
    sender: &'static str,
    receiver: &'static str,
    /// Median, minimum and maximum of the repeats.
    bits_per_second: [f64; 3],
    /// Relative to the kernel's TCP at both ends of a veth pair, with the offloads of this line.
    ratio: f64,
    /// CPU time of both ends, s/GB.
    cpu_per_gb: f64,
    /// Part of lowtide's drivers, s/GB.
    drivers_per_gb: f64,
    /// CPU time of all processes of the machine, s/GB.
    machine_per_gb: f64,
    bytes_retrans: u64,
}

#[derive(Serialize)]
struct Report {
    repeats: u32,
    processors: [usize; 2],
    segments_at_once: String,
    rows: Vec<Row>,
}

fn name(whose: TcpStack) -> &'static str {
    match whose {
        TcpStack::Kernel => "kernel",
        TcpStack::Lowtide => "lowtide",
    }
}

pub(super) fn bench(args: &LiveBenchArgs, out: Output) -> Result<(), CommandError> {
    let processors = match args.cpus[..] {
        [one] => [one, one],
        [a, b] => [a, b],
        _ => {
            let help = "for instance `--cpus 0,1`, or `0` for one that both share".to_owned();
            let message = "--cpus takes one or two CPUs".to_owned();
            return Err(CommandError::Usage(message, Some(help)));
        }
    };
    let segments = args.segments.to_string();
    let set = [("send-buffer", "4 MB"), ("receive-buffer", "4 MB"), ("tso-segments", &segments)];
    let config = config("linux", None, &set).map_err(|m| CommandError::Usage(m, None))?;
    let mut scores: Vec<Vec<BenchResult>> = ROWS.iter().map(|_| Vec::new()).collect();
    // Interleaved repeats spread other load of the machine over all rows.
    for repeat in 0..args.repeats {
        for ((line, ends), scores) in ROWS.into_iter().zip(&mut scores) {
            out.note(&format!("{}/{} {}", repeat + 1, args.repeats, line.name()));
            let (time, kernel_cc) = (args.time, args.kernel_cc.as_str());
            let run = BenchRun {
                link: line,
                stacks: ends,
                time,
                cpus: processors,
                config: &config,
                kernel_cc,
            };
            scores.push(run.run().map_err(|e| CommandError::Run(e.to_string()))?);
        }
    }
    let mut rows: Vec<Row> = Vec::new();
    for ((line, ends), mut scores) in ROWS.into_iter().zip(scores) {
        scores.sort_by(|a, b| a.goodput().total_cmp(&b.goodput()));
        let (Some(first), Some(last)) = (scores.first(), scores.last()) else { continue };
        let median = scores[scores.len() / 2];
        let gigabytes = median.bytes as f64 / 1e9;
        let offloads = |name: &str| name.contains("offload");
        let base = rows.iter().rev().find(|r| {
            r.sender == "kernel"
                && r.receiver == "kernel"
                && offloads(r.line) == offloads(line.name())
        });
        rows.push(Row {
            line: line.name(),
            sender: name(ends[0]),
            receiver: name(ends[1]),
            bits_per_second: [median.goodput(), first.goodput(), last.goodput()],
            ratio: base.map_or(1.0, |b| median.goodput() / b.bits_per_second[0]),
            cpu_per_gb: median.cpu_seconds / gigabytes,
            drivers_per_gb: median.driver_cpu_seconds / gigabytes,
            machine_per_gb: median.machine_cpu_seconds / gigabytes,
            bytes_retrans: median.retransmitted,
        });
    }
    if out.json {
        let body = Report { repeats: args.repeats, processors, segments_at_once: segments, rows };
        return out.answer("lowtide.live-bench/1", &body);
    }
    let head = [
        "line",
        "sender",
        "receiver",
        "Mbit/s",
        "from",
        "to",
        "of kernel",
        "CPU s/GB",
        "drivers",
        "machine",
    ];
    let cells = rows.iter().map(|r| {
        let mbits = r.bits_per_second.map(|b| format!("{:.0}", b / 1e6));
        let [median, least, most] = mbits;
        let ratio = format!("{:.2}", r.ratio);
        let cpu = [r.cpu_per_gb, r.drivers_per_gb, r.machine_per_gb].map(|s| format!("{s:.2}"));
        let [cpu, drivers, machine] = cpu;
        let (line, from, to) = (r.line.to_owned(), r.sender.to_owned(), r.receiver.to_owned());
        vec![line, from, to, median, least, most, ratio, cpu, drivers, machine]
    });
    out.table(&head, &[3, 4, 5, 6, 7, 8, 9], &cells.collect::<Vec<_>>())
}
