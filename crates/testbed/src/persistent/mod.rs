//! A testbed whose namespaces have names, so that other programs can be run in them.
//!
//! Contract: one testbed at a time. A process that has it up holds a lock, which the system takes from it however it
//! ends. Before anything has a name, a state file says which names and which namespaces they will be; so whoever
//! comes next finds what was left behind, and takes away that and nothing else.

mod backend;
mod netns_names;
mod snapshot;
mod state;
mod up;

use std::path::{Path, PathBuf};

pub use backend::PersistentBackend;
pub(crate) use backend::lost_interface;
pub use up::{PersistentTestbed, TeardownReport, down};

use thiserror::Error;

use crate::error::TestbedError;

/// Where a testbed keeps what it needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestbedPaths {
    /// The namespaces, as files: `ip netns` looks into `/run/netns`.
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
    /// Everything below one folder, where `ip netns` does not look.
    pub fn below(folder: &Path) -> Self {
        Self { netns_dir: folder.join("netns"), state_dir: folder.to_path_buf() }
    }
}

/// Why there is no such testbed.
#[derive(Debug, Error)]
pub enum PersistentError {
    /// Another process has one.
    #[error("a testbed is up already, by process {0}: `lowtide testbed down` ends it")]
    AlreadyUp(u32),
    /// Nobody has one.
    #[error("no testbed is up: `lowtide testbed up SCENARIO` in another terminal makes one")]
    NotUp,
    /// Somebody else has a namespace of that name.
    #[error(
        "there is a network namespace `{0}` that this program did not make: remove it (`ip netns delete {0}`), or \
         rename the host"
    )]
    ForeignNetns(String),
    /// A host cannot give its name to a file.
    #[error(
        "the host `{0}` cannot give its name to a namespace: use letters, digits, `.`, `-` and `_`"
    )]
    InvalidName(String),
    /// The state file cannot be read.
    #[error("{path} is no state of a testbed: {why}; remove it when no testbed is up")]
    InvalidState {
        /// Which.
        path: String,
        /// Why.
        why: String,
    },
    /// The testbed is up with another network.
    #[error(
        "the testbed is up with the network of `{up}`, and this scenario has another one: `lowtide testbed down`, then \
         `up` with this one"
    )]
    OtherNetwork {
        /// The scenario that it is up with.
        up: String,
    },
    /// The process that has it does not end.
    #[error("process {0}, which has the testbed, does not end")]
    DoesNotEnd(u32),
    /// Something that the system refused.
    #[error("cannot {what}: {error}")]
    System {
        /// What was tried.
        what: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// It could not be built.
    #[error(transparent)]
    Testbed(#[from] TestbedError),
}

impl PersistentError {
    /// For `map_err`.
    fn system(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |error| Self::System { what, error }
    }
}
