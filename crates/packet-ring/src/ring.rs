//! The ring and its frames.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::sys::socket::setsockopt;

use crate::layout::{FrameHeader, RingLayout};
use crate::mapping::Mapping;

mod options {
    //! Socket options that nix does not have.
    use nix::{setsockopt_impl, sockopt_impl};

    sockopt_impl!(
        /// Version of the slot headers.
        Version, SetOnly, libc::SOL_PACKET, libc::PACKET_VERSION, u32
    );
    sockopt_impl!(
        /// Frames that do not fit into a slot are queued on the socket.
        CopyThreshold, SetOnly, libc::SOL_PACKET, libc::PACKET_COPY_THRESH, u32
    );
    sockopt_impl!(
        /// The receive ring; without slots it is removed.
        RxRing, SetOnly, libc::SOL_PACKET, libc::PACKET_RX_RING, libc::tpacket_req
    );
}

/// Offsets in `tpacket2_hdr`: its status, the frame's length, its captured length, and two offsets
/// of 16 bits, of the link layer and of the network layer.
const STATUS: usize = 0;
const LEN: usize = 4;
const CAPTURED: usize = 8;
const OFFSETS: usize = 12;

/// A receive ring. Frames are lost if it is full.
#[derive(Debug)]
pub struct RxRing {
    mapping: Mapping,
    layout: RingLayout,
    /// Bytes before each frame: the virtio-net header.
    prefix: usize,
    /// The slot that is read next.
    next: usize,
}

impl RxRing {
    /// Makes a ring for the packet socket `socket`, which must not be bound yet: frames that wait
    /// on the socket already would be mistaken for frames of the ring. `prefix` is the length of
    /// the virtio-net header, if the socket has one.
    ///
    /// # Errors
    /// The socket is no packet socket, has a ring already, or no memory is left. Frames then still
    /// arrive at the socket.
    pub fn new(socket: impl AsFd, layout: RingLayout, prefix: usize) -> io::Result<Self> {
        let too_large = |_| io::Error::from(io::ErrorKind::InvalidInput);
        let number = |n: usize| u32::try_from(n).map_err(too_large);
        let request = libc::tpacket_req {
            tp_block_size: number(layout.block())?,
            tp_block_nr: number(layout.memory() / layout.block())?,
            tp_frame_size: number(layout.slot())?,
            tp_frame_nr: number(layout.slots())?,
        };
        setsockopt(&socket, options::Version, &(libc::tpacket_versions::TPACKET_V2 as u32))?;
        setsockopt(&socket, options::CopyThreshold, &1)?;
        setsockopt(&socket, options::RxRing, &request)?;
        let mapping = Mapping::new(socket.as_fd(), layout.memory()).inspect_err(|_| {
            // Without the mapping no one would read the ring.
            let none = libc::tpacket_req {
                tp_block_size: 0,
                tp_block_nr: 0,
                tp_frame_size: 0,
                tp_frame_nr: 0,
            };
            let _ = setsockopt(&socket, options::RxRing, &none);
        })?;
        Ok(Self { mapping, layout, prefix, next: 0 })
    }

    /// Sizes of this ring.
    pub const fn layout(&self) -> RingLayout {
        self.layout
    }

    /// The next frame, if one has arrived.
    pub fn next_frame(&mut self) -> Option<RxFrame<'_>> {
        let start = self.next * self.layout.slot();
        // The status is the last field that the kernel writes.
        let status = self.word(start + STATUS)?.load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        self.next = (self.next + 1) % self.layout.slots();
        Some(RxFrame { ring: self, start, status })
    }

    fn word(&self, offset: usize) -> Option<&AtomicU32> {
        self.mapping.atomic(offset)
    }
}

/// Contents of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotContents<'a> {
    /// A frame with its virtio-net header.
    Frame(&'a [u8]),
    /// The frame does not fit into the slot. It is the next one that waits on the socket.
    OnSocket,
    /// The frame did not fit anywhere, or its header is inconsistent.
    Lost,
}

/// A slot with a frame. The kernel gets the slot back when this is dropped.
#[derive(Debug)]
pub struct RxFrame<'a> {
    ring: &'a mut RxRing,
    /// Offset of the slot in the mapping.
    start: usize,
    status: u32,
}

impl RxFrame<'_> {
    /// The contents of the slot.
    pub fn contents(&self) -> SlotContents<'_> {
        if self.status & libc::TP_STATUS_COPY != 0 {
            return SlotContents::OnSocket;
        }
        self.frame().map_or(SlotContents::Lost, SlotContents::Frame)
    }

    fn frame(&self) -> Option<&[u8]> {
        let RxRing { layout, prefix, mapping, .. } = &*self.ring;
        let word = |offset| Some(self.ring.word(self.start + offset)?.load(Ordering::Relaxed));
        let [m0, m1, ..] = word(OFFSETS)?.to_ne_bytes();
        let mac = u16::from_ne_bytes([m0, m1]);
        let header = FrameHeader { len: word(LEN)?, captured: word(CAPTURED)?, mac };
        let range = header.range(*prefix, layout.slot())?;
        // SAFETY: the status says that the slot is ours, and the kernel does not write to it before
        // we reset the status in `drop`. The ring is borrowed exclusively, so no other thread does.
        unsafe { mapping.bytes(self.start + range.start..self.start + range.end) }
    }
}

impl Drop for RxFrame<'_> {
    fn drop(&mut self) {
        if let Some(status) = self.ring.word(self.start + STATUS) {
            // Reads of the frame happen before the kernel overwrites it.
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring of 16 slots of 2 KiB whose kernel is the test.
    fn ring() -> RxRing {
        let layout = RingLayout::new(1500, 0);
        let mapping = Mapping::anonymous(layout.memory()).unwrap();
        RxRing { mapping, layout, prefix: 10, next: 0 }
    }

    fn put(ring: &RxRing, slot: usize, status: u32, len: u32, captured: u32, mac: u16) {
        let start = slot * ring.layout.slot();
        let [m0, m1] = mac.to_ne_bytes();
        let words = [
            (LEN, len),
            (CAPTURED, captured),
            (OFFSETS, u32::from_ne_bytes([m0, m1, 0, 0])),
            (STATUS, status),
        ];
        for (offset, word) in words {
            ring.word(start + offset).unwrap().store(word, Ordering::Release);
        }
    }

    #[test]
    fn frames_come_in_order_and_slots_go_back() {
        let mut ring = ring();
        let slots = ring.layout().slots();
        assert!(ring.next_frame().is_none());
        for round in 0..3 * slots {
            let slot = round % slots;
            let start = slot * ring.layout.slot();
            ring.word(start + 76).unwrap().store(round as u32, Ordering::Relaxed);
            put(&ring, slot, libc::TP_STATUS_USER, 64, 64, 76);
            let frame = ring.next_frame().unwrap();
            let SlotContents::Frame(bytes) = frame.contents() else { panic!("{frame:?}") };
            assert_eq!((bytes.len(), &bytes[10..14]), (74, &(round as u32).to_ne_bytes()[..]));
            drop(frame);
            let status = ring.word(start).unwrap().load(Ordering::Relaxed);
            assert_eq!(status, libc::TP_STATUS_KERNEL);
            assert!(ring.next_frame().is_none());
        }
    }

    #[test]
    fn hostile_headers_lose_their_frame_only() {
        let mut ring = ring();
        let slots = ring.layout().slots();
        let user = libc::TP_STATUS_USER;
        let hostile = [
            (user, u32::MAX, u32::MAX, 76),
            (user, 1 << 20, 1 << 20, 76),
            (user, 64, 64, u16::MAX),
            (user, 64, 64, 0),
            (user, 64, 64, 9),
            (user, 64, 64, 41),
            (user, 1973, 1973, 76),
            (user, 2, 2, 2047),
            (user, 65, 64, 76),
            (!libc::TP_STATUS_COPY, u32::MAX, 0, 0),
        ];
        for (number, (status, len, captured, mac)) in hostile.into_iter().enumerate() {
            put(&ring, 2 * number % slots, status, len, captured, mac);
            let frame = ring.next_frame().unwrap();
            assert_eq!(frame.contents(), SlotContents::Lost, "{number}");
            drop(frame);
            put(&ring, (2 * number + 1) % slots, user, 1972, 1972, 76);
            let frame = ring.next_frame().unwrap();
            assert!(matches!(frame.contents(), SlotContents::Frame(b) if b.len() == 1982));
        }
        put(&ring, 2 * hostile.len() % slots, user | libc::TP_STATUS_COPY, 60_000, 1972, 76);
        assert_eq!(ring.next_frame().unwrap().contents(), SlotContents::OnSocket);
        assert!(ring.next_frame().is_none());
    }

    #[test]
    fn only_a_packet_socket_gets_a_ring() {
        let (socket, _peer) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(RxRing::new(&socket, RingLayout::new(1500, 1 << 20), 10).is_err());
    }
}
