//! Errors that prevent a run.

use std::fmt;

use lowtide_net::BlueprintError;

/// The reason why a [`crate::Setup`] cannot be run.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RunError {
    /// The network is invalid.
    Network(BlueprintError),
    /// The number of hosts in the network differs from the number of host settings.
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
    /// A query client is invalid.
    QueryClient {
        /// The query client.
        query_client: usize,
        /// The problem.
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
            Self::QueryClient { query_client, problem } => {
                write!(f, "query client {query_client}: {problem}")
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
