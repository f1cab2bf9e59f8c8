//! Validates the addresses of arriving packets.
//!
//! Contract: segments with an invalid source are ignored (RFC 9293 §3.10.7.2, MUST-63), as are SYNs
//! to a broadcast or multicast address (§3.9.2.3, MUST-57). RFC 1122 §3.2.1.3 lists the invalid
//! addresses. A source that is one of our own addresses is invalid as well, for any port. No device
//! of this crate loops packets back, so such a source is forged. LAND (CVE-1999-0016) is the case
//! in which the ports are equal too.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Classification of an arriving packet by its addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AddressVerdict {
    /// From a valid host, for us.
    Local,
    /// The source cannot be another host: a martian (RFC 1812 §5.3.7).
    Martian,
    /// For a multicast or broadcast address.
    Multicast,
    /// For another host.
    NotLocal,
}

/// Our addresses, and the broadcast addresses of our networks.
#[derive(Debug, Default)]
pub(super) struct AddressFilter {
    locals: Vec<IpAddr>,
    /// Network and broadcast address of each IPv4 network that has them.
    broadcasts: Vec<[Ipv4Addr; 2]>,
}

impl AddressFilter {
    pub(super) const fn new(locals: Vec<IpAddr>) -> Self {
        Self { locals, broadcasts: Vec::new() }
    }

    /// Adds a network of ours: the first `prefix` bits of `address`. Networks of 31 and 32 bits
    /// have no broadcast address (RFC 3021), nor has IPv6.
    pub(super) fn add_network(&mut self, address: IpAddr, prefix: u8) {
        let IpAddr::V4(address) = address else { return };
        if prefix < 31 {
            let hosts = u32::MAX.checked_shr(u32::from(prefix)).unwrap_or(0);
            let network = Ipv4Addr::from_bits(address.to_bits() & !hosts);
            // All-zeros is an old form of the broadcast address (RFC 1122 §3.3.6).
            self.broadcasts.push([network, Ipv4Addr::from_bits(network.to_bits() | hosts)]);
        }
    }

    pub(super) fn locals(&self) -> &[IpAddr] {
        &self.locals
    }

    /// Classifies a packet from `source` for `destination`.
    pub(super) fn classify(&self, source: IpAddr, destination: IpAddr) -> AddressVerdict {
        if !self.is_host(source) || self.locals.contains(&source) {
            AddressVerdict::Martian
        } else if self.is_multicast_or_broadcast(destination) {
            AddressVerdict::Multicast
        } else if self.locals.contains(&destination) {
            AddressVerdict::Local
        } else {
            AddressVerdict::NotLocal
        }
    }

    /// Whether `address` may be that of another host, so that one may connect to it (RFC 9293
    /// §3.9.1.1, MUST-46).
    pub(super) fn is_host(&self, address: IpAddr) -> bool {
        let reserved = match address {
            // "This network" (0/8) and loopback; from 224 on: multicast, class E, limited
            // broadcast.
            IpAddr::V4(v4) => matches!(v4.octets()[0], 0 | 127 | 224..),
            IpAddr::V6(v6) => {
                v6.is_unspecified() || v6.is_loopback() || v6.is_multicast() || is_mapped(v6)
            }
        };
        !reserved && !self.is_broadcast(address)
    }

    fn is_multicast_or_broadcast(&self, address: IpAddr) -> bool {
        let limited = address == IpAddr::V4(Ipv4Addr::BROADCAST);
        address.is_multicast() || limited || self.is_broadcast(address)
    }

    fn is_broadcast(&self, address: IpAddr) -> bool {
        let IpAddr::V4(v4) = address else { return false };
        self.broadcasts.iter().any(|both| both.contains(&v4))
    }
}

/// IPv4-mapped addresses (`::ffff:0:0/96`) must not appear on the wire (RFC 4942 §2.2).
const fn is_mapped(v6: Ipv6Addr) -> bool {
    v6.to_ipv4_mapped().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classified(source: &str, destination: &str) -> AddressVerdict {
        let locals = ["10.77.0.2", "192.0.2.0", "fd77::2"].map(|a| a.parse().unwrap());
        let mut filter = AddressFilter::new(locals.to_vec());
        for (address, prefix) in [("10.77.0.2", 24), ("192.0.2.0", 31), ("fd77::2", 64)] {
            filter.add_network(address.parse().unwrap(), prefix);
        }
        filter.classify(source.parse().unwrap(), destination.parse().unwrap())
    }

    #[test]
    fn rfc1122_3_2_1_3_sources_that_no_other_host_has_are_martians() {
        for source in [
            "0.0.0.0",
            "0.1.2.3",
            "127.0.0.1",
            "127.255.255.254",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "10.77.0.255",
            "10.77.0.0",
            "10.77.0.2",
        ] {
            assert_eq!(classified(source, "10.77.0.2"), AddressVerdict::Martian, "{source}");
        }
        for source in ["::", "::1", "ff02::1", "ff0e::7", "::ffff:10.0.0.1", "fd77::2"] {
            assert_eq!(classified(source, "fd77::2"), AddressVerdict::Martian, "{source}");
        }
        for (source, local) in [
            ("10.77.0.1", "10.77.0.2"),
            ("10.77.1.255", "10.77.0.2"),
            ("1.0.0.1", "10.77.0.2"),
            ("223.255.255.254", "10.77.0.2"),
            ("169.254.1.1", "10.77.0.2"),
            // A network of two hosts has no broadcast address.
            ("192.0.2.1", "192.0.2.0"),
            ("fe80::1", "fd77::2"),
            ("fd77::", "fd77::2"),
        ] {
            assert_eq!(classified(source, local), AddressVerdict::Local, "{source}");
        }
    }

    #[test]
    fn multicast_and_broadcast_differ_from_other_hosts() {
        for (source, to) in [
            ("10.77.0.1", "10.77.0.255"),
            ("10.77.0.1", "10.77.0.0"),
            ("10.77.0.1", "255.255.255.255"),
            ("10.77.0.1", "224.0.0.1"),
            ("fd77::1", "ff02::1"),
        ] {
            assert_eq!(classified(source, to), AddressVerdict::Multicast, "{to}");
        }
        assert_eq!(classified("10.77.0.1", "10.77.1.255"), AddressVerdict::NotLocal);
        assert_eq!(classified("fd77::1", "fd77::3"), AddressVerdict::NotLocal);
    }
}
