//! Packets on their way out.

use lowtide_wire::{Addresses, Segment, WireError, packet};

use crate::device::TxPacket;

/// Packets beyond which no new one is asked for: what more there is to send waits for the next turn.
const MAX_PACKETS: usize = 128;

/// Packets to be put on the wire in order, in memory that is used again.
#[derive(Debug, Default)]
pub(crate) struct TxBatch {
    bytes: Vec<u8>,
    /// Where each packet ends, and how many bytes of payload each of its segments has; zero for one that is one.
    ends: Vec<(usize, u16)>,
    /// For payload that lies in two pieces.
    joined: Vec<u8>,
}

impl TxBatch {
    /// Enough for one turn.
    pub(super) fn is_full(&self) -> bool {
        self.ends.len() >= MAX_PACKETS
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
        let start = self.end();
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
        self.ends.push((start + len, 0));
        Ok(())
    }

    /// Writes several segments in one packet, `size` bytes of payload in each but the last, which the system cuts.
    pub(super) fn push_gso(
        &mut self,
        addresses: &Addresses,
        segment: &Segment,
        payload: (&[u8], &[u8]),
        size: u16,
    ) -> Result<(), WireError> {
        let start = self.end();
        let room = start + packet::MAX_HEADERS_LEN + payload.0.len() + payload.1.len();
        if self.bytes.len() < room {
            self.bytes.resize(2 * room, 0);
        }
        let out = &mut self.bytes[start..room];
        let len = packet::emit_partial_checksum(addresses, segment, payload, out)?;
        self.ends.push((start + len, size));
        Ok(())
    }

    fn end(&self) -> usize {
        self.ends.last().map_or(0, |(end, _)| *end)
    }

    /// The packets in order.
    pub(crate) fn packets(&self) -> impl Iterator<Item = TxPacket<'_>> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|(end, _)| *end));
        starts.zip(&self.ends).map(|(start, (end, size))| {
            let bytes = self.bytes.get(start..*end).unwrap_or(&[]);
            TxPacket { bytes, segment_size: *size }
        })
    }

    /// Forgets them.
    pub(crate) fn clear(&mut self) {
        self.ends.clear();
    }
}
