//! The IPv6 header (RFC 8200).
//!
//! Contract: the fixed header only; [`Ipv6Header::next_header`] is the type of the next header, and
//! [`crate::extension`] walks the extension headers. Bytes after the stated payload length are
//! padding. Jumbograms are not supported.

use core::net::Ipv6Addr;
use core::ops::Range;

use crate::Ecn;
use crate::error::{HeaderKind, WireError};

/// Length of the header in bytes.
pub const HEADER_LEN: usize = 40;

/// The fields of an IPv6 header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ipv6Header {
    /// The sender.
    pub src: Ipv6Addr,
    /// The receiver.
    pub dst: Ipv6Addr,
    /// Differentiated services codepoint: six bits.
    pub dscp: u8,
    /// The ECN codepoint.
    pub ecn: Ecn,
    /// Flow label: twenty bits.
    pub flow_label: u32,
    /// Type of the next header; TCP is 6.
    pub next_header: u8,
    /// Hop limit.
    pub hop_limit: u8,
}

impl Ipv6Header {
    /// The header of a TCP packet sent by lowtide: 64 hops, no flow label.
    pub const fn tcp(src: Ipv6Addr, dst: Ipv6Addr, ecn: Ecn) -> Self {
        let next_header = crate::tcp::PROTOCOL;
        Self { src, dst, dscp: 0, ecn, flow_label: 0, next_header, hop_limit: 64 }
    }
}

/// Reads the header at the start of `bytes`; the range is that of its payload.
///
/// # Errors
/// A truncated header or packet, or another version.
pub fn parse(bytes: &[u8]) -> Result<(Ipv6Header, Range<usize>), WireError> {
    let have = bytes.len();
    let header = HeaderKind::Ipv6;
    let Some(fixed) = bytes.first_chunk::<HEADER_LEN>() else {
        return Err(WireError::Truncated { header, need: HEADER_LEN, have });
    };
    let [first, second, third, fourth, len_high, len_low, next_header, hop_limit, addresses @ ..] =
        *fixed;
    if first >> 4 != 6 {
        return Err(WireError::Version { found: first >> 4 });
    }
    let stated = HEADER_LEN + usize::from(u16::from_be_bytes([len_high, len_low]));
    if stated > have {
        return Err(WireError::TotalLength { header, stated, have });
    }
    let (mut src, mut dst) = ([0; 16], [0; 16]);
    src.copy_from_slice(&addresses[..16]);
    dst.copy_from_slice(&addresses[16..]);
    let fields = Ipv6Header {
        src: Ipv6Addr::from_octets(src),
        dst: Ipv6Addr::from_octets(dst),
        // The traffic class spans the first two bytes: vvvvTTTT TTTTffff.
        dscp: (first & 0x0f) << 2 | second >> 6,
        ecn: Ecn::from_bits(second >> 4),
        flow_label: u32::from_be_bytes([0, second & 0x0f, third, fourth]),
        next_header,
        hop_limit,
    };
    Ok((fields, HEADER_LEN..stated))
}

/// The bytes of `header` for `payload_len` bytes of payload.
///
/// # Errors
/// [`WireError::PacketTooLong`] above 65535 bytes of payload.
pub fn emit(header: &Ipv6Header, payload_len: usize) -> Result<[u8; HEADER_LEN], WireError> {
    let too_long = WireError::PacketTooLong { header: HeaderKind::Ipv6, payload: payload_len };
    let len = u16::try_from(payload_len).map_err(|_| too_long)?;
    let class = header.dscp << 2 | header.ecn.bits();
    let word = 6 << 28 | u32::from(class) << 20 | header.flow_label & 0x000f_ffff;
    let mut out = [0; HEADER_LEN];
    out[..4].copy_from_slice(&word.to_be_bytes());
    out[4..6].copy_from_slice(&len.to_be_bytes());
    out[6] = header.next_header;
    out[7] = header.hop_limit;
    out[8..24].copy_from_slice(&header.src.octets());
    out[24..40].copy_from_slice(&header.dst.octets());
    Ok(out)
}
