//! Detection of DSACK blocks (RFC 2883).

use lowtide_wire::SeqNum;

/// Returns whether the first block is a DSACK: it lies below the ACK or inside the second block
/// (RFC 2883 §4).
pub(crate) fn is_dsack(blocks: &[(SeqNum, SeqNum)], ack: SeqNum) -> bool {
    match blocks {
        [(start, _), ..] if start.before(ack) => true,
        [(start, end), (from, to), ..] => !start.before(*from) && !to.before(*end),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dsack(blocks: &[(u32, u32)]) -> bool {
        let at = |n: u32| SeqNum::new(n.wrapping_sub(2_000));
        let blocks: alloc::vec::Vec<_> = blocks.iter().map(|(a, b)| (at(*a), at(*b))).collect();
        is_dsack(&blocks, at(1_000))
    }

    #[test]
    fn rfc2883_4_below_the_ack_or_inside_the_second_block() {
        assert!(dsack(&[(0, 1_000)]));
        assert!(dsack(&[(0, 1_000), (2_000, 3_000)]));
        for inside in [(2_000, 3_000), (2_000, 2_500), (2_500, 3_000), (2_200, 2_800)] {
            assert!(dsack(&[inside, (2_000, 3_000)]), "{inside:?}");
        }
    }

    #[test]
    fn anything_else_is_a_plain_block() {
        assert!(!dsack(&[]));
        assert!(!dsack(&[(1_000, 2_000)]));
        for apart in
            [(4_000, 5_000), (1_100, 1_900), (1_500, 2_500), (2_500, 3_500), (1_500, 3_500)]
        {
            assert!(!dsack(&[apart, (2_000, 3_000)]), "{apart:?}");
        }
    }
}
