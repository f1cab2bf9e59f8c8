//! A testbed with named namespaces, in which other programs can run.
//!
//! Contract: one testbed at a time. Its process holds a lock, which the system releases however the
//! process ends. A state file lists the names and namespaces before any name is created. A later
//! process can therefore find and remove what was left behind, and nothing else.

mod backend;
mod netns_names;
mod snapshot;
mod state;
mod up;

use std::path::{Path, PathBuf};

pub use backend::PersistentBackend;
pub use up::{PersistentTestbed, TeardownReport, down};

use thiserror::Error;

use crate::error::TestbedError;

/// Paths of a testbed's files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestbedPaths {
    /// The namespaces as files: `ip netns` uses `/run/netns`.
    pub netns_dir: PathBuf,
    /// State, lock and socket.
    pub state_dir: PathBuf,
}

impl Default for TestbedPaths {
    fn default() -> Self {
        Self { netns_dir: PathBuf::from("/run/netns"), state_dir: PathBuf::from("/run/lowtide") }
    }
}

impl TestbedPaths {
    /// All paths below one folder, where `ip netns` does not look.
    pub fn below(folder: &Path) -> Self {
        Self { netns_dir: folder.join("netns"), state_dir: folder.to_path_buf() }
    }
}

/// Errors of a persistent testbed.
#[derive(Debug, Error)]
pub enum PersistentError {
    /// Another process has a testbed up.
    #[error("a testbed is up already, by process {0}: `lowtide testbed down` ends it")]
    AlreadyUp(u32),
    /// No testbed is up.
    #[error("no testbed is up: `lowtide testbed up SCENARIO` in another terminal makes one")]
    NotUp,
    /// Another program has a namespace of that name.
    #[error(
        "there is a network namespace `{0}` that this program did not make: remove it (`ip netns delete {0}`), or \
         rename the host"
    )]
    ForeignNetns(String),
    /// The host's name is not a valid file name.
    #[error(
        "the host name `{0}` cannot be the name of a namespace: use letters, digits, `.`, `-` and `_`"
    )]
    InvalidName(String),
    /// The state file cannot be read.
    #[error("{path} is not a state file of a testbed: {why}; remove it if no testbed is up")]
    InvalidState {
        /// Path of the file.
        path: String,
        /// The cause.
        why: String,
    },
    /// The testbed is up with another network.
    #[error(
        "the testbed is up with the network of `{up}`, and this scenario has another one: `lowtide testbed down`, then \
         `up` with this one"
    )]
    OtherNetwork {
        /// The scenario of the testbed that is up.
        up: String,
    },
    /// The process of the testbed does not end.
    #[error("process {0}, which owns the testbed, does not end")]
    DoesNotEnd(u32),
    /// A privilege is missing.
    #[error("cannot {0}: that takes root (CAP_SYS_ADMIN and CAP_NET_ADMIN)")]
    PermissionDenied(String),
    /// A system call failed.
    #[error("cannot {what}: {error}")]
    System {
        /// The failed operation.
        what: String,
        /// The system's error.
        error: std::io::Error,
    },
    /// The testbed could not be built.
    #[error(transparent)]
    Testbed(#[from] TestbedError),
}

impl PersistentError {
    /// Conversion for `map_err`.
    fn system(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |error| match error.kind() {
            std::io::ErrorKind::PermissionDenied => Self::PermissionDenied(what),
            _ => Self::System { what, error },
        }
    }
}
