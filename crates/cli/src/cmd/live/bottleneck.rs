//! `lowtide live bottleneck`: the network of a scenario between real interfaces.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use lowtide_bottleneck::{Bottleneck, HostPort};
use lowtide_live::netns::{self, Namespace};
use lowtide_live::privileges::{self, RetainedCapability};
use lowtide_live::{Device, DeviceKind, DeviceNetwork, DevicePlan, LiveError};
use lowtide_net::Blueprint;
use std::sync::atomic::Ordering;

use super::{link, link_report, setup};
use crate::args::BottleneckArgs;
use crate::error::CommandError;
use crate::interrupt::{STOP, watch_for_interrupt};
use crate::output::Output;

/// Polling interval for signals and lost devices.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

pub(super) fn bottleneck(args: &BottleneckArgs, out: Output) -> Result<(), CommandError> {
    let out = Output { json: out.json || args.as_json, ..out };
    let mut link = args.link.clone();
    link.net.extend(args.set.iter().cloned());
    let network = link::network(args.scenario.as_deref(), &link)?;
    let mut settings = link::settings(&network, &link)?;
    for text in &args.captures {
        let (name, path) = text.split_once('=').ok_or_else(|| {
            let help = Some("for instance `--capture a.0=left.pcapng`".to_owned());
            CommandError::Usage(format!("`--capture {text}` is not of the form HOST=FILE"), help)
        })?;
        settings.captures.push((link::host(&network, name)?, PathBuf::from(path)));
    }
    let mut wanted: Vec<PortRequest> = args
        .ports
        .iter()
        .map(|text| PortRequest::read(&network, text, args.mtu))
        .collect::<Result<_, _>>()?;
    let all: Vec<IpAddr> = wanted.iter().flat_map(|w| &w.addresses).copied().collect();
    for port in &mut wanted {
        port.proxy_arp_for(&all);
    }
    let user = setup::user(args.user.as_deref())?;
    let ports =
        wanted.into_iter().map(|w| w.open(args.netns.is_some())).collect::<Result<Vec<_>, _>>()?;
    for port in &ports {
        setup::note_missing_ring(&port.device, out);
    }
    let prepared =
        Bottleneck::prepare(&network, ports, &settings).map_err(link::bottleneck_error)?;
    let later: Vec<RetainedCapability> =
        settings.priority.map(|_| RetainedCapability::Priority).into_iter().collect();
    privileges::drop_except(user.as_ref(), &later).map_err(link::device_error)?;
    let bottleneck = prepared.start().map_err(link::bottleneck_error)?;
    setup::drop_privileges()?;
    watch_for_interrupt()?;
    out.note("the network runs; Ctrl-C ends it and prints the report");
    let until = args.time.map(|time| lowtide_units::Instant::ZERO + time);
    let mut lost = None;
    while !STOP.load(Ordering::Relaxed) && until.is_none_or(|until| bottleneck.now() < until) {
        lost = bottleneck.failed_device();
        if lost.is_some() {
            break;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    let report = bottleneck.stop().map_err(link::bottleneck_error)?;
    link_report::show(&report, out)?;
    match lost {
        None => Ok(()),
        Some((host, why)) => {
            let name = network.hosts.get(host.0 as usize).map_or("", String::as_str);
            Err(CommandError::Run(format!("the device of host `{name}` is gone: {why}")))
        }
    }
}

/// A port to open.
struct PortRequest {
    host: lowtide_net::HostId,
    plan: DevicePlan,
    /// Addresses of the host.
    addresses: Vec<IpAddr>,
    /// Namespace of its interface: a name, or the ID of a process in it.
    namespace: Option<String>,
}

impl PortRequest {
    /// Lets the port answer ARP requests of its host for the addresses of all other hosts (Ethernet
    /// only).
    fn proxy_arp_for(&mut self, all: &[IpAddr]) {
        if self.plan.kind != DeviceKind::Packet {
            return;
        }
        let own = std::mem::take(&mut self.plan.networks);
        let others = all.iter().filter(|a| !self.addresses.contains(a));
        let sides = others.flat_map(|a| own.iter().filter(|s| s.contains(*a)).map(|s| (*s, *a)));
        self.plan.networks =
            sides.map(|(side, ours)| DeviceNetwork { local: ours, ..side }).collect();
        if self.plan.networks.is_empty() {
            self.plan.networks = own;
        }
    }

    fn read(network: &Blueprint, text: &str, mtu: u16) -> Result<Self, CommandError> {
        let wrong = || {
            let message = format!("`--port {text}` is not a port");
            let form = "write HOST=tun:NAME=ADDRESS/BITS@NETNS, for instance \
                        `a.0=tun:eth0=10.77.0.1/24,fd77::1/64@left`";
            CommandError::Usage(message, Some(form.to_owned()))
        };
        let mut parts = text.splitn(3, '=');
        let (Some(name), Some(device), Some(rest)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(wrong());
        };
        let (addresses, namespace) = match rest.split_once('@') {
            Some((addresses, namespace)) => (addresses, Some(namespace.to_owned())),
            None => (rest, None),
        };
        let side = |text: &str| {
            // The argument is the host's address; ours is another one of the network, unused.
            let DeviceNetwork { local: ours, peer: kernels, prefix } = DeviceNetwork::parse(text)?;
            Ok(DeviceNetwork { local: kernels, peer: ours, prefix })
        };
        let sides: Result<Vec<DeviceNetwork>, LiveError> = addresses.split(',').map(side).collect();
        let plan = sides.and_then(|sides| DevicePlan::parse(device, mtu, sides));
        let plan = plan.map_err(link::device_error)?;
        let addresses = plan.networks.iter().map(|s| s.peer).collect();
        Ok(Self { host: link::host(network, name)?, plan, addresses, namespace })
    }

    /// Opens the port; in the machine's own namespace only if `allow_host_netns`.
    fn open(self, allow_host_netns: bool) -> Result<HostPort, CommandError> {
        let Self { host, plan, addresses, namespace } = self;
        let open = || {
            if !allow_host_netns && netns::in_host_namespace() {
                return Err(LiveError::HostNamespace);
            }
            Device::open(&plan)
        };
        let device = match namespace {
            Some(name) => {
                let found = match name.parse() {
                    Ok(pid) => Namespace::of_process(pid),
                    Err(_) => Namespace::named(&name),
                };
                found.and_then(|n| n.run(open)).and_then(|d| d)
            }
            None => open(),
        };
        let networks = addresses.into_iter().map(|a| (a, full_prefix_len(a))).collect();
        Ok(HostPort { host, device: device.map_err(link::device_error)?, networks })
    }
}

/// Number of bits of an address.
pub(super) fn full_prefix_len(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}
