//! Packets that cross from one shard of the network to another.

use lowtide_sim::{Entity, Scheduler};
use lowtide_units::Instant;

use super::Network;
use crate::compact_packet::CompactPacket;
use crate::packet::Packet;
use crate::packet_pool::{Descriptor, PacketId, PacketPool};

/// A packet that crosses shards.
#[derive(Clone, Debug)]
pub struct CrossShardPacket {
    departure: Instant,
    content: Content,
}

/// The packet, and the number of the port that it left.
#[derive(Clone, Debug)]
enum Content {
    Compact(CompactPacket),
    /// More than a compact packet holds.
    Full(Box<FullPacket>),
    /// It was lost on the line; its arrival event remains.
    Lost {
        port: u32,
    },
}

#[derive(Clone, Debug)]
struct FullPacket {
    identity: u64,
    port: u32,
    /// See [`Descriptor::queueing_ns`].
    queueing_ns: u32,
    packet: Packet,
}

impl Content {
    fn of(id: PacketId, port: u32, pool: &PacketPool) -> Self {
        let &Descriptor { identity, queueing_ns, lost, .. } = pool.descriptor(id);
        if lost {
            return Self::Lost { port };
        }
        let packet = pool.packet(id);
        match CompactPacket::new(identity, port, packet).filter(|_| queueing_ns == 0) {
            Some(compact) => Self::Compact(compact),
            None => {
                Self::Full(Box::new(FullPacket { identity, port, queueing_ns, packet: *packet }))
            }
        }
    }
    fn port(&self) -> u32 {
        match self {
            Self::Compact(compact) => compact.port(),
            Self::Full(full) => full.port,
            Self::Lost { port } => *port,
        }
    }
}

impl Network {
    /// Records that a port to another shard has a packet to export.
    #[cold]
    pub(super) fn note_export(&mut self, port: u32) {
        if let Some(shard) = &mut self.shard {
            shard.export_ports.push(port);
        }
    }

    /// Removes all packets that arrive at another shard before `until` and passes them to `post`
    /// with the number of that shard. All events more than a lookahead before `until` are done.
    /// Returns the earliest arrival at another shard, of these packets or of those that wait.
    pub fn export_packets(
        &mut self,
        until: Instant,
        post: &mut dyn FnMut(usize, CrossShardPacket),
    ) -> Option<Instant> {
        let mut shard = self.shard.take()?;
        let done = Instant::from_ps(until.as_ps().saturating_sub(shard.lookahead.as_ps()));
        let mut first: Option<Instant> = None;
        let (ports, pool) = (&mut self.ports, &mut self.pool);
        shard.exported_in_service.retain(|&(port, id)| {
            let left = ports[port as usize].has_left(id, done, pool);
            if left {
                release_exported(pool, id);
            }
            !left
        });
        let mut outlets = std::mem::take(&mut shard.export_ports);
        outlets.retain(|&port| {
            let this = &mut ports[port as usize];
            let number = this.number();
            let arrives = this.arrives_at(pool);
            first = first.into_iter().chain(arrives).min();
            while let Some((id, marked)) = this.export_before(done, until, pool) {
                if marked {
                    pool.set_ce(id);
                }
                let departure = pool.descriptor(id).departure;
                let content = Content::of(id, number, pool);
                let crossing = CrossShardPacket { departure, content };
                post(shard.far_shards[port as usize].into(), crossing);
                if this.in_service() == id {
                    shard.exported_in_service.push((port, id));
                } else {
                    release_exported(pool, id);
                }
            }
            this.arrives_at(pool).is_some()
        });
        shard.export_ports = outlets;
        self.shard = Some(shard);
        first
    }

    /// Returns true if packets wait to be exported.
    pub fn has_exports(&self) -> bool {
        let waits = |port: &u32| self.ports[*port as usize].arrives_at(&self.pool).is_some();
        self.shard.as_ref().is_some_and(|shard| shard.export_ports.iter().any(waits))
    }

    /// Returns the local index of the port with that number, if its sending end is in this shard.
    pub fn local_port_at_near_end(&self, number: u32) -> Option<u32> {
        let Some(shard) = &self.shard else { return Some(number) };
        let port = shard.local_port(number)?;
        (!self.is_inlet(port as usize)).then_some(port)
    }

    /// Imports a packet from another shard.
    pub fn import_packet(&mut self, crossing: &CrossShardPacket, sched: &mut Scheduler) {
        let CrossShardPacket { departure, content } = crossing;
        let port = content.port();
        let id = match content {
            Content::Compact(compact) => self.import_content(compact.identity(), &compact.packet()),
            Content::Full(full) => {
                let id = self.import_content(full.identity, &full.packet);
                self.pool.descriptor_mut(id).queueing_ns = full.queueing_ns;
                id
            }
            Content::Lost { .. } => self.pool.put_lost(),
        };
        let index = self.local_port(port) as usize;
        if let Some(arrival) = self.ports[index].import(id, *departure, &mut self.pool) {
            sched.at(arrival, Entity::new(Self::PORT_KIND, port));
        }
    }

    fn import_content(&mut self, identity: u64, packet: &Packet) -> PacketId {
        let flow = if self.by_flow { packet.envelope().flow(&packet.segment) } else { 0 };
        self.pool.import(identity, flow, packet)
    }

    /// Removes ports without packets to export, after link failures.
    pub(super) fn prune_exports(&mut self) {
        if let Some(shard) = &mut self.shard {
            shard
                .export_ports
                .retain(|port| self.ports[*port as usize].arrives_at(&self.pool).is_some());
        }
    }
}

/// Frees the slot of a packet that was exported and has left its line.
fn release_exported(pool: &mut PacketPool, id: PacketId) {
    if pool.descriptor(id).lost {
        pool.release_lost(id);
    } else {
        pool.release(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages between shards are copied several times.
    #[test]
    fn a_packet_crosses_in_one_cache_line() {
        assert_eq!(size_of::<CrossShardPacket>(), 64);
    }
}
