//! Checksum and segmentation offload (`struct virtio_net_hdr`, `include/uapi/linux/virtio_net.h`).
//!
//! Contract: a host on this machine may hand over packets with a partial checksum or several
//! segments. This module turns them into packets as they would be on the wire.

use lowtide_wire::checksum::Checksum;

/// The virtio-net header that precedes every packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct VirtioNetHeader {
    flags: u8,
    gso_type: u8,
    /// Payload bytes per segment.
    gso_size: u16,
    /// Offset where checksumming starts, and offset of the checksum from there.
    checksum: (u16, u16),
}

const NEEDS_CHECKSUM: u8 = 1;
const NONE: u8 = 0;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
/// Flag beside the type: the segments use ECN, and CWR belongs to the first one.
const ECN: u8 = 0x80;

impl VirtioNetHeader {
    /// Length in bytes.
    pub(super) const LEN: usize = 10;
    /// The header of a packet without offloads.
    pub(super) const PLAIN: [u8; Self::LEN] = [0; Self::LEN];

    pub(super) fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        let [flags, kind, _, _, size @ .., s0, s1, o0, o1] = bytes;
        Self {
            flags,
            gso_type: kind & !ECN,
            gso_size: u16::from_ne_bytes(size),
            checksum: (u16::from_ne_bytes([s0, s1]), u16::from_ne_bytes([o0, o1])),
        }
    }

    /// Whether the packet has a full checksum and a single segment.
    pub(super) const fn is_plain(self) -> bool {
        self.flags & NEEDS_CHECKSUM == 0 && self.gso_type == NONE
    }

    /// Whether the packet has several TCP segments.
    pub(super) const fn is_gso(self) -> bool {
        matches!(self.gso_type, TCP_V4 | TCP_V6) && self.gso_size > 0
    }

    /// Completes a partial checksum, whose field holds the sum of the pseudo header. `before` is
    /// the number of frame bytes, counted by the kernel, that precede `packet`.
    pub(super) fn fill_checksum(self, packet: &mut [u8], before: usize) {
        if self.flags & NEEDS_CHECKSUM == 0 {
            return;
        }
        let start = usize::from(self.checksum.0).saturating_sub(before);
        let Some(covered) = packet.get_mut(start..) else { return };
        let sum = Checksum::new().with(covered).finish();
        let at = usize::from(self.checksum.1);
        if let Some(field) = covered.get_mut(at..at + 2) {
            field.copy_from_slice(&sum.to_be_bytes());
        }
    }

    /// Payload bytes of each segment but the last.
    pub(super) const fn segment_size(self) -> u16 {
        self.gso_size
    }

    /// The header of a GSO packet whose checksum field holds the sum of the pseudo header. `before`
    /// bytes precede the packet in its frame.
    pub(super) fn gso(packet: &[u8], segment_size: u16, before: usize) -> Option<[u8; Self::LEN]> {
        let layout = HeaderLayout::of(packet)?;
        let kind = if layout.v6 { TCP_V6 } else { TCP_V4 };
        let mut out = [NEEDS_CHECKSUM, kind, 0, 0, 0, 0, 0, 0, 0, 0];
        let fields =
            [before + layout.payload, usize::from(segment_size), before + layout.tcp, CHECKSUM];
        for (slot, field) in out[2..].as_chunks_mut::<2>().0.iter_mut().zip(fields) {
            *slot = u16::try_from(field).ok()?.to_ne_bytes();
        }
        Some(out)
    }
}

/// Splits a GSO packet as the interface would have done, with `size` payload bytes in all segments
/// but the last. Passes each segment to `each`. Returns false if the packet is not TCP.
pub(super) fn gso_segment(packet: &[u8], size: u16, mut each: impl FnMut(&[u8])) -> bool {
    let size = usize::from(size);
    let Some(layout) = HeaderLayout::of(packet) else { return false };
    let (headers, payload) = packet.split_at(layout.payload);
    let count = payload.chunks(size.max(1)).len();
    let mut bytes = Vec::with_capacity(headers.len() + size);
    for (number, piece) in payload.chunks(size.max(1)).enumerate() {
        bytes.clear();
        bytes.extend_from_slice(headers);
        bytes.extend_from_slice(piece);
        layout.rewrite_headers(&mut bytes, number, number * size, number + 1 == count);
        each(&bytes);
    }
    count > 0
}

/// Offsets of a packet's headers.
#[derive(Clone, Copy, Debug)]
struct HeaderLayout {
    v6: bool,
    /// Offset of the TCP header.
    tcp: usize,
    /// Offset of the TCP payload.
    payload: usize,
}

/// Offset of the checksum in a TCP header.
const CHECKSUM: usize = 16;
/// Bits of the TCP flags byte.
const FIN_PSH: u8 = 0x09;
const CWR: u8 = 0x80;

impl HeaderLayout {
    fn of(packet: &[u8]) -> Option<Self> {
        let first = *packet.first()?;
        let v6 = first >> 4 == 6;
        let tcp = if v6 { 40 } else { usize::from(first & 0x0f) * 4 };
        let protocol = *packet.get(if v6 { 6 } else { 9 })?;
        let offset = usize::from(packet.get(tcp + 12)? >> 4) * 4;
        let payload = tcp + offset;
        let valid = tcp >= 20 && offset >= 20 && payload <= packet.len();
        (valid && protocol == lowtide_wire::tcp::PROTOCOL).then_some(Self { v6, tcp, payload })
    }

    /// Rewrites copied headers for segment `number`, whose payload begins at offset `at`.
    fn rewrite_headers(self, bytes: &mut [u8], number: usize, at: usize, last: bool) {
        let tcp_len = bytes.len() - self.tcp;
        let add16 = |bytes: &mut [u8], offset: usize, n: u16| {
            if let Some(field) = bytes.get_mut(offset..offset + 2) {
                let old = u16::from_be_bytes([field[0], field[1]]);
                field.copy_from_slice(&old.wrapping_add(n).to_be_bytes());
            }
        };
        let put = |bytes: &mut [u8], offset: usize, n: u16| {
            if let Some(field) = bytes.get_mut(offset..offset + 2) {
                field.copy_from_slice(&n.to_be_bytes());
            }
        };
        let addresses = if self.v6 {
            put(bytes, 4, tcp_len as u16);
            8..40
        } else {
            put(bytes, 2, bytes.len() as u16);
            add16(bytes, 4, number as u16);
            put(bytes, 10, 0);
            let sum = Checksum::new().with(&bytes[..self.tcp]).finish();
            put(bytes, 10, sum);
            12..20
        };
        let pseudo = Checksum::new().with(bytes.get(addresses).unwrap_or(&[]));
        let pseudo =
            pseudo.with_u32(u32::from(lowtide_wire::tcp::PROTOCOL)).with_u32(tcp_len as u32);
        let Some(tcp) = bytes.get_mut(self.tcp..) else { return };
        if let Some(seq) = tcp.get_mut(4..8) {
            let old = u32::from_be_bytes([seq[0], seq[1], seq[2], seq[3]]);
            seq.copy_from_slice(&old.wrapping_add(at as u32).to_be_bytes());
        }
        if let Some(flags) = tcp.get_mut(13) {
            if !last {
                *flags &= !FIN_PSH;
            }
            if number > 0 {
                *flags &= !CWR;
            }
        }
        put(tcp, CHECKSUM, 0);
        let sum = Checksum::new().with(tcp).with_sum(pseudo).finish();
        put(tcp, CHECKSUM, sum);
    }
}

#[cfg(test)]
mod tests {
    use lowtide_wire::{Addresses, Flags, Segment, SeqNum, packet};

    use super::*;

    fn packet(v6: bool, payload: &[u8]) -> Vec<u8> {
        let (a, b) = if v6 { ("fd77::1", "fd77::2") } else { ("10.77.0.1", "10.77.0.2") };
        let addresses = Addresses::between(a.parse().unwrap(), b.parse().unwrap()).unwrap();
        let segment = Segment {
            src_port: 1,
            dst_port: 2,
            seq: SeqNum::new(u32::MAX - 1000),
            ack: SeqNum::new(7),
            flags: Flags::ACK | Flags::PSH | Flags::FIN | Flags::CWR,
            payload_len: payload.len() as u32,
            ..Segment::default()
        };
        let mut bytes = vec![0; payload.len() + packet::MAX_HEADERS_LEN];
        let len = packet::emit(&addresses, &segment, payload, &mut bytes).unwrap();
        bytes.truncate(len);
        bytes
    }

    #[test]
    fn gso_packets_are_split_into_their_segments() {
        let payload: Vec<u8> = (0..3500_u32).map(|n| n as u8).collect();
        for v6 in [false, true] {
            let whole = packet(v6, &payload);
            let mut pieces = Vec::new();
            assert!(gso_segment(&whole, 1448, |piece| pieces.push(piece.to_vec())));
            let mut got = Vec::new();
            for (number, piece) in pieces.iter().enumerate() {
                let (_, segment, range) = packet::parse(piece).unwrap();
                let expected = SeqNum::new((u32::MAX - 1000).wrapping_add(got.len() as u32));
                assert_eq!(segment.seq, expected, "v6 {v6}, {number}");
                let last = number == 2;
                assert_eq!(segment.flags.contains(Flags::FIN | Flags::PSH), last);
                assert_eq!(segment.flags.contains(Flags::CWR), number == 0);
                got.extend_from_slice(&piece[range]);
            }
            assert_eq!((pieces.len(), got == payload), (3, true));
            assert!(!gso_segment(&whole[..30], 1448, |_| {}), "cut short");
        }
    }

    #[test]
    fn a_partial_checksum_is_completed() {
        for v6 in [false, true] {
            for before in [0, 14] {
                let complete = packet(v6, b"hello");
                let tcp = if v6 { 40 } else { 20 };
                let mut partial = complete.clone();
                // The kernel leaves the sum of the pseudo header in the checksum field.
                let addresses = if v6 { 8..40 } else { 12..20 };
                let len = partial.len() - tcp;
                let pseudo = Checksum::new().with(&complete[addresses]).with_u32(6);
                let pseudo = !pseudo.with_u32(len as u32).finish();
                partial[tcp + 16..tcp + 18].copy_from_slice(&pseudo.to_be_bytes());
                let [s0, s1] = ((tcp + before) as u16).to_ne_bytes();
                let [o0, o1] = 16_u16.to_ne_bytes();
                let offload = VirtioNetHeader::from_bytes([1, 0, 0, 0, 0, 0, s0, s1, o0, o1]);
                assert!(!offload.is_plain() && !offload.is_gso());
                offload.fill_checksum(&mut partial, before);
                assert_eq!(partial, complete, "v6 {v6}");
            }
        }
        let mut short = [0; 4];
        VirtioNetHeader::from_bytes([1, 0, 0, 0, 0, 0, 2, 0, 16, 0]).fill_checksum(&mut short, 0);
        assert_eq!(short, [0; 4], "no write beyond the packet");
    }
}
