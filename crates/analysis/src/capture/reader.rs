//! The reader of a capture file's records.

use std::io::Read;

use pcap_parser::{
    Block, PcapHeader, PcapNGOption, parse_block_be, parse_block_le, parse_pcap_header,
};

use super::compressed::{Decompressed, other_format};
use super::error::CaptureError;
use super::frame::CapturedFrame;
use super::input::Input;
use super::interfaces::{self, Interface, Interfaces};
use super::link_type::LinkType;

/// Longest accepted record; no link carries longer frames.
const MAX_RECORD_LEN: usize = 16 << 20;
/// Shortest pcapng block: type and two lengths.
const MIN_BLOCK_LEN: usize = 12;
const SECTION_HEADER_BLOCK: u32 = 0x0a0d_0d0a;
const BYTE_ORDER_MAGIC: [u8; 4] = [0x1a, 0x2b, 0x3c, 0x4d];
const NANOSECONDS: u128 = 1_000_000_000;
/// Option codes: the name of an interface, packets that it dropped, packets that the system
/// dropped.
const IF_NAME: u16 = 2;
const ISB_DROPS: [u16; 2] = [5, 7];

/// Reads a capture file.
#[derive(Debug)]
pub struct Reader<R> {
    input: Input<Decompressed<R>>,
    format: Format,
    /// Malformed blocks that were skipped.
    damaged: u64,
    first_damage: Option<u64>,
}

#[derive(Debug)]
enum Format {
    Pcap(PcapHeader),
    Pcapng { big_endian: bool, interfaces: Interfaces },
}

impl interfaces::InterfaceDescription {
    fn nanoseconds(&self, stamp: u64) -> u64 {
        let ns = u128::from(stamp) * NANOSECONDS / u128::from(self.units_per_second.max(1));
        let shift = i128::from(self.offset) * NANOSECONDS as i128;
        let ns = (ns as i128).saturating_add(shift).clamp(0, i128::from(u64::MAX));
        ns as u64
    }
}

/// A packet record in the buffer.
struct PacketRecord {
    time_ns: u64,
    interface: u32,
    link_type: LinkType,
    /// Offset of the frame in the record, bytes.
    data_offset: usize,
    len: usize,
    original_len: u32,
}

impl<R: Read> Reader<R> {
    /// Starts to read `stream`.
    ///
    /// # Errors
    /// The stream cannot be read, or is no capture.
    pub fn new(stream: R) -> Result<Self, CaptureError> {
        let stream =
            Decompressed::new(stream).map_err(|reason| CaptureError::Read { offset: 0, reason })?;
        let mut input = Input::new(stream);
        let have = input.fill(24)?;
        let start = input.bytes();
        if start.get(..4) == Some(&SECTION_HEADER_BLOCK.to_be_bytes()) {
            let format = Format::Pcapng { big_endian: false, interfaces: Interfaces::default() };
            return Ok(Self { input, format, damaged: 0, first_damage: None });
        }
        let kind = start.first_chunk::<4>().map(|b| u32::from_le_bytes(*b));
        let known = [0xa1b2_c3d4, 0xa1b2_3c4d, 0xa1b2_cd34, 0xd4c3_b2a1, 0x4d3c_b2a1];
        if !kind.is_some_and(|k| known.contains(&k)) {
            let shown: Vec<String> = start.iter().take(4).map(|b| format!("{b:02x}")).collect();
            let mut found =
                if have == 0 { "nothing, it is empty".to_owned() } else { shown.join(" ") };
            if let Some(name) = other_format(start) {
                found = format!("{found} ({name})");
            }
            return Err(CaptureError::Format { found });
        }
        let Ok((_, header)) = parse_pcap_header(start) else {
            let (what, have) = ("file header", have as u64);
            return Err(CaptureError::Truncated { what, offset: 0, need: 24, have });
        };
        let version = (header.version_major, header.version_minor);
        // Version 543.0 is 2.4 in every field.
        if !matches!(version, (2, 0..=4) | (543, 0)) {
            return Err(version_error("pcap", version, 0));
        }
        input.take(24);
        Ok(Self { input, format: Format::Pcap(header), damaged: 0, first_damage: None })
    }

    /// Returns the next frame, or `None` at the end of the file.
    ///
    /// # Errors
    /// The file cannot be read any further; later calls fail too.
    pub fn next_frame(&mut self) -> Result<Option<CapturedFrame<'_>>, CaptureError> {
        loop {
            let offset = self.input.offset();
            let found = match &self.format {
                Format::Pcap(header) => pcap(&mut self.input, header)?,
                Format::Pcapng { .. } => match self.block()? {
                    NextBlock::End => None,
                    NextBlock::Other => continue,
                    NextBlock::Packet(found, len) => Some((found, len)),
                },
            };
            let Some((found, len)) = found else { return Ok(None) };
            let record = self.input.take(len);
            let data = record.get(found.data_offset..found.data_offset + found.len).unwrap_or(&[]);
            let PacketRecord { time_ns, interface, link_type: link, original_len, .. } = found;
            return Ok(Some(CapturedFrame {
                time_ns,
                interface,
                link_type: link,
                data,
                original_len,
                offset,
            }));
        }
    }

    /// Returns the number of malformed blocks that were skipped, and the offset of the first one.
    pub fn damaged(&self) -> (u64, Option<u64>) {
        (self.damaged, self.first_damage)
    }

    /// Returns the interfaces that a pcapng file has described so far; none for a pcap file.
    pub fn interfaces(&self) -> &[Interface] {
        match &self.format {
            Format::Pcap(_) => &[],
            Format::Pcapng { interfaces, .. } => interfaces.all(),
        }
    }

    /// Returns the number of bytes read so far.
    pub fn offset(&self) -> u64 {
        self.input.offset()
    }

    fn block(&mut self) -> Result<NextBlock, CaptureError> {
        let offset = self.input.offset();
        let have = self.input.fill(MIN_BLOCK_LEN)?;
        if have == 0 {
            return Ok(NextBlock::End);
        }
        let Format::Pcapng { big_endian, interfaces } = &mut self.format else {
            return Ok(NextBlock::End);
        };
        let Some(&[k0, k1, k2, k3, l0, l1, l2, l3, m @ ..]) =
            self.input.bytes().first_chunk::<MIN_BLOCK_LEN>()
        else {
            let (need, have) = (MIN_BLOCK_LEN as u64, have as u64);
            return Err(CaptureError::Truncated { what: "block", offset, need, have });
        };
        if u32::from_le_bytes([k0, k1, k2, k3]) == SECTION_HEADER_BLOCK {
            *big_endian = m == BYTE_ORDER_MAGIC;
            if !*big_endian && m.iter().rev().ne(&BYTE_ORDER_MAGIC) {
                let what = "a section header without the byte-order magic".to_owned();
                return Err(CaptureError::Damaged { offset, what });
            }
            interfaces.begin_section();
        }
        let len = [l0, l1, l2, l3];
        let len = if *big_endian { u32::from_be_bytes(len) } else { u32::from_le_bytes(len) };
        let len = len as usize;
        if !(MIN_BLOCK_LEN..=MAX_RECORD_LEN).contains(&len) || !len.is_multiple_of(4) {
            let what = format!("a block states a length of {len} bytes");
            return Err(CaptureError::Damaged { offset, what });
        }
        let have = self.input.fill(len)?;
        if have < len {
            let (need, have) = (len as u64, have as u64);
            return Err(CaptureError::Truncated { what: "block", offset, need, have });
        }
        let bytes = self.input.bytes().get(..len).unwrap_or(&[]);
        let parsed = if *big_endian { parse_block_be(bytes) } else { parse_block_le(bytes) };
        let content = match parsed {
            Ok((_, Block::SectionHeader(head)))
                if !matches!((head.major_version, head.minor_version), (1, 0 | 2)) =>
            {
                let version = (head.major_version, head.minor_version);
                return Err(version_error("pcapng", version, offset));
            }
            Ok((_, block)) => content(&block, bytes, interfaces, *big_endian),
            Err(_) => Content::Malformed,
        };
        match content {
            Content::Packet(found) => return Ok(NextBlock::Packet(found, len)),
            Content::Other => {}
            Content::Malformed => {
                self.damaged += 1;
                self.first_damage.get_or_insert(offset);
            }
        }
        self.input.take(len);
        Ok(NextBlock::Other)
    }
}

fn version_error(format: &'static str, (major, minor): (u16, u16), offset: u64) -> CaptureError {
    CaptureError::Version { format, major, minor, offset }
}

enum NextBlock {
    End,
    Other,
    Packet(PacketRecord, usize),
}

/// Units per second of the option `if_tsresol`: a power of ten, or of two if the highest bit is
/// set. (The parser's own function rejects every power of two.)
fn units_per_second(resolution: u8) -> Option<u64> {
    match resolution {
        0..0x80 => 10_u64.checked_pow(u32::from(resolution)),
        0x80.. => 1_u64.checked_shl(u32::from(resolution & 0x7f)),
    }
}

/// Returns the value of the first option with that code.
fn option<'a>(options: &'a [PcapNGOption<'_>], code: u16) -> Option<&'a [u8]> {
    let found = options.iter().find(|o| o.code.0 == code)?;
    found.value().get(..usize::from(found.len))
}

/// The content of a pcapng block.
enum Content {
    Packet(PacketRecord),
    Other,
    Malformed,
}

fn content(
    block: &Block<'_>,
    bytes: &[u8],
    interfaces: &mut Interfaces,
    big_endian: bool,
) -> Content {
    let packet = match block {
        Block::InterfaceDescription(idb) => {
            let Some(units) = units_per_second(idb.if_tsresol) else { return Content::Malformed };
            // The crate reads this option as little-endian in both byte orders.
            let offset = if big_endian { idb.ts_offset().swap_bytes() } else { idb.ts_offset() };
            let link = LinkType(idb.linktype.0);
            let format = interfaces::InterfaceDescription {
                link_type: link,
                units_per_second: units,
                offset,
                snaplen: idb.snaplen,
                number: 0,
            };
            let name = option(&idb.options, IF_NAME);
            let name = name.map(|n| String::from_utf8_lossy(n).trim_end_matches('\0').to_owned());
            let known = interfaces.describe(format, name);
            return if known { Content::Other } else { Content::Malformed };
        }
        Block::InterfaceStatistics(isb) => {
            let counts = ISB_DROPS.map(|code| {
                let bytes = option(&isb.options, code).and_then(<[u8]>::first_chunk)?;
                Some(if big_endian {
                    u64::from_be_bytes(*bytes)
                } else {
                    u64::from_le_bytes(*bytes)
                })
            });
            if let Some(dropped) = counts.into_iter().flatten().reduce(u64::saturating_add) {
                interfaces.on_statistics(isb.if_id, dropped);
            }
            return Content::Other;
        }
        Block::EnhancedPacket(epb) => interfaces.get(epb.if_id).map(|interface| {
            let stamp = u64::from(epb.ts_high) << 32 | u64::from(epb.ts_low);
            let time_ns = interface.nanoseconds(stamp);
            let (from, len, original_len) = (28, epb.caplen as usize, epb.origlen);
            let (interface, link) = (interface.number, interface.link_type);
            PacketRecord {
                time_ns,
                interface,
                link_type: link,
                data_offset: from,
                len,
                original_len,
            }
        }),
        // A simple packet has no timestamp: it shows only that a packet passed.
        Block::SimplePacket(spb) => interfaces.get(0).map(|interface| {
            let snap = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
            let len = (spb.origlen.min(snap) as usize).min(bytes.len().saturating_sub(16));
            let original_len = spb.origlen;
            let (interface, link) = (interface.number, interface.link_type);
            PacketRecord {
                time_ns: 0,
                interface,
                link_type: link,
                data_offset: 12,
                len,
                original_len,
            }
        }),
        _ => return Content::Other,
    };
    match packet {
        Some(found) if found.data_offset + found.len <= bytes.len() => Content::Packet(found),
        _ => Content::Malformed,
    }
}

/// Returns the next record of a pcap file.
fn pcap<R: Read>(
    input: &mut Input<R>,
    header: &PcapHeader,
) -> Result<Option<(PacketRecord, usize)>, CaptureError> {
    let offset = input.offset();
    let head = if header.is_modified_format() { 24 } else { 16 };
    let have = input.fill(head)?;
    if have == 0 {
        return Ok(None);
    }
    let words = |i: usize| {
        let word = input.bytes().get(i * 4..i * 4 + 4)?;
        let word = [word[0], word[1], word[2], word[3]];
        let big = header.is_bigendian();
        Some(if big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) })
    };
    let (Some(seconds), Some(fraction), Some(len), Some(original_len), true) =
        (words(0), words(1), words(2), words(3), have >= head)
    else {
        let (need, have) = (head as u64, have as u64);
        return Err(CaptureError::Truncated { what: "packet record", offset, need, have });
    };
    // Versions before 2.3 have the two lengths in the other order, and some writers of 2.3.
    let swapped = match header.version_minor {
        0..3 => true,
        3 => len > original_len,
        _ => false,
    };
    let (len, original_len) = if swapped && header.version_major == 2 {
        (original_len, len)
    } else {
        (len, original_len)
    };
    let len = len as usize;
    if len > MAX_RECORD_LEN {
        let what = format!("a packet states {len} captured bytes");
        return Err(CaptureError::Damaged { offset, what });
    }
    let need = head + len;
    let have = input.fill(need)?;
    if have < need {
        let (need, have) = (need as u64, have as u64);
        return Err(CaptureError::Truncated { what: "packet record", offset, need, have });
    }
    let per = if header.is_nanosecond_precision() { 1 } else { 1_000 };
    let time_ns = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * per;
    // The upper bits describe the frame check sequence.
    let link = LinkType(header.network.0 & 0x0fff_ffff);
    Ok(Some((
        PacketRecord {
            time_ns,
            interface: 0,
            link_type: link,
            data_offset: head,
            len,
            original_len,
        },
        need,
    )))
}
