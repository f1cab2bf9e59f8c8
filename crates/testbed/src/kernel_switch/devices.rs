//! Namespaces and devices of a star: a veth pair between the switch and each host.

use std::net::{IpAddr, Ipv4Addr};

use lowtide_host::Setup;
use lowtide_kernel::KernelBottleneck;
use lowtide_live::LiveError;
use lowtide_live::links::{Links, VethEnd};
use lowtide_live::netns::{Namespace, set_sysctl};
use lowtide_net::LinkSpec;
use lowtide_units::Duration;

use super::{check, shaper};
use crate::error::TestbedError;
use crate::hosts::INTERFACE;
use crate::plan::{HostPlan, PREFIX};

/// Queues of the switch's ports.
pub(super) enum Queues<'a> {
    /// The BPF program keeps and marks them; with departure times a qdisc holds packets until then.
    Program { bottleneck: &'a KernelBottleneck, departure_times: bool },
    /// Qdiscs of the kernel, by host.
    Qdiscs(&'a [Vec<String>]),
}

/// Connects the hosts to the switch.
pub(super) fn make(
    setup: &Setup,
    plans: &[HostPlan],
    (switch, hosts): (&Namespace, &[Namespace]),
    queues: &Queues<'_>,
) -> Result<(), TestbedError> {
    let failed = |plan: &HostPlan| {
        let host = plan.name.clone();
        move |error: LiveError| TestbedError::Host { host, error }
    };
    for (number, ((plan, host), link)) in
        plans.iter().zip(hosts).zip(&setup.network.links).enumerate()
    {
        let port = switch.run(|| switch_end(plan, host)).and_then(|made| made);
        let port = port.map_err(failed(plan))?;
        let end = host.run(|| host_end(plan)).and_then(|made| made).map_err(failed(plan))?;
        let shaped = switch.run(|| {
            let (name, rate) = (name(plan), check::from_switch(link).rate);
            match queues {
                Queues::Program { departure_times: true, .. } => shaper::departure_times(&name)?,
                Queues::Program { .. } => shaper::token_bucket(&name, rate, plan.mtu, None)?,
                Queues::Qdiscs(all) => {
                    let qdisc = all.get(number).map(Vec::as_slice);
                    shaper::token_bucket(&name, rate, plan.mtu, qdisc)?;
                }
            }
            queues.program().map_or(Ok(()), |program| Ok(program.attach_port(port)?))
        });
        shaped.map_err(failed(plan)).and_then(|shaped| shaped)?;
        let shaped = host.run(|| {
            nic(plan, link, queues.program().is_none())?;
            queues.program().map_or(Ok(()), |program| Ok(program.attach_host(end)?))
        });
        shaped.map_err(failed(plan)).and_then(|shaped| shaped)?;
    }
    Ok(())
}

impl Queues<'_> {
    fn program(&self) -> Option<&KernelBottleneck> {
        match self {
            Self::Program { bottleneck, .. } => Some(bottleneck),
            Self::Qdiscs(_) => None,
        }
    }
}

/// Name of the switch's device to a host.
pub(super) fn name(plan: &HostPlan) -> String {
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

/// Shapes the host's own line. With `delays` it has the delays of both lines: `netem` counts
/// packets that it holds as sent.
fn nic(plan: &HostPlan, link: &LinkSpec, delays: bool) -> Result<(), TestbedError> {
    let own = check::from_host(link);
    let delay = own.delay + check::from_switch(link).delay;
    let inner = (delays && delay > Duration::ZERO).then(|| shaper::delay(delay));
    shaper::token_bucket(INTERFACE, own.rate, plan.mtu, inner.as_deref())
}
