//! Prefetching for several events at once.
//!
//! With a thousand hosts most of a hop is cache misses: the port, its packet, the routing table,
//! the next port. Each address depends on the previous load, so the misses of one event are serial.
//! Here each step is done for all ready events before the next step, so that their misses overlap.
//! No step has a branch that depends on a missing cache line.

use std::hint::black_box;

use super::Network;
use crate::packet_pool::PacketId;
use crate::port::{FarEnd, Port};

/// Maximum events per batch.
const MOST: usize = 16;
/// Minimum number of ports: at 128 hosts (768 ports) prefetching costs a fifth more than it gains;
/// at 1024 (6144 ports) it gains a third.
const LARGE: usize = 2_048;

/// One event.
#[derive(Clone, Copy)]
struct PrefetchSlot {
    port: usize,
    packet: PacketId,
    /// The switch at the far end.
    switch: Option<u32>,
    next: usize,
}

impl Network {
    /// Returns true if [`Network::prefetch`] pays off.
    pub fn wants_prefetch(&self) -> bool {
        self.ports.len() >= LARGE
    }

    /// Prefetches the data that the events of these ports will read. Changes nothing.
    pub fn prefetch(&self, mut ports: impl Iterator<Item = u32>) {
        let none = PrefetchSlot { port: 0, packet: PacketId::NONE, switch: None, next: 0 };
        let mut slots = [none; MOST];
        let mut count = 0;
        for (slot, port) in slots.iter_mut().zip(&mut ports) {
            slot.port = self.local_port(port) as usize;
            count += 1;
        }
        let coming = &mut slots[..count];
        let mut seen = 0;
        for event in coming.iter_mut() {
            let Some(port) = self.ports.get(event.port) else { continue };
            event.packet = port.next_to_arrive();
            if let FarEnd::Switch(switch) = port.far_end() {
                event.switch = Some(switch);
            }
        }
        for event in coming.iter() {
            seen ^= self.pool.get(event.packet).map_or(0, |packet| packet.identity);
        }
        for event in coming.iter() {
            let Some(packet) = self.pool.get(event.packet) else { continue };
            seen ^= match event.switch {
                Some(switch) => self.routes.prefetch(switch, packet),
                None => self.pool.prefetch(event.packet),
            };
        }
        for event in coming.iter_mut() {
            if let Some((switch, packet)) = event.switch.zip(self.pool.get(event.packet)) {
                event.next = self.routes.predicted_port(switch, packet) as usize;
            }
        }
        for event in coming.iter() {
            if event.switch.is_some() {
                seen ^= self.ports.get(event.next).map_or(0, Port::prefetch);
            }
        }
        for event in coming.iter() {
            if event.switch.is_some() {
                let next = self.ports.get(event.next);
                seen ^= next.map_or(0, |port| port.prefetch_queue(&self.pool));
            }
        }
        black_box(seen);
    }
}
