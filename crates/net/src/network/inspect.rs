//! What whoever compares runs or measures memory can see of the network.

use super::Network;
use crate::packet::Packet;
use crate::port::Port;

impl Network {
    /// What [`Network::digest`] combines: the digest of each port by number, then of each switch by number,
    /// that of nothing where no failure is planned. They may be read at any time of the run; what has left a
    /// port enters its digest when the next thing happens there.
    pub fn digests(&self) -> impl Iterator<Item = u64> {
        (0..self.digest_count()).filter_map(|place| self.digest_of(place))
    }

    /// How many there are of them.
    pub fn digest_count(&self) -> usize {
        self.ports.len() + self.switches.len()
    }

    /// The one of that place.
    pub fn digest_of(&self, place: usize) -> Option<u64> {
        if let Some(port) = self.ports.get(place) {
            return Some(port.digest());
        }
        let switch = place - self.ports.len();
        let unrouted = self.failures.as_ref().and_then(|f| f.digests.get(switch)).copied();
        (switch < self.switches.len()).then(|| unrouted.unwrap_or_default().value())
    }

    /// The name of the entity of that place in [`Network::digests`].
    pub fn digest_name(&self, place: usize) -> Option<&str> {
        match self.labels.get(place) {
            Some(label) => Some(&label.name),
            None => self.switches.get(place - self.labels.len()).map(String::as_str),
        }
    }

    /// The watched packets that are under way, each with its number ([`Network::watch`]).
    pub fn traced_packets(&self) -> Vec<(u64, Packet)> {
        let Some(watch) = &self.port_tracer else { return Vec::new() };
        let packets = self.pool.in_flight();
        let mut all: Vec<_> = packets.map(|(id, packet)| (watch.trace_id(id), *packet)).collect();
        all.retain(|(number, _)| *number > 0);
        all.sort_unstable_by_key(|(number, _)| *number);
        all
    }

    /// Bytes of memory that all ports hold: their records, the rings of packets behind them and their
    /// histograms; queues by class and lists of marks to come are not counted.
    pub fn port_memory(&self) -> usize {
        self.ports.iter().map(Port::memory_bytes).sum()
    }
}
