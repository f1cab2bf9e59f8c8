//! Configuration of a device: its name, its MTU, and the addresses on both ends.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::error::LiveError;

/// A network on a device, with one address of lowtide and one of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceNetwork {
    /// The address of lowtide's TCP.
    pub local: IpAddr,
    /// The kernel's address, on the interface.
    pub peer: IpAddr,
    /// Prefix length of the network.
    pub prefix: u8,
}

impl DeviceNetwork {
    /// Parses our address with a prefix length (`10.77.0.2/24`). The kernel's address is the first
    /// one of the network, or the second if ours is the first.
    ///
    /// # Errors
    /// `text` is not an address with a prefix length, or the network has no room for two hosts.
    pub fn parse(text: &str) -> Result<Self, LiveError> {
        let bad = || LiveError::Address(text.to_owned());
        let (address, prefix) = text.split_once('/').ok_or_else(bad)?;
        let ours = IpAddr::from_str(address).map_err(|_| bad())?;
        let prefix: u8 = prefix.parse().map_err(|_| bad())?;
        let bits = if ours.is_ipv4() { 32 } else { 128 };
        if prefix == 0 || prefix > bits - 2 {
            return Err(bad());
        }
        let candidate = |n: u128| match ours {
            IpAddr::V4(v4) => {
                let mask = u32::MAX << (32 - u32::from(prefix));
                IpAddr::V4(Ipv4Addr::from_bits((v4.to_bits() & mask) | n as u32))
            }
            IpAddr::V6(v6) => {
                let mask = u128::MAX << (128 - u32::from(prefix));
                IpAddr::V6(Ipv6Addr::from_bits((v6.to_bits() & mask) | n))
            }
        };
        let peer = if candidate(1) == ours { candidate(2) } else { candidate(1) };
        Ok(Self { local: ours, peer, prefix })
    }

    /// Replaces the kernel's address.
    ///
    /// # Errors
    /// The address is ours, or outside the network.
    pub fn with_peer(self, kernels: IpAddr) -> Result<Self, LiveError> {
        if kernels == self.local || !self.contains(kernels) {
            let Self { local: ours, prefix, .. } = self;
            return Err(LiveError::AddressPair { ours, kernels, prefix });
        }
        Ok(Self { peer: kernels, ..self })
    }

    /// Whether `address` belongs to this network.
    pub fn contains(&self, address: IpAddr) -> bool {
        overlaps((self.local, self.prefix), (address, if address.is_ipv4() { 32 } else { 128 }))
    }
}

/// Whether two networks have an address in common.
pub(super) fn overlaps(a: (IpAddr, u8), b: (IpAddr, u8)) -> bool {
    let prefix = u32::from(a.1.min(b.1));
    match (a.0, b.0) {
        (IpAddr::V4(x), IpAddr::V4(y)) => {
            prefix == 0 || (x.to_bits() ^ y.to_bits()) >> (32 - prefix) == 0
        }
        (IpAddr::V6(x), IpAddr::V6(y)) => {
            prefix == 0 || (x.to_bits() ^ y.to_bits()) >> (128 - prefix) == 0
        }
        _ => false,
    }
}

/// Type of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceKind {
    /// A TUN interface that is created (`tun:`); the kernel has the peer addresses on it.
    Tun,
    /// An existing interface (`packet:`, AF_PACKET); the peer addresses are those of the gateways.
    Packet,
}

/// Configuration of a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DevicePlan {
    /// Type of the device.
    pub kind: DeviceKind,
    /// Name of the interface.
    pub name: String,
    /// Largest IP packet, bytes: at most the MTU of the interface.
    pub mtu: u16,
    /// Its networks, at least one.
    pub networks: Vec<DeviceNetwork>,
    /// Whether several segments may be one packet between the kernel and us. If not, every segment
    /// has its own ECN mark, stamp and acknowledgement.
    pub offload: bool,
    /// Most bytes of the receive ring of an existing interface; zero for none. There is none with
    /// `offload`.
    pub rx_ring: usize,
}

/// Default of [`DevicePlan::rx_ring`]: 2048 packets of 1500 bytes. Larger rings are slower, because
/// the kernel uses all slots in turn and they leave the cache.
const RX_RING: usize = 4 << 20;

impl DevicePlan {
    /// Parses a device (`tun:lt0`, `packet:eth0`) with these networks.
    ///
    /// # Errors
    /// The type is unknown, or Linux does not accept the name.
    pub fn parse(text: &str, mtu: u16, networks: Vec<DeviceNetwork>) -> Result<Self, LiveError> {
        let bad = || LiveError::DeviceName(text.to_owned());
        let (kind, name) = text.split_once(':').ok_or_else(bad)?;
        let kind = match kind {
            "tun" => DeviceKind::Tun,
            "packet" => DeviceKind::Packet,
            "xdp" => return Err(LiveError::Xdp),
            _ => return Err(bad()),
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > 15 || !name.chars().all(plain) {
            return Err(bad());
        }
        Ok(Self { kind, name: name.to_owned(), mtu, networks, offload: false, rx_ring: RX_RING })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peer_address_is_another_one_of_the_network() {
        let network = DeviceNetwork::parse("10.77.0.2/24").unwrap();
        assert_eq!(network.peer.to_string(), "10.77.0.1");
        assert_eq!(DeviceNetwork::parse("10.77.0.1/30").unwrap().peer.to_string(), "10.77.0.2");
        assert_eq!(DeviceNetwork::parse("fd77::9/64").unwrap().peer.to_string(), "fd77::1");
        assert!(network.contains("10.77.0.255".parse().unwrap()));
        assert!(!network.contains("10.77.1.0".parse().unwrap()));
        assert!(!network.contains("fd77::1".parse().unwrap()));
        assert!(network.with_peer("10.77.0.9".parse().unwrap()).is_ok());
        for bad in ["10.77.0.2", "10.77.1.9"] {
            assert!(network.with_peer(bad.parse().unwrap()).is_err(), "{bad}");
        }
        for bad in ["10.77.0.2", "10.77.0.2/31", "10.77.0.2/0", "fd77::1/129", "x/3", "1.2.3.4/-1"]
        {
            assert!(DeviceNetwork::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn unknown_device_types_are_rejected() {
        let plan = |text| DevicePlan::parse(text, 1500, Vec::new()).map_err(|e| e.to_string());
        assert_eq!(plan("tun:lt0").unwrap().name, "lt0");
        assert_eq!(plan("packet:eth0").unwrap().kind, DeviceKind::Packet);
        assert!(plan("xdp:eth0").unwrap_err().contains("AF_XDP"));
        for bad in ["tun", "tun:", "tun:a/b", "tun:0123456789abcdef", "tap:x"] {
            assert!(plan(bad).unwrap_err().contains("tun:NAME"), "{bad}");
        }
    }
}
