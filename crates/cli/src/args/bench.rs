//! What `bench` takes.

use clap::Args;

use super::ThreadCount;

pub(super) const EXAMPLES: &str = "\
A row is the median of the runs, with the extremes of the processor time beside it; each benchmark runs in a
process of its own, so that its peak memory is its own. docs/performance.md says what is counted.

Examples:
  lowtide bench                                 a short list, a minute or so
  lowtide bench perm-128 'dumbbell-*' -n 3      these; `*` stands for anything
  lowtide bench --all --json                    everything (`lowtide list benchmarks`)";

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Which benchmarks, `*` for any letters; a short list without a name
    pub(crate) names: Vec<String>,
    /// All of them
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,
    /// How many times each, after one to warm up; the median is printed
    #[arg(short = 'n', long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) runs: u32,
    /// Threads of one run, or `auto` for all processors; fewer where more would not pay
    #[arg(long, value_name = "N|auto", default_value = "1")]
    pub(crate) threads: ThreadCount,
}
