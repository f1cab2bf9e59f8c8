//! Reports of connections, as text and JSON.

use lowtide_live::LiveStats;
use lowtide_live::load::{
    FlowSample, LoadInterval, LoadPlan, LoadReport, StreamReport, TransferDirection,
};
use lowtide_sockets::ConnInfo;
use lowtide_tcp::{Config, EcnMode};
use lowtide_units::Duration;
use serde::Serialize;
use serde_json::{Value, json};

use super::link_report::{self, NetworkReport};
use super::setup::LiveHost;
use crate::error::CommandError;
use crate::output::Output;

fn micros(d: Duration) -> f64 {
    d.as_secs_f64() * 1e6
}

fn alpha(info: &ConnInfo) -> Option<f64> {
    info.alpha_q20.map(|a| a as f64 / f64::from(1 << 20))
}

/// State of a connection, with the names of `tcp_info` if there is one.
fn transport(info: &ConnInfo) -> Value {
    let t = &info.tcp;
    json!({
        "state": format!("{:?}", t.state),
        "cc": t.cc,
        "ecn": format!("{:?}", t.ecn),
        "snd_cwnd": t.snd_cwnd,
        "snd_ssthresh": t.snd_ssthresh,
        "mss": t.mss,
        "srtt_us": t.srtt.map(micros),
        "rttvar_us": micros(t.rttvar),
        "min_rtt_us": t.min_rtt.map(micros),
        "rto_us": micros(t.rto),
        // Estimate of the marked fraction, 0 to 1.
        "alpha": alpha(info),
        // Segments that the peer reported as marked.
        "delivered_ce_segs": t.counters.delivered_ce_segs,
        // Payload bytes that the peer reported as marked: by AccECN options exactly.
        "delivered_ce_bytes": t.counters.delivered_ce_bytes,
        // Packets received with CE, with Accurate ECN; payload bytes received with CE.
        "received_ce_pkts": t.received_ce_pkts,
        "received_ce_bytes": t.received_ce_bytes,
        "data_segs_out": t.counters.data_segs_out,
        "bytes_retrans": t.counters.bytes_retrans,
        "fast_retransmits": t.counters.fast_retransmits,
        "rto_count": t.counters.rto_count,
        "ecn_reductions": t.counters.ecn_reductions,
        // Memory of the transport, without payload, bytes.
        "memory": info.memory,
    })
}

#[derive(Serialize)]
struct Report {
    device: String,
    addresses: Vec<String>,
    mtu: u16,
    tcp: String,
    /// The kernel's congestion control and `tcp_ecn`, if this command created the namespace.
    kernel: Option<[String; 2]>,
    /// `up`: the client sends; `down`: the server sends; `both`: connections differ.
    direction: &'static str,
    bytes: u64,
    seconds: f64,
    bits_per_second: f64,
    checksums_agree: bool,
    /// Connections as seen by the client; the transport is ours, at whichever end it is.
    streams: Vec<Value>,
    /// Connections as seen by the server, if it is lowtide in this process.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    served: Vec<Value>,
    intervals: Vec<Value>,
    driver: Value,
    /// Network between the two, with `--through`.
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<NetworkReport>,
}

fn rate(bytes: u64, took: Duration) -> f64 {
    let seconds = took.as_secs_f64();
    if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
}

const fn name(direction: TransferDirection) -> &'static str {
    match direction {
        TransferDirection::Up => "up",
        TransferDirection::Down => "down",
    }
}

fn direction(load: &LoadPlan) -> &'static str {
    let has = |way| load.flows.iter().any(|flow| flow.direction == way);
    match (has(TransferDirection::Up), has(TransferDirection::Down)) {
        (true, true) => "both",
        (false, true) => name(TransferDirection::Down),
        _ => name(TransferDirection::Up),
    }
}

/// Our end of a connection: that of the client, or of the server among `served`.
fn our_info<'a>(s: &'a StreamReport, served: &'a [StreamReport]) -> Option<&'a ConnInfo> {
    let same = |other: &&StreamReport| s.local.is_some() && other.peer == s.local;
    s.info.as_ref().or_else(|| served.iter().find(same)?.info.as_ref())
}

fn stream_row(s: &StreamReport, info: Option<&ConnInfo>) -> Value {
    json!({
        "stream": s.number,
        "peer": s.peer.map(|p| p.to_string()),
        // Direction, as in `Report`; `null` if the connection was not established.
        "direction": s.direction.map(name),
        // Time of the opening since the start of the client.
        "start_seconds": s.start.as_secs_f64(),
        "bytes": s.bytes,
        "seconds": s.took.as_secs_f64(),
        "bits_per_second": rate(s.bytes, s.took),
        // Both ends have equal checksums; `null` if the other end reports none.
        "checksums_agree": s.outcome.and_then(|o| o.remote.map(|_| o.checksums_match())),
        "error": s.error.clone(),
        "transport": info.map(transport),
    })
}

/// Names what a connection lacks of its configuration: ECN that the peer refused, a control that
/// cannot work with this peer.
fn not_as_requested(config: &Config, info: &ConnInfo) -> Option<String> {
    let (t, mut lacks) = (&info.tcp, Vec::new());
    if config.ecn.requests_ecn() && t.ecn == EcnMode::Off {
        lacks.push("ECN was not negotiated".to_owned());
    } else if config.ecn.requests_accecn() && t.ecn == EcnMode::Classic {
        lacks.push("Accurate ECN was not negotiated, classic ECN was".to_owned());
    }
    if t.cc != config.cc {
        lacks.push(format!("`{}` ran in place of `{}`", t.cc, config.cc));
    }
    (!lacks.is_empty()).then(|| lacks.join(", and "))
}

/// Prints each difference from what was requested once, with the number of its connections.
fn show_not_as_requested<'a>(
    config: &Config,
    infos: impl Iterator<Item = &'a ConnInfo>,
    out: Output,
) -> Result<(), CommandError> {
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for text in infos.filter_map(|info| not_as_requested(config, info)) {
        *counts.entry(text).or_default() += 1;
    }
    counts.iter().try_for_each(|(text, count)| {
        let noun = if *count == 1 { "connection" } else { "connections" };
        out.text(&format!("! {count} {noun}: {text}"))
    })
}

fn interval_row(interval: &LoadInterval) -> Value {
    let sample = |s: &FlowSample| {
        json!({
            "stream": s.number,
            "bytes": s.bytes,
            "transport": s.info.as_ref().map(transport),
        })
    };
    json!({
        "start": interval.from.as_secs_f64(),
        "end": interval.to.as_secs_f64(),
        "bytes": interval.bytes(),
        "bits_per_second": rate(interval.bytes(), interval.to.saturating_sub(interval.from)),
        "streams": interval.samples.iter().map(sample).collect::<Vec<_>>(),
    })
}

/// Formats window, round trip, marks and retransmissions.
fn facts(info: Option<&ConnInfo>, sends: bool) -> String {
    let Some(info) = info else { return String::new() };
    let t = &info.tcp;
    if !sends {
        return format!("  marked {} kB  ecn {:?}", t.received_ce_bytes / 1000, t.ecn);
    }
    let srtt = t.srtt.map_or_else(|| "-".to_owned(), |d| format!("{:.3} ms", micros(d) / 1e3));
    let alpha = alpha(info).map_or_else(String::new, |a| format!("  alpha {a:.3}"));
    format!(
        "  retr {:>5} kB  cwnd {:>7.1} kB  srtt {srtt}{alpha}  marks {}",
        t.counters.bytes_retrans / 1000,
        t.snd_cwnd as f64 / 1e3,
        t.counters.delivered_ce_segs,
    )
}

fn amounts(bytes: u64, took: Duration) -> String {
    format!("{:>9.1} MB  {:>8.1} Mbit/s", bytes as f64 / 1e6, rate(bytes, took) / 1e6)
}

/// Prints a line for each connection, and their sum. With `other` the transports are those of the
/// server, not of the client.
pub(super) fn interval(interval: &LoadInterval, other: bool, out: Output) {
    if out.json {
        return;
    }
    let took = interval.to.saturating_sub(interval.from);
    let span = format!("{:>7.2}-{:<7.2} s", interval.from.as_secs_f64(), interval.to.as_secs_f64());
    for s in &interval.samples {
        let facts = facts(s.info.as_ref(), (s.direction == TransferDirection::Up) != other);
        // A closed pipe is reported when the result is printed.
        let _ = out.text(&format!("[{:>3}] {span} {}{facts}", s.number, amounts(s.bytes, took)));
    }
    if interval.samples.len() > 1 {
        let _ = out.text(&format!("[SUM] {span} {}", amounts(interval.bytes(), took)));
    }
}

/// Reason why a connection failed.
pub(super) fn stream_error(s: &StreamReport) -> String {
    let why = match (&s.error, s.outcome) {
        (Some(error), _) => error.clone(),
        (None, Some(o)) => match o.remote {
            None => "the other end did not confirm the data".to_owned(),
            Some(there) => format!(
                "the checksums differ: {} bytes, {:016x} here; {} bytes, {:016x} at the other end",
                o.local.bytes, o.local.digest, there.bytes, there.digest
            ),
        },
        (None, None) => "it is not finished".to_owned(),
    };
    format!("stream {}: {why}", s.number)
}

fn line(s: &StreamReport, sends: bool) -> String {
    let checked = match s.outcome {
        Some(o) if o.checksums_match() => "  checksums agree".to_owned(),
        Some(o) if o.remote.is_none() && s.direction == Some(TransferDirection::Down) => {
            String::new()
        }
        Some(o) if o.remote.is_none() && s.error.is_none() => String::new(),
        _ => format!("  {}", stream_error(s)),
    };
    let facts = facts(s.info.as_ref(), sends);
    format!(
        "[{:>3}] {:>15.3} s {}{facts}{checked}",
        s.number,
        s.took.as_secs_f64(),
        amounts(s.bytes, s.took)
    )
}

/// Prints the report of one served client.
pub(super) fn served(s: &StreamReport, config: &Config, out: Output) -> Result<(), CommandError> {
    if out.json {
        return out.json(&stream_row(s, s.info.as_ref()));
    }
    let peer = s.peer.map_or_else(String::new, |p| format!("{p} "));
    out.text(&format!("{peer}{}", line(s, s.direction == Some(TransferDirection::Down))))?;
    show_not_as_requested(config, s.info.iter(), out)
}

/// Prints the packets that a server dropped or answered without state, if any.
pub(super) fn dropped(stats: &LiveStats, out: Output) {
    let p = &stats.packets;
    let counts = [
        (p.martians, "packets from addresses that no other host has"),
        (p.multicast, "TCP packets for broadcast or multicast addresses"),
        (p.fragments, "fragments"),
        (p.backlog_full, "SYNs dropped beyond --half-open"),
        (p.cookies_sent, "SYNs beyond --half-open answered with cookies"),
    ];
    for (count, label) in counts.into_iter().filter(|(count, _)| *count > 0) {
        out.note(&format!("{count} {label}"));
    }
}

/// Prints the final report.
pub(super) fn report(
    host: &LiveHost,
    load: &LoadPlan,
    (report, served): (&LoadReport, &[StreamReport]),
    stats: &LiveStats,
    network: Option<NetworkReport>,
    out: Output,
) -> Result<(), CommandError> {
    let (bytes, packets) = (report.bytes(), &stats.packets);
    let cpu = stats.cpu.as_secs_f64();
    let per_gb = if bytes > 0 { cpu / (bytes as f64 / 1e9) } else { 0.0 };
    if out.json {
        let side = |s: &lowtide_live::DeviceNetwork| format!("{}/{}", s.local, s.prefix);
        let body = Report {
            device: host.plan.name.clone(),
            addresses: host.plan.networks.iter().map(side).collect(),
            mtu: host.plan.mtu,
            tcp: host.requested.clone(),
            kernel: host.kernel.clone(),
            direction: direction(load),
            bytes,
            seconds: report.took.as_secs_f64(),
            bits_per_second: rate(bytes, report.took),
            checksums_agree: report.all_verified(),
            streams: report.streams.iter().map(|s| stream_row(s, our_info(s, served))).collect(),
            served: served.iter().map(|s| stream_row(s, s.info.as_ref())).collect(),
            intervals: report.intervals.iter().map(interval_row).collect(),
            driver: json!({
                "packets_received": packets.received,
                "packets_sent": packets.sent,
                "malformed": packets.malformed,
                "bad_checksum": packets.bad_checksum,
                "fragments": packets.fragments,
                // Packets from addresses that no other host has.
                "martians": packets.martians,
                // Packets for broadcast and multicast addresses.
                "multicast": packets.multicast,
                "unsent": packets.unsent,
                // Packets whose offloaded checksum or segmentation was completed here.
                "checksum_partial": packets.checksum_partial,
                "backlog_full": packets.backlog_full,
                // SYNs beyond the limit of half-open connections that were answered with cookies.
                "cookies_sent": packets.cookies_sent,
                // Connections opened by such cookies.
                "cookies_accepted": packets.cookies_accepted,
                "cpu_seconds": cpu,
                "cpu_seconds_per_gb": per_gb,
            }),
            network,
        };
        return out.answer("lowtide.live/2", &body);
    }
    out.text("total")?;
    for s in &report.streams {
        out.text(&line(s, s.direction == Some(TransferDirection::Up)))?;
    }
    for s in served {
        out.text(&format!("served {}", line(s, s.direction == Some(TransferDirection::Down))))?;
    }
    if report.streams.len() > 1 {
        let took = report.took.as_secs_f64();
        out.text(&format!("[SUM] {took:>15.3} s {}", amounts(bytes, report.took)))?;
    }
    let infos = report.streams.iter().filter_map(|s| our_info(s, served));
    show_not_as_requested(&host.config, infos, out)?;
    if packets.checksum_partial > 0 {
        out.note(&format!(
            "{} packets arrived with offloaded checksum or segmentation: they hide marks and times of single \
             segments; turn offloads off at the peer (ethtool -K NAME tx off tso off gso off)",
            packets.checksum_partial
        ));
    }
    out.text(&format!("driver: {cpu:.3} s of CPU, {per_gb:.2} s per GB"))?;
    network.map_or(Ok(()), |rows| link_report::text(&rows, out))
}
