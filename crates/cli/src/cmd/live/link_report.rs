//! What a network between real hosts has seen, as text and as JSON. Names are those of the simulator's tables.

use lowtide_bottleneck::{BottleneckReport, Fidelity, Histogram, HostReport, PortReport};
use serde::Serialize;

use crate::error::CommandError;
use crate::output::Output;

#[derive(Serialize)]
struct QueueRow {
    queue: String,
    at_switch: bool,
    rate_bps: u64,
    observed_ps: u64,
    packets: u64,
    bytes: u64,
    marks: u64,
    drops: u64,
    aqm_drops: u64,
    lost: u64,
    link_down_drops: u64,
    utilisation: f64,
    mean_packets: f64,
    max_packets: u32,
    max_bytes: u64,
}

#[derive(Serialize)]
struct LatencySummary {
    count: u64,
    mean_us: f64,
    p50_us: f64,
    p99_us: f64,
    max_us: f64,
}

#[derive(Serialize)]
struct HostRow {
    host: String,
    attached: bool,
    device_error: Option<String>,
    sent_packets: u64,
    sent_bytes: u64,
    delivered_packets: u64,
    delivered_bytes: u64,
    /// Time in queues of switches of the packets that it got.
    queueing_delay: LatencySummary,
    device_drops: u64,
    reordered: u64,
    duplicated: u64,
    corrupted: u64,
    ce_set: u64,
    bleached: u64,
}

#[derive(Serialize)]
struct Timing {
    /// From when packets were due at their hosts until devices had them.
    late: LatencySummary,
    tolerance_us: f64,
    late_packets: u64,
    checksum_partial_packets: u64,
    /// Packets read in one turn.
    batch_mean: u64,
    batch_max: u64,
    loop_iteration: LatencySummary,
    scheduling: String,
    cpu_seconds: f64,
    /// Of all processors, to others than this virtual machine.
    steal_seconds: f64,
}

#[derive(Serialize)]
struct Sample {
    time_ps: u64,
    port: u32,
    packets: u32,
    bytes: u64,
}

/// All of it.
#[derive(Serialize)]
pub(super) struct Rows {
    seconds: f64,
    queues: Vec<QueueRow>,
    hosts: Vec<HostRow>,
    malformed: u64,
    unknown: u64,
    multicast: u64,
    no_device_drops: u64,
    no_route_drops: u64,
    timing: Timing,
    /// What went wrong that nobody asked for.
    complaints: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    samples: Vec<Sample>,
}

#[derive(Serialize)]
struct BottleneckOutput<'a> {
    schema: &'static str,
    version: &'static str,
    #[serde(flatten)]
    rows: &'a Rows,
}

fn micros(ns: u64) -> f64 {
    ns as f64 / 1e3
}

fn spread(h: &Histogram) -> LatencySummary {
    LatencySummary {
        count: h.count(),
        mean_us: micros(h.mean()),
        p50_us: micros(h.percentile(50)),
        p99_us: micros(h.percentile(99)),
        max_us: micros(h.max()),
    }
}

fn queue(p: &PortReport) -> QueueRow {
    let s = &p.stats;
    let observed: u64 = s.levels.iter().map(|l| l.time.as_ps()).sum();
    QueueRow {
        queue: p.name.clone(),
        at_switch: p.at_switch,
        rate_bps: p.rate.as_bps(),
        observed_ps: observed,
        packets: s.packets,
        bytes: s.bytes,
        marks: s.marks,
        drops: s.drops,
        aqm_drops: s.aqm_drops,
        lost: s.lost,
        link_down_drops: s.link_down_drops,
        utilisation: s.busy.as_ps() as f64 / observed.max(1) as f64,
        mean_packets: p.queue_mean(),
        max_packets: p.queue_max(),
        max_bytes: s.max_bytes,
    }
}

fn host(h: &HostReport) -> HostRow {
    HostRow {
        host: h.name.clone(),
        attached: h.attached,
        device_error: h.device_error.clone(),
        sent_packets: h.sent,
        sent_bytes: h.sent_bytes,
        delivered_packets: h.delivered,
        delivered_bytes: h.delivered_bytes,
        queueing_delay: spread(&h.queueing_delay),
        device_drops: h.device_drops,
        reordered: h.faults.reordered,
        duplicated: h.faults.duplicated,
        corrupted: h.faults.corrupted,
        ce_set: h.faults.ce,
        bleached: h.faults.bleached,
    }
}

fn timing(f: &Fidelity) -> Timing {
    Timing {
        late: spread(&f.lateness),
        tolerance_us: micros(f.tolerance.as_ns()),
        late_packets: f.late_packets,
        checksum_partial_packets: f.checksum_partial,
        batch_mean: f.batch_size.mean(),
        batch_max: f.batch_size.max(),
        loop_iteration: spread(&f.loop_iteration),
        scheduling: f.scheduling.clone(),
        cpu_seconds: f.cpu.as_secs_f64(),
        steal_seconds: f.steal.as_secs_f64(),
    }
}

pub(super) fn rows(report: &BottleneckReport) -> Rows {
    let sample = |s: &lowtide_bottleneck::PortQueueSample| Sample {
        time_ps: s.at.as_ps(),
        port: s.port,
        packets: s.packets,
        bytes: s.bytes,
    };
    Rows {
        seconds: report.took.as_secs_f64(),
        queues: report.ports.iter().map(queue).collect(),
        hosts: report.hosts.iter().map(host).collect(),
        malformed: report.ingress_drops.malformed,
        unknown: report.ingress_drops.unknown_destination,
        multicast: report.ingress_drops.multicast,
        no_device_drops: report.no_device_drops,
        no_route_drops: report.no_route_drops,
        timing: timing(&report.fidelity),
        complaints: report.warnings(),
        samples: report.samples.iter().map(sample).collect(),
    }
}

/// As the result of a command.
pub(super) fn show(report: &BottleneckReport, out: Output) -> Result<(), CommandError> {
    let rows = rows(report);
    if out.json {
        let (schema, version) = ("lowtide.bottleneck/2", env!("CARGO_PKG_VERSION"));
        return out.json(&BottleneckOutput { schema, version, rows: &rows });
    }
    text(&rows, out)
}

/// As text.
pub(super) fn text(rows: &Rows, out: Output) -> Result<(), CommandError> {
    let busy =
        rows.queues.iter().filter(|q| q.at_switch && q.packets + q.drops + q.link_down_drops > 0);
    let line = |q: &QueueRow| {
        vec![
            q.queue.clone(),
            format!("{:.1}", q.bytes as f64 * 8.0 / rows.seconds.max(1e-9) / 1e6),
            q.packets.to_string(),
            q.marks.to_string(),
            (q.drops + q.aqm_drops).to_string(),
            format!("{:.1}", q.mean_packets),
            q.max_packets.to_string(),
        ]
    };
    let head = ["queue", "Mbit/s", "packets", "marks", "drops", "mean, packets", "max"];
    let lines: Vec<_> = busy.map(line).collect();
    if !lines.is_empty() {
        out.table(&head, &[1, 2, 3, 4, 5, 6], &lines)?;
    }
    for h in &rows.hosts {
        let own = rows.queues.iter().filter(|q| q.queue.starts_with(&format!("{}->", h.host)));
        let lost: u64 = own.map(|q| q.lost).sum();
        let faults = [
            (lost, "lost"),
            (h.reordered, "late"),
            (h.duplicated, "twice"),
            (h.corrupted, "damaged"),
            (h.ce_set, "with CE set"),
            (h.bleached, "bleached"),
            (h.device_drops, "not taken by its device"),
        ];
        let said: Vec<String> =
            faults.iter().filter(|f| f.0 > 0).map(|(n, what)| format!("{n} {what}")).collect();
        if !said.is_empty() {
            out.text(&format!("{}: of {} packets {}", h.host, h.sent_packets, said.join(", ")))?;
        }
    }
    let strays = [
        (rows.malformed, "no IP packets"),
        (rows.unknown, "for addresses of no host"),
        (rows.no_device_drops, "for hosts without a device"),
        (rows.no_route_drops, "without a route"),
    ];
    for (n, what) in strays.iter().filter(|s| s.0 > 0) {
        out.text(&format!("{n} packets were {what}"))?;
    }
    let t = &rows.timing;
    out.text(&format!(
        "timing: {:.0} us late in the mean, {:.0} at 99 %, {:.0} at most; {} packets a turn at most; {}; {:.2} s of processor",
        t.late.mean_us, t.late.p99_us, t.late.max_us, t.batch_max, t.scheduling, t.cpu_seconds
    ))?;
    if t.steal_seconds > 0.0 {
        out.text(&format!(
            "the machine underneath took {:.2} s of processor for others",
            t.steal_seconds
        ))?;
    }
    for complaint in &rows.complaints {
        out.text(&format!("! {complaint}"))?;
    }
    Ok(())
}
