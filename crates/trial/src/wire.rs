//! Headers, options and captures: parsed data are validated, and emitted data parse back.

use lowtide_units::Instant;
use lowtide_wire::checksum::Checksum;
use lowtide_wire::{
    AccEcnOption, AccEcnOrder, Addresses, Ecn, Experimental, ExtraOption, Flags, Options, RxMeta,
    SackBlocks, Segment, SeqNum, Timestamps, extension, ipv4, ipv6, options, packet, pcapng, tcp,
};

use crate::fuzz_input::FuzzInput;

/// Larger than the largest IP packet.
const BUFFER_LEN: usize = 1 << 17;

/// Tests the input; its first byte selects the format.
pub fn run(data: &[u8]) {
    let mut draw = FuzzInput::new(data);
    match draw.byte() % 5 {
        0 => packet_bytes(draw.rest()),
        1 => fixed_checksums(draw.rest()),
        2 => option_bytes(draw.rest()),
        3 => segment(&mut draw),
        _ => capture(&mut draw),
    }
}

/// Parses arbitrary bytes.
fn packet_bytes(bytes: &[u8]) {
    let v4 = ipv4::parse(bytes).map(|(_, range)| range);
    let v6 = ipv6::parse(bytes).and_then(|(h, range)| {
        let (protocol, inner) = extension::walk(bytes, h.next_header, range.clone())?;
        assert!(inner.start >= range.start && inner.end == range.end, "{protocol}: {inner:?}");
        assert!(inner.start - range.start <= extension::MAX_BYTES);
        Ok(inner)
    });
    assert!(v4.is_err() || v6.is_err(), "both versions at once");
    for range in [v4, v6].into_iter().flatten() {
        assert!(bytes.get(range).is_some(), "a payload outside of the packet");
    }
    let Ok((addresses, segment, payload)) = packet::parse(bytes) else { return };
    let payload = bytes.get(payload).expect("the payload lies in the packet");
    assert_eq!(payload.len(), segment.payload_len as usize);
    round_trip(&addresses, &segment, payload);
}

/// Parses the bytes with corrected checksums, so that a fuzzer reaches the code behind them.
fn fixed_checksums(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    let version = bytes.first().map_or(0, |first| first >> 4);
    let header = match version {
        6 => ipv6::HEADER_LEN,
        _ => usize::from(bytes.first().copied().unwrap_or(0) & 0x0f) * 4,
    };
    if version == 4 && header >= ipv4::HEADER_LEN && bytes.len() >= header {
        let total = (bytes.len() as u16).to_be_bytes();
        bytes[2..4].copy_from_slice(&total);
        bytes[10..12].fill(0);
        let sum = Checksum::new().with(&bytes[..header]).finish();
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    if version == 6 && bytes.len() >= header {
        let payload = ((bytes.len() - header) as u16).to_be_bytes();
        bytes[4..6].copy_from_slice(&payload);
    }
    let addresses = match version {
        6 => ipv6::parse(&bytes).and_then(|(h, range)| {
            let (_, range) = extension::walk(&bytes, h.next_header, range)?;
            Ok((Addresses::V6 { src: h.src, dst: h.dst }, range))
        }),
        _ => {
            ipv4::parse(&bytes).map(|(h, range)| (Addresses::V4 { src: h.src, dst: h.dst }, range))
        }
    };
    if let Ok((addresses, range)) = addresses
        && range.len() >= tcp::MIN_HEADER_LEN
    {
        let tcp = &mut bytes[range];
        tcp[16..18].fill(0);
        let sum = addresses.pseudo_header(tcp.len() as u32).with(tcp).finish();
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());
    }
    packet_bytes(&bytes);
}

/// A parsed segment can be emitted again. The bytes may differ: unknown options are dropped, and
/// padding is ours.
fn round_trip(addresses: &Addresses, segment: &Segment, payload: &[u8]) {
    let mut out = vec![0xaa; BUFFER_LEN];
    let Ok(len) = packet::emit(addresses, segment, payload, &mut out) else {
        // Options may be packed more tightly than ours, and then not fit.
        assert!(
            segment.options.wire_len() > options::MAX_LEN
                || payload.len() + tcp::MAX_HEADER_LEN > usize::from(u16::MAX) - 40,
            "{segment:?} was read and cannot be written"
        );
        return;
    };
    assert!(out[len..].iter().all(|b| *b == 0xaa), "wrote beyond the packet");
    let (a, s, range) = packet::parse(&out[..len]).expect("our own packet");
    assert_eq!((&a, &s), (addresses, segment));
    assert_eq!(&out[range], payload);
    let mut headers = [0; packet::MAX_HEADERS_LEN];
    let alone = packet::emit_headers(addresses, segment, &mut headers).expect("it fitted before");
    assert_eq!(alone + payload.len(), len);
    if payload.iter().all(|b| *b == 0) {
        assert_eq!(headers[..alone], out[..alone]);
    }
    // A buffer that is one byte too short remains unchanged.
    let mut short = vec![0x55; len - 1];
    assert!(packet::emit(addresses, segment, payload, &mut short).is_err());
    assert!(short.iter().all(|b| *b == 0x55));
}

fn option_bytes(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(options::MAX_LEN)];
    let Ok(read) = Options::parse(bytes) else { return };
    let mut out = [0xaa; options::MAX_LEN];
    match read.emit(&mut out) {
        Ok(len) => {
            assert_eq!(len, read.wire_len());
            assert_eq!(len % 4, 0);
            assert_eq!(Options::parse(&out[..len]), Ok(read));
        }
        Err(_) => assert!(read.wire_len() > options::MAX_LEN, "{read:?} fits and was refused"),
    }
}

/// A segment as a value, emitted and parsed.
fn segment(draw: &mut FuzzInput<'_>) {
    let addresses = if draw.flip() {
        let (src, dst) = (draw.u32().into(), draw.u32().into());
        Addresses::V4 { src, dst }
    } else {
        let halves = [draw.u64(), draw.u64()].map(|n| (u128::from(n) << 64 | 1).into());
        Addresses::V6 { src: halves[0], dst: halves[1] }
    };
    let have = draw.byte();
    let has = |bit: u8| have >> bit & 1 == 1;
    let mut sack = SackBlocks::EMPTY;
    for _ in 0..have >> 6 {
        sack.push(SeqNum::new(draw.u32()), SeqNum::new(draw.u32()));
    }
    let mss = has(0).then(|| draw.u16());
    let window_scale = has(1).then(|| draw.byte());
    let timestamps = has(2).then(|| Timestamps { value: draw.u32(), echo: draw.u32() });
    let extra = if has(3) {
        let exid = draw.u16();
        let most = draw.range(0, Experimental::MAX_DATA as u64 + 2) as usize;
        let data = draw.bytes(most);
        let made = Experimental::new(exid, data);
        assert_eq!(made.is_some(), data.len() <= Experimental::MAX_DATA);
        made.map(ExtraOption::Experimental)
    } else if has(5) {
        let counters = [draw.u32(), draw.u32(), draw.u32()];
        let order = if draw.flip() { AccEcnOrder::Ect0First } else { AccEcnOrder::Ect1First };
        let count = draw.range(0, 3) as usize;
        Some(ExtraOption::AccEcn(AccEcnOption::new(order, &counters[..count])))
    } else {
        None
    };
    let options = Options { timestamps, sack, mss, window_scale, sack_permitted: has(4), extra };
    let mut segment = Segment {
        src_port: draw.u16(),
        dst_port: draw.u16(),
        seq: SeqNum::new(draw.u32()),
        ack: SeqNum::new(draw.u32()),
        flags: Flags::from_bits(draw.u16()),
        window: draw.u16(),
        urgent: draw.u16(),
        ecn: Ecn::from_bits(draw.byte()),
        payload_len: 0,
        options,
        rx: RxMeta::default(),
    };
    let payload = draw.bytes(BUFFER_LEN - 200);
    segment.payload_len = payload.len() as u32;
    round_trip(&addresses, &segment, payload);
    // A length that differs from that of the payload is rejected.
    segment.payload_len = segment.payload_len.wrapping_add(1 + u32::from(draw.u16()));
    let mut out = vec![0; BUFFER_LEN];
    assert!(packet::emit(&addresses, &segment, payload, &mut out).is_err());
}

/// Captures consist of whole blocks for any content.
fn capture(draw: &mut FuzzInput<'_>) {
    let text = |draw: &mut FuzzInput<'_>| {
        let n = draw.byte();
        // Some texts exceed the length field of an option.
        let repeat = if n > 250 { 2000 } else { 1 };
        String::from_utf8_lossy(draw.bytes(usize::from(n))).repeat(repeat)
    };
    let application = text(draw);
    let mut writer = pcapng::PcapngWriter::new(&application);
    let mut interfaces = vec![writer.interface("first")];
    let mut file = Vec::new();
    let (mut blocks, mut steps) = (2, 0);
    while !draw.is_empty() && steps < 50 {
        steps += 1;
        match draw.byte() % 4 {
            0 => {
                let name = text(draw);
                interfaces.push(writer.interface(&name));
                blocks += 1;
            }
            1 => {
                let piece = writer.take();
                assert_eq!(writer.pending(), 0);
                file.extend(piece);
            }
            _ => {
                let interface = draw.pick(&interfaces);
                let (at, original) = (Instant::from_ps(draw.u64()), draw.u32());
                let n = draw.byte();
                let captured = draw.bytes(usize::from(n));
                let comment = text(draw);
                writer.packet(interface, at, captured, original, &comment);
                blocks += 1;
            }
        }
    }
    file.extend(writer.take());
    let mut left = &file[..];
    let mut found = 0;
    while !left.is_empty() {
        let word = |at: usize| {
            let bytes = left.get(at..at + 4).expect("a whole block");
            u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
        };
        let len = word(4) as usize;
        assert!(len >= 12 && len.is_multiple_of(4), "a block of {len} B");
        assert_eq!(word(len - 4) as usize, len, "both lengths of a block");
        left = &left[len..];
        found += 1;
    }
    assert_eq!(found, blocks);
}
