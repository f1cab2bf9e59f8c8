//! The cost model that decides on the number of threads.
//!
//! Threads synchronise once per lookahead, at the cost of several events. The events per lookahead
//! are estimated before the run: each flow takes one of its paths at the fair share of its
//! bottleneck.

use std::collections::BTreeMap;

use lowtide_net::{Blueprint, HostId, NodeId, Partition};
use lowtide_units::{Bytes, Duration};

use super::threads::{ThreadLimit, Threads};
use crate::app::ConnProgress;
use crate::world::World;

/// Minimum events per thread and lookahead for which a thread pays off.
const LEAST: u64 = 64;
/// Maximum flows examined; of more only a sample.
const SAMPLE: usize = 1 << 13;
/// Work of a host per flow, in events.
const HOST_WORK: u64 = 4;

/// The partition of a run, and the reason why it does not have more shards.
pub(super) struct PartitionChoice {
    pub(super) partition: Partition,
    pub(super) why: Option<ThreadLimit>,
}

/// Finds a partition that pays off.
pub(super) fn choose_partition(
    world: &World<'_>,
    threads: Threads,
) -> Result<PartitionChoice, ThreadLimit> {
    if world.tracer.is_some() || world.setup.probes.delays {
        return Err(ThreadLimit::OrderedRecording);
    }
    let work = host_work(world);
    let mut why = None;
    let load = if threads.force { None } else { Some(EventRate::new(world)) };
    for shards in (2..=threads.max).rev() {
        match Partition::find(&world.setup.network, shards, &work) {
            Err(whole) => why = why.or(Some(ThreadLimit::NotPartitioned(whole))),
            Ok(partition) => {
                let events =
                    load.as_ref().map_or(u64::MAX, |load| load.within(partition.lookahead()));
                if events / shards as u64 >= LEAST {
                    return Ok(PartitionChoice { partition, why });
                }
                why = why.or(Some(ThreadLimit::TooFewEvents { events }));
            }
        }
    }
    Err(why.unwrap_or(ThreadLimit::TooFewEvents { events: 0 }))
}

/// Returns the work of each host besides its ports: more if flows start or end there.
fn host_work(world: &World<'_>) -> Vec<u64> {
    let mut work = vec![0; world.setup.hosts.len()];
    for flow in &world.flows {
        for host in [flow.client, flow.server] {
            work[host as usize] = HOST_WORK;
        }
    }
    work
}

/// Estimated events per second.
struct EventRate {
    events: u64,
}

/// Bits on the line of a full Ethernet packet.
const PACKET_BITS: u64 = 1_538 * 8;
/// Picoseconds in a second.
const PS_PER_SECOND: u128 = 1_000_000_000_000;
/// Maximum path length; a longer path is a dead end.
const LONGEST: usize = 64;

impl EventRate {
    fn new(world: &World<'_>) -> Self {
        let plan = &world.setup.network;
        let rate = |port: u32| {
            let link = &plan.links[port as usize / 2];
            link.line(port % 2 == 1).rate.as_bps()
        };
        let step = world.flows.len().div_ceil(SAMPLE).max(1);
        let mut paths = Vec::new();
        let mut sharers: BTreeMap<u32, u64> = BTreeMap::new();
        let nics = nics(plan);
        for flow in world.flows.iter().step_by(step) {
            let path = path(world, &nics, flow);
            for port in &path {
                *sharers.entry(*port).or_default() += 1;
            }
            paths.push((flow, path));
        }
        // Data, and an ACK for every other segment; sized flows offer at most their own load.
        let (mut long, mut sized) = (0, 0);
        let share = |port: &u32| rate(*port) / sharers[port];
        for (flow, path) in &paths {
            let slowest = path.iter().map(share).min().unwrap_or(0);
            let events = slowest / PACKET_BITS * path.len() as u64 * 3 / 2;
            *(if flow.size.is_some() { &mut sized } else { &mut long }) += events;
        }
        let hops = paths.iter().map(|(_, path)| path.len() as u64).sum::<u64>();
        let mean = hops.checked_div(paths.len() as u64).unwrap_or_default();
        let offered = offered(world).map_or(u64::MAX, |bits| bits / PACKET_BITS * mean * 3 / 2);
        Self { events: offered.min(sized).saturating_add(long) }
    }

    /// Returns the events within that time.
    fn within(&self, time: Duration) -> u64 {
        let events = u128::from(self.events) * u128::from(time.as_ps()) / PS_PER_SECOND;
        u64::try_from(events).unwrap_or(u64::MAX)
    }
}

/// Returns the port of each host.
fn nics(plan: &Blueprint) -> Vec<u32> {
    let mut nics = vec![0; plan.hosts.len()];
    for (link, number) in plan.links.iter().zip(0_u32..) {
        for (node, port) in [(link.a, 2 * number), (link.b, 2 * number + 1)] {
            if let NodeId::Host(host) = node {
                nics[host.0 as usize] = port;
            }
        }
    }
    nics
}

/// Returns the ports on one of the paths of a flow.
fn path(world: &World<'_>, nics: &[u32], flow: &ConnProgress) -> Vec<u32> {
    let plan = &world.setup.network;
    let mut path = vec![nics[flow.client as usize]];
    while let Some(&port) = path.last().filter(|_| path.len() < LONGEST) {
        let link = &plan.links[port as usize / 2];
        let far = if port % 2 == 0 { link.b } else { link.a };
        // The path ends at a host.
        let NodeId::Switch(switch) = far else { break };
        let next = world.net.next_ports(switch, HostId(flow.server));
        // A switch may have no route to the server.
        let turn = (flow.number as usize).checked_rem(next.len());
        let Some(&next) = turn.and_then(|turn| next.get(turn)) else { break };
        path.push(next);
    }
    path
}

/// Returns the bits per second of all sized flows, if they start at different times.
fn offered(world: &World<'_>) -> Option<u64> {
    let sized = || world.flows.iter().filter(|f| f.size.is_some() && !f.server_sends);
    let first = sized().map(|f| f.start).min()?;
    let span = sized().map(|f| f.start).max()?.saturating_since(first);
    let bytes: u64 = sized().filter_map(|f| f.size).map(Bytes::as_u64).fold(0, u64::saturating_add);
    let bits = u128::from(bytes) * 8 * PS_PER_SECOND;
    let rate = bits.checked_div(u128::from(span.as_ps()))?;
    Some(u64::try_from(rate).unwrap_or(u64::MAX))
}
