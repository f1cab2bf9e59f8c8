//! Inspection of the network for comparing runs and measuring memory.

use super::Network;
use crate::packet::Packet;
use crate::port::Port;

impl Network {
    /// Returns the digests that [`Network::digest`] combines: of each port by number, then of each
    /// switch by number. The latter are empty without planned failures. They may be read at any
    /// time; a departure enters the digest of its port at the port's next event.
    pub fn digests(&self) -> impl Iterator<Item = u64> {
        (0..self.digest_count()).filter_map(|index| self.digest_of(index))
    }

    /// Returns the number of digests.
    pub fn digest_count(&self) -> usize {
        self.ports.len() + self.switches.len()
    }

    /// Returns the digest with that index.
    pub fn digest_of(&self, index: usize) -> Option<u64> {
        if let Some(port) = self.ports.get(index) {
            return Some(port.digest());
        }
        let switch = index - self.ports.len();
        let no_route = self.failures.as_ref().and_then(|f| f.digests.get(switch)).copied();
        (switch < self.switches.len()).then(|| no_route.unwrap_or_default().value())
    }

    /// Returns the name of the entity with that index in [`Network::digests`].
    pub fn digest_name(&self, index: usize) -> Option<&str> {
        match self.labels.get(index) {
            Some(label) => Some(&label.name),
            None => self.switches.get(index - self.labels.len()).map(String::as_str),
        }
    }

    /// Returns the traced packets in flight, each with its number ([`Network::trace`]).
    pub fn traced_packets(&self) -> Vec<(u64, Packet)> {
        let Some(tracer) = &self.port_tracer else { return Vec::new() };
        let packets = self.pool.in_flight();
        let mut all: Vec<_> = packets.map(|(id, packet)| (tracer.trace_id(id), *packet)).collect();
        all.retain(|(number, _)| *number > 0);
        all.sort_unstable_by_key(|(number, _)| *number);
        all
    }

    /// Returns the bytes held by all ports: structs, packet rings and histograms. Class queues and
    /// pending marks are not counted.
    pub fn port_memory(&self) -> usize {
        self.ports.iter().map(Port::memory_bytes).sum()
    }
}
