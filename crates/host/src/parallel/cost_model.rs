//! Whether several threads pay, and how many.
//!
//! Threads wait for one another once per lookahead, which takes about as long as a few events. What happens
//! within a lookahead is reckoned before the run: each flow goes one of its ways as fast as the busiest of its
//! lines lets it, all flows there being equal.

use std::collections::BTreeMap;

use lowtide_net::{Blueprint, HostId, NodeId, Partition};
use lowtide_units::{Bytes, Duration};

use super::threads::{ThreadLimit, Threads};
use crate::app::ConnProgress;
use crate::world::World;

/// Events of each thread within a lookahead below which another thread does not pay.
const LEAST: u64 = 64;
/// So many flows are looked at; of more only a sample.
const SAMPLE: usize = 1 << 13;
/// What a host does for a flow, in events.
const HOST_WORK: u64 = 4;

/// How a run is cut, and why not into as many parts as might be.
pub(super) struct PartitionChoice {
    pub(super) cut: Partition,
    pub(super) why: Option<ThreadLimit>,
}

/// Finds a cut that pays.
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
    for parts in (2..=threads.max).rev() {
        match Partition::find(&world.setup.network, parts, &work) {
            Err(whole) => why = why.or(Some(ThreadLimit::NotPartitioned(whole))),
            Ok(cut) => {
                let events = load.as_ref().map_or(u64::MAX, |load| load.within(cut.lookahead()));
                if events / parts as u64 >= LEAST {
                    return Ok(PartitionChoice { cut, why });
                }
                why = why.or(Some(ThreadLimit::TooFewEvents { events }));
            }
        }
    }
    Err(why.unwrap_or(ThreadLimit::TooFewEvents { events: 0 }))
}

/// What each host has to do beside its ports: more where flows begin or end.
fn host_work(world: &World<'_>) -> Vec<u64> {
    let mut work = vec![0; world.setup.hosts.len()];
    for flow in &world.flows {
        for host in [flow.client, flow.server] {
            if let Some(work) = work.get_mut(host as usize) {
                *work = HOST_WORK;
            }
        }
    }
    work
}

/// What happens in a second, as far as that can be told before.
struct EventRate {
    events: u64,
}

/// Bits on the line of a full packet of Ethernet.
const PACKET_BITS: u64 = 1_538 * 8;
/// A way longer than this leads nowhere.
const LONGEST: usize = 64;

impl EventRate {
    fn new(world: &World<'_>) -> Self {
        let plan = &world.setup.network;
        let rate = |port: u32| {
            let link = plan.links.get(port as usize / 2);
            link.map_or(0, |link| link.line(port % 2 == 1).rate.as_bps())
        };
        let step = world.flows.len().div_ceil(SAMPLE).max(1);
        let mut ways = Vec::new();
        let mut sharers: BTreeMap<u32, u64> = BTreeMap::new();
        let nics = nics(plan);
        for flow in world.flows.iter().step_by(step) {
            let way = path(world, &nics, flow);
            for port in &way {
                *sharers.entry(*port).or_default() += 1;
            }
            ways.push((flow, way));
        }
        // Data, and an ACK for every other segment; sized flows offer no more than they have.
        let (mut long, mut sized) = (0, 0);
        let share = |port: &u32| rate(*port) / sharers.get(port).copied().unwrap_or(1);
        for (flow, way) in &ways {
            let slowest = way.iter().map(share).min().unwrap_or(0);
            let events = slowest / PACKET_BITS * way.len() as u64 * 3 / 2;
            *(if flow.size.is_some() { &mut sized } else { &mut long }) += events;
        }
        let hops = ways.iter().map(|(_, way)| way.len() as u64).sum::<u64>();
        let mean = hops.checked_div(ways.len() as u64).unwrap_or_default();
        let offered = offered(world).map_or(u64::MAX, |bits| bits / PACKET_BITS * mean * 3 / 2);
        Self { events: offered.min(sized).saturating_add(long) }
    }

    /// Events within that time.
    fn within(&self, time: Duration) -> u64 {
        let events = u128::from(self.events) * u128::from(time.as_ps()) / 1_000_000_000_000;
        u64::try_from(events).unwrap_or(u64::MAX)
    }
}

/// The port of each host.
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

/// The ports on one of the ways of a flow.
fn path(world: &World<'_>, nics: &[u32], flow: &ConnProgress) -> Vec<u32> {
    let plan = &world.setup.network;
    let mut way: Vec<u32> = nics.get(flow.client as usize).copied().into_iter().collect();
    while let Some(&port) = way.last().filter(|_| way.len() < LONGEST) {
        let Some(link) = plan.links.get(port as usize / 2) else { break };
        let far = if port % 2 == 0 { link.b } else { link.a };
        let NodeId::Switch(switch) = far else { break };
        let next = world.net.next_ports(switch, HostId(flow.server));
        let turn = (flow.number as usize).checked_rem(next.len());
        let Some(&next) = turn.and_then(|turn| next.get(turn)) else { break };
        way.push(next);
    }
    way
}

/// Bits per second of all flows with a size, where they start one after the other.
fn offered(world: &World<'_>) -> Option<u64> {
    let sized = || world.flows.iter().filter(|f| f.size.is_some() && !f.server_sends);
    let first = sized().map(|f| f.start).min()?;
    let span = sized().map(|f| f.start).max()?.saturating_since(first);
    let bytes: u64 = sized().filter_map(|f| f.size).map(Bytes::as_u64).fold(0, u64::saturating_add);
    let bits = u128::from(bytes) * 8 * 1_000_000_000_000;
    let rate = bits.checked_div(u128::from(span.as_ps()))?;
    Some(u64::try_from(rate).unwrap_or(u64::MAX))
}
