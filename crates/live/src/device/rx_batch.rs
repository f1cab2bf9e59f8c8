//! Packets that were read in one go.

use std::fmt;
use std::io::IoSliceMut;

use lowtide_units::HostStamp;
use nix::sys::socket::MultiHeaders;

use super::offload::VirtioNetHeader;

/// The most packets of one go.
const MAX_PACKETS: usize = 64;
/// From one place to the next, bytes: the longest frame with what the kernel says of it, and not a multiple of the
/// size of a cache's ways, which all first bytes would share otherwise.
const SLOT_STRIDE: usize = 65_536 + 2 * 64;

/// A packet in an inbox.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketSlot {
    pub(super) start: usize,
    pub(super) len: usize,
    pub(super) stamp: HostStamp,
    pub(super) offload: VirtioNetHeader,
}

/// A packet that came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RxPacket<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) stamp: HostStamp,
    /// Bytes of payload in each of its segments but the last; zero for one that is one.
    pub(crate) segment_size: u16,
    /// It comes from this machine, and its checksum of TCP is not there.
    pub(crate) checksum_unnecessary: bool,
}

/// A packet that goes.
#[derive(Clone, Copy, Debug)]
pub struct TxPacket<'a> {
    /// An IP packet.
    pub bytes: &'a [u8],
    /// Zero for a packet that is whole. Else it has several segments of TCP with so many bytes of payload in each but the
    /// last, and in place of its checksum the sum over the pseudo header; for devices that take such
    /// ([`super::Device::supports_gso`]).
    pub segment_size: u16,
}

impl<'a> From<&'a [u8]> for TxPacket<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self { bytes, segment_size: 0 }
    }
}

/// Room for the packets that [`super::Device::fill`] reads in one go, used again for the next. It belongs to the
/// thread that reads.
pub struct RxBatch {
    pub(super) bytes: Vec<u8>,
    pub(super) packets: Vec<PacketSlot>,
    /// What the system wants to have for many packets.
    pub(super) headers: MultiHeaders<()>,
}

impl fmt::Debug for RxBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Inbox({} packets)", self.packets.len())
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
    /// Whole IP packets, in the order in which they came, and when that was.
    pub fn packets(&self) -> impl Iterator<Item = (HostStamp, &[u8])> {
        let packet = |place: &PacketSlot| {
            let bytes = self.bytes.get(place.start..place.start + place.len).unwrap_or(&[]);
            (place.stamp, bytes)
        };
        self.packets.iter().map(packet)
    }

    /// The same, with what the kernel says of them.
    pub(crate) fn rx_packets(&self) -> impl Iterator<Item = RxPacket<'_>> {
        self.packets.iter().map(|place| RxPacket {
            bytes: self.bytes.get(place.start..place.start + place.len).unwrap_or(&[]),
            stamp: place.stamp,
            segment_size: if place.offload.is_gso() { place.offload.segment_size() } else { 0 },
            checksum_unnecessary: !place.offload.is_plain(),
        })
    }

    /// Nothing came.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    fn clear(&mut self) {
        self.packets.clear();
        self.bytes.truncate(MAX_PACKETS * SLOT_STRIDE);
    }

    /// Adds a packet that was not read into a place.
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

    /// Reads one after the other until `read` has no more; lengths are those that it says.
    pub(super) fn fill_with(
        &mut self,
        mut read: impl FnMut(&mut [u8]) -> std::io::Result<Option<(usize, HostStamp, VirtioNetHeader)>>,
    ) -> std::io::Result<()> {
        self.clear();
        for (number, place) in self.bytes.chunks_mut(SLOT_STRIDE).enumerate() {
            let Some((len, stamp, offload)) = read(place)? else { break };
            self.packets.push(PacketSlot { start: number * SLOT_STRIDE, len, stamp, offload });
        }
        Ok(())
    }

    /// The places for packets, and what the system wants to have beside them.
    pub(super) fn slots(&mut self) -> (Vec<[IoSliceMut<'_>; 1]>, &mut MultiHeaders<()>) {
        self.clear();
        let places = self.bytes.chunks_mut(SLOT_STRIDE).map(|place| [IoSliceMut::new(place)]);
        (places.collect(), &mut self.headers)
    }

    /// Where a place begins.
    pub(super) const fn slot_start(number: usize) -> usize {
        number * SLOT_STRIDE
    }
}
