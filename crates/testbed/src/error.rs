//! Why a testbed could not be built, or a run in it failed.

use lowtide_bottleneck::BottleneckError;
use lowtide_live::LiveError;
use thiserror::Error;

/// What went wrong.
#[derive(Debug, Error)]
pub enum TestbedError {
    /// A device or a namespace could not be had.
    #[error("host `{host}`: {error}")]
    Host {
        /// The host.
        host: String,
        /// Why.
        error: LiveError,
    },
    /// A socket of a host failed.
    #[error("host `{host}`: {what}: {error}")]
    Socket {
        /// The host.
        host: String,
        /// What was tried.
        what: &'static str,
        /// What the system says.
        error: std::io::Error,
    },
    /// The thread of a host has ended before it should.
    #[error("host `{0}` has ended before the run was over")]
    Ended(String),
    /// The network could not be run.
    #[error(transparent)]
    Bottleneck(#[from] BottleneckError),
}
