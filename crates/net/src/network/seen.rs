//! What whoever compares runs or measures memory can see of the network.

use super::Network;
use crate::port::Port;

impl Network {
    /// Bytes of memory that all ports hold: their records, the rings of packets behind them and their
    /// histograms; queues by class and lists of marks to come are not counted.
    pub fn port_memory(&self) -> usize {
        self.ports.iter().map(Port::held).sum()
    }
}
