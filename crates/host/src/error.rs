//! Why a run cannot start.

use std::fmt;

use lowtide_net::BlueprintError;

/// Why a [`crate::Setup`] cannot be run.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RunError {
    /// The network does not hold together.
    Network(BlueprintError),
    /// The number of hosts differs between the network and their settings.
    HostCount {
        /// Hosts of the network.
        network: usize,
        /// Hosts with settings.
        settings: usize,
    },
    /// A flow names a host that does not exist, or the same host twice.
    FlowHosts {
        /// The flow.
        flow: usize,
    },
    /// An asker cannot be run.
    QueryClient {
        /// The asker.
        query_client: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(error) => error.fmt(f),
            Self::HostCount { network, settings } => {
                write!(f, "the network has {network} hosts, but {settings} have settings")
            }
            Self::QueryClient { query_client: asker, problem } => {
                write!(f, "asker {asker}: {problem}")
            }
            Self::FlowHosts { flow } => {
                write!(f, "flow {flow} must go from one host of the network to another")
            }
        }
    }
}

impl std::error::Error for RunError {}

impl From<BlueprintError> for RunError {
    fn from(error: BlueprintError) -> Self {
        Self::Network(error)
    }
}
