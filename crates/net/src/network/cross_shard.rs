//! Packets that go from one part of the network to another.

use lowtide_sim::{Entity, Scheduler};
use lowtide_units::Instant;

use super::Network;
use crate::Packet;
use crate::packet::{PacketId, PacketMeta, PacketState};

/// A packet on its way from one part to another.
#[derive(Clone, Copy, Debug)]
pub struct CrossShardPacket {
    /// Number of the port that it left.
    port: u32,
    departure: Instant,
    /// The place on the line of one that was lost there keeps its event.
    packet: Option<(PacketState, Packet)>,
}

impl Network {
    /// A port to another part has something to hand over.
    #[cold]
    pub(super) fn note_export(&mut self, port: u32) {
        if let Some(part) = &mut self.shard {
            part.export_ports.push(port);
        }
    }

    /// Gives `post` all packets that come to another part before `until`, each with the number of that part,
    /// and takes them out. All that happens more than a lookahead before `until` is done. When the first
    /// packet comes to another part, of these and of those that wait.
    pub fn export_packets(
        &mut self,
        until: Instant,
        post: &mut dyn FnMut(usize, CrossShardPacket),
    ) -> Option<Instant> {
        let mut part = self.shard.take()?;
        let done = Instant::from_ps(until.as_ps().saturating_sub(part.lookahead.as_ps()));
        let mut first: Option<Instant> = None;
        let mut outlets = std::mem::take(&mut part.export_ports);
        outlets.retain(|&port| {
            let this = &mut self.ports[port as usize];
            let number = this.number();
            let arrives = this.arrives_at();
            first = first.into_iter().chain(arrives).min();
            while let Some((arrived, marked)) = this.export_before(done, until) {
                let id = arrived.packet.id;
                let packet = (id != PacketId::GONE).then(|| {
                    if marked {
                        self.pool.set_ce(id);
                    }
                    self.pool.export(id)
                });
                let crossing =
                    CrossShardPacket { port: number, departure: arrived.departure, packet };
                post(part.far_shards[port as usize].into(), crossing);
            }
            this.arrives_at().is_some()
        });
        part.export_ports = outlets;
        self.shard = Some(part);
        first
    }

    /// Whether any packet waits to be handed over.
    pub fn has_exports(&self) -> bool {
        let waits = |port: &u32| self.ports[*port as usize].arrives_at().is_some();
        self.shard.as_ref().is_some_and(|part| part.export_ports.iter().any(waits))
    }

    /// Where the port of that number is, if this is the part at the near end of its line.
    pub fn local_port_at_near_end(&self, number: u32) -> Option<u32> {
        let Some(part) = &self.shard else { return Some(number) };
        let port = part.local_port(number)?;
        (!self.is_inlet(port as usize)).then_some(port)
    }

    /// Takes in a packet that comes from another part.
    pub fn import_packet(&mut self, crossing: &CrossShardPacket, sched: &mut Scheduler) {
        let CrossShardPacket { port, departure, packet } = crossing;
        let moving = match packet {
            Some((head, packet)) => self.pool.import(*head, packet),
            None => PacketMeta { id: PacketId::GONE, ..PacketMeta::default() },
        };
        let place = self.local_port(*port) as usize;
        if let Some(arrival) = self.ports[place].import(moving, *departure) {
            sched.at(arrival, Entity::new(Self::PORT_KIND, *port));
        }
    }

    /// Links have failed: ports that have lost all they had to hand over are no longer waited for.
    pub(super) fn prune_exports(&mut self) {
        if let Some(part) = &mut self.shard {
            part.export_ports.retain(|port| self.ports[*port as usize].arrives_at().is_some());
        }
    }
}
