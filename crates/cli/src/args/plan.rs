//! `lowtide plan`.

use clap::Args;
use lowtide_units::{Duration, Rate, parse_packets, parse_rate};

use super::time;

pub(super) const EXAMPLES: &str = "\
The analysis is DCTCP (SIGCOMM 2010) §3.3 and §3.4: N endless flows in phase over one line. docs/plan.md
says what each line of the answer is and where the simulation differs.

Examples:
  lowtide plan --rate 10Gbps --rtt 100us --flows 40
  lowtide plan --rate 10Gbps --rtt 170us --flows 2 --burst-packets 40pkt  hosts that burst need a larger K
  lowtide plan --rate 10Gbps --rtt 100us --flows 10 --k 40pkt --g 1/16
  lowtide plan --rate 10Gbps --rtt 100us --flows 10 -s transport.sender.reduction=prr";

/// A link, and who shares it.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// C: the rate of the line, as 10Gbps
    #[arg(long, value_parser = rate)]
    pub(crate) rate: Rate,
    /// The round trip of a full segment over empty queues, as 100us
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) rtt: Duration,
    /// N: long flows that share the line
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) flows: u32,
    /// The largest IP packet, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1500,
          value_parser = clap::value_parser!(u32).range(576..=65_535))]
    pub(crate) mtu: u32,
    /// Packets that a host sends back to back, as 40pkt: K and the buffer allow for them
    #[arg(long, alias = "bursts", value_name = "PACKETS", value_parser = packets, default_value = "0pkt")]
    pub(crate) burst_packets: u32,
    /// K, where it is given, as 65pkt; the least one that the analysis allows without it
    #[arg(long, value_name = "PACKETS", value_parser = packets)]
    pub(crate) k: Option<u32>,
    /// g, where it is given, as 1/16; the greatest power of two that the analysis allows without it
    #[arg(long, value_name = "1/2^n", value_parser = gain)]
    pub(crate) g: Option<u32>,
    /// The analysis alone, without the simulation
    #[arg(long)]
    pub(crate) no_check: bool,
    /// Set a key of the simulated scenario
    #[arg(short = 's', long = "set", value_name = "KEY=VALUE", conflicts_with = "no_check")]
    pub(crate) set: Vec<String>,
    /// Number of seeds of the simulation
    #[arg(long, value_name = "N", conflicts_with = "no_check")]
    pub(crate) seeds: Option<u64>,
    /// Runs at a time; all processors without it
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,
}

fn rate(text: &str) -> Result<Rate, String> {
    parse_rate(text).map_err(|e| e.to_string())
}

fn packets(text: &str) -> Result<u32, String> {
    let n = parse_packets(text).map_err(|e| e.to_string())?;
    u32::try_from(n).map_err(|_| "that is more packets than a queue can hold".to_owned())
}

/// The shift of a gain that is a power of two, from 0 for 1 to 10 for 1/1024.
fn gain(text: &str) -> Result<u32, String> {
    let wrong = || format!("`{text}` is no gain: expected 1/2^n, from 1 to 1/1024, as 1/16");
    let value = match text.split_once('/') {
        Some((one, of)) => {
            let part = |t: &str| t.trim().parse::<f64>().map_err(|_| wrong());
            part(one)? / part(of)?
        }
        None => text.parse::<f64>().map_err(|_| wrong())?,
    };
    (0..=10).find(|n| (0.5_f64.powi(*n as i32) - value).abs() < 1e-9).ok_or_else(wrong)
}
