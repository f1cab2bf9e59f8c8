//! Sizes of a ring, and the position of a frame in its slot.

use std::ops::Range;

/// Bytes of a slot that the kernel needs beside the network layer of a frame: `tpacket2_hdr`,
/// `sockaddr_ll`, the virtio-net header, the link-layer header and padding.
const SLOT_OVERHEAD: usize = 128;
/// Smallest slot, bytes.
const MIN_SLOT: usize = 2 << 10;
/// Memory that the kernel allocates at once, bytes; a multiple of every page size.
const BLOCK: usize = 64 << 10;

/// Number and size of the slots of a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RingLayout {
    slot: usize,
    slots: usize,
}

impl RingLayout {
    /// A ring of at most `memory` bytes, but of at least 16 slots, for packets of at most `mtu`
    /// bytes without their link-layer header.
    pub fn new(mtu: u16, memory: usize) -> Self {
        let slot = (usize::from(mtu) + SLOT_OVERHEAD).next_power_of_two().max(MIN_SLOT);
        let block = slot.max(BLOCK);
        let blocks = (memory / block).max((16 * slot).div_ceil(block));
        Self { slot, slots: blocks * (block / slot) }
    }

    /// Bytes of memory.
    pub const fn memory(&self) -> usize {
        self.slot * self.slots
    }

    /// Number of slots.
    pub const fn slots(&self) -> usize {
        self.slots
    }

    /// Bytes of a slot.
    pub(crate) const fn slot(&self) -> usize {
        self.slot
    }

    /// Bytes of a block. Slots never cross the end of a block.
    pub(crate) fn block(&self) -> usize {
        self.slot.max(BLOCK)
    }
}

/// The lengths and offsets of a `tpacket2_hdr`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FrameHeader {
    /// Bytes of the frame on the interface.
    pub(crate) len: u32,
    /// Bytes of the frame in the slot.
    pub(crate) captured: u32,
    /// Offset of the frame in the slot.
    pub(crate) mac: u16,
}

impl FrameHeader {
    /// Bytes of the slot with the frame and the `prefix` bytes before it. `None` if the frame was
    /// truncated, or if the range would leave the slot or overlap its header.
    pub(crate) fn range(&self, prefix: usize, slot: usize) -> Option<Range<usize>> {
        let mac = usize::from(self.mac);
        let start = mac.checked_sub(prefix)?;
        let end = mac.checked_add(usize::try_from(self.captured).ok()?)?;
        let whole = self.captured == self.len;
        (whole && start >= size_of::<libc::tpacket2_hdr>() && end <= slot).then_some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_hold_a_packet_and_blocks_hold_whole_slots() {
        for mtu in [0, 68, 1500, 1920, 1921, 9000, u16::MAX] {
            for memory in [0, 1, 100_000, 1 << 20, (16 << 20) + 5] {
                let layout = RingLayout::new(mtu, memory);
                assert!(layout.slot() >= usize::from(mtu) + SLOT_OVERHEAD, "{layout:?}");
                assert_eq!(layout.block() % layout.slot(), 0, "{layout:?}");
                assert_eq!(layout.memory() % layout.block(), 0, "{layout:?}");
                assert!(layout.slots() >= 16, "{layout:?}");
                let least = 16 * layout.slot().max(MIN_SLOT);
                assert!(layout.memory() <= memory.max(least.max(BLOCK)), "{layout:?}");
            }
        }
        assert_eq!(RingLayout::new(1500, 16 << 20).slots(), 8192);
    }

    #[test]
    fn no_range_leaves_its_slot() {
        let slot = 2048;
        let interesting = [0, 1, 9, 10, 31, 32, 41, 42, 76, 90, 1590, 2047, 2048, 2049, 65_535];
        let lengths = interesting.into_iter().chain([1 << 20, u32::MAX - 76, u32::MAX]);
        for captured in lengths.clone() {
            for len in lengths.clone() {
                for mac in interesting.map(|n| n as u16) {
                    let header = FrameHeader { len, captured, mac };
                    let Some(range) = header.range(10, slot) else { continue };
                    assert!(range.start >= 32 && range.end <= slot, "{header:?}");
                    assert!(range.end - range.start >= 10, "{header:?}");
                    assert_eq!(len, captured);
                }
            }
        }
        let header = FrameHeader { len: 1514, captured: 1514, mac: 76 };
        assert_eq!(header.range(10, slot), Some(66..1590));
        let truncated = FrameHeader { len: 1515, ..header };
        assert_eq!(truncated.range(10, slot), None);
    }
}
