//! Errors of real packets, and what to do about them.

use std::io;
use std::net::IpAddr;

use lowtide_output::shell;
use thiserror::Error;

/// An error of setting up or running a device, a namespace or a driver.
#[derive(Debug, Error)]
pub enum LiveError {
    /// Device with invalid syntax.
    #[error(
        "`{0}` is not a device: write `tun:NAME` or `packet:NAME`, with a name of 1 to 15 letters, digits, `-` or `_`"
    )]
    DeviceName(String),
    /// AF_XDP is not supported.
    #[error(
        "`xdp:NAME` (AF_XDP) is not supported: use `packet:NAME`, which is as fast on a veth pair, where AF_XDP has to copy"
    )]
    Xdp,
    /// There is no interface of that name.
    #[error(
        "there is no interface `{0}` in this network namespace: `packet:NAME` uses an existing interface, `tun:NAME` creates one"
    )]
    NoInterface(String),
    /// The interface is down.
    #[error("the interface `{name}` is down: set it up first (`ip link set {} up`)", shell::word(.0), name = .0)]
    InterfaceDown(String),
    /// The link layer is neither Ethernet nor IP.
    #[error(
        "the interface `{0}` is neither Ethernet nor TUN: use one end of a veth pair, or `tun:NAME`"
    )]
    InterfaceKind(String),
    /// The MTU exceeds that of the interface.
    #[error(
        "packets of {wanted} bytes are too long for the interface `{name}`: use `--mtu {interface}`"
    )]
    Mtu {
        /// The interface.
        name: String,
        /// Its MTU, bytes.
        interface: u32,
        /// The configured MTU, bytes.
        wanted: u16,
    },
    /// The kernel has the address and would reset our connections.
    #[error(
        "the kernel has the address {address} itself, on `{interface}`, and would reset our connections: use another one, or \
         remove it there (`ip address del {address} dev {}`)", shell::word(.interface)
    )]
    AddressInUseByKernel {
        /// The address.
        address: IpAddr,
        /// The interface that has it.
        interface: String,
    },
    /// The kernel would forward our packets.
    #[error(
        "the kernel forwards packets of this interface and would forward those for lowtide: set net.{0} to 0"
    )]
    ForwardingEnabled(String),
    /// Address with invalid syntax.
    #[error(
        "`{0}` is not an address with a prefix: write for example `10.77.0.2/24` or `fd77::2/64`"
    )]
    Address(String),
    /// The kernel's address and ours are equal or in different networks.
    #[error("{ours} and {kernels} must be two addresses of one network of {prefix} bits")]
    AddressPair {
        /// Our address.
        ours: IpAddr,
        /// The kernel's address.
        kernels: IpAddr,
        /// Prefix length of the network.
        prefix: u8,
    },
    /// Relay route with invalid syntax.
    #[error(
        "`{0}` is not a route: write `kernel:ADDRESS:PORT=ADDRESS:PORT` (accepted by the kernel, carried by lowtide) or \
         `lowtide:PORT=ADDRESS:PORT` (the reverse)"
    )]
    RelayRoute(String),
    /// Unknown user, or root.
    #[error("`{0}` is not a user to run as: write NAME, UID or UID:GID of a user other than root")]
    User(String),
    /// Permission is missing.
    #[error("cannot {0}: that takes root (CAP_NET_ADMIN; CAP_SYS_ADMIN for a new namespace)")]
    PermissionDenied(String),
    /// No TUN devices in this kernel or container.
    #[error("there is no /dev/net/tun: load the module `tun`, or give the container that device")]
    NoTun,
    /// An interface of that name exists.
    #[error(
        "an interface `{0}` exists already: choose another name with `--device tun:NAME`, or remove it"
    )]
    NameTaken(String),
    /// The network of the new device overlaps with an existing route.
    #[error("the route {route} via `{interface}` overlaps with {network}: choose other addresses")]
    RouteClash {
        /// The route.
        route: String,
        /// Its interface.
        interface: String,
        /// The network of the new device.
        network: String,
    },
    /// This is the machine's own network namespace, which must not be changed by default.
    #[error(
        "this is the machine's own network namespace: use another one (`--netns new`, or `ip netns \
         add lt` and `ip netns exec lt lowtide live ...`), or use `--netns here`"
    )]
    HostNamespace,
    /// A system call failed.
    #[error("cannot {what}: {error}")]
    System {
        /// The action that failed.
        what: String,
        /// The system's error.
        error: io::Error,
    },
}

impl LiveError {
    /// An error of the action `what`.
    pub(crate) fn system(what: impl Into<String>, error: io::Error) -> Self {
        let what = what.into();
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::PermissionDenied(what),
            _ => Self::System { what, error },
        }
    }
}
