//! Why real packets cannot be had, and what to do about it.

use std::io;
use std::net::IpAddr;

use thiserror::Error;

/// Why a device, a namespace or a driver could not be set up, or stopped.
#[derive(Debug, Error)]
pub enum LiveError {
    /// A device that is not written as this crate reads it.
    #[error(
        "`{0}` is no device: write `tun:NAME` or `packet:NAME`, with a name of 1 to 15 letters, digits, `-` or `_`"
    )]
    DeviceName(String),
    /// AF_XDP.
    #[error(
        "`xdp:NAME` (AF_XDP) is refused: use `packet:NAME`, which is as fast on a veth pair, where AF_XDP has to copy"
    )]
    Xdp,
    /// There is no interface of that name.
    #[error(
        "there is no interface `{0}` in this network namespace: `packet:NAME` is for one that is there, `tun:NAME` makes one"
    )]
    NoInterface(String),
    /// The interface is down.
    #[error("the interface `{0}` is down: set it up first (`ip link set {0} up`)")]
    InterfaceDown(String),
    /// Neither Ethernet nor IP is on its line.
    #[error(
        "the interface `{0}` is neither Ethernet nor TUN: use one end of a veth pair, or `tun:NAME`"
    )]
    InterfaceKind(String),
    /// Packets that are longer than the interface takes.
    #[error(
        "packets of {wanted} bytes are too long for the interface `{name}`: say `--mtu {interface}`"
    )]
    Mtu {
        /// The interface.
        name: String,
        /// Its MTU, bytes.
        interface: u32,
        /// The longest packets that were wanted, bytes.
        wanted: u16,
    },
    /// The kernel would answer, with RST.
    #[error(
        "the kernel has the address {address} itself, on `{interface}`, and would reset our connections: take another one, or \
         remove it there (`ip address del {address} dev {interface}`)"
    )]
    AddressInUseByKernel {
        /// The address.
        address: IpAddr,
        /// The interface that has it.
        interface: String,
    },
    /// The kernel would send our packets on.
    #[error(
        "the kernel forwards what comes in on this interface, and would send on what is for lowtide: set net.{0} to 0"
    )]
    ForwardingEnabled(String),
    /// An address that is not written as this crate reads it.
    #[error("`{0}` is no address with a prefix: write for instance `10.77.0.2/24` or `fd77::2/64`")]
    Address(String),
    /// The kernel's address and ours are not in one network, or one and the same.
    #[error("{ours} and {kernels} must be two addresses of one network of {prefix} bits")]
    AddressPair {
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
    RelayRoute(String),
    /// A user that there is not, or root.
    #[error("`{0}` is no user to go on as: write NAME, UID or UID:GID of one that is not root")]
    User(String),
    /// Without the right to do so.
    #[error(
        "cannot {0}: that takes root (CAP_NET_ADMIN; CAP_SYS_ADMIN for a namespace of one's own)"
    )]
    PermissionDenied(String),
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
    HostNamespace,
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
            io::ErrorKind::PermissionDenied => Self::PermissionDenied(what),
            _ => Self::System { what, error },
        }
    }
}
