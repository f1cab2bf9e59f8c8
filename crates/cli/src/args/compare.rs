//! `lowtide compare`.

use clap::Args;

use super::MemoryArg;
use super::backend::{BackendArg, RealArgs};

pub(super) const EXAMPLES: &str = "\
A and B are run directories, scenario files or names of embedded scenarios. A scenario is run as by
`run`, into its own directory; finished runs are reused. Runs are paired by scheme, point and seed.
docs/howto/compare.md defines the verdicts.

Examples:
  lowtide compare runs/queue-buildup/1111aaaa runs/queue-buildup/2222bbbb
  lowtide compare queue-buildup --with 'switch.mark.k=65 pkt'         B is A with another K
  lowtide compare before.toml after.toml --fail-above 5% --metric fct_ms.p99
  lowtide compare queue-buildup-100m --backends sim,live,kernel       one scenario, three columns";

/// Results to compare.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Run directory, scenario file, or name of an embedded scenario
    pub(crate) a: String,
    /// As A; default: A with the keys of --with
    #[arg(required_unless_present_any = ["with", "backends"], conflicts_with = "backends")]
    pub(crate) b: Option<String>,
    /// More results, each compared with A
    pub(crate) more: Vec<String>,
    /// Run scenario A by each of these backends, and compare them with the first
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
    /// Number of seeds of scenarios that are run; default: that of the scenario
    #[arg(long, value_name = "N")]
    pub(crate) seeds: Option<u64>,
    /// Metrics of `summary.json` to compare, as `fct_ms.p99`, or `all`; default: the main metrics
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) metric: Vec<String>,
    /// Queues to compare; default: the longest of A on average
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) queue: Vec<String>,
    /// Shared buffers to compare, as `switch0.0`; default: the fullest of A
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) buffer_pool: Vec<String>,
    /// Pair a scheme of A with a scheme of B; default: by name
    #[arg(long = "pair", value_name = "A=B")]
    pub(crate) pair: Vec<String>,
    /// Exit with status 3 if the whole interval of a metric is worse by more than this share; five
    /// seeds or more; default: no limit
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) fail_above: Option<f64>,
    /// Tolerance of the verdict `same`: ratios of B to A up to this share above one, and the
    /// inverse
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "1%")]
    pub(crate) same: f64,
    #[command(flatten)]
    pub(crate) memory: MemoryArg,
    /// Parallel runs; default: one per CPU
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,
}

/// Parses a share as `5%`.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').map(str::trim);
    match number.and_then(|n| n.parse::<f64>().ok()) {
        Some(n) if n.is_finite() && n >= 0.0 => Ok(n / 100.0),
        _ => Err(format!("`{text}` is not a share: expected per cent, as 5%")),
    }
}
