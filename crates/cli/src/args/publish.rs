//! Arguments of `bundle` and `cite`, which prepare results for a paper.

use std::path::PathBuf;

use clap::Args;

pub(super) const BUNDLE_EXAMPLES: &str = "\
The archive (tar.gz) has the tables, the page, the figures, the scenario as run, and a README with
the command that repeats the runs and the digest that it prints. Equal directories give equal
archives. Exit status of --verify: 0 if everything is as stated, 1 if not, 2 for a file that is no
such archive or exceeds its bounds. --repeat runs only the simulations that follow from the results.

Examples:
  lowtide bundle out                                    writes SCENARIO-HASH.tar.gz
  lowtide bundle out -o artefact.tar.gz
  lowtide bundle --verify artefact.tar.gz               checks all hashes and the digest
  lowtide bundle --verify artefact.tar.gz --repeat      also runs it again";

#[derive(Debug, Args)]
pub(crate) struct BundleArgs {
    /// Run directory, which must be complete; with --verify an archive
    #[arg(value_name = "DIR|FILE")]
    pub(crate) path: PathBuf,
    /// Archive to write; default: `SCENARIO-HASH.tar.gz` here. With --verify a new directory to
    /// unpack into; default: a temporary one
    #[arg(short, long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Check an archive instead of writing one
    #[arg(long)]
    pub(crate) verify: bool,
    /// Also repeat the runs of the archive and compare the digests
    #[arg(long, requires = "verify")]
    pub(crate) repeat: bool,
}

pub(super) const CITE_EXAMPLES: &str = "\
Examples:
  lowtide cite >>paper.bib                   the tool
  lowtide cite dctcp cubic >>paper.bib       the sources of two schemes
  lowtide cite od-fig5.1 >>paper.bib         the paper of an experiment";

#[derive(Debug, Args)]
pub(crate) struct CiteArgs {
    /// Schemes, congestion controls, markers ..., papers or experiments (`lowtide list`); default:
    /// the tool
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
}
