//! Packets on their way out.

use lowtide_wire::{Addresses, Segment, WireError, packet};

/// Packets beyond which no new one is asked for: what more there is to send waits for the next turn.
const FULL: usize = 128;

/// Packets to be put on the wire in order, in memory that is used again.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    /// Where each packet ends.
    ends: Vec<usize>,
    /// For payload that lies in two pieces.
    joined: Vec<u8>,
}

impl Batch {
    /// Enough for one turn.
    pub(super) fn is_full(&self) -> bool {
        self.ends.len() >= FULL
    }

    /// Nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Writes one packet, its payload given in two pieces.
    pub(super) fn push(
        &mut self,
        addresses: &Addresses,
        segment: &Segment,
        payload: (&[u8], &[u8]),
    ) -> Result<(), WireError> {
        let start = self.ends.last().copied().unwrap_or(0);
        let payload = if payload.1.is_empty() {
            payload.0
        } else {
            self.joined.clear();
            self.joined.extend_from_slice(payload.0);
            self.joined.extend_from_slice(payload.1);
            &self.joined
        };
        let room = start + packet::MAX_HEADERS_LEN + payload.len();
        if self.bytes.len() < room {
            self.bytes.resize(2 * room, 0);
        }
        let len = packet::emit(addresses, segment, payload, &mut self.bytes[start..room])?;
        self.ends.push(start + len);
        Ok(())
    }

    /// The packets in order.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| self.bytes.get(start..*end).unwrap_or(&[]))
    }

    /// Forgets them.
    pub(crate) fn clear(&mut self) {
        self.ends.clear();
    }
}
