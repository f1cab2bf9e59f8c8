//! A network in parts, and whole again.
//!
//! A part has the ports of its own switches and hosts and an inlet for each line that leads to one of its
//! switches from another part; ports, switches and hosts are counted anew in it, in their order, so that the
//! path of a packet is the same as in the whole. Numbers of the whole are in events and in results only.

use std::mem;
use std::sync::Arc;

use lowtide_units::Duration;

use super::{Lateness, Network, far_end};
use crate::packet::PacketPool;
use crate::port::{FarEnd, Port, PortConfig};
use crate::route::Routes;
use crate::{Blueprint, LinkSpec, NodeId, Partition};

/// What a part knows of itself.
#[derive(Clone, Debug)]
pub(super) struct NetworkShard {
    /// Numbers of its links, ascending: its ports `2 i` and `2 i + 1` are those of the `i`-th.
    pub(super) links: Vec<u32>,
    /// Numbers of its switches, ascending.
    switches: Vec<u32>,
    /// By port: it is an inlet.
    pub(super) inlets: Vec<bool>,
    /// By port: the part at its far end.
    pub(super) far_shards: Vec<u16>,
    /// Ports with packets to be handed over.
    pub(super) export_ports: Vec<u32>,
    pub(super) lookahead: Duration,
}

impl Network {
    /// Takes the network apart as `cut`, made of the same `plan`, says; hosts are counted anew in each part.
    /// Nothing may have happened yet, and nothing may be watched. What is left of the whole waits for
    /// [`Network::join`].
    pub fn split(&mut self, plan: &Blueprint, cut: &Partition) -> Vec<Self> {
        let mut ports: Vec<Option<Port>> =
            mem::take(&mut self.ports).into_iter().map(Some).collect();
        let mut lateness: Vec<Option<Lateness>> =
            mem::take(&mut self.lateness).into_iter().map(Some).collect();
        let mut places = vec![0; ports.len()];
        let mut parts: Vec<Self> = Vec::with_capacity(cut.shards());
        for part in 0..cut.shards() {
            let own = |node| cut.shard_of(node) == part;
            let links = plan.links.iter().zip(0_u32..).filter(|(l, _)| own(l.a) || own(l.b));
            let links: Vec<u32> = links.map(|(_, i)| i).collect();
            let mut known = NetworkShard {
                switches: cut.switches_of(part).collect(),
                inlets: Vec::with_capacity(2 * links.len()),
                far_shards: Vec::with_capacity(2 * links.len()),
                export_ports: Vec::new(),
                lookahead: cut.lookahead(),
                links,
            };
            let hosts: Vec<u32> = cut.hosts_of(part).map(|h| h.0).collect();
            let mut here: Vec<Port> = Vec::with_capacity(2 * known.links.len());
            for &link in &known.links {
                let spec = &plan.links[link as usize];
                for (back, from, to) in [(false, spec.a, spec.b), (true, spec.b, spec.a)] {
                    let number = 2 * link + u32::from(back);
                    let inlet = !own(from);
                    known.inlets.push(inlet);
                    known.far_shards.push(cut.shard_of(to) as u16);
                    if own(to) {
                        places[number as usize] = here.len() as u32;
                    }
                    let port = if inlet { None } else { ports[number as usize].take() };
                    let mut port = port.unwrap_or_else(|| self.inlet(spec, back, number));
                    if !own(to) {
                        port.set_cross_shard();
                    }
                    port.set_far_end(known.localise(far_end(to), &hosts));
                    here.push(port);
                }
            }
            let late = |host: &u32| lateness.get_mut(*host as usize).and_then(Option::take);
            parts.push(Self {
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
        let places: Arc<[u32]> = places.into();
        for part in &mut parts {
            part.local_ports = Arc::clone(&places);
        }
        parts
    }

    /// The far end of a line from another part.
    fn inlet(&self, link: &LinkSpec, back: bool, number: u32) -> Port {
        let setting = PortConfig {
            framing: link.framing,
            far_end: far_end(if back { link.a } else { link.b }),
            jittered: false,
            classes: None,
            pool: None,
            fails: false,
            warmup: self.warmup,
            run_seed: 0,
            number: u64::from(number),
        };
        Port::inlet(link.line(back), &setting)
    }

    /// Puts the whole together again from its parts, to look at: what its ports, switches and memories have seen up
    /// to [`Network::finish`], called for each part before. Packets under way are gone.
    pub fn join<'a>(&mut self, parts: impl Iterator<Item = &'a mut Self>, cut: &Partition) {
        let count = self.labels.len();
        let mut ports: Vec<Option<Port>> = (0..count).map(|_| None).collect();
        for (part, number) in parts.zip(0..) {
            let Some(known) = part.shard.take() else { continue };
            let owns = |switch: u32| cut.shard_of(NodeId::Switch(switch)) == number;
            for (port, inlet) in mem::take(&mut part.ports).into_iter().zip(known.inlets) {
                let number = port.number() as usize;
                if !inlet {
                    ports[number] = Some(port);
                }
            }
            if let Some((whole, part)) = self.failures.as_mut().zip(part.failures.take()) {
                whole.no_route_drops += part.no_route_drops;
                for (place, &switch) in known.switches.iter().enumerate() {
                    whole.digests[switch as usize] = part.digests[place];
                }
            }
            for (whole, part) in self.buffer_pools.iter_mut().zip(mem::take(&mut part.buffer_pools))
            {
                if owns(part.switch as u32) {
                    *whole = part;
                }
            }
        }
        self.ports = ports.into_iter().flatten().collect();
    }

    /// Where the link of that number is; `None` if it is in another part.
    pub(super) fn local_link(&self, link: usize) -> Option<usize> {
        match &self.shard {
            None => Some(link),
            Some(part) => part.links.binary_search(&(link as u32)).ok(),
        }
    }

    /// The far end of a line from another part, where nothing happens but arrivals.
    pub(super) fn is_inlet(&self, port: usize) -> bool {
        self.shard.as_ref().is_some_and(|part| part.inlets.get(port).is_some_and(|i| *i))
    }

    /// The routes of this part, from those of the whole.
    pub(super) fn local_routes(&self, routes: Routes) -> Routes {
        match &self.shard {
            None => routes,
            Some(part) => routes.for_shard(&part.switches, |port| part.local_port(port)),
        }
    }
}

impl NetworkShard {
    /// Where the port of that number is, whichever its end here.
    pub(super) fn local_port(&self, number: u32) -> Option<u32> {
        let link = self.links.binary_search(&(number / 2)).ok()?;
        Some(2 * link as u32 + number % 2)
    }

    /// The far end of a port as this part counts; of no use where that is in another.
    fn localise(&self, far: FarEnd, hosts: &[u32]) -> FarEnd {
        match far {
            FarEnd::Host(host) => match hosts.binary_search(&host.0) {
                Ok(place) => FarEnd::Host(crate::HostId(place as u32)),
                Err(_) => far,
            },
            FarEnd::Switch(switch) => match self.switches.binary_search(&switch) {
                Ok(place) => FarEnd::Switch(place as u32),
                Err(_) => far,
            },
        }
    }
}
