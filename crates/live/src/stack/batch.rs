//! Packets to transmit.

use lowtide_wire::{Addresses, Segment, WireError, packet};

use crate::device::TxPacket;

/// Packets after which a batch is full; further data waits for the next poll.
const MAX_PACKETS: usize = 128;

/// Packets to transmit in order, in a reused buffer.
#[derive(Debug, Default)]
pub(crate) struct TxBatch {
    bytes: Vec<u8>,
    /// End offset of each packet and payload bytes per segment; zero bytes for a single segment.
    ends: Vec<(usize, u16)>,
    /// Scratch space for payload in two slices.
    joined: Vec<u8>,
}

impl TxBatch {
    /// Whether the batch takes no further packets.
    pub(super) fn is_full(&self) -> bool {
        self.ends.len() >= MAX_PACKETS
    }

    /// Whether no packet waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Appends one packet; its payload is in two slices.
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

    /// Appends one GSO packet with `size` bytes of payload in each segment but the last. The kernel
    /// splits it.
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

    /// Removes all packets.
    pub(crate) fn clear(&mut self) {
        self.ends.clear();
    }
}
