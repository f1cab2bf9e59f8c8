//! Packets that cross from one shard of the network to another.

use lowtide_sim::{Entity, Scheduler};
use lowtide_units::Instant;

use super::Network;
use crate::Packet;
use crate::packet::{PacketId, PacketMeta, PacketState};

/// A packet that crosses shards.
#[derive(Clone, Copy, Debug)]
pub struct CrossShardPacket {
    /// Number of the port that it left.
    port: u32,
    departure: Instant,
    /// `None` if it was lost on the line; its arrival event remains.
    packet: Option<(PacketState, Packet)>,
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
        let mut outlets = std::mem::take(&mut shard.export_ports);
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
                post(shard.far_shards[port as usize].into(), crossing);
            }
            this.arrives_at().is_some()
        });
        shard.export_ports = outlets;
        self.shard = Some(shard);
        first
    }

    /// Returns true if packets wait to be exported.
    pub fn has_exports(&self) -> bool {
        let waits = |port: &u32| self.ports[*port as usize].arrives_at().is_some();
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
        let CrossShardPacket { port, departure, packet } = crossing;
        let meta = match packet {
            Some((head, packet)) => self.pool.import(*head, packet),
            None => PacketMeta { id: PacketId::GONE, ..PacketMeta::default() },
        };
        let index = self.local_port(*port) as usize;
        if let Some(arrival) = self.ports[index].import(meta, *departure) {
            sched.at(arrival, Entity::new(Self::PORT_KIND, *port));
        }
    }

    /// Removes ports without packets to export, after link failures.
    pub(super) fn prune_exports(&mut self) {
        if let Some(shard) = &mut self.shard {
            shard.export_ports.retain(|port| self.ports[*port as usize].arrives_at().is_some());
        }
    }
}
