//! `--through`: the network between our host and the kernel's.

use lowtide_bottleneck::{Bottleneck, HostPort};
use lowtide_live::privileges::RetainedCapability;
use lowtide_live::{Device, Live};
use lowtide_net::HostId;

use super::bottleneck::full_prefix_len;
use super::link;
use super::setup::{LiveHost, live_error, note_missing_ring};
use crate::args::{PeerArg, ThroughArgs};
use crate::error::CommandError;
use crate::output::Output;

/// Starts our host, and the network between it and the kernel if there is one. Drops all privileges
/// except those in `later`.
pub(super) fn start(
    host: &LiveHost,
    peer: PeerArg,
    args: &ThroughArgs,
    later: &[RetainedCapability],
    out: Output,
) -> Result<(Live, Option<Bottleneck>), CommandError> {
    let Some(scenario) = &args.through else {
        if args.link.is_given() || args.capture.is_some() {
            let message = "options of the network need a network between the two".to_owned();
            return Err(CommandError::Usage(message, Some("add `--through`".to_owned())));
        }
        return Ok((host.start(later, out)?, None));
    };
    if peer != PeerArg::Kernel {
        let message = "`--through` puts a network between us and the kernel".to_owned();
        return Err(CommandError::Usage(message, Some("add `--peer kernel`".to_owned())));
    }
    let network = link::network(Some(scenario.as_str()).filter(|s| !s.is_empty()), &args.link)?;
    let mut settings = link::settings(&network, &args.link)?;
    let (ours, kernels) = (HostId(0), HostId(network.hosts.len().saturating_sub(1) as u32));
    if ours == kernels {
        let message = "the network has fewer than two hosts".to_owned();
        return Err(CommandError::Usage(message, None));
    }
    settings.captures.extend(args.capture.clone().map(|path| (ours, path)));
    let (end, port) = Device::memory_link().map_err(link::device_error)?;
    let interface = Device::open(&host.plan).map_err(link::device_error)?;
    note_missing_ring(&interface, out);
    let sides = &host.plan.networks;
    let ports = vec![
        HostPort {
            host: ours,
            device: port,
            networks: sides.iter().map(|s| (s.local, full_prefix_len(s.local))).collect(),
        },
        HostPort {
            host: kernels,
            device: interface,
            networks: sides.iter().map(|s| (s.peer, full_prefix_len(s.peer))).collect(),
        },
    ];
    let bottleneck =
        Bottleneck::prepare(&network, ports, &settings).map_err(link::bottleneck_error)?;
    let live = host.prepare(end)?;
    let priority = settings.priority.map(|_| RetainedCapability::Priority);
    host.reduce_privileges(&later.iter().copied().chain(priority).collect::<Vec<_>>())?;
    let bottleneck = bottleneck.start().map_err(link::bottleneck_error)?;
    Ok((live.start().map_err(|e| live_error(&e))?, Some(bottleneck)))
}
