//! `lowtide kernel stats` and `watch`: sockets as a table, as JSON, and as metrics of Prometheus.

use std::fmt::Write as _;

use lowtide_kernel::SocketView;
use serde::Serialize;

use crate::error::CommandError;
use crate::output::Output;

#[derive(Serialize)]
struct SocketEntry {
    netns: u64,
    control: String,
    fell_back: bool,
    state: &'static str,
    local: String,
    remote: String,
    ecn: &'static str,
    delivered: u32,
    delivered_ce: u32,
    cwnd_bytes: u32,
    snd_cwnd: u32,
    ssthresh_bytes: Option<u32>,
    alpha: f64,
    cuts: u32,
    ece_acks: u32,
    leaps: u32,
    srtt_us: u32,
}

#[derive(Serialize)]
struct KernelStatsOutput {
    schema: &'static str,
    sockets: Vec<SocketEntry>,
}

pub(super) fn show(sockets: Vec<SocketView>, out: Output) -> Result<(), CommandError> {
    if out.json {
        let sockets = sockets.into_iter().map(entry).collect();
        return out.json(&KernelStatsOutput { schema: "lowtide.kernel-stats/1", sockets });
    }
    if sockets.is_empty() {
        return out.text("no socket uses a twin");
    }
    table(&sockets, out)
}

fn entry(socket: SocketView) -> SocketEntry {
    SocketEntry {
        netns: socket.netns,
        control: socket.control,
        fell_back: socket.fell_back,
        state: socket.state,
        local: socket.local.to_string(),
        remote: socket.remote.to_string(),
        ecn: socket.ecn,
        delivered: socket.delivered,
        delivered_ce: socket.delivered_ce,
        cwnd_bytes: socket.cwnd,
        snd_cwnd: socket.snd_cwnd,
        ssthresh_bytes: socket.ssthresh,
        alpha: socket.alpha,
        cuts: socket.cuts,
        ece_acks: socket.marked_acks,
        leaps: socket.leaps,
        srtt_us: socket.srtt_us,
    }
}

fn table(sockets: &[SocketView], out: Output) -> Result<(), CommandError> {
    let header = [
        "twin",
        "state",
        "local",
        "remote",
        "ECN",
        "delivered",
        "CE",
        "alpha",
        "cwnd",
        "ssthresh",
        "cuts",
        "CE ACKs",
        "leaps",
        "srtt us",
    ];
    let row = |s: &SocketView| {
        let fell_back = if s.fell_back { " (no ECN)" } else { "" };
        let control = format!("{}{fell_back}", s.control);
        let mut row = vec![control, s.state.to_owned(), s.local.to_string(), s.remote.to_string()];
        if s.state != "listen" {
            row.extend([s.ecn.to_owned(), s.delivered.to_string(), s.delivered_ce.to_string()]);
            let ssthresh = s.ssthresh.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
            row.extend([format!("{:.3}", s.alpha), s.snd_cwnd.to_string(), ssthresh]);
            row.extend([s.cuts, s.marked_acks, s.leaps, s.srtt_us].map(|n| n.to_string()));
        }
        row.resize(header.len(), String::new());
        row
    };
    let rows: Vec<Vec<String>> = sockets.iter().map(row).collect();
    out.table(&header, &[5, 6, 7, 8, 9, 10, 11, 12, 13], &rows)
}

/// A metric: name without its prefix, type, help, and value of a socket.
type Metric = (&'static str, &'static str, &'static str, fn(&SocketView) -> f64);

const METRICS: &[Metric] = &[
    ("fell_back", "gauge", "1: ECN was not negotiated, and the twin became reno.", |s| {
        f64::from(u8::from(s.fell_back))
    }),
    ("delivered_segments_total", "counter", "Segments that were delivered.", |s| {
        f64::from(s.delivered)
    }),
    ("delivered_ce_segments_total", "counter", "Delivered segments that were marked.", |s| {
        f64::from(s.delivered_ce)
    }),
    ("alpha", "gauge", "DCTCP's alpha.", |s| s.alpha),
    ("cwnd_segments", "gauge", "Congestion window.", |s| f64::from(s.snd_cwnd)),
    ("cuts_total", "counter", "Window reductions for ECN.", |s| f64::from(s.cuts)),
    ("leaps_total", "counter", "Windows of the kernel above the written one.", |s| {
        f64::from(s.leaps)
    }),
];

/// Returns the sockets in Prometheus's text format, one series per connection and metric.
pub(super) fn prometheus(sockets: &[SocketView]) -> String {
    let mut out = String::new();
    for (name, kind, help, value) in METRICS {
        let name = format!("lowtide_kernel_{name}");
        // Writing to a string cannot fail.
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for s in sockets.iter().filter(|s| s.state != "listen") {
            let _ = writeln!(
                out,
                "{name}{{control=\"{}\",ecn=\"{}\",netns=\"{}\",local=\"{}\",remote=\"{}\"}} {}",
                s.control,
                s.ecn,
                s.netns,
                s.local,
                s.remote,
                value(s)
            );
        }
    }
    out
}
