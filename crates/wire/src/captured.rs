//! TCP packets from captures on the path: possibly truncated, or before the NIC filled in
//! checksums.
//!
//! Contract: for analysis only; an end host uses [`crate::packet`]. Checksums are not verified
//! (offload leaves them wrong at a sender). Only the number of bytes beyond the captured ones is
//! known. A length of zero (segmentation offload beyond 64 kB) means "up to the end". IPv6
//! extension headers are walked; fragments are rejected. Truncated or malformed options are omitted
//! and reported as incomplete.

use core::net::{Ipv4Addr, Ipv6Addr};

use crate::error::{HeaderKind, WireError};
use crate::extension::{FRAGMENT, FRAGMENT_BITS, is_extension};
use crate::{Addresses, Ecn, Options, Segment, ipv4, ipv6, tcp};

/// AH (RFC 4302), which captures skip over.
const AH: u8 = 51;
/// Maximum number of extension headers; more do not occur.
const MAX_EXTENSIONS: usize = 8;

/// A captured packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CapturedPacket {
    /// Source and destination.
    pub addresses: Addresses,
    /// The segment; its payload length is that of the packet, including uncaptured bytes.
    pub segment: Segment,
    /// The IPv4 identification.
    pub identification: Option<u16>,
    /// IPv4 time to live or IPv6 hop limit: every router on the path decrements it.
    pub hop_limit: u8,
    /// Options are missing: truncated or malformed.
    pub options_incomplete: bool,
}

/// Fields of the IP header.
struct Ip {
    addresses: Addresses,
    ecn: Ecn,
    protocol: u8,
    identification: Option<u16>,
    hop_limit: u8,
    /// Offset of the IP payload.
    header_len: usize,
    /// Length of the packet in bytes.
    len: usize,
}

/// Reads the packet at the start of `bytes`, of which `original_len` bytes were on the wire.
///
/// # Errors
/// Headers cut before the end of TCP's fixed part, impossible lengths, fragments, not TCP.
pub fn parse(bytes: &[u8], original_len: u32) -> Result<CapturedPacket, WireError> {
    let whole = usize::try_from(original_len).unwrap_or(usize::MAX).max(bytes.len());
    let ip = match bytes.first() {
        Some(first) if first >> 4 == 6 => v6(bytes, whole)?,
        _ => v4(bytes, whole)?,
    };
    if ip.protocol != tcp::PROTOCOL {
        return Err(WireError::NotTcp { protocol: ip.protocol });
    }
    // Padding of short frames is not payload.
    let captured = bytes.get(..ip.len.min(bytes.len())).unwrap_or(bytes);
    let rest = captured.get(ip.header_len..).unwrap_or(&[]);
    let header = HeaderKind::Tcp;
    let have = rest.len();
    let Some(fixed) = rest.first_chunk::<{ tcp::MIN_HEADER_LEN }>() else {
        return Err(WireError::Truncated { header, need: tcp::MIN_HEADER_LEN, have });
    };
    let header_len = usize::from(fixed[12] >> 4) * 4;
    if header_len < tcp::MIN_HEADER_LEN {
        return Err(WireError::HeaderLength { header, stated: header_len });
    }
    let stated = ip.len.saturating_sub(ip.header_len);
    let Some(payload) = stated.checked_sub(header_len) else {
        return Err(WireError::TotalLength { header, stated: header_len, have: stated });
    };
    let options = rest.get(tcp::MIN_HEADER_LEN..header_len).map(Options::parse);
    let payload_len = u32::try_from(payload)
        .map_err(|_| WireError::PacketTooLong { header: HeaderKind::Tcp, payload })?;
    let segment = Segment {
        ecn: ip.ecn,
        options: options.and_then(Result::ok).unwrap_or_default(),
        ..tcp::fields(fixed, payload_len)
    };
    let options_lost = !matches!(options, Some(Ok(_)));
    Ok(CapturedPacket {
        addresses: ip.addresses,
        segment,
        identification: ip.identification,
        hop_limit: ip.hop_limit,
        options_incomplete: options_lost,
    })
}

fn v4(bytes: &[u8], whole: usize) -> Result<Ip, WireError> {
    let (header, have) = (HeaderKind::Ipv4, bytes.len());
    let Some(fixed) = bytes.first_chunk::<{ ipv4::HEADER_LEN }>() else {
        return Err(WireError::Truncated { header, need: ipv4::HEADER_LEN, have });
    };
    if fixed[0] >> 4 != 4 {
        return Err(WireError::Version { found: fixed[0] >> 4 });
    }
    let header_len = usize::from(fixed[0] & 0x0f) * 4;
    if header_len < ipv4::HEADER_LEN {
        return Err(WireError::HeaderLength { header, stated: header_len });
    }
    let stated = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    let len = if stated == 0 { whole } else { stated };
    if len < header_len || len > whole {
        return Err(WireError::TotalLength { header, stated, have: whole });
    }
    if u16::from_be_bytes([fixed[6], fixed[7]]) & ipv4::FRAGMENT != 0 {
        return Err(WireError::Fragment);
    }
    let addresses = Addresses::V4 {
        src: Ipv4Addr::new(fixed[12], fixed[13], fixed[14], fixed[15]),
        dst: Ipv4Addr::new(fixed[16], fixed[17], fixed[18], fixed[19]),
    };
    let identification = Some(u16::from_be_bytes([fixed[4], fixed[5]]));
    let (ecn, protocol, hop_limit) = (Ecn::from_bits(fixed[1]), fixed[9], fixed[8]);
    Ok(Ip { addresses, ecn, protocol, identification, hop_limit, header_len, len })
}

fn v6(bytes: &[u8], whole: usize) -> Result<Ip, WireError> {
    let (header, have) = (HeaderKind::Ipv6, bytes.len());
    let Some(fixed) = bytes.first_chunk::<{ ipv6::HEADER_LEN }>() else {
        return Err(WireError::Truncated { header, need: ipv6::HEADER_LEN, have });
    };
    let (mut src, mut dst) = ([0; 16], [0; 16]);
    src.copy_from_slice(&fixed[8..24]);
    dst.copy_from_slice(&fixed[24..40]);
    let addresses =
        Addresses::V6 { src: Ipv6Addr::from_octets(src), dst: Ipv6Addr::from_octets(dst) };
    let payload = usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
    let len = if payload == 0 { whole } else { ipv6::HEADER_LEN + payload };
    if len > whole {
        return Err(WireError::TotalLength { header, stated: len, have: whole });
    }
    let (mut protocol, mut header_len) = (fixed[6], ipv6::HEADER_LEN);
    for _ in 0..MAX_EXTENSIONS {
        if protocol != AH && !is_extension(protocol) {
            break;
        }
        let Some(&[next, units, offset_high, offset_low]) =
            bytes.get(header_len..).and_then(<[u8]>::first_chunk)
        else {
            return Err(WireError::Truncated { header, need: header_len + 8, have });
        };
        // Offset and "more fragments"; a fragment that is the whole packet does not count (RFC
        // 6946).
        if protocol == FRAGMENT
            && u16::from_be_bytes([offset_high, offset_low]) & FRAGMENT_BITS != 0
        {
            return Err(WireError::Fragment);
        }
        header_len += match protocol {
            FRAGMENT => 8,
            AH => (usize::from(units) + 2) * 4,
            _ => (usize::from(units) + 1) * 8,
        };
        protocol = next;
    }
    let ecn = Ecn::from_bits(fixed[1] >> 4);
    let hop_limit = fixed[7];
    Ok(Ip { addresses, ecn, protocol, identification: None, hop_limit, header_len, len })
}
