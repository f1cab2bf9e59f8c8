//! The interfaces and routes that are there, as `/proc` shows them for the namespace of this thread.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use super::plan::{DevicePlan, overlaps};
use crate::error::LiveError;

const DEVICES: &str = "/proc/thread-self/net/dev";
const ROUTES_V4: &str = "/proc/thread-self/net/route";
const ADDRESSES_V6: &str = "/proc/thread-self/net/if_inet6";
const ROUTES_V6: &str = "/proc/thread-self/net/ipv6_route";

/// A route: network, bits, interface.
type Route = (IpAddr, u8, String);

/// Nothing that is there stands in the way of `plan`.
///
/// # Errors
/// Its name is taken, or one of its networks overlaps with a route that is no default route.
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
    for side in &plan.networks {
        let clash = routes.iter().find(|(network, bits, _)| {
            *bits > 0 && overlaps((*network, *bits), (side.local, side.prefix))
        });
        if let Some((network, bits, interface)) = clash {
            return Err(LiveError::RouteClash {
                route: format!("{network}/{bits}"),
                interface: interface.clone(),
                network: format!("{}/{}", side.local, side.prefix),
            });
        }
    }
    Ok(())
}

fn read(path: &str) -> Result<String, LiveError> {
    std::fs::read_to_string(path).map_err(|e| LiveError::system(format!("read {path}"), e))
}

/// Looks for the addresses of a new interface, a millisecond apart, before it is given up.
const MAX_POLLS: u32 = 2000;

/// Waits until the kernel has finished with the IPv6 addresses of `plan`: it takes them for tentative at first, and
/// nothing can be bound to them meanwhile.
///
/// # Errors
/// They do not come.
pub(super) fn wait_for_addresses(plan: &DevicePlan) -> Result<(), LiveError> {
    let wanted = |a: &IpAddr| match a {
        IpAddr::V6(v6) => Some(*v6),
        IpAddr::V4(_) => None,
    };
    let wanted: Vec<Ipv6Addr> = plan.networks.iter().filter_map(|s| wanted(&s.peer)).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    for _ in 0..MAX_POLLS {
        let settled = non_tentative_v6(&read(ADDRESSES_V6)?);
        if wanted.iter().all(|a| settled.contains(a)) {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let error = std::io::Error::from(std::io::ErrorKind::TimedOut);
    Err(LiveError::system(format!("give `{}` its IPv6 address", plan.name), error))
}

/// Lines of `if_inet6`: address, index, bits, scope, flags, interface.
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

/// Lines of `route`: interface, destination and so on, numbers in the byte order of the machine.
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

/// Lines of `ipv6_route`: destination, its bits, and the interface last. What is only there for the loopback,
/// for multicast or link-local addresses is no network that could clash.
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
    fn routes_are_read_as_the_kernel_writes_them() {
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
