//! Splitting a network into shards and joining them again.
//!
//! A shard has the ports of its switches and hosts, and an inlet for each line that leads to one of
//! its switches from another shard. Ports, switches and hosts are renumbered within a shard, in
//! order, so the packet path is the same as without shards. Global numbers appear only in events
//! and in results.

use std::mem;
use std::sync::Arc;

use lowtide_units::Duration;

use super::{Lateness, Network, far_end};
use crate::packet_pool::{PacketId, PacketPool};
use crate::port::{FarEnd, Port, PortConfig, SharedConstants};
use crate::route::Routes;
use crate::{Blueprint, LinkSpec, NodeId, Partition};

/// The identity of a shard.
#[derive(Clone, Debug)]
pub(super) struct NetworkShard {
    /// Global numbers of its links, ascending: its ports `2 i` and `2 i + 1` are those of the
    /// `i`-th link.
    pub(super) links: Vec<u32>,
    /// Global numbers of its switches, ascending.
    switches: Vec<u32>,
    /// By port: true for an inlet.
    pub(super) inlets: Vec<bool>,
    /// By port: the shard at its far end.
    pub(super) far_shards: Vec<u16>,
    /// Ports with packets to export.
    pub(super) export_ports: Vec<u32>,
    /// Exported packets that are still in service, each with its port.
    pub(super) exported_in_service: Vec<(u32, PacketId)>,
    pub(super) lookahead: Duration,
}

impl Network {
    /// Splits the network as `partition`, made from the same `plan`, says; hosts are renumbered in
    /// each shard. Must be called before any event and before tracing. The remainder of `self` is
    /// for [`Network::join`].
    pub fn split(&mut self, plan: &Blueprint, partition: &Partition) -> Vec<Self> {
        let mut ports: Vec<Option<Port>> =
            mem::take(&mut self.ports).into_iter().map(Some).collect();
        let mut lateness: Vec<Option<Lateness>> =
            mem::take(&mut self.lateness).into_iter().map(Some).collect();
        let mut local_ports = vec![0; ports.len()];
        let mut shards: Vec<Self> = Vec::with_capacity(partition.shards());
        for shard in 0..partition.shards() {
            let own = |node| partition.shard_of(node) == shard;
            let links = plan.links.iter().zip(0_u32..).filter(|(l, _)| own(l.a) || own(l.b));
            let links: Vec<u32> = links.map(|(_, i)| i).collect();
            let mut known = NetworkShard {
                switches: partition.switches_of(shard).collect(),
                inlets: Vec::with_capacity(2 * links.len()),
                far_shards: Vec::with_capacity(2 * links.len()),
                export_ports: Vec::new(),
                exported_in_service: Vec::new(),
                lookahead: partition.lookahead(),
                links,
            };
            let hosts: Vec<u32> = partition.hosts_of(shard).map(|h| h.0).collect();
            let mut shared = SharedConstants::default();
            let mut here: Vec<Port> = Vec::with_capacity(2 * known.links.len());
            for &link in &known.links {
                let spec = &plan.links[link as usize];
                for (back, from, to) in [(false, spec.a, spec.b), (true, spec.b, spec.a)] {
                    let number = 2 * link + u32::from(back);
                    let inlet = !own(from);
                    known.inlets.push(inlet);
                    known.far_shards.push(partition.shard_of(to) as u16);
                    if own(to) {
                        local_ports[number as usize] = here.len() as u32;
                    }
                    let port = if inlet { None } else { ports[number as usize].take() };
                    let mut port =
                        port.unwrap_or_else(|| self.inlet(spec, back, number, &mut shared));
                    if self.failures.is_some() || self.measures_queueing {
                        port.take_complete_arrivals();
                    }
                    if !own(to) {
                        port.set_cross_shard();
                    }
                    port.set_far_end(known.localise(far_end(to), &hosts));
                    here.push(port);
                }
            }
            let late = |host: &u32| lateness.get_mut(*host as usize).and_then(Option::take);
            shards.push(Self {
                port_numbers: here.iter().map(Port::number).collect(),
                ports: here,
                labels: Vec::new(),
                routes: self.routes.for_shard(&known.switches, |port| known.local_port(port)),
                pool: PacketPool::default(),
                lateness: hosts.iter().filter_map(late).collect(),
                port_tracer: None,
                failures: self.failures.clone(),
                buffer_pools: self.buffer_pools.clone(),
                switches: Vec::new(),
                local_ports: Arc::default(),
                shard: Some(Box::new(known)),
                ..*self
            });
        }
        let local_ports: Arc<[u32]> = local_ports.into();
        for shard in &mut shards {
            shard.local_ports = Arc::clone(&local_ports);
        }
        shards
    }

    /// Returns the far end of a line from another shard.
    fn inlet(
        &self,
        link: &LinkSpec,
        back: bool,
        number: u32,
        shared: &mut SharedConstants,
    ) -> Port {
        let config = PortConfig {
            framing: link.framing,
            far_end: far_end(if back { link.a } else { link.b }),
            classes: None,
            pool: None,
            fails: false,
            warmup: self.warmup,
            run_seed: 0,
            number: u64::from(number),
        };
        Port::inlet(link.line(back), &config, shared)
    }

    /// Joins the shards for inspection: statistics of ports, switches and memories up to
    /// [`Network::finish`], which must have been called on each shard. Packets in flight are gone.
    pub fn join<'a>(&mut self, shards: impl Iterator<Item = &'a mut Self>, partition: &Partition) {
        let count = self.labels.len();
        let mut ports: Vec<Option<Port>> = (0..count).map(|_| None).collect();
        for (shard, number) in shards.zip(0..) {
            let Some(known) = shard.shard.take() else { continue };
            let owns = |switch: u32| partition.shard_of(NodeId::Switch(switch)) == number;
            for (mut port, inlet) in mem::take(&mut shard.ports).into_iter().zip(known.inlets) {
                let number = port.number() as usize;
                if !inlet {
                    port.leave_pool(&shard.pool);
                    ports[number] = Some(port);
                }
            }
            if let Some((whole, shard)) = self.failures.as_mut().zip(shard.failures.take()) {
                whole.no_route_drops += shard.no_route_drops;
                for (index, &switch) in known.switches.iter().enumerate() {
                    whole.digests[switch as usize] = shard.digests[index];
                }
            }
            for (whole, shard) in
                self.buffer_pools.iter_mut().zip(mem::take(&mut shard.buffer_pools))
            {
                if owns(shard.switch as u32) {
                    *whole = shard;
                }
            }
        }
        self.ports = ports.into_iter().flatten().collect();
    }

    /// Returns the local index of the link with that number; `None` if it is in another shard.
    pub(super) fn local_link(&self, link: usize) -> Option<usize> {
        match &self.shard {
            None => Some(link),
            Some(shard) => shard.links.binary_search(&(link as u32)).ok(),
        }
    }

    /// Returns true for the far end of a line from another shard, which has only arrivals.
    pub(super) fn is_inlet(&self, port: usize) -> bool {
        self.shard.as_ref().is_some_and(|shard| shard.inlets.get(port).is_some_and(|i| *i))
    }

    /// Returns the routes of this shard.
    pub(super) fn local_routes(&self, routes: Routes) -> Routes {
        match &self.shard {
            None => routes,
            Some(shard) => routes.for_shard(&shard.switches, |port| shard.local_port(port)),
        }
    }
}

impl NetworkShard {
    /// Returns the local index of the port with that number, at either end.
    pub(super) fn local_port(&self, number: u32) -> Option<u32> {
        let link = self.links.binary_search(&(number / 2)).ok()?;
        Some(2 * link as u32 + number % 2)
    }

    /// Returns the far end of a port in local numbers; meaningless if it is in another shard.
    fn localise(&self, far: FarEnd, hosts: &[u32]) -> FarEnd {
        match far {
            FarEnd::Host(host) => match hosts.binary_search(&host.0) {
                Ok(index) => FarEnd::Host(crate::HostId(index as u32)),
                Err(_) => far,
            },
            FarEnd::Switch(switch) => match self.switches.binary_search(&switch) {
                Ok(index) => FarEnd::Switch(index as u32),
                Err(_) => far,
            },
        }
    }
}
