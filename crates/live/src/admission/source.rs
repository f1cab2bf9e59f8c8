//! Sources of connections.

use std::net::{IpAddr, Ipv6Addr};

/// Bits of an IPv6 address that name a network. A host has all addresses of its network.
const NETWORK_BITS: u32 = 64;

/// A source of connections: an IPv4 address, or an IPv6 network of 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Source(IpAddr);

impl From<IpAddr> for Source {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self(address.into()),
            IpAddr::V6(address) => {
                let network = address.to_bits() >> NETWORK_BITS << NETWORK_BITS;
                Self(Ipv6Addr::from_bits(network).into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_an_ipv4_address_or_an_ipv6_network() {
        let source = |text: &str| Source::from(text.parse::<IpAddr>().unwrap());
        assert_ne!(source("10.0.0.1"), source("10.0.0.2"));
        assert_eq!(source("10.0.0.1"), source("::ffff:10.0.0.1"));
        assert_eq!(source("2001:db8:0:1::1"), source("2001:db8::1:ffff:ffff:ffff:ffff"));
        assert_ne!(source("2001:db8:0:1::1"), source("2001:db8:0:2::1"));
    }
}
