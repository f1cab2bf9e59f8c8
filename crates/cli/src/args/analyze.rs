//! What `analyze` takes.

use std::path::PathBuf;

use clap::Args;
use lowtide_units::{Duration, parse_duration};

pub(super) const EXAMPLES: &str = "\
Says for each connection, the worst first: whether ECN was agreed, who marked, how long echoes lasted, which
feedback the receiver speaks (RFC 3168, DCTCP, ODCTCP, AccECN), DCTCP's alpha as the ACKs give it, window collapse
and stuck ECE, timeouts, late ACKs, retransmissions, reordering, losses without marks, and what the place of the
capture cannot show. docs/analyze.md says how it is decided. A capture at or near the sender tells most; 120 bytes of each packet are enough. Exit status 1 when the file is damaged: what came
before is told all the same.

Examples:
  tcpdump -i eth0 -s 120 -w web.pcap tcp port 443; lowtide analyze web.pcap
  lowtide analyze web.pcap --flow 10.0.0.7:443 -o web        with plots: web/analysis.html
  lowtide analyze web.pcap --json | jq '.flows[] | {flow, ecn, kind: .directions[0].feedback.kind}'
  tcpdump -i eth0 -s 120 -c 10000 -w - tcp | lowtide analyze -
  lowtide pcap out/run --flow 0 -o flow.pcapng; lowtide analyze flow.pcapng";

#[derive(Debug, Args)]
pub(crate) struct AnalyzeArgs {
    /// A capture: pcapng or pcap; `-` is stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Only these connections: a number, an address, a port (`:80`), or both (`10.0.0.1:80`) of either end
    #[arg(long, value_name = "FLOW,...", value_delimiter = ',')]
    pub(crate) flow: Vec<String>,
    /// Directory for analysis.html with plots, analysis.json and the figures
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// The gain g of alpha: a number above 0 and at most 1, or 1/N
    #[arg(long, value_name = "G", value_parser = gain, default_value = "1/16")]
    pub(crate) gain: f64,
    /// Least retransmission timeout of the senders' stacks; nothing shorter is called a timeout
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "10 ms")]
    pub(crate) rto_min: Duration,
    /// Print every connection, not only the first 20
    #[arg(long)]
    pub(crate) all: bool,
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
