//! Why real packets cannot be had, and what to do about it.

use std::io;
use std::net::IpAddr;

use thiserror::Error;

/// Why a device, a namespace or a driver could not be set up, or stopped.
#[derive(Debug, Error)]
pub enum LiveError {
    /// A device that is not written as this crate reads it.
    #[error(
        "`{0}` is no device: write `tun:NAME`, with a name of 1 to 15 letters, digits, `-` or `_`"
    )]
    DeviceName(String),
    /// A kind of device that this version lacks.
    #[error("`{0}` is not here yet: use `tun:NAME`")]
    DeviceKind(&'static str),
    /// An address that is not written as this crate reads it.
    #[error("`{0}` is no address with a prefix: write for instance `10.77.0.2/24` or `fd77::2/64`")]
    Address(String),
    /// The kernel's address and ours are not in one network, or one and the same.
    #[error("{ours} and {kernels} must be two addresses of one network of {prefix} bits")]
    Pair {
        /// Ours.
        ours: IpAddr,
        /// The kernel's.
        kernels: IpAddr,
        /// Bits of the network.
        prefix: u8,
    },
    /// A route of a relay that is not written as this crate reads it.
    #[error(
        "`{0}` is no route: write `kernel:ADDRESS:PORT=ADDRESS:PORT` (accepted by the kernel, carried by lowtide) or \
         `lowtide:PORT=ADDRESS:PORT` (the reverse)"
    )]
    Route(String),
    /// Without the right to do so.
    #[error(
        "cannot {0}: that takes root (CAP_NET_ADMIN; CAP_SYS_ADMIN for a namespace of one's own)"
    )]
    NotAllowed(String),
    /// No TUN devices in this kernel or container.
    #[error("there is no /dev/net/tun: load the module `tun`, or give the container that device")]
    NoTun,
    /// Another program has a device of that name.
    #[error(
        "an interface `{0}` exists already: choose another name with `--device tun:NAME`, or remove it"
    )]
    NameTaken(String),
    /// The network of the new device overlaps with a route that is there.
    #[error("the route {route} by `{interface}` overlaps with {network}: choose other addresses")]
    RouteClash {
        /// The route.
        route: String,
        /// Its interface.
        interface: String,
        /// The network of the new device.
        network: String,
    },
    /// This is the machine's own network namespace, which is to be left alone.
    #[error(
        "this is the machine's own network namespace: use one of your own (`--netns new`, or `ip netns \
         add lt` and `ip netns exec lt lowtide live ...`), or say `--netns here`"
    )]
    OwnNamespace,
    /// Something that the system refused.
    #[error("cannot {what}: {error}")]
    System {
        /// What was tried.
        what: String,
        /// What the system says.
        error: io::Error,
    },
}

impl LiveError {
    /// The system refused to do `what`.
    pub(crate) fn system(what: impl Into<String>, error: io::Error) -> Self {
        let what = what.into();
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::NotAllowed(what),
            _ => Self::System { what, error },
        }
    }
}
