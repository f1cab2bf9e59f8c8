//! `lowtide testbed`.

use std::path::PathBuf;

use clap::Subcommand;

use super::{UmlArgs, uml};

/// What `lowtide testbed` does.
#[derive(Debug, Subcommand)]
pub(crate) enum TestbedCommand {
    /// Run a command of lowtide inside User Mode Linux: a kernel with its own DCTCP, RED and netem
    #[command(after_long_help = uml::EXAMPLES)]
    Uml(UmlArgs),
    /// The first process of such a machine
    #[command(hide = true)]
    UmlGuest {
        /// The folder of its job
        folder: PathBuf,
        /// What the kernel adds
        #[arg(hide = true)]
        rest: Vec<String>,
    },
}
