//! Namespaces and devices of a star: a veth pair between the switch and each host.

use std::net::{IpAddr, Ipv4Addr};

use lowtide_host::Setup;
use lowtide_kernel::KernelBottleneck;
use lowtide_live::LiveError;
use lowtide_live::links::{Links, VethEnd};
use lowtide_live::netns::{Namespace, set_sysctl};
use lowtide_net::LinkSpec;

use super::{check, shaper};
use crate::error::TestbedError;
use crate::hosts::INTERFACE;
use crate::plan::{HostPlan, PREFIX};

/// The namespaces of a star.
pub(super) struct Devices {
    pub(super) switch: Namespace,
    /// By host.
    pub(super) hosts: Vec<Namespace>,
    /// The ports of the switch hold packets until their departure times.
    pub(super) departure_times: bool,
}

/// Makes the switch and its hosts.
pub(super) fn make(
    setup: &Setup,
    plans: &[HostPlan],
    bottleneck: &KernelBottleneck,
) -> Result<Devices, TestbedError> {
    let failed = |plan: &HostPlan| {
        let host = plan.name.clone();
        move |error: LiveError| TestbedError::Host { host, error }
    };
    let Some(first) = plans.first() else {
        return Err(TestbedError::Ended("switch".to_owned()));
    };
    let switch = Namespace::new().map_err(failed(first))?;
    let departure_times = shaper::has_fq(&switch);
    let mut hosts = Vec::new();
    for (plan, link) in plans.iter().zip(&setup.network.links) {
        let host = Namespace::new().map_err(failed(plan))?;
        let port = switch.run(|| switch_end(plan, &host)).and_then(|made| made);
        let port = port.map_err(failed(plan))?;
        let end = host.run(|| host_end(plan)).and_then(|made| made).map_err(failed(plan))?;
        let shaped = switch.run(|| {
            if departure_times {
                shaper::departure_times(&name(plan))?;
            } else {
                shaper::token_bucket(&name(plan), check::from_switch(link).rate, plan.mtu)?;
            }
            Ok(bottleneck.attach_port(port)?)
        });
        shaped.map_err(failed(plan)).and_then(|shaped| shaped)?;
        let shaped = host.run(|| nic(plan, link).and_then(|()| Ok(bottleneck.attach_host(end)?)));
        shaped.map_err(failed(plan)).and_then(|shaped| shaped)?;
        hosts.push(host);
    }
    Ok(Devices { switch, hosts, departure_times })
}

/// Name of the switch's device to a host.
fn name(plan: &HostPlan) -> String {
    format!("port{}", plan.number)
}

/// A packet is a segment: no offload, and no packets of several segments from the stack.
fn plain(links: &mut Links, device: &str) -> Result<(), LiveError> {
    links.disable_offloads(device)?;
    links.set_gso_max_segments(device, 1)
}

/// Makes the pair, configures the switch's end and returns its number.
fn switch_end(plan: &HostPlan, host: &Namespace) -> Result<u32, LiveError> {
    let mut links = Links::open()?;
    let name = &name(plan);
    let end = |name, namespace| VethEnd { name, namespace };
    links.add_veth(&end(name, None), &end(INTERFACE, Some(host)), plan.mtu.into())?;
    plain(&mut links, name)?;
    let [a, b, ..] = plan.address.octets();
    links.add_address(name, Ipv4Addr::new(a, b, 255, 254).into(), 32)?;
    links.set_link_up(name, true)?;
    links.add_host_route(name, IpAddr::V4(plan.address), None)?;
    set_sysctl("ipv4.ip_forward", "1")?;
    // The switch answers for all hosts, at once, and forwards without advice.
    set_sysctl(&format!("ipv4.conf.{name}.proxy_arp"), "1")?;
    set_sysctl(&format!("ipv4.neigh.{name}.proxy_delay"), "0")?;
    set_sysctl(&format!("ipv4.conf.{name}.send_redirects"), "0")?;
    Ok(links.get(name)?.index)
}

/// Configures the host's end and returns its number.
fn host_end(plan: &HostPlan) -> Result<u32, LiveError> {
    let mut links = Links::open()?;
    plain(&mut links, INTERFACE)?;
    links.add_address(INTERFACE, IpAddr::V4(plan.address), PREFIX)?;
    links.set_link_up(INTERFACE, true)?;
    Ok(links.get(INTERFACE)?.index)
}

/// Shapes the host's own line.
fn nic(plan: &HostPlan, link: &LinkSpec) -> Result<(), TestbedError> {
    shaper::token_bucket(INTERFACE, check::from_host(link).rate, plan.mtu)
}
