//! Arguments of `bench`.

use clap::Args;

use super::{MemoryArg, ThreadCount};

pub(super) const EXAMPLES: &str = "\
A row is the median of the runs, with minimum and maximum of the CPU time. Each benchmark runs in a
separate process, so peak memory is per benchmark. docs/explanation/performance.md defines the
columns.

Examples:
  lowtide bench                                 a short list, about a minute
  lowtide bench perm-128 'dumbbell-*' -n 3      these; `*` matches any characters
  lowtide bench --all --json                    all (`lowtide list benchmarks`)";

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Benchmarks; `*` matches any characters; default: a short list
    pub(crate) names: Vec<String>,
    /// Run all benchmarks
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,
    /// Runs of each benchmark, after one to warm up; the median is printed
    #[arg(short = 'n', long, default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) runs: u32,
    /// Most threads of a run; `auto`: one per CPU. A run takes fewer if more do not pay
    #[arg(long, value_name = "N|auto", default_value = "1")]
    pub(crate) threads: ThreadCount,
    #[command(flatten)]
    pub(crate) memory: MemoryArg,
}
