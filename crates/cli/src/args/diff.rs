//! What `diff` takes.

use clap::Args;

use super::RunSelectorArgs;

pub(super) const EXAMPLES: &str = "\
A and B are run directories, or scenarios by file or name; what is set with -s holds for B only, and without B
it is A again. Exit status 0 when nothing differs, 1 when something does.

To find the first difference both runs are made again several times; nothing must have been recorded.

Examples:
  lowtide diff out/a out/b                                 settings, digests and tables that differ
  lowtide diff out/a out/b --first-divergence --seed 2     when, where and with which packet it begins
  lowtide diff out/a --first-divergence --scheme sack,dctcp
  lowtide diff queue-buildup -s switch.mark.k='30 pkt' --first-divergence --scheme dctcp
  lowtide diff first-light --seed 1,2 --first-divergence   what the seed moves first";

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// A run directory, a scenario file, or the name of an embedded scenario
    pub(crate) a: String,
    /// The other one; A again without it
    pub(crate) b: Option<String>,
    /// Find the first instant, entity and packet in which the runs differ
    #[arg(long)]
    pub(crate) first_divergence: bool,
    /// Set a key of B, which must be a scenario
    #[arg(short = 's', long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Only this scheme, or A's and B's; all that both have without it
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',')]
    pub(crate) scheme: Vec<String>,
    /// The seed, or A's and B's; the first one without it
    #[arg(long, value_name = "N[,N]", value_delimiter = ',')]
    pub(crate) seed: Vec<u64>,
    /// The value of a swept key; the last point without it
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) at: Vec<String>,
}

impl DiffArgs {
    /// Which runs of A (0) or B (1).
    pub(crate) fn run_selector(&self, side: usize) -> RunSelectorArgs {
        RunSelectorArgs {
            scheme: self.scheme.get(side).or(self.scheme.last()).cloned(),
            seed: self.seed.get(side).or(self.seed.last()).copied(),
            at: self.at.clone(),
        }
    }

    /// Both sides are the same runs.
    pub(crate) fn nothing_to_compare(&self) -> bool {
        self.b.is_none() && self.set.is_empty() && self.scheme.len() < 2 && self.seed.len() < 2
    }
}
