//! The ways that packets can take.

use std::collections::BTreeMap;

use super::Network;
use crate::HostId;
use crate::port::{Far, Port};

impl Network {
    /// The numbers of the ports of `switch` that packets for `host` may take now; with
    /// [`crate::Routing::Single`] one, none if there is no way.
    pub fn next_ports(&self, switch: u32, host: HostId) -> Vec<u32> {
        self.routes.ports(switch, host)
    }

    /// How many ways packets from `src` to `dst` may take now: with [`crate::Routing::Single`] one.
    pub fn ways(&self, src: HostId, dst: HostId) -> u64 {
        let nic = self.routes.nic(src).filter(|_| src != dst);
        let far = nic.and_then(|nic| self.ports.get(nic as usize)).map(Port::far);
        far.map_or(0, |far| self.ways_from(far, dst, &mut BTreeMap::new()))
    }

    /// Bytes of memory that the routes take.
    pub fn route_memory(&self) -> usize {
        self.routes.memory()
    }

    fn ways_from(&self, at: Far, dst: HostId, known: &mut BTreeMap<u32, u64>) -> u64 {
        let switch = match at {
            Far::Host(host) => return u64::from(host == dst),
            Far::Switch(switch) => switch,
        };
        if let Some(ways) = known.get(&switch) {
            return *ways;
        }
        let ports = self.routes.ports(switch, dst).into_iter();
        let far = ports.filter_map(|port| self.ports.get(port as usize)).map(Port::far);
        let ways = far.map(|far| self.ways_from(far, dst, known)).fold(0, u64::saturating_add);
        known.insert(switch, ways);
        ways
    }
}
