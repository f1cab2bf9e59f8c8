//! A testbed whose namespaces have names, so that other programs can be run in them.
//!
//! Contract: one testbed at a time. A process that has it up holds a lock, which the system takes from it however it
//! ends. Before anything has a name, a state file says which names and which namespaces they will be; so whoever
//! comes next finds what was left behind, and takes away that and nothing else.

mod names;
mod shot;
mod state;
mod there;
mod up;

use std::path::{Path, PathBuf};

pub use there::Standing;
pub(crate) use there::gone;
pub use up::{Down, Up, down};

use thiserror::Error;

use crate::error::BedError;

/// Where a testbed keeps what it needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Places {
    /// The namespaces, as files: `ip netns` looks into `/run/netns`.
    pub names: PathBuf,
    /// State, lock and socket.
    pub state: PathBuf,
}

impl Default for Places {
    fn default() -> Self {
        Self { names: PathBuf::from("/run/netns"), state: PathBuf::from("/run/lowtide") }
    }
}

impl Places {
    /// Everything below one folder, where `ip netns` does not look.
    pub fn below(folder: &Path) -> Self {
        Self { names: folder.join("netns"), state: folder.to_path_buf() }
    }
}

/// Why there is no such testbed.
#[derive(Debug, Error)]
pub enum NamedError {
    /// Another process has one.
    #[error("a testbed is up already, by process {0}: `lowtide testbed down` ends it")]
    Up(u32),
    /// Nobody has one.
    #[error("no testbed is up: `lowtide testbed up SCENARIO` in another terminal makes one")]
    NotUp,
    /// Somebody else has a namespace of that name.
    #[error(
        "there is a network namespace `{0}` that this program did not make: remove it (`ip netns delete {0}`), or \
         rename the host"
    )]
    NotOurs(String),
    /// A host cannot give its name to a file.
    #[error(
        "the host `{0}` cannot give its name to a namespace: use letters, digits, `.`, `-` and `_`"
    )]
    Name(String),
    /// The state file cannot be read.
    #[error("{path} is no state of a testbed: {why}; remove it when no testbed is up")]
    State {
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
    Bed(#[from] BedError),
}

impl NamedError {
    /// For `map_err`.
    fn system(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |error| Self::System { what, error }
    }
}
