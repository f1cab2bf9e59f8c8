//! The paths of packets.

use std::collections::BTreeMap;

use super::Network;
use crate::HostId;
use crate::port::{FarEnd, Port};

impl Network {
    /// Returns the ports of `switch` that packets for `host` may take now: one with
    /// [`crate::Routing::Single`], none if there is no path.
    pub fn next_ports(&self, switch: u32, host: HostId) -> Vec<u32> {
        self.routes.ports(switch, host)
    }

    /// Returns the number of paths from `src` to `dst` now; one with [`crate::Routing::Single`].
    pub fn path_count(&self, src: HostId, dst: HostId) -> u64 {
        let far = |port: u32| self.ports.get(port as usize).map(Port::far_end);
        let nic = self.routes.nic(src).filter(|_| src != dst);
        let Some(FarEnd::Switch(first)) = nic.and_then(far) else { return 0 };
        // Breadth first: all paths have equal length, so the switches of one step never lead to
        // those of an earlier one. The map counts the paths to each switch.
        let mut here = BTreeMap::from([(first, 1_u64)]);
        let mut paths = 0_u64;
        while !here.is_empty() {
            let mut next = BTreeMap::new();
            for (switch, reached) in here {
                for port in self.routes.ports(switch, dst) {
                    match far(port) {
                        Some(FarEnd::Switch(to)) => {
                            let there: &mut u64 = next.entry(to).or_default();
                            *there = there.saturating_add(reached);
                        }
                        Some(FarEnd::Host(_)) => paths = paths.saturating_add(reached),
                        None => {}
                    }
                }
            }
            here = next;
        }
        paths
    }

    /// Returns the bytes of the routing table.
    pub fn route_memory(&self) -> usize {
        self.routes.memory()
    }
}
