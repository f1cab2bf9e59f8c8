//! Arguments of `analyze`.

use std::path::PathBuf;

use clap::Args;
use lowtide_analysis::Condition;
use lowtide_units::{Duration, parse_duration};

pub(super) const EXAMPLES: &str = "\
The first line says what limited the transfer: `slow because: 62 % receive window, 30 % timeouts`,
`healthy`, or `undetermined` with the capture that would decide. Then reports each connection, the
one that lost the most time first: findings with frames and a Wireshark filter, time by state,
negotiated ECN, CE marks in each direction, length of ECE echoes, feedback of the receiver (RFC
3168, DCTCP, ODCTCP, AccECN), DCTCP's alpha by the ACKs, and the facts that this capture point hides.
docs/howto/analyze.md defines them. A capture at or near the sender shows most; 120 bytes of each
packet suffice. A damaged file is reported up to the damage, with exit status 1.

Examples:
  tcpdump -i eth0 -s 120 -w web.pcap tcp port 443; lowtide analyze web.pcap
  lowtide analyze web.pcap --flow 10.0.0.7:443 -o web        plots in web/analysis.html
  lowtide analyze web.pcap --json | jq '.flows[] | {flow, ecn, kind: .directions[0].feedback.kind}'
  lowtide analyze web.pcap --where port=443 --where cause=timeouts --top 5
  tcpdump -i eth0 -s 120 -c 10000 -w - tcp | lowtide analyze -
  lowtide analyze sender.pcapng receiver.pcapng              the path between two captures
  lowtide pcap out/run --flow 0 -o flow.pcapng; lowtide analyze flow.pcapng";

#[derive(Debug, Args)]
pub(crate) struct AnalyzeArgs {
    /// Capture file, pcapng or pcap, plain or compressed by gzip or zstd; `-` is stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// A second capture of the same connections, at another point of the path: clocks, one-way
    /// delays, losses and changes between the points are reported instead
    #[arg(value_name = "SECOND", conflicts_with_all = ["flow", "conditions", "top", "series", "out", "gain", "rto_min", "ss"])]
    pub(crate) second: Option<PathBuf>,
    /// Connections: a number, or an address, a port (`:80`) or both (`10.0.0.1:80`) of either end;
    /// default: all
    #[arg(long, value_name = "FLOW,...", value_delimiter = ',')]
    pub(crate) flow: Vec<String>,
    /// Connections that meet a condition: `host=ADDRESS` or `port=N` of either end, `cause=KIND`
    /// that the answer names, `verdict=limited`, `finding=KIND`. If repeated, all must hold
    #[arg(long = "where", value_name = "KEY=VALUE")]
    pub(crate) conditions: Vec<Condition>,
    /// Report the N connections that lost the most time; the causes are summed over all selected
    #[arg(long, value_name = "N", value_parser = top, conflicts_with = "all")]
    pub(crate) top: Option<usize>,
    /// JSON with values over time: goodput, bytes in flight, alpha
    #[arg(long)]
    pub(crate) series: bool,
    /// Output directory for analysis.html with plots, analysis.json and figures
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Gain g of alpha: a number above 0 and at most 1, or 1/N
    #[arg(long, value_name = "G", value_parser = gain, default_value = "1/16")]
    pub(crate) gain: f64,
    /// Minimum RTO of the senders; shorter gaps are not counted as timeouts
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "10 ms")]
    pub(crate) rto_min: Duration,
    /// Output of `ss -tinO` or `ss -tin` of a sender's host: its busy time, limits and
    /// retransmissions are compared with the capture
    #[arg(long, value_name = "FILE")]
    pub(crate) ss: Option<PathBuf>,
    /// Print all connections; default: the first 20
    #[arg(long)]
    pub(crate) all: bool,
}

fn top(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|n| *n > 0);
    number.ok_or_else(|| "expected a number of connections, at least 1".to_owned())
}

fn gain(text: &str) -> Result<f64, String> {
    let value = match text.split_once('/') {
        Some((a, b)) => {
            a.trim().parse::<f64>().ok().zip(b.trim().parse::<f64>().ok()).map(|(a, b)| a / b)
        }
        None => text.trim().parse().ok(),
    };
    match value {
        Some(g) if g > 0.0 && g <= 1.0 => Ok(g),
        _ => Err("expected a number above 0 and at most 1, as `0.0625` or `1/16`".to_owned()),
    }
}
