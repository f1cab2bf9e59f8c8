//! Errors that prevent a run.

use lowtide_net::BlueprintError;

/// The reason why a [`crate::Setup`] cannot be run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The network is invalid.
    #[error(transparent)]
    Network(#[from] BlueprintError),
    /// The number of hosts in the network differs from the number of host settings.
    #[error("the network has {network} hosts, but {settings} have settings")]
    HostCount {
        /// Hosts of the network.
        network: usize,
        /// Hosts with settings.
        settings: usize,
    },
    /// A flow names a host that does not exist, or the same host twice.
    #[error("flow {flow} must go from one host of the network to another")]
    FlowHosts {
        /// The flow.
        flow: usize,
    },
    /// A query client is invalid.
    #[error("query client {query_client}: {problem}")]
    QueryClient {
        /// The query client.
        query_client: usize,
        /// The problem.
        problem: &'static str,
    },
}
