//! Why there is no bottleneck, and what to do about it.

use std::io;
use std::net::IpAddr;

use lowtide_live::LiveError;
use lowtide_net::BlueprintError;
use thiserror::Error;

/// Why a bottleneck could not be started.
#[derive(Debug, Error)]
pub enum BottleneckError {
    /// A fault that is not written as this crate reads it.
    #[error(
        "`{0}` is no fault: write KIND=SHARE with a share of 0 to 100 % and one of loss, duplicate, corrupt, ce, \
         bleach, as `loss=1%`, or `reorder=1%/2ms`"
    )]
    Fault(String),
    /// Faults or a port of a host that there is not.
    #[error("there is no host of number {host}: the network has {hosts} hosts")]
    NoHost {
        /// Its number.
        host: u32,
        /// How many there are.
        hosts: usize,
    },
    /// Two ports for one host.
    #[error("host `{0}` has two ports: a host has one")]
    DuplicatePort(String),
    /// One address at two hosts.
    #[error("{network} is at two hosts: each needs addresses of its own")]
    DuplicateAddress {
        /// It.
        network: IpAddr,
    },
    /// A network longer than its addresses.
    #[error("{network}/{bits} is no network: an address has {most} bits")]
    PrefixLength {
        /// Its address.
        network: IpAddr,
        /// What was said.
        bits: u8,
        /// The most.
        most: u8,
    },
    /// The network cannot be.
    #[error(transparent)]
    Blueprint(#[from] BlueprintError),
    /// A device or a namespace.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// A capture that cannot be written.
    #[error("cannot write the capture {path}: {error}")]
    Capture {
        /// Where to.
        path: String,
        /// What the system says.
        error: io::Error,
    },
    /// Something that the system refused.
    #[error("cannot {what}: {error}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system says.
        error: io::Error,
    },
}
