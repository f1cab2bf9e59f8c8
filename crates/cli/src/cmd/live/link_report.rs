//! Report of a network between real hosts, as text and JSON. Names are those of the simulator's
//! tables.

use lowtide_bottleneck::{BottleneckReport, Fidelity, HostReport};
use lowtide_rows::{LevelWeight, LossCounters, Queue, QueueSampleRow, ServedCounters};
use lowtide_units::{LogHistogram, Quantile};
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::output::Output;

#[derive(Serialize)]
struct QueueReport {
    queue: String,
    at_switch: bool,
    rate_bps: u64,
    observed_ps: u64,
    /// All packets lost here, of the kinds below.
    drops: u64,
    #[serde(flatten)]
    served: ServedCounters,
    #[serde(flatten)]
    losses: LossCounters,
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
    /// Queueing delay at switches of the packets that it received.
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
    /// Delay from the time a packet was due at its host until the device had it.
    late: LatencySummary,
    tolerance_us: f64,
    late_packets: u64,
    checksum_partial_packets: u64,
    /// Packets read in one loop iteration.
    batch_mean: u64,
    batch_max: u64,
    loop_iteration: LatencySummary,
    scheduling: String,
    cpu_seconds: f64,
    /// CPU steal of all CPUs.
    steal_seconds: f64,
}

/// Body of the report.
#[derive(Serialize)]
pub(super) struct NetworkReport {
    seconds: f64,
    queues: Vec<QueueReport>,
    hosts: Vec<HostRow>,
    malformed: u64,
    unknown: u64,
    multicast: u64,
    no_device_drops: u64,
    no_route_drops: u64,
    timing: Timing,
    /// Warnings.
    complaints: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    samples: Vec<Value>,
}

fn micros(ns: u64) -> f64 {
    ns as f64 / 1e3
}

fn spread(h: &LogHistogram) -> LatencySummary {
    LatencySummary {
        count: h.count(),
        mean_us: micros(h.mean()),
        p50_us: micros(h.nearest_rank(Quantile::P50)),
        p99_us: micros(h.nearest_rank(Quantile::P99)),
        max_us: micros(h.max()),
    }
}

fn queue(q: &Queue) -> QueueReport {
    let observed_ps = LevelWeight::Time.total(&q.levels);
    let length = q.length();
    QueueReport {
        queue: q.name.clone(),
        at_switch: q.at_switch,
        rate_bps: q.rate_bps,
        observed_ps,
        drops: q.drops(),
        served: q.served,
        losses: q.losses,
        utilisation: q.busy_ps as f64 / observed_ps.max(1) as f64,
        mean_packets: length.mean_packets.unwrap_or_default(),
        max_packets: length.max_packets.unwrap_or_default(),
        max_bytes: q.max_bytes,
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

pub(super) fn rows(report: &BottleneckReport) -> NetworkReport {
    let sample = |s: &QueueSampleRow| {
        let (port, packets) = (s.queue, s.packets);
        json!({ "time_ps": s.time_ps, "port": port, "packets": packets, "bytes": s.bytes })
    };
    NetworkReport {
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

/// Prints the report as the result of a command.
pub(super) fn show(report: &BottleneckReport, out: Output) -> Result<(), CommandError> {
    let rows = rows(report);
    if out.json {
        return out.answer("lowtide.bottleneck/2", &rows);
    }
    text(&rows, out)
}

/// Prints the report as text.
pub(super) fn text(rows: &NetworkReport, out: Output) -> Result<(), CommandError> {
    let used = |q: &&QueueReport| q.at_switch && q.served.packets + q.drops > 0;
    let busy = rows.queues.iter().filter(used);
    let line = |q: &QueueReport| {
        vec![
            q.queue.clone(),
            format!("{:.1}", q.served.bytes as f64 * 8.0 / rows.seconds.max(1e-9) / 1e6),
            q.served.packets.to_string(),
            q.served.marks.to_string(),
            q.drops.to_string(),
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
        let lost: u64 = own.map(|q| q.losses.random_losses).sum();
        let faults = [
            (lost, "lost"),
            (h.reordered, "reordered"),
            (h.duplicated, "duplicated"),
            (h.corrupted, "corrupted"),
            (h.ce_set, "with CE set"),
            (h.bleached, "bleached"),
            (h.device_drops, "dropped by its device"),
        ];
        let counts: Vec<String> =
            faults.iter().filter(|f| f.0 > 0).map(|(n, fault)| format!("{n} {fault}")).collect();
        if !counts.is_empty() {
            out.text(&format!("{}: {} packets: {}", h.host, h.sent_packets, counts.join(", ")))?;
        }
    }
    let drops = [
        (rows.malformed, "not an IP packet"),
        (rows.unknown, "unknown destination address"),
        (rows.no_device_drops, "host without a device"),
        (rows.no_route_drops, "no route"),
    ];
    for (n, reason) in drops.iter().filter(|s| s.0 > 0) {
        out.text(&format!("{n} packets dropped: {reason}"))?;
    }
    let t = &rows.timing;
    out.text(&format!(
        "timing: late by {:.0} us (mean), {:.0} us (p99), {:.0} us (max); at most {} packets per turn; {}; \
         {:.2} s of CPU",
        t.late.mean_us, t.late.p99_us, t.late.max_us, t.batch_max, t.scheduling, t.cpu_seconds
    ))?;
    if t.steal_seconds > 0.0 {
        out.text(&format!("CPU steal: {:.2} s", t.steal_seconds))?;
    }
    for warning in &rows.complaints {
        out.text(&format!("! {warning}"))?;
    }
    Ok(())
}
