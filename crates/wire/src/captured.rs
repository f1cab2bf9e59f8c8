//! IP headers and TCP segments from captures on the path: possibly truncated, or before the NIC
//! filled in checksums.
//!
//! Contract: for analysis only; an end host uses [`crate::packet`]. Checksums are not verified
//! (offload leaves them wrong at a sender). Only the number of bytes beyond the captured ones is
//! known. A length of zero (segmentation offload beyond 64 kB) means "up to the end". IPv6
//! extension headers and AH are walked up to a fragment header. Truncated or malformed options are
//! omitted and reported as incomplete.

use core::net::{Ipv4Addr, Ipv6Addr};

use crate::error::{HeaderKind, WireError};
use crate::extension::{FRAGMENT, FRAGMENT_BITS, is_extension};
use crate::{Addresses, Ecn, Options, Segment, ipv4, ipv6, tcp};

/// AH (RFC 4302), which captures skip over.
const AH: u8 = 51;
/// Maximum number of extension headers; more do not occur.
const MAX_EXTENSIONS: usize = 8;
/// Bit "more fragments" of IPv4 and of the IPv6 fragment header.
const MORE_V4: u16 = 0x2000;
const MORE_V6: u16 = 1;

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

/// The IP header of a captured packet with its extension headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CapturedIp {
    /// Source and destination.
    pub addresses: Addresses,
    /// ECN field.
    pub ecn: Ecn,
    /// Protocol of the payload.
    pub protocol: u8,
    /// The IPv4 identification.
    pub identification: Option<u16>,
    /// IPv4 time to live or IPv6 hop limit.
    pub hop_limit: u8,
    /// Offset of the payload, bytes.
    pub header_len: usize,
    /// Length of the payload on the wire, bytes.
    pub payload_len: usize,
    /// Position of the payload in the fragmented packet.
    pub fragment: Option<FragmentPosition>,
}

/// Position of a fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FragmentPosition {
    /// Identification of the packet.
    pub id: u32,
    /// Offset in the packet's payload, bytes.
    pub offset: usize,
    /// More fragments follow.
    pub more: bool,
}

/// Reads the IP header at the start of `bytes`, of which `original_len` bytes were on the wire.
///
/// # Errors
/// Truncated headers, impossible lengths, another version.
pub fn ip(bytes: &[u8], original_len: u32) -> Result<CapturedIp, WireError> {
    let whole = usize::try_from(original_len).unwrap_or(usize::MAX).max(bytes.len());
    match bytes.first() {
        Some(first) if first >> 4 == 6 => v6(bytes, whole),
        _ => v4(bytes, whole),
    }
}

/// Reads the segment at the start of `payload`, the captured payload of `ip`.
///
/// # Errors
/// Not TCP, a header cut before the end of its fixed part, or impossible lengths.
pub fn tcp(ip: &CapturedIp, payload: &[u8]) -> Result<CapturedPacket, WireError> {
    if ip.protocol != tcp::PROTOCOL {
        return Err(WireError::NotTcp { protocol: ip.protocol });
    }
    // Padding of short frames is not payload.
    let captured = payload.get(..ip.payload_len).unwrap_or(payload);
    let header = HeaderKind::Tcp;
    let have = captured.len();
    let Some(fixed) = captured.first_chunk::<{ tcp::MIN_HEADER_LEN }>() else {
        return Err(WireError::Truncated { header, need: tcp::MIN_HEADER_LEN, have });
    };
    let header_len = usize::from(fixed[12] >> 4) * 4;
    if header_len < tcp::MIN_HEADER_LEN {
        return Err(WireError::HeaderLength { header, stated: header_len });
    }
    let Some(payload) = ip.payload_len.checked_sub(header_len) else {
        return Err(WireError::TotalLength { header, stated: header_len, have: ip.payload_len });
    };
    let options = captured.get(tcp::MIN_HEADER_LEN..header_len).map(Options::parse);
    let payload_len = u32::try_from(payload)
        .map_err(|_| WireError::PacketTooLong { header: HeaderKind::Tcp, payload })?;
    let options_lost = !matches!(options, Some(Ok(_)));
    let segment = Segment {
        ecn: ip.ecn,
        options: options.and_then(Result::ok).unwrap_or_default(),
        ..tcp::fields(fixed, payload_len)
    };
    Ok(CapturedPacket {
        addresses: ip.addresses,
        segment,
        identification: ip.identification,
        hop_limit: ip.hop_limit,
        options_incomplete: options_lost,
    })
}

impl CapturedIp {
    /// Returns the header of the whole packet, whose fragments have been put together: `payload` is
    /// the start of its payload of `payload_len` bytes. Skips the extension headers in it, and
    /// returns the offset behind them.
    ///
    /// # Errors
    /// A truncated extension header.
    pub fn reassembled(
        &self,
        payload: &[u8],
        payload_len: usize,
    ) -> Result<(Self, usize), WireError> {
        let whole = Self { header_len: 0, payload_len, fragment: None, ..*self };
        let whole = whole.after_extensions(payload, |p| p == AH || is_extension(p))?;
        Ok((whole, whole.header_len))
    }

    /// Skips headers while `skips` holds for the protocol, up to the header of a fragment.
    fn after_extensions(
        mut self,
        bytes: &[u8],
        skips: impl Fn(u8) -> bool,
    ) -> Result<Self, WireError> {
        for _ in 0..MAX_EXTENSIONS {
            if !skips(self.protocol) || self.fragment.is_some() {
                break;
            }
            let Some(&[next, units, a, b, id @ ..]) =
                bytes.get(self.header_len..).and_then(<[u8]>::first_chunk::<8>)
            else {
                let (header, need) = (HeaderKind::Ipv6Extension, self.header_len + 8);
                return Err(WireError::Truncated { header, need, have: bytes.len() });
            };
            let position = u16::from_be_bytes([a, b]);
            // A fragment that is the whole packet does not count (RFC 6946).
            if self.protocol == FRAGMENT && position & FRAGMENT_BITS != 0 {
                let (offset, more) = (usize::from(position & !7), position & MORE_V6 != 0);
                self.fragment = Some(FragmentPosition { id: u32::from_be_bytes(id), offset, more });
            }
            let len = match self.protocol {
                FRAGMENT => 8,
                AH => (usize::from(units) + 2) * 4,
                _ => (usize::from(units) + 1) * 8,
            };
            self.protocol = next;
            self.header_len += len;
            let Some(payload_len) = self.payload_len.checked_sub(len) else {
                let (header, have) = (HeaderKind::Ipv6Extension, self.payload_len);
                return Err(WireError::TotalLength { header, stated: len, have });
            };
            self.payload_len = payload_len;
        }
        Ok(self)
    }
}

fn v4(bytes: &[u8], whole: usize) -> Result<CapturedIp, WireError> {
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
    let position = u16::from_be_bytes([fixed[6], fixed[7]]);
    let fragment = (position & ipv4::FRAGMENT != 0).then(|| FragmentPosition {
        id: u32::from(u16::from_be_bytes([fixed[4], fixed[5]])),
        offset: usize::from(position & 0x1fff) * 8,
        more: position & MORE_V4 != 0,
    });
    let addresses = Addresses::V4 {
        src: Ipv4Addr::new(fixed[12], fixed[13], fixed[14], fixed[15]),
        dst: Ipv4Addr::new(fixed[16], fixed[17], fixed[18], fixed[19]),
    };
    let identification = Some(u16::from_be_bytes([fixed[4], fixed[5]]));
    let (ecn, protocol, hop_limit) = (Ecn::from_bits(fixed[1]), fixed[9], fixed[8]);
    let payload_len = len - header_len;
    CapturedIp {
        addresses,
        ecn,
        protocol,
        identification,
        hop_limit,
        header_len,
        payload_len,
        fragment,
    }
    .after_extensions(bytes, |p| p == AH)
}

fn v6(bytes: &[u8], whole: usize) -> Result<CapturedIp, WireError> {
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
    CapturedIp {
        addresses,
        ecn: Ecn::from_bits(fixed[1] >> 4),
        protocol: fixed[6],
        identification: None,
        hop_limit: fixed[7],
        header_len: ipv6::HEADER_LEN,
        payload_len: len - ipv6::HEADER_LEN,
        fragment: None,
    }
    .after_extensions(bytes, |p| p == AH || is_extension(p))
}
