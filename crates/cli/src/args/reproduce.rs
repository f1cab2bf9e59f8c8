//! Arguments of `papers`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::MemoryArg;

/// Parts of `papers`.
#[derive(Debug, Subcommand)]
pub(crate) enum PapersCommand {
    /// List the experiments of the papers
    List,
    /// Run experiments, judge the papers' claims, and plot the papers' figures beside ours
    Reproduce(ReproduceArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ReproduceArgs {
    /// Experiments (`dctcp-fig1`), papers (`od`) or own experiments (`MY/ROW.toml`, with
    /// `ROW.expected.toml` beside it); default: all experiments of the papers
    #[arg(value_name = "PAPER[/ROW]")]
    pub(crate) rows: Vec<String>,
    /// Run the reduced form of each experiment, which may leave claims undecided
    #[arg(long)]
    pub(crate) quick: bool,
    /// Also vary parameters that the paper leaves open and on which a claim depends
    #[arg(long)]
    pub(crate) vary: bool,
    /// Number of seeds; default: that of each experiment
    #[arg(long, value_name = "N")]
    pub(crate) seeds: Option<u64>,
    /// Double the seeds of an experiment while a claim is undecided for want of seeds, up to N
    #[arg(long, value_name = "N", conflicts_with_all = ["quick", "seeds"])]
    pub(crate) decide: Option<u64>,
    /// Parallel runs; default: one per CPU
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,
    #[command(flatten)]
    pub(crate) memory: MemoryArg,
    /// Output directory; default: `runs/papers`
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Discard finished runs instead of continuing
    #[arg(long)]
    pub(crate) afresh: bool,
}
