//! Arguments of `papers`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::MemoryArg;

/// Parts of `papers`.
#[derive(Debug, Subcommand)]
pub(crate) enum PapersCommand {
    /// List the experiments of the papers
    List,
    /// Run experiments, judge the papers' claims, and draw their figures beside ours
    Reproduce(ReproduceArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ReproduceArgs {
    /// Experiments (`dctcp-fig1`), papers (`od`) or your own (`MY/ROW.toml`, with `ROW.expected.toml` beside it); all
    /// experiments of papers without a name
    #[arg(value_name = "PAPER[/ROW]")]
    pub(crate) rows: Vec<String>,
    /// The reduced form of each: it may leave a claim undecided
    #[arg(long)]
    pub(crate) quick: bool,
    /// Vary what the paper leaves open, too, where a claim is known to hang on it
    #[arg(long)]
    pub(crate) vary: bool,
    /// Number of seeds
    #[arg(long, value_name = "N")]
    pub(crate) seeds: Option<u64>,
    /// Runs at a time; all processors without it
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,
    #[command(flatten)]
    pub(crate) memory: MemoryArg,
    /// Where to write; `runs/papers` without it
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Forget finished runs instead of continuing
    #[arg(long)]
    pub(crate) afresh: bool,
}
