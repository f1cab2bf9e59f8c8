//! Errors of building a testbed or running in it.

use lowtide_bottleneck::BottleneckError;
use lowtide_host::RunError;
use lowtide_live::LiveError;
use thiserror::Error;

/// An error of a testbed.
#[derive(Debug, Error)]
pub enum TestbedError {
    /// A device or a namespace could not be created.
    #[error("host `{host}`: {error}")]
    Host {
        /// The host.
        host: String,
        /// The cause.
        error: LiveError,
    },
    /// A socket of a host failed.
    #[error("host `{host}`: {what}: {error}")]
    Socket {
        /// The host.
        host: String,
        /// The failed operation.
        what: &'static str,
        /// The system's error.
        error: std::io::Error,
    },
    /// A host's thread ended too early.
    #[error("the thread of host `{0}` ended before the run was over")]
    Ended(String),
    /// The traffic cannot be run.
    #[error(transparent)]
    Traffic(#[from] RunError),
    /// A command that configures a device failed.
    #[error("`{0}` failed: {1}")]
    Command(String, String),
    /// The kernel's bottleneck failed.
    #[error(transparent)]
    Kernel(#[from] lowtide_kernel::KernelError),
    /// The network failed.
    #[error(transparent)]
    Bottleneck(#[from] BottleneckError),
}
