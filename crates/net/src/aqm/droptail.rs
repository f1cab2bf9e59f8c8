//! No marker: packets are lost only when the buffer is full.

use super::{Marker, MarkerConfig, MarkerEntry, MarkerSetup};

/// Registration.
pub static ENTRY: MarkerEntry = MarkerEntry {
    name: "droptail",
    summary: "no marking, loss when the buffer is full",
    spec: "RFC 7567 §2.1",
    params: &[],
    configure: |_| Ok(Box::new(DropTail)),
};

/// Forwards every admitted packet.
#[derive(Clone, Copy, Debug)]
pub struct DropTail;

impl MarkerConfig for DropTail {
    fn start(&self, _: &MarkerSetup) -> Marker {
        Marker::NONE
    }

    fn sets_ce(&self) -> bool {
        false
    }
}
