//! Errors of a machine, and how to correct them.

use std::io;
use std::time::Duration;

use thiserror::Error;

/// Error of booting a machine or running a command in it.
#[derive(Debug, Error)]
pub enum UmlError {
    /// No kernel was found.
    #[error(
        "there is no `linux.uml`: install it with `apt-get install --no-install-recommends user-mode-linux` (Debian, \
         Ubuntu), or `--kernel FILE` names one"
    )]
    NoKernel,
    /// The kernel's modules are missing.
    #[error("the modules of {kernel} are missing in {folder}: they are part of its package")]
    NoModules {
        /// The kernel.
        kernel: String,
        /// Expected folder.
        folder: String,
    },
    /// A path or an argument that cannot be passed to the machine.
    #[error(
        "`{0}` cannot be passed to the machine: it must be UTF-8, and a path without spaces and quotes"
    )]
    InvalidArg(String),
    /// The guest reported an error.
    #[error("inside the machine: {0}")]
    Guest(String),
    /// The machine ended without an answer.
    #[error("the machine ended without an answer ({status}); its console says:\n{console}")]
    Died {
        /// Exit status of its process.
        status: String,
        /// The last lines of its console.
        console: String,
    },
    /// The machine's kernel cannot restore the registers of this CPU.
    #[error(
        "this version of User Mode Linux cannot restore the registers of this CPU: their XSAVE area is larger than \
         its buffer, as with AMX; use `--kernel FILE` with a newer version, or another machine"
    )]
    UnsupportedXsave,
    /// It did not boot in time.
    #[error("the machine did not boot within {} s; its console says:\n{console}", .limit.as_secs())]
    BootTimeout {
        /// Time limit.
        limit: Duration,
        /// The last lines of its console.
        console: String,
    },
    /// The command exceeded its time limit.
    #[error("the machine was stopped after {} s, before its command ended", .0.as_secs())]
    Timeout(Duration),
    /// Stdout cannot be written to.
    #[error("cannot forward the command's output to stdout: {0}")]
    Stdout(io::Error),
    /// A system call failed.
    #[error("cannot {what}: {error}")]
    System {
        /// The failed operation.
        what: String,
        /// The system's error.
        error: io::Error,
    },
}

impl UmlError {
    pub(crate) fn system(what: impl Into<String>, error: impl Into<io::Error>) -> Self {
        Self::System { what: what.into(), error: error.into() }
    }
}
