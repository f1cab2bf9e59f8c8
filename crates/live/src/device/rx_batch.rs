//! Batches of received packets, and packets to send.

use std::fmt;
use std::io::IoSliceMut;

use lowtide_units::HostStamp;
use nix::sys::socket::MultiHeaders;

use super::offload::VirtioNetHeader;

/// Most packets per batch.
pub(super) const MAX_PACKETS: usize = 64;
/// Distance of slots, bytes: the largest frame with its virtio-net header. It is not a multiple of
/// the cache way size, so that the first bytes of slots do not share one cache set.
const SLOT_STRIDE: usize = 65_536 + 2 * 64;

/// A packet in a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketSlot {
    pub(super) start: usize,
    pub(super) len: usize,
    pub(super) stamp: HostStamp,
    pub(super) offload: VirtioNetHeader,
}

/// A received packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RxPacket<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) stamp: HostStamp,
    /// Payload bytes of each of its segments but the last; zero for a single segment.
    pub(crate) segment_size: u16,
    /// It comes from this machine without a full TCP checksum.
    pub(crate) checksum_unnecessary: bool,
}

/// A packet to send.
#[derive(Clone, Copy, Debug)]
pub struct TxPacket<'a> {
    /// An IP packet.
    pub bytes: &'a [u8],
    /// Zero for a single segment. Otherwise the packet has several TCP segments, with this many
    /// payload bytes in each but the last. Its checksum field holds the sum of the pseudo header.
    /// For devices that support GSO ([`super::Device::supports_gso`]).
    pub segment_size: u16,
}

impl<'a> From<&'a [u8]> for TxPacket<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self { bytes, segment_size: 0 }
    }
}

/// A reusable buffer for the packets that [`super::Device::recv_many`] reads in one call. It
/// belongs to the reading thread.
pub struct RxBatch {
    pub(super) bytes: Vec<u8>,
    pub(super) packets: Vec<PacketSlot>,
    /// Message headers for `recvmmsg`.
    pub(super) headers: MultiHeaders<()>,
}

impl fmt::Debug for RxBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RxBatch({} packets)", self.packets.len())
    }
}

impl Default for RxBatch {
    fn default() -> Self {
        Self {
            bytes: vec![0; MAX_PACKETS * SLOT_STRIDE],
            packets: Vec::with_capacity(MAX_PACKETS),
            headers: MultiHeaders::preallocate(MAX_PACKETS, None),
        }
    }
}

impl RxBatch {
    /// Whole IP packets in order of arrival, each with its arrival time.
    pub fn packets(&self) -> impl Iterator<Item = (HostStamp, &[u8])> {
        let packet = |slot: &PacketSlot| {
            let bytes = self.bytes.get(slot.start..slot.start + slot.len).unwrap_or(&[]);
            (slot.stamp, bytes)
        };
        self.packets.iter().map(packet)
    }

    /// Packets with their offload state.
    pub(crate) fn rx_packets(&self) -> impl Iterator<Item = RxPacket<'_>> {
        self.packets.iter().map(|slot| RxPacket {
            bytes: self.bytes.get(slot.start..slot.start + slot.len).unwrap_or(&[]),
            stamp: slot.stamp,
            segment_size: if slot.offload.is_gso() { slot.offload.segment_size() } else { 0 },
            checksum_unnecessary: !slot.offload.is_plain(),
        })
    }

    /// Whether no packet was received.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.packets.clear();
        self.bytes.truncate(MAX_PACKETS * SLOT_STRIDE);
    }

    /// Adds a packet that was not read into a slot.
    pub(super) fn push_segment(&mut self, packet: &[u8], stamp: HostStamp) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(packet);
        self.packets.push(PacketSlot {
            start,
            len: packet.len(),
            stamp,
            offload: VirtioNetHeader::default(),
        });
    }

    /// Fills slots until `read` returns `None`. `read` returns the length of each packet.
    pub(super) fn fill_with(
        &mut self,
        mut read: impl FnMut(&mut [u8]) -> std::io::Result<Option<(usize, HostStamp, VirtioNetHeader)>>,
    ) -> std::io::Result<()> {
        self.clear();
        for (number, slot) in self.bytes.chunks_mut(SLOT_STRIDE).enumerate() {
            let Some((len, stamp, offload)) = read(slot)? else { break };
            self.packets.push(PacketSlot { start: number * SLOT_STRIDE, len, stamp, offload });
        }
        Ok(())
    }

    /// The slots for packets, and message headers for them.
    pub(super) fn slots(&mut self) -> (Vec<[IoSliceMut<'_>; 1]>, &mut MultiHeaders<()>) {
        self.clear();
        let slots = self.bytes.chunks_mut(SLOT_STRIDE).map(|slot| [IoSliceMut::new(slot)]);
        (slots.collect(), &mut self.headers)
    }

    /// A slot.
    pub(super) fn slot(&mut self, number: usize) -> &mut [u8] {
        let start = Self::slot_start(number);
        self.bytes.get_mut(start..start + SLOT_STRIDE).unwrap_or_default()
    }

    /// Offset of a slot.
    pub(super) const fn slot_start(number: usize) -> usize {
        number * SLOT_STRIDE
    }
}
