//! Handmade packets of a transfer for tests of `analyze`, at each point of a path.

use core::net::{Ipv4Addr, Ipv6Addr};

use lowtide_wire::{Addresses, Ecn, Flags, Segment, SeqNum, Timestamps, packet};

/// Payload of a segment, bytes.
pub(crate) const MSS: u32 = 1000;
/// One-way delay of the path, and time between two segments, microseconds.
pub(crate) const ONE_WAY: u64 = 5_000;
pub(crate) const GAP: u64 = 100;

/// A packet at one capture point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CapturePointPacket {
    /// Time, microseconds.
    pub(crate) at: u64,
    /// From the client, which sends the data.
    pub(crate) from_client: bool,
    pub(crate) segment: Segment,
    /// Lost after the sender's part of the path.
    pub(crate) lost: bool,
}

/// Parameters of a transfer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Transfer<'a> {
    /// Number of data segments.
    pub(crate) segments: u32,
    /// Segments whose first transmission is lost; they are retransmitted 25 ms later.
    pub(crate) lost: &'a [u32],
    /// Whether the timestamps option is used, with a clock tick of 1 ms.
    pub(crate) timestamps: bool,
    /// Whether ECN of RFC 3168 is used.
    pub(crate) ecn: bool,
}

impl Transfer<'_> {
    /// Returns the packets at the client's own interface.
    pub(crate) fn at_client(&self) -> Vec<CapturePointPacket> {
        let mut out = self.handshake();
        let begin = 2 * ONE_WAY + GAP;
        let mut sent: Vec<(u64, u32, bool)> = (0..self.segments)
            .map(|i| (begin + u64::from(i) * GAP, i, self.lost.contains(&i)))
            .collect();
        sent.extend(self.lost.iter().map(|i| (begin + u64::from(*i) * GAP + 25_000, *i, false)));
        sent.sort_unstable();
        let (mut there, mut next) = (vec![false; self.segments as usize], 0);
        for (at, i, lost) in sent {
            let mut data = self.segment(at, true, 100 + i * MSS, 500, MSS);
            data.ecn = if self.ecn { Ecn::Ect0 } else { Ecn::NotEct };
            out.push(CapturePointPacket { at, from_client: true, segment: data, lost });
            if lost {
                continue;
            }
            there[i as usize] = true;
            while there.get(next).copied().unwrap_or(false) {
                next += 1;
            }
            let mut ack = self.segment(at + 2 * ONE_WAY, false, 500, 100 + next as u32 * MSS, 0);
            if i as usize >= next {
                ack.options.sack.push(data.seq, data.seq.add(u64::from(MSS)));
            }
            out.push(CapturePointPacket {
                at: at + 2 * ONE_WAY,
                from_client: false,
                segment: ack,
                lost: false,
            });
        }
        out.sort_by_key(|p| p.at);
        out
    }

    fn handshake(&self) -> Vec<CapturePointPacket> {
        let mut syn = self.segment(0, true, 99, 0, 0);
        syn.flags = Flags::SYN.with_ace(if self.ecn { 0b011 } else { 0 });
        let mut answer = self.segment(2 * ONE_WAY, false, 499, 100, 0);
        answer.flags = (Flags::SYN | Flags::ACK).with_ace(u8::from(self.ecn));
        for s in [&mut syn, &mut answer] {
            s.options.mss = Some(if self.timestamps { 1012 } else { 1000 });
        }
        let ack = self.segment(2 * ONE_WAY + 10, true, 100, 500, 0);
        let passed =
            |at, up, segment| CapturePointPacket { at, from_client: up, segment, lost: false };
        vec![
            passed(0, true, syn),
            passed(2 * ONE_WAY, false, answer),
            passed(2 * ONE_WAY + 10, true, ack),
        ]
    }

    fn segment(&self, at: u64, up: bool, seq: u32, ack: u32, payload_len: u32) -> Segment {
        let (src_port, dst_port) = if up { (40_000, 80) } else { (80, 40_000) };
        let (seq, ack) = (SeqNum::new(seq), SeqNum::new(ack));
        let flags = Flags::ACK;
        let mut segment = Segment {
            src_port,
            dst_port,
            seq,
            ack,
            flags,
            window: 500,
            payload_len,
            ..Segment::default()
        };
        if self.timestamps {
            let value = 1 + (at / 1000) as u32;
            // Both stamps are those at the client, which answers at once.
            let echo = value.saturating_sub(if up { 0 } else { 10 });
            segment.options.timestamps = Some(Timestamps { value, echo });
        }
        segment
    }
}

/// Returns headers and length of a packet; `routers` have decremented the hop limit of 64.
pub(crate) fn headers(
    passed: &CapturePointPacket,
    v6: bool,
    routers: u8,
    id: u16,
) -> (Vec<u8>, u32) {
    let (a, b) = if passed.from_client { (1, 2) } else { (2, 1) };
    let addresses = if v6 {
        let host = |n| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, n);
        Addresses::V6 { src: host(a), dst: host(b) }
    } else {
        let host = |n| Ipv4Addr::new(10, 0, 0, n);
        Addresses::V4 { src: host(a as u8), dst: host(b as u8) }
    };
    let mut bytes = vec![0; packet::MAX_HEADERS_LEN];
    let len = packet::emit_headers(&addresses, &passed.segment, &mut bytes).expect("it fits");
    bytes.truncate(len);
    bytes[if v6 { 7 } else { 8 }] = 64 - routers;
    if !v6 {
        bytes[4..6].copy_from_slice(&id.to_be_bytes());
    }
    (bytes, len as u32 + passed.segment.payload_len)
}

/// A pcap file of Linux cooked frames, version 2: (microseconds, interface index, packet, its
/// length).
pub(crate) fn sll2(frames: &[(u64, u32, Vec<u8>, u32)]) -> Vec<u8> {
    let word = u32::to_le_bytes;
    let head = [word(0xa1b2_c3d4), word(4 << 16 | 2), word(0), word(0), word(65_535), word(276)];
    let mut out = head.concat();
    for (at, device, packet, len) in frames {
        let kept = packet.len() as u32 + 20;
        let (seconds, micros) = ((at / 1_000_000) as u32, (at % 1_000_000) as u32);
        out.extend([word(seconds), word(micros), word(kept), word(len + 20)].concat());
        let kind: [u8; 2] = if packet[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
        out.extend(kind);
        out.extend([0; 2]);
        out.extend(device.to_be_bytes());
        out.extend([0; 12]);
        out.extend(packet);
    }
    out
}
