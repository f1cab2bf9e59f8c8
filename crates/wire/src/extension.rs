//! IPv6 extension headers (RFC 8200 §4), up to the transport header.
//!
//! Contract: hop-by-hop options, destination options, routing headers without segments left and
//! fragment headers of whole packets (RFC 6946) are skipped. Any other header before the transport
//! ends the walk with an error or with its protocol number: authentication and encryption (AH, ESP)
//! are not supported. [`MAX_HEADERS`] and [`MAX_BYTES`] limit the chain, as RFC 8504 §5.3 allows,
//! so that the work per packet is bounded.

use core::ops::Range;

use crate::error::{HeaderKind, WireError};

// Numbers of RFC 8200 §4.
pub(crate) const HOP_BY_HOP: u8 = 0;
pub(crate) const ROUTING: u8 = 43;
pub(crate) const FRAGMENT: u8 = 44;
pub(crate) const DESTINATION: u8 = 60;
/// Offset and "more fragments". A fragment with both zero is a whole packet.
pub(crate) const FRAGMENT_BITS: u16 = 0xfff9;

/// Maximum number of extension headers of one packet.
pub const MAX_HEADERS: usize = 8;
/// Maximum total bytes of all of them.
pub const MAX_BYTES: usize = 512;

/// True if `protocol` is an extension header that this module skips.
pub(crate) const fn is_extension(protocol: u8) -> bool {
    matches!(protocol, HOP_BY_HOP | ROUTING | FRAGMENT | DESTINATION)
}

/// Walks from the header of type `protocol` at the start of `range`; returns the first type that is
/// not an extension header and the range from its header on.
///
/// # Errors
/// A truncated header, one out of order, an option that requires discarding the packet, segments
/// left in a routing header, a fragment, or a chain that is too long.
pub fn walk(
    bytes: &[u8],
    mut protocol: u8,
    range: Range<usize>,
) -> Result<(u8, Range<usize>), WireError> {
    let packet = bytes.get(..range.end).unwrap_or(bytes);
    let mut at = range.start;
    let mut headers = 0;
    while is_extension(protocol) {
        let rest = packet.get(at..).unwrap_or(&[]);
        let cut = |need| WireError::Truncated {
            header: HeaderKind::Ipv6Extension,
            need,
            have: rest.len(),
        };
        let Some(&[next, units, third, fourth]) = rest.first_chunk() else { return Err(cut(8)) };
        let len = if protocol == FRAGMENT { 8 } else { (usize::from(units) + 1) * 8 };
        headers += 1;
        at += len;
        let walked = at - range.start;
        if headers > MAX_HEADERS || walked > MAX_BYTES {
            return Err(WireError::ExtensionsTooLong { headers, bytes: walked });
        }
        let header = rest.get(..len).ok_or_else(|| cut(len))?;
        match protocol {
            // It must come first (RFC 8200 §4.1).
            HOP_BY_HOP if headers > 1 => return Err(WireError::ExtensionOrder),
            HOP_BY_HOP | DESTINATION => options(header.get(2..).unwrap_or(&[]))?,
            // With segments left we would have to be a router (RFC 8200 §4.4, RFC 5095 for type 0).
            ROUTING if fourth > 0 => return Err(WireError::SegmentsLeft { left: fourth }),
            FRAGMENT if u16::from_be_bytes([third, fourth]) & FRAGMENT_BITS != 0 => {
                return Err(WireError::Fragment);
            }
            _ => {}
        }
        protocol = next;
    }
    Ok((protocol, at..range.end))
}

/// Options of a hop-by-hop or destination header (RFC 8200 §4.2). Only padding is known here: the
/// two highest bits of a kind say whether a host may skip it.
fn options(mut bytes: &[u8]) -> Result<(), WireError> {
    while let Some((kind, rest)) = bytes.split_first() {
        // Pad1 has no length.
        if *kind == 0 {
            bytes = rest;
            continue;
        }
        if kind >> 6 != 0 {
            return Err(WireError::ExtensionOption { kind: *kind });
        }
        let body = rest.split_first().and_then(|(len, rest)| rest.get(usize::from(*len)..));
        bytes = body.ok_or(WireError::ExtensionOptionTruncated { kind: *kind })?;
    }
    Ok(())
}
