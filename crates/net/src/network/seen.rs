//! What whoever compares runs or measures memory can see of the network.

use super::Network;
use crate::packet::Packet;
use crate::port::Port;

impl Network {
    /// The digests that [`Network::digest`] combines, in its order: of each port by number, then, where
    /// failures are planned, of each switch by number. They may be read at any time of the run; what has
    /// left a port enters its digest when the next thing happens there.
    pub fn digests(&self) -> impl Iterator<Item = u64> {
        let unrouted = self.failures.iter().flat_map(|f| &f.digests).map(|d| d.value());
        self.ports.iter().map(Port::digest).chain(unrouted)
    }

    /// How many there are of them.
    pub fn digest_count(&self) -> usize {
        self.ports.len() + self.failures.as_ref().map_or(0, |f| f.digests.len())
    }

    /// The one of that place.
    pub fn digest_of(&self, place: usize) -> Option<u64> {
        if let Some(port) = self.ports.get(place) {
            return Some(port.digest());
        }
        let switch = self.failures.as_ref()?.digests.get(place - self.ports.len())?;
        Some(switch.value())
    }

    /// The name of the entity of that place in [`Network::digests`].
    pub fn digest_name(&self, place: usize) -> Option<&str> {
        match self.labels.get(place) {
            Some(label) => Some(&label.name),
            None => self.switches.get(place - self.labels.len()).map(String::as_str),
        }
    }

    /// The watched packets that are under way, each with its number ([`Network::watch`]).
    pub fn watched(&self) -> Vec<(u64, Packet)> {
        let Some(watch) = &self.watch else { return Vec::new() };
        let packets = self.pool.under_way();
        let mut all: Vec<_> = packets.map(|(id, packet)| (watch.leaves(id), *packet)).collect();
        all.retain(|(number, _)| *number > 0);
        all.sort_unstable_by_key(|(number, _)| *number);
        all
    }

    /// Bytes of memory that all ports hold: their records, the rings of packets behind them and their
    /// histograms; queues by class and lists of marks to come are not counted.
    pub fn port_memory(&self) -> usize {
        self.ports.iter().map(Port::held).sum()
    }
}
