//! Whole IP packets that carry TCP.
//!
//! Contract: [`parse`] converts bytes from any source to a [`Segment`] with its ECN codepoint, or
//! returns an error; [`emit`] writes what [`parse`] reads back unchanged. Emitted headers have 64
//! hops, "don't fragment" and no IP options.

use core::ops::Range;

use crate::checksum::Checksum;
use crate::ipv4::{self, Ipv4Header};
use crate::ipv6::{self, Ipv6Header};
use crate::{Addresses, Segment, WireError, extension, tcp};

/// Maximum length in bytes of the headers that this module writes: IPv6 and TCP with all options.
pub const MAX_HEADERS_LEN: usize = ipv6::HEADER_LEN + tcp::MAX_HEADER_LEN;

/// Reads the packet at the start of `bytes`; the range is that of its TCP payload.
///
/// # Errors
/// Errors of [`ipv4::parse`], [`ipv6::parse`], [`extension::walk`] and [`tcp::parse`], and
/// [`WireError::NotTcp`].
pub fn parse(bytes: &[u8]) -> Result<(Addresses, Segment, Range<usize>), WireError> {
    parse_with(bytes, tcp::parse)
}

/// As [`parse`], without checking the TCP checksum: for packets that a host on this machine has
/// sent, which never were on a wire.
///
/// # Errors
/// As [`parse`], except for that checksum.
pub fn parse_without_checksum(
    bytes: &[u8],
) -> Result<(Addresses, Segment, Range<usize>), WireError> {
    parse_with(bytes, |bytes, _| tcp::parse_without_checksum(bytes))
}

fn parse_with(
    bytes: &[u8],
    tcp: impl FnOnce(&[u8], &Addresses) -> Result<(Segment, Range<usize>), WireError>,
) -> Result<(Addresses, Segment, Range<usize>), WireError> {
    let (addresses, ecn, protocol, range) = match bytes.first() {
        Some(first) if first >> 4 == 6 => {
            let (ip, range) = ipv6::parse(bytes)?;
            let (protocol, range) = extension::walk(bytes, ip.next_header, range)?;
            (Addresses::V6 { src: ip.src, dst: ip.dst }, ip.ecn, protocol, range)
        }
        _ => {
            let (ip, range) = ipv4::parse(bytes)?;
            (Addresses::V4 { src: ip.src, dst: ip.dst }, ip.ecn, ip.protocol, range)
        }
    };
    if protocol != tcp::PROTOCOL {
        return Err(WireError::NotTcp { protocol });
    }
    let (segment, payload) = tcp(&bytes[range.clone()], &addresses)?;
    let payload = range.start + payload.start..range.start + payload.end;
    Ok((addresses, Segment { ecn, ..segment }, payload))
}

/// Writes the packet to the start of `out` and returns its length in bytes.
///
/// # Errors
/// Options that do not fit into the header, a payload of another length than the segment states or
/// too long for one IP packet, or an `out` that is too small. Nothing is written then.
pub fn emit(
    addresses: &Addresses,
    segment: &Segment,
    payload: &[u8],
    out: &mut [u8],
) -> Result<usize, WireError> {
    let (headers, len) = headers(addresses, segment, Checksum::new().with(payload))?;
    tcp::assemble(&headers[..len], segment, payload, out)
}

/// Writes a packet for checksum offload and segmentation by the system: the checksum field holds
/// the sum of the pseudo header. The payload is in two parts.
///
/// # Errors
/// As [`emit`].
pub fn emit_partial_checksum(
    addresses: &Addresses,
    segment: &Segment,
    payload: (&[u8], &[u8]),
    out: &mut [u8],
) -> Result<usize, WireError> {
    let (mut headers, len) = headers(addresses, segment, Checksum::new())?;
    let tcp = match addresses {
        Addresses::V4 { .. } => ipv4::HEADER_LEN,
        Addresses::V6 { .. } => ipv6::HEADER_LEN,
    };
    let given = payload.0.len() + payload.1.len();
    if usize::try_from(segment.payload_len) != Ok(given) {
        return Err(WireError::PayloadLength { stated: segment.payload_len, given });
    }
    // The headers were built, so the length fits an IP packet.
    let tcp_len = u32::try_from(len - tcp + given).unwrap_or(u32::MAX);
    let sum = !addresses.pseudo_header(tcp_len).finish();
    headers[tcp + tcp::CHECKSUM..tcp + tcp::CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
    let (need, have) = (len + given, out.len());
    let out = out.get_mut(..need).ok_or(WireError::BufferTooSmall { need, have })?;
    let (head, body) = out.split_at_mut(len);
    let (first, second) = body.split_at_mut(payload.0.len());
    head.copy_from_slice(&headers[..len]);
    first.copy_from_slice(payload.0);
    second.copy_from_slice(payload.1);
    Ok(need)
}

/// Writes only the headers of the packet, without a payload: the lengths are those of the segment,
/// the checksum is that of zeros. For captures of the simulator, which moves no bytes.
///
/// # Errors
/// As [`emit`].
pub fn emit_headers(
    addresses: &Addresses,
    segment: &Segment,
    out: &mut [u8],
) -> Result<usize, WireError> {
    let (headers, need) = headers(addresses, segment, Checksum::new())?;
    let have = out.len();
    let out = out.get_mut(..need).ok_or(WireError::BufferTooSmall { need, have })?;
    out.copy_from_slice(&headers[..need]);
    Ok(need)
}

/// The bytes of all headers and their length, given the sum of the payload.
fn headers(
    addresses: &Addresses,
    segment: &Segment,
    payload: Checksum,
) -> Result<([u8; MAX_HEADERS_LEN], usize), WireError> {
    let (tcp, tcp_len) = tcp::emit_header(segment, payload, addresses)?;
    let tcp = &tcp[..tcp_len];
    // A payload that does not fit into usize is too long for any packet.
    let carried =
        usize::try_from(segment.payload_len).unwrap_or(usize::MAX).saturating_add(tcp_len);
    let mut out = [0; MAX_HEADERS_LEN];
    let ip_len = match *addresses {
        Addresses::V4 { src, dst } => {
            let ip = ipv4::emit(&Ipv4Header::tcp(src, dst, segment.ecn), carried)?;
            out[..ip.len()].copy_from_slice(&ip);
            ip.len()
        }
        Addresses::V6 { src, dst } => {
            let ip = ipv6::emit(&Ipv6Header::tcp(src, dst, segment.ecn), carried)?;
            out[..ip.len()].copy_from_slice(&ip);
            ip.len()
        }
    };
    out[ip_len..ip_len + tcp_len].copy_from_slice(tcp);
    Ok((out, ip_len + tcp_len))
}
