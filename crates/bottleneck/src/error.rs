//! Errors of the bottleneck, and what to do about them.

use std::io;
use std::net::IpAddr;

use lowtide_live::LiveError;
use lowtide_net::BlueprintError;
use thiserror::Error;

/// An error of starting a bottleneck.
#[derive(Debug, Error)]
pub enum BottleneckError {
    /// Fault with invalid syntax.
    #[error(
        "`{0}` is not a fault: write KIND=SHARE with a share of 0 to 100 % and one of loss, duplicate, corrupt, ce, \
         bleach, as `loss=1%`, or `reorder=1%/2ms`"
    )]
    Fault(String),
    /// Faults or a port of an unknown host.
    #[error("there is no host of number {host}: the network has {hosts} hosts")]
    NoHost {
        /// Number of the host.
        host: u32,
        /// Number of hosts.
        hosts: usize,
    },
    /// Two ports for one host.
    #[error("host `{0}` has two ports: a host has one")]
    DuplicatePort(String),
    /// One address at two hosts.
    #[error("{network} is at two hosts: each host needs its own addresses")]
    DuplicateAddress {
        /// The address.
        network: IpAddr,
    },
    /// The prefix length exceeds the address length.
    #[error("{network}/{bits} is not a network: an address has {most} bits")]
    PrefixLength {
        /// Address of the network.
        network: IpAddr,
        /// Its prefix length.
        bits: u8,
        /// Length of the address, bits.
        most: u8,
    },
    /// The network is invalid.
    #[error(transparent)]
    Blueprint(#[from] BlueprintError),
    /// An error of a device or a namespace.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// A capture that cannot be written.
    #[error("cannot write the capture {path}: {error}")]
    Capture {
        /// Path of the file.
        path: String,
        /// The system's error.
        error: io::Error,
    },
    /// A system call failed.
    #[error("cannot {what}: {error}")]
    System {
        /// The action that failed.
        what: &'static str,
        /// The system's error.
        error: io::Error,
    },
}
