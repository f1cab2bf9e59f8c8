//! IPv6 extension headers (RFC 8200 §4), up to the header of the transport.
//!
//! Contract: hop-by-hop options, destination options, routing headers without segments left and fragment headers of
//! whole packets (RFC 6946) are passed over. Everything else before the transport ends the walk with an error or with
//! its protocol number: authentication and encryption (AH, ESP) are not known here. The chain is bounded by
//! [`MAX_HEADERS`] and [`MAX_BYTES`], as RFC 8504 §5.3 allows, so that a packet costs a bounded amount of work.

use core::ops::Range;

use crate::error::{HeaderKind, WireError};

// Numbers of RFC 8200 §4.
pub(crate) const HOP_BY_HOP: u8 = 0;
pub(crate) const ROUTING: u8 = 43;
pub(crate) const FRAGMENT: u8 = 44;
pub(crate) const DESTINATION: u8 = 60;
/// Offset and "more fragments". A fragment without either is a whole packet.
pub(crate) const FRAGMENT_BITS: u16 = 0xfff9;

/// The most extension headers of one packet.
pub const MAX_HEADERS: usize = 8;
/// The most bytes that all of them may have together.
pub const MAX_BYTES: usize = 512;

/// Whether more is to be walked: `protocol` is an extension header that this module passes over.
pub(crate) const fn is_extension(protocol: u8) -> bool {
    matches!(protocol, HOP_BY_HOP | ROUTING | FRAGMENT | DESTINATION)
}

/// Walks from the header of number `protocol` at the start of `range`; gives the first number that is no extension
/// header and where its header begins.
///
/// # Errors
/// A header cut short, one out of order, an option that asks for the packet to be discarded, segments left in a routing
/// header, a fragment, or a chain that is too long.
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
            // It comes first or not at all (RFC 8200 §4.1).
            HOP_BY_HOP if headers > 1 => return Err(WireError::ExtensionOrder),
            HOP_BY_HOP | DESTINATION => options(header.get(2..).unwrap_or(&[]))?,
            // Where a segment is left we are asked to be a router (RFC 8200 §4.4, RFC 5095 for type 0).
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

/// Options of a hop-by-hop or destination header (RFC 8200 §4.2). None of them is known here but padding: the two
/// highest bits of a kind say whether a host may skip it.
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
