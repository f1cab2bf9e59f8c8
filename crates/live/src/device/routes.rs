//! Existing interfaces and routes in the namespace of this thread, read from `/proc`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use super::plan::{DevicePlan, overlaps};
use crate::error::LiveError;

const DEVICES: &str = "/proc/thread-self/net/dev";
const ROUTES_V4: &str = "/proc/thread-self/net/route";
const ADDRESSES_V6: &str = "/proc/thread-self/net/if_inet6";
const ROUTES_V6: &str = "/proc/thread-self/net/ipv6_route";

/// A route: network, prefix length, interface.
type Route = (IpAddr, u8, String);

/// Checks that nothing conflicts with `plan`.
///
/// # Errors
/// Its name is taken, or one of its networks overlaps with a route other than a default route.
pub(super) fn check(plan: &DevicePlan) -> Result<(), LiveError> {
    let taken = read(DEVICES)?
        .lines()
        .filter_map(|line| line.split_once(':'))
        .any(|(name, _)| name.trim() == plan.name);
    if taken {
        return Err(LiveError::NameTaken(plan.name.clone()));
    }
    let mut routes = v4(&read(ROUTES_V4)?);
    // A kernel without IPv6 has no such file.
    if Path::new(ROUTES_V6).exists() {
        routes.extend(v6(&read(ROUTES_V6)?));
    }
    for network in &plan.networks {
        let clash = routes.iter().find(|(route, bits, _)| {
            *bits > 0 && overlaps((*route, *bits), (network.local, network.prefix))
        });
        if let Some((route, bits, interface)) = clash {
            return Err(LiveError::RouteClash {
                route: format!("{route}/{bits}"),
                interface: interface.clone(),
                network: format!("{}/{}", network.local, network.prefix),
            });
        }
    }
    Ok(())
}

fn read(path: &str) -> Result<String, LiveError> {
    std::fs::read_to_string(path).map_err(|e| LiveError::system(format!("read {path}"), e))
}

/// Most checks for the addresses of a new interface, 1 ms apart.
const MAX_POLLS: u32 = 2000;

/// Waits until the IPv6 addresses of `plan` are no longer tentative. Until then one cannot bind to
/// them.
///
/// # Errors
/// The addresses do not become usable in time.
pub(super) fn wait_for_addresses(plan: &DevicePlan) -> Result<(), LiveError> {
    let ipv6 = |a: &IpAddr| match a {
        IpAddr::V6(v6) => Some(*v6),
        IpAddr::V4(_) => None,
    };
    let addresses: Vec<Ipv6Addr> = plan.networks.iter().filter_map(|s| ipv6(&s.peer)).collect();
    if addresses.is_empty() {
        return Ok(());
    }
    for _ in 0..MAX_POLLS {
        let usable = non_tentative_v6(&read(ADDRESSES_V6)?);
        if addresses.iter().all(|a| usable.contains(a)) {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let error = std::io::Error::from(std::io::ErrorKind::TimedOut);
    Err(LiveError::system(format!("give `{}` its IPv6 address", plan.name), error))
}

/// Parses lines of `if_inet6`: address, index, prefix length, scope, flags, interface.
fn non_tentative_v6(text: &str) -> Vec<Ipv6Addr> {
    const TENTATIVE: u32 = 0x40;
    let line = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let address = Ipv6Addr::from_bits(u128::from_str_radix(fields.first()?, 16).ok()?);
        let flags = u32::from_str_radix(fields.get(4)?, 16).ok()?;
        (flags & TENTATIVE == 0).then_some(address)
    };
    text.lines().filter_map(line).collect()
}

/// Parses lines of `route`: interface, destination and so on, numbers in native byte order.
fn v4(text: &str) -> Vec<Route> {
    let line = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |i: usize| u32::from_str_radix(fields.get(i)?, 16).ok();
        let network = Ipv4Addr::from_octets(number(1)?.to_ne_bytes());
        let mask = u32::from_be_bytes(number(7)?.to_ne_bytes());
        Some((IpAddr::V4(network), mask.leading_ones() as u8, (*fields.first()?).to_owned()))
    };
    text.lines().skip(1).filter_map(line).collect()
}

/// Parses lines of `ipv6_route`: destination, prefix length, and the interface last. Loopback,
/// multicast and link-local routes cannot conflict and are left out.
fn v6(text: &str) -> Vec<Route> {
    let line = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let network = Ipv6Addr::from_bits(u128::from_str_radix(fields.first()?, 16).ok()?);
        let bits = u8::from_str_radix(fields.get(1)?, 16).ok()?;
        let interface = (*fields.last()?).to_owned();
        let own = interface == "lo" || network.is_multicast() || network.is_unicast_link_local();
        (!own).then_some((IpAddr::V6(network), bits, interface))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_routes_are_parsed() {
        let text = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
                    eth0\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
                    eth0\t0002A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
        if cfg!(target_endian = "little") {
            let routes = v4(text);
            assert_eq!(routes[0].1, 0);
            assert_eq!(routes[1], ("192.168.2.0".parse().unwrap(), 24, "eth0".to_owned()));
        }
        let text = "fd770000000000000000000000000000 40 00000000000000000000000000000000 00 \
                    00000000000000000000000000000000 00000100 00000001 00000000 00000001 lt0\n\
                    fe800000000000000000000000000000 40 0 00 0 00000100 00000001 0 00000001 lt0\n";
        assert_eq!(v6(text), [("fd77::".parse().unwrap(), 64, "lt0".to_owned())]);
        let text = "fd770000000000000000000000000001 02 40 00 80 lt0\n\
                    fd780000000000000000000000000001 03 40 00 c0 lt1\n";
        assert_eq!(non_tentative_v6(text), ["fd77::1".parse::<Ipv6Addr>().unwrap()]);
        assert!(v4("x\n\nshort line\n").is_empty() && v6("\nzz 40 lt0\n").is_empty());
    }
}
