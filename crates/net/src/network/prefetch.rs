//! Reading ahead for several events at once.
//!
//! With a thousand hosts most of a hop is waiting for memory: the port, its ring, the table of routes, the
//! next port. Each of these says where the next one is, so one event waits for one after the other. Here
//! the same step is taken for all events at hand before the next step: the processor waits for all of them
//! together. No step depends on a branch that waits for memory.

use std::hint::black_box;

use super::Network;
use crate::packet::{PacketId, PacketMeta};
use crate::port::{FarEnd, Port};

/// So many events are looked at together.
const MOST: usize = 16;
/// Fewer ports than this are near enough: at 128 hosts (768 ports) reading ahead costs a fifth more than it
/// gains, at 1024 (6144) it gains a third.
const LARGE: usize = 2_048;

/// One event.
#[derive(Clone, Copy)]
struct PrefetchSlot {
    port: usize,
    packet: PacketMeta,
    /// The switch at the far end.
    switch: Option<u32>,
    next: usize,
}

impl Network {
    /// Whether [`Network::prefetch`] gains more than it costs.
    pub fn wants_prefetch(&self) -> bool {
        self.ports.len() >= LARGE
    }

    /// Reads what the events of these ports will, so that it is at hand. Changes nothing.
    pub fn prefetch(&self, mut ports: impl Iterator<Item = u32>) {
        let none = PrefetchSlot { port: 0, packet: PacketMeta::default(), switch: None, next: 0 };
        let mut room = [none; MOST];
        let mut count = 0;
        for (place, port) in room.iter_mut().zip(&mut ports) {
            place.port = self.local_port(port) as usize;
            count += 1;
        }
        let coming = &mut room[..count];
        let mut seen = 0;
        for event in coming.iter() {
            seen ^= self.ports.get(event.port).map_or(0, Port::prefetch_far_end);
        }
        for event in coming.iter_mut() {
            let Some(port) = self.ports.get(event.port) else { continue };
            let Some(packet) = port.next_to_arrive() else { continue };
            event.packet = *packet;
            if let FarEnd::Switch(switch) = port.far_end() {
                event.switch = Some(switch);
            }
        }
        for event in coming.iter() {
            seen ^= match event.switch {
                Some(switch) => self.routes.prefetch(switch, &event.packet),
                None if event.packet.id != PacketId::GONE => self.pool.prefetch(event.packet.id),
                None => 0,
            };
        }
        for event in coming.iter_mut() {
            if let Some(switch) = event.switch {
                event.next = self.routes.predicted_port(switch, &event.packet) as usize;
                seen ^= self.ports.get(event.next).map_or(0, Port::prefetch_far_end);
            }
        }
        for event in coming.iter() {
            if event.switch.is_some() {
                seen ^= self.ports.get(event.next).map_or(0, Port::prefetch);
            }
        }
        black_box(seen);
    }
}
