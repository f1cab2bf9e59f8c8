//! Arguments of `diff`.

use clap::Args;

use super::{MemoryArg, RunSelectorArgs};

pub(super) const EXAMPLES: &str = "\
A and B are run directories, scenario files or names of embedded scenarios. -s sets keys of B only.
Without B, A is compared with itself under other keys, schemes or seeds. Exit status: 0 if the runs
are equal, 1 if they differ.

--first-divergence repeats both runs several times and needs no recorded traces.

Examples:
  lowtide diff out/a out/b                                 settings, digests, tables that differ
  lowtide diff out/a out/b --first-divergence --seed 2     time, entity and packet where they part
  lowtide diff out/a --first-divergence --scheme sack,dctcp
  lowtide diff queue-buildup -s switch.mark.k='30 pkt' --first-divergence --scheme dctcp
  lowtide diff first-light --seed 1,2 --first-divergence   first effect of the seed";

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// Run directory, scenario file, or name of an embedded scenario
    pub(crate) a: String,
    /// As A; default: A
    pub(crate) b: Option<String>,
    /// Find the first time, entity and packet in which the runs differ
    #[arg(long)]
    pub(crate) first_divergence: bool,
    /// Set a key of B, which must be a scenario
    #[arg(short = 's', long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Scheme of both, or those of A and B; default: all schemes that both have
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',')]
    pub(crate) scheme: Vec<String>,
    /// Seed of both, or those of A and B; default: the first
    #[arg(long, value_name = "N[,N]", value_delimiter = ',')]
    pub(crate) seed: Vec<u64>,
    /// Value of a swept key; default: the last point
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) at: Vec<String>,
    #[command(flatten)]
    pub(crate) memory: MemoryArg,
}

impl DiffArgs {
    /// Selects the runs of A (0) or B (1).
    pub(crate) fn run_selector(&self, side: usize) -> RunSelectorArgs {
        RunSelectorArgs {
            scheme: self.scheme.get(side).or(self.scheme.last()).cloned(),
            seed: self.seed.get(side).or(self.seed.last()).copied(),
            at: self.at.clone(),
        }
    }

    /// True if both sides are the same runs.
    pub(crate) fn nothing_to_compare(&self) -> bool {
        self.b.is_none() && self.set.is_empty() && self.scheme.len() < 2 && self.seed.len() < 2
    }
}
