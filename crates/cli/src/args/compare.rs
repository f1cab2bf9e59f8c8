//! `lowtide compare`.

use clap::Args;

use super::backend::{BackendArg, RealArgs};

pub(super) const EXAMPLES: &str = "\
A and B are run directories, scenario files or names of embedded scenarios; a scenario is run as `run`
does it, into its own directory, and not again if it is there. Runs are paired by scheme, point and
seed. docs/compare.md defines the verdicts.

Examples:
  lowtide compare runs/queue-buildup/1111aaaa runs/queue-buildup/2222bbbb
  lowtide compare queue-buildup --with 'switch.mark.k=65 pkt'         a scenario with its changed self
  lowtide compare before.toml after.toml --fail-above 5% --metric fct_ms.p99
  lowtide compare queue-buildup-100m --backends sim,live,kernel       one scenario, three columns";

/// Two sets of results.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// A run directory, a scenario file, or the name of an embedded scenario
    pub(crate) a: String,
    /// The same; with --with it may be left out, and is A with those keys changed
    #[arg(required_unless_present_any = ["with", "backends"], conflicts_with = "backends")]
    pub(crate) b: Option<String>,
    /// More of them, each held against A
    pub(crate) more: Vec<String>,
    /// Run the scenario A by each of these, and hold them against the first
    #[arg(long, value_enum, value_name = "A,B,...", value_delimiter = ',', num_args = 1,
          conflicts_with_all = ["with", "fail_above"])]
    pub(crate) backends: Vec<BackendArg>,
    #[command(flatten)]
    pub(crate) real: RealArgs,
    /// Set a key of B only
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) with: Vec<String>,
    /// Set a key of A and B
    #[arg(short = 's', long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Number of seeds of what is run
    #[arg(long, value_name = "N")]
    pub(crate) seeds: Option<u64>,
    /// Compare this metric of `summary.json`, as fct_ms.p99; `all` for every one
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) metric: Vec<String>,
    /// Compare this queue; the longest one of A on average without it
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) queue: Vec<String>,
    /// Compare this buffer pool that queues share, as switch0.0; the fullest one of A without it
    #[arg(long, alias = "memory", value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) buffer_pool: Vec<String>,
    /// Pair this scheme of A with that one of B
    #[arg(long = "pair", value_name = "A=B")]
    pub(crate) pair: Vec<String>,
    /// End with status 3 if a metric got worse by more than this, its whole interval beyond it
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) fail_above: Option<f64>,
    /// A difference whose whole interval lies within this is `same`
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "1%")]
    pub(crate) same: f64,
    /// Runs at a time; all processors without it
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,
}

/// A share as `5%`.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').map(str::trim);
    match number.and_then(|n| n.parse::<f64>().ok()) {
        Some(n) if n.is_finite() && n >= 0.0 => Ok(n / 100.0),
        _ => Err(format!("`{text}` is no share: expected per cent, as 5%")),
    }
}
