//! `lowtide advise`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use lowtide_sizing::fabric::Goal;
use lowtide_switch_config::Vendor;
use lowtide_units::{Bytes, Fraction, Rate, parse_bytes, parse_fraction, parse_rate};

use super::switch_config::vendor;

pub(super) const EXAMPLES: &str = "\
The ports of a fabric fall into classes: those of one rate from one kind of switch to another, or to
hosts. Each class gets the least K at which few long DCTCP flows fill a line within one point of the
best K. This table of K, and larger ones, then run under the fabric's traffic with the same seeds.
docs/howto/advise.md defines each line of the output.

Examples:
  lowtide advise --hosts 25G --up 100G --load '50 %' --incast 32
  lowtide advise --racks 8 --hosts-per-rack 20 --hosts 10G --up 40G --spines 2 --load '20 %'
  lowtide advise mine.toml -s switch.memory='32 MB'      a scenario file, or an embedded scenario";

/// A fabric with its traffic.
#[derive(Debug, Args)]
pub(crate) struct AdviseArgs {
    /// Scenario file, or name of an embedded scenario; default: a leaf-spine fabric of the
    /// options
    #[arg(conflicts_with_all = ["racks", "hosts_per_rack", "hosts", "up", "spines", "buffer", "load",
        "sizes", "incast", "flows", "mtu"])]
    pub(crate) scenario: Option<String>,
    /// Racks
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) racks: u32,
    /// Hosts of each rack
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=128))]
    pub(crate) hosts_per_rack: u32,
    /// Rate of each host's link, as 25G
    #[arg(long, value_name = "RATE", default_value = "25G", value_parser = parse_rate)]
    pub(crate) hosts: Rate,
    /// Rate of each link between a leaf and a spine, as 100G
    #[arg(long, value_name = "RATE", default_value = "100G", value_parser = parse_rate)]
    pub(crate) up: Rate,
    /// Spines; default: the fewest without oversubscription
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=128))]
    pub(crate) spines: Option<u32>,
    /// Memory of each switch, as '16 MB', or a switch (`lowtide list switches`), as triumph
    #[arg(long, value_name = "SIZE|NAME", default_value = "16 MB")]
    pub(crate) buffer: String,
    /// Offered load, a share of the rate of the hosts' links
    #[arg(long, value_name = "SHARE", default_value = "30 %", value_parser = parse_fraction)]
    pub(crate) load: Fraction,
    /// Distribution of flow sizes (`lowtide list distributions`), or a file
    #[arg(long, value_name = "NAME", default_value = "web-search-654kb")]
    pub(crate) sizes: String,
    /// Servers that each query asks at once; 0 for none; default: 32, or all other hosts if these
    /// are fewer
    #[arg(long, value_name = "N")]
    pub(crate) incast: Option<u32>,
    /// Flows of each run
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    pub(crate) flows: u32,
    /// IP bytes of the largest packet of the hosts
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u32).range(576..=9216))]
    pub(crate) mtu: u32,
    /// Measure that decides between tables of K; default: the scenario's [question], else its
    /// queries, else the tail of short flows
    #[arg(long = "for", value_name = "GOAL", value_parser = goal())]
    pub(crate) goal: Option<Goal>,
    /// Share of the hosts that are `cubic` without ECN in a last comparison, at most 50 %; 0 leaves
    /// it out
    #[arg(long, value_name = "SHARE", default_value = "25 %", value_parser = tenants)]
    pub(crate) tenants: Fraction,
    /// Set a key of the scenario
    #[arg(short = 's', long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// CPU seconds that the runs may take by their estimate; more give more certainty
    #[arg(long, value_name = "SECONDS", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) budget: u64,
    /// Parallel runs; default: one per CPU
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,
    /// Operating system of the switches, whose configuration is printed
    #[arg(long, value_name = "NAME", default_value = "sonic", value_parser = vendor())]
    pub(crate) switch: Vendor,
    /// Ports of a class, for the configuration of a switch, as leaf-host=Ethernet0,Ethernet4; may
    /// be repeated
    #[arg(long, value_name = "CLASS=NAME,...")]
    pub(crate) ports: Vec<String>,
    /// Memory of each queue, for Junos, whose thresholds are percentages of it
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) queue_memory: Option<Bytes>,
    /// Directory for the knee figure (SVG, CSV), the advice (JSON), the scenario with the advised
    /// values, and the configuration of the switch; default: none are written
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

fn tenants(text: &str) -> Result<Fraction, String> {
    let share = parse_fraction(text).map_err(|e| e.to_string())?;
    let possible = share >= Fraction::ZERO && share <= Fraction::from_percent(50);
    possible.then_some(share).ok_or_else(|| format!("`{text}` is not a share from 0 to 50 %"))
}

fn goal() -> impl TypedValueParser<Value = Goal> {
    PossibleValuesParser::new(Goal::ALL.map(Goal::name)).try_map(|name| {
        let named = Goal::ALL.into_iter().find(|goal| goal.name() == name);
        named.ok_or("no such goal")
    })
}
