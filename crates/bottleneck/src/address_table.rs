//! Map from addresses to hosts.

use std::collections::BTreeMap;
use std::net::IpAddr;

use lowtide_net::HostId;

use crate::error::BottleneckError;

/// Networks by prefix length, longest first; IPv4 addresses are mapped into IPv6.
#[derive(Clone, Debug, Default)]
pub(crate) struct AddressTable(Vec<(u8, BTreeMap<u128, HostId>)>);

/// The address in 128 bits; IPv4 mapped into IPv6.
fn to_u128(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

fn network_of(address: u128, bits: u8) -> u128 {
    address & u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0)
}

impl AddressTable {
    /// Maps all addresses that share the first `bits` with `network` to `host`.
    ///
    /// # Errors
    /// They are mapped to another host, or `bits` exceeds the address length.
    pub(crate) fn add(
        &mut self,
        network: IpAddr,
        bits: u8,
        host: HostId,
    ) -> Result<(), BottleneckError> {
        let most = if network.is_ipv4() { 32 } else { 128 };
        if bits > most {
            return Err(BottleneckError::PrefixLength { network, bits, most });
        }
        let bits = bits + (128 - most);
        let index = self.0.iter().position(|(have, _)| *have <= bits).unwrap_or(self.0.len());
        if self.0.get(index).is_none_or(|(have, _)| *have != bits) {
            self.0.insert(index, (bits, BTreeMap::new()));
        }
        let before = self.0[index].1.insert(network_of(to_u128(network), bits), host);
        match before {
            Some(other) if other != host => Err(BottleneckError::DuplicateAddress { network }),
            _ => Ok(()),
        }
    }

    /// The host of `address`.
    pub(crate) fn find(&self, address: IpAddr) -> Option<HostId> {
        let address = to_u128(address);
        self.0.iter().find_map(|(bits, hosts)| hosts.get(&network_of(address, *bits)).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_wins() {
        let mut table = AddressTable::default();
        for (network, bits, host) in [
            ("10.77.0.0", 16, 0),
            ("10.77.0.7", 32, 1),
            ("10.77.3.0", 24, 2),
            ("fd77::", 64, 3),
            ("fd77::9", 128, 4),
        ] {
            table.add(network.parse().unwrap(), bits, HostId(host)).unwrap();
        }
        for (address, host) in [
            ("10.77.0.6", Some(0)),
            ("10.77.0.7", Some(1)),
            ("10.77.3.255", Some(2)),
            ("10.78.0.1", None),
            ("fd77::1", Some(3)),
            ("fd77::9", Some(4)),
            ("fd78::", None),
        ] {
            assert_eq!(table.find(address.parse().unwrap()), host.map(HostId), "{address}");
        }
        let duplicate = table.add("10.77.3.9".parse().unwrap(), 24, HostId(5)).unwrap_err();
        assert!(duplicate.to_string().contains("10.77.3.9"), "{duplicate}");
        assert!(table.add("10.0.0.1".parse().unwrap(), 33, HostId(5)).is_err());
        table.add("0.0.0.0".parse().unwrap(), 0, HostId(6)).unwrap();
        assert_eq!(table.find("1.2.3.4".parse().unwrap()), Some(HostId(6)));
    }
}
