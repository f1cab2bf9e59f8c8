//! `lowtide plan`.

use clap::Args;
use lowtide_units::{Duration, Rate, parse_duration, parse_packets, parse_rate};

use super::MemoryArg;

pub(super) const EXAMPLES: &str = "\
The analysis is DCTCP (SIGCOMM 2010) §3.3 and §3.4: N endless, synchronised flows on one link.
docs/howto/plan.md defines each line of the output and explains how the simulation differs.

Examples:
  lowtide plan --rate 10Gbps --rtt 100us --flows 40
  lowtide plan --rate 10Gbps --rtt 170us --flows 2 --burst-packets 40pkt   bursts need a larger K
  lowtide plan --rate 10Gbps --rtt 100us --flows 10 --k 40pkt --g 1/16
  lowtide plan --rate 10Gbps --rtt 100us --flows 10 -s transport.sender.reduction=prr";

/// A link and the flows that share it.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// C: rate of the link, as 10Gbps
    #[arg(long, value_parser = parse_rate)]
    pub(crate) rate: Rate,
    /// Round trip of a full segment with empty queues, as 100us
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) rtt: Duration,
    /// N: number of long flows on the link
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) flows: u32,
    /// MTU: largest IP packet, bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1500,
          value_parser = clap::value_parser!(u32).range(576..=65_535))]
    pub(crate) mtu: u32,
    /// Burst of a host, packets sent back to back, as 40pkt; K and the buffer allow for it
    #[arg(long, value_name = "PACKETS", value_parser = packets,
          default_value = "0pkt")]
    pub(crate) burst_packets: u32,
    /// K, packets, as 65pkt; default: the least K that the analysis allows
    #[arg(long, value_name = "PACKETS", value_parser = packets)]
    pub(crate) k: Option<u32>,
    /// g, as 1/16; default: the largest power of two that the analysis allows
    #[arg(long, value_name = "1/2^n", value_parser = gain)]
    pub(crate) g: Option<u32>,
    /// Print the analysis only, without the simulation
    #[arg(long)]
    pub(crate) no_check: bool,
    /// Set a key of the simulated scenario
    #[arg(short = 's', long = "set", value_name = "KEY=VALUE", conflicts_with = "no_check")]
    pub(crate) set: Vec<String>,
    /// Number of seeds of the simulation
    #[arg(long, value_name = "N", conflicts_with = "no_check")]
    pub(crate) seeds: Option<u64>,
    #[command(flatten)]
    pub(crate) memory: MemoryArg,
    /// Parallel runs; default: one per CPU
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,
}

fn packets(text: &str) -> Result<u32, String> {
    let n = parse_packets(text).map_err(|e| e.to_string())?;
    u32::try_from(n).map_err(|_| format!("too many packets: expected at most {}", u32::MAX))
}

/// Parses a gain that is a power of two. Returns its shift, from 0 for 1 to 10 for 1/1024.
fn gain(text: &str) -> Result<u32, String> {
    let wrong = || format!("`{text}` is not a gain: expected 1/2^n, from 1 to 1/1024, as 1/16");
    let value = match text.split_once('/') {
        Some((one, of)) => {
            let part = |t: &str| t.trim().parse::<f64>().map_err(|_| wrong());
            part(one)? / part(of)?
        }
        None => text.parse::<f64>().map_err(|_| wrong())?,
    };
    (0..=10).find(|n| (0.5_f64.powi(*n as i32) - value).abs() < 1e-9).ok_or_else(wrong)
}
