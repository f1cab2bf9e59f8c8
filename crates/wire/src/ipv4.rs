//! The IPv4 header (RFC 791).
//!
//! Contract: options in a header are skipped, and never written. Fragments are rejected. Bytes
//! after the stated total length are padding and not part of the payload.

use core::net::Ipv4Addr;
use core::ops::Range;

use crate::Ecn;
use crate::checksum::Checksum;
use crate::error::{HeaderKind, WireError};

/// Length in bytes of a header without options, as this crate writes it.
pub const HEADER_LEN: usize = 20;

const DONT_FRAGMENT: u16 = 0x4000;
/// "More fragments" and the fragment offset: any of these bits makes a fragment.
pub(crate) const FRAGMENT: u16 = 0x3fff;

/// The fields of an IPv4 header that an end host needs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ipv4Header {
    /// The sender.
    pub src: Ipv4Addr,
    /// The receiver.
    pub dst: Ipv4Addr,
    /// Differentiated services codepoint: six bits.
    pub dscp: u8,
    /// The ECN codepoint.
    pub ecn: Ecn,
    /// Identification; meaningless on packets that are never fragmented (RFC 6864).
    pub identification: u16,
    /// The "don't fragment" bit.
    pub dont_fragment: bool,
    /// Time to live, in hops.
    pub ttl: u8,
    /// Protocol number of the payload; TCP is 6.
    pub protocol: u8,
}

impl Ipv4Header {
    /// The header of a TCP packet sent by lowtide: 64 hops, never fragmented.
    pub const fn tcp(src: Ipv4Addr, dst: Ipv4Addr, ecn: Ecn) -> Self {
        Self {
            src,
            dst,
            dscp: 0,
            ecn,
            identification: 0,
            dont_fragment: true,
            ttl: 64,
            protocol: crate::tcp::PROTOCOL,
        }
    }
}

/// Reads the header at the start of `bytes`; the range is that of its payload.
///
/// # Errors
/// A truncated header or packet, another version, a fragment, or a wrong checksum.
pub fn parse(bytes: &[u8]) -> Result<(Ipv4Header, Range<usize>), WireError> {
    let have = bytes.len();
    let header = HeaderKind::Ipv4;
    let Some(fixed) = bytes.first_chunk::<HEADER_LEN>() else {
        return Err(WireError::Truncated { header, need: HEADER_LEN, have });
    };
    if fixed[0] >> 4 != 4 {
        return Err(WireError::Version { found: fixed[0] >> 4 });
    }
    let header_len = usize::from(fixed[0] & 0x0f) * 4;
    if header_len < HEADER_LEN {
        return Err(WireError::HeaderLength { header, stated: header_len });
    }
    let Some(whole) = bytes.get(..header_len) else {
        return Err(WireError::Truncated { header, need: header_len, have });
    };
    if Checksum::new().with(whole).finish() != 0 {
        return Err(WireError::Checksum { header });
    }
    let stated = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    if stated < header_len || stated > have {
        return Err(WireError::TotalLength { header, stated, have });
    }
    let fragment = u16::from_be_bytes([fixed[6], fixed[7]]);
    if fragment & FRAGMENT != 0 {
        return Err(WireError::Fragment);
    }
    let fields = Ipv4Header {
        src: Ipv4Addr::new(fixed[12], fixed[13], fixed[14], fixed[15]),
        dst: Ipv4Addr::new(fixed[16], fixed[17], fixed[18], fixed[19]),
        dscp: fixed[1] >> 2,
        ecn: Ecn::from_bits(fixed[1]),
        identification: u16::from_be_bytes([fixed[4], fixed[5]]),
        dont_fragment: fragment & DONT_FRAGMENT != 0,
        ttl: fixed[8],
        protocol: fixed[9],
    };
    Ok((fields, header_len..stated))
}

/// The bytes of `header` for `payload_len` bytes of payload, checksum included.
///
/// # Errors
/// [`WireError::PacketTooLong`] above 65515 bytes of payload.
pub fn emit(header: &Ipv4Header, payload_len: usize) -> Result<[u8; HEADER_LEN], WireError> {
    let too_long = WireError::PacketTooLong { header: HeaderKind::Ipv4, payload: payload_len };
    let total = payload_len.checked_add(HEADER_LEN).and_then(|n| u16::try_from(n).ok());
    let total = total.ok_or(too_long)?;
    let mut out = [0; HEADER_LEN];
    out[0] = 0x45;
    out[1] = header.dscp << 2 | header.ecn.bits();
    out[2..4].copy_from_slice(&total.to_be_bytes());
    out[4..6].copy_from_slice(&header.identification.to_be_bytes());
    let fragment = if header.dont_fragment { DONT_FRAGMENT } else { 0 };
    out[6..8].copy_from_slice(&fragment.to_be_bytes());
    out[8] = header.ttl;
    out[9] = header.protocol;
    out[12..16].copy_from_slice(&header.src.octets());
    out[16..20].copy_from_slice(&header.dst.octets());
    let checksum = Checksum::new().with(&out).finish();
    out[10..12].copy_from_slice(&checksum.to_be_bytes());
    Ok(out)
}
