//! Handmade capture files.

use lowtide_analysis::capture::{CapturedPacket, DecodedSegment, Decoder, Reader, SkipReason};
use lowtide_units::Instant;
use lowtide_wire::pcapng::PcapngWriter;
use lowtide_wire::{Addresses, Ecn, Flags, Segment, SeqNum, packet};

pub(crate) const ADDRESSES: Addresses = Addresses::V4 {
    src: core::net::Ipv4Addr::new(10, 0, 0, 1),
    dst: core::net::Ipv4Addr::new(10, 0, 0, 2),
};

pub(crate) fn segment(seq: u32, payload_len: u32) -> Segment {
    Segment {
        src_port: 40_000,
        dst_port: 80,
        seq: SeqNum::new(seq),
        ack: SeqNum::new(7),
        flags: Flags::ACK | Flags::PSH,
        window: 500,
        ecn: Ecn::Ect0,
        payload_len,
        ..Segment::default()
    }
}

/// The headers of a packet, and its length including the payload.
pub(crate) fn headers(addresses: &Addresses, segment: &Segment) -> (Vec<u8>, u32) {
    let mut bytes = vec![0; packet::MAX_HEADERS_LEN];
    let len = packet::emit_headers(addresses, segment, &mut bytes).expect("it fits");
    bytes.truncate(len);
    (bytes, len as u32 + segment.payload_len)
}

/// A pcap file: timestamps in seconds and fractions, frames with their original lengths.
pub(crate) fn pcap(magic: u32, big: bool, link: u32, frames: &[(u32, u32, &[u8], u32)]) -> Vec<u8> {
    let word = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    let half = |n: u16| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    let mut out = word(magic).to_vec();
    out.extend([half(2), half(4)].concat());
    out.extend([word(0), word(0), word(65_535), word(link)].concat());
    for (seconds, fraction, data, len) in frames {
        out.extend([word(*seconds), word(*fraction), word(data.len() as u32), word(*len)].concat());
        out.extend(*data);
    }
    out
}

/// A pcapng file of raw IP with `packets` data packets, 1 us apart.
pub(crate) fn pcapng(packets: u32) -> Vec<u8> {
    let mut writer = PcapngWriter::new("test");
    let interface = writer.interface("eth0");
    for i in 0..packets {
        let (bytes, len) = headers(&ADDRESSES, &segment(1000 * i, 1000));
        writer.packet(
            interface,
            Instant::from_ps(u64::from(i) * 1_000_000),
            &bytes,
            len,
            "a comment",
        );
    }
    writer.take()
}

/// Content of a file: (offset, timestamp, segment) of each frame, and its error, if any.
type All = (Vec<(u64, u64, Result<CapturedPacket, SkipReason>)>, Result<(), String>);

pub(crate) fn all(bytes: &[u8]) -> All {
    let mut out = Vec::new();
    let mut reader = match Reader::new(bytes) {
        Ok(reader) => reader,
        Err(e) => return (out, Err(e.to_string())),
    };
    let mut decoder = Decoder::default();
    loop {
        match reader.next_frame() {
            Ok(Some(frame)) => {
                let segment = decoder.segment(&frame).map(|seen| seen.packet);
                out.push((frame.offset, frame.time_ns, segment));
            }
            Ok(None) => return (out, Ok(())),
            Err(e) => return (out, Err(e.to_string())),
        }
    }
}

/// Decodes frames of a link type, 1 us apart, each with the length on the wire.
pub(crate) fn decoded(
    link: u32,
    frames: &[(Vec<u8>, u32)],
) -> Vec<Result<DecodedSegment, SkipReason>> {
    let frames: Vec<_> =
        frames.iter().enumerate().map(|(i, (f, len))| (0, i as u32, &f[..], *len)).collect();
    let file = pcap(0xa1b2_c3d4, false, link, &frames);
    let mut reader = Reader::new(&file[..]).expect("a capture");
    let mut decoder = Decoder::default();
    let mut out = Vec::new();
    while let Some(frame) = reader.next_frame().expect("whole") {
        out.push(decoder.segment(&frame));
    }
    out
}
