//! No marker: packets are lost only when the buffer is full.

use lowtide_units::Instant;

use super::{Aqm, AqmVerdict, EnqueueInfo};
use crate::registry::RegistryEntry;

/// Registration.
pub static ENTRY: RegistryEntry = RegistryEntry {
    name: "droptail",
    summary: "no marking, loss when the buffer is full",
    spec: "RFC 7567 §2.1",
    params: &[],
};

/// Forwards every admitted packet.
#[derive(Clone, Copy, Debug)]
pub struct DropTail;

impl Aqm for DropTail {
    #[inline]
    fn on_enqueue(&mut self, _: Instant, _: &EnqueueInfo) -> AqmVerdict {
        AqmVerdict::Forward
    }
}
