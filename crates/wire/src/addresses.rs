//! The two IP addresses of a packet.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Source and destination, both of one family.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Addresses {
    /// IPv4.
    V4 {
        /// The sender.
        src: Ipv4Addr,
        /// The receiver.
        dst: Ipv4Addr,
    },
    /// IPv6.
    V6 {
        /// The sender.
        src: Ipv6Addr,
        /// The receiver.
        dst: Ipv6Addr,
    },
}

impl Addresses {
    /// The addresses of a packet from `src` to `dst`; `None` if their families differ.
    pub const fn between(src: IpAddr, dst: IpAddr) -> Option<Self> {
        match (src, dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => Some(Self::V4 { src, dst }),
            (IpAddr::V6(src), IpAddr::V6(dst)) => Some(Self::V6 { src, dst }),
            _ => None,
        }
    }

    /// Source and destination.
    pub const fn src_dst(self) -> (IpAddr, IpAddr) {
        match self {
            Self::V4 { src, dst } => (IpAddr::V4(src), IpAddr::V4(dst)),
            Self::V6 { src, dst } => (IpAddr::V6(src), IpAddr::V6(dst)),
        }
    }

    /// The addresses of a packet in the opposite direction.
    pub const fn reversed(self) -> Self {
        match self {
            Self::V4 { src, dst } => Self::V4 { src: dst, dst: src },
            Self::V6 { src, dst } => Self::V6 { src: dst, dst: src },
        }
    }
}
