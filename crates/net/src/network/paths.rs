//! The ways that packets can take.

use std::collections::BTreeMap;

use super::Network;
use crate::HostId;
use crate::port::{FarEnd, Port};

impl Network {
    /// The numbers of the ports of `switch` that packets for `host` may take now; with
    /// [`crate::Routing::Single`] one, none if there is no way.
    pub fn next_ports(&self, switch: u32, host: HostId) -> Vec<u32> {
        self.routes.ports(switch, host)
    }

    /// How many ways packets from `src` to `dst` may take now: with [`crate::Routing::Single`] one.
    pub fn path_count(&self, src: HostId, dst: HostId) -> u64 {
        let far = |port: u32| self.ports.get(port as usize).map(Port::far_end);
        let nic = self.routes.nic(src).filter(|_| src != dst);
        let Some(FarEnd::Switch(first)) = nic.and_then(far) else { return 0 };
        // Step by step: all ways are equally long, so the switches of one step lead to none of an earlier
        // one. For each, in how many ways it is reached.
        let mut here = BTreeMap::from([(first, 1_u64)]);
        let mut ways = 0_u64;
        while !here.is_empty() {
            let mut next = BTreeMap::new();
            for (switch, reached) in here {
                for port in self.routes.ports(switch, dst) {
                    match far(port) {
                        Some(FarEnd::Switch(to)) => {
                            let there: &mut u64 = next.entry(to).or_default();
                            *there = there.saturating_add(reached);
                        }
                        Some(FarEnd::Host(_)) => ways = ways.saturating_add(reached),
                        None => {}
                    }
                }
            }
            here = next;
        }
        ways
    }

    /// Bytes of memory that the routes take.
    pub fn route_memory(&self) -> usize {
        self.routes.memory()
    }
}
