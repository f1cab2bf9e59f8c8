//! Why a machine could not be had, and what to do about it.

use std::io;
use std::time::Duration;

use thiserror::Error;

/// Why a machine did not boot, or did not do what it was told.
#[derive(Debug, Error)]
pub enum UmlError {
    /// There is no kernel to boot.
    #[error(
        "there is no `linux.uml`: `apt-get install --no-install-recommends user-mode-linux` brings it (Debian, \
         Ubuntu), or `--kernel FILE` names one"
    )]
    NoKernel,
    /// Its modules are missing.
    #[error(
        "the modules of {kernel} should be in {folder}, and are not: they come with its package"
    )]
    NoModules {
        /// The kernel.
        kernel: String,
        /// Where they were looked for.
        folder: String,
    },
    /// A path or an argument that cannot be handed over.
    #[error(
        "`{0}` cannot be handed to the machine: it has to be text, and a path without spaces and quotes"
    )]
    InvalidArg(String),
    /// The guest could not do what it was told.
    #[error("inside the machine: {0}")]
    Guest(String),
    /// It ended without saying how.
    #[error("the machine ended by itself ({status}); its console says:\n{console}")]
    Died {
        /// How its process ended.
        status: String,
        /// The last lines of its console.
        console: String,
    },
    /// The kernel of the machine cannot restore the registers of this CPU.
    #[error(
        "this version of User Mode Linux cannot restore the registers of this CPU: their XSAVE area is larger than \
         its buffer, as with AMX; use `--kernel FILE` with a newer version, or another machine"
    )]
    UnsupportedXsave,
    /// It did not boot in time.
    #[error("the machine did not boot within {} s; its console says:\n{console}", .limit.as_secs())]
    BootTimeout {
        /// How long it had.
        limit: Duration,
        /// The last lines of its console.
        console: String,
    },
    /// The command took too long.
    #[error("the machine was stopped after {} s, before its command had ended", .0.as_secs())]
    Timeout(Duration),
    /// Something that the system refused.
    #[error("cannot {what}: {error}")]
    System {
        /// What was tried.
        what: String,
        /// What the system says.
        error: io::Error,
    },
}

impl UmlError {
    pub(crate) fn system(what: impl Into<String>, error: impl Into<io::Error>) -> Self {
        Self::System { what: what.into(), error: error.into() }
    }
}
