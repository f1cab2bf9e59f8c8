//! Duplicates that the peer reports in its first SACK block.

use lowtide_wire::SeqNum;

/// The first block reports a duplicate: it lies below the ACK or inside the second one (RFC 2883 §4).
pub(crate) fn is_dsack(blocks: &[(SeqNum, SeqNum)], ack: SeqNum) -> bool {
    match blocks {
        [(start, _), ..] if start.before(ack) => true,
        [(start, end), (from, to), ..] => !start.before(*from) && !to.before(*end),
        _ => false,
    }
}
