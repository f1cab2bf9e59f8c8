//! The AccECN option (RFC 9768 §3.2.3): up to three counters of received payload bytes, each of 24
//! bits.
//!
//! | length | kind 172 (order 0) | kind 174 (order 1) |
//! |---|---|---|
//! | 11 | ECT(0), CE, ECT(1) | ECT(1), CE, ECT(0) |
//! | 8 | ECT(0), CE | ECT(1), CE |
//! | 5 | ECT(0) | ECT(1) |
//! | 2 | none | none |

use super::{ACCECN_0, ACCECN_1};
use crate::Ecn;

/// Bytes of one counter.
const FIELD: usize = 3;

/// Order of the counters in an AccECN option.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AccEcnOrder {
    /// ECT(0) first: kind 172.
    Ect0First,
    /// ECT(1) first: kind 174.
    Ect1First,
}

impl AccEcnOrder {
    /// The codepoints that the counters count, in wire order.
    pub const fn fields(self) -> [Ecn; 3] {
        match self {
            Self::Ect0First => [Ecn::Ect0, Ecn::Ce, Ecn::Ect1],
            Self::Ect1First => [Ecn::Ect1, Ecn::Ce, Ecn::Ect0],
        }
    }
}

/// The AccECN option of one segment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AccEcnOption {
    order: AccEcnOrder,
    /// Number of counters, 0 to 3.
    count: u8,
    /// The counters as on the wire; zero beyond `count`.
    counters: [[u8; FIELD]; 3],
}

impl AccEcnOption {
    /// Bytes of the option with all counters.
    pub const MAX_LEN: usize = 2 + 3 * FIELD;

    /// An option with the low 24 bits of up to three `counters`, in the order of
    /// [`AccEcnOrder::fields`].
    pub fn new(order: AccEcnOrder, counters: &[u32]) -> Self {
        let mut option = Self { order, count: 0, counters: [[0; FIELD]; 3] };
        for (field, counter) in option.counters.iter_mut().zip(counters) {
            let [_, low @ ..] = counter.to_be_bytes();
            *field = low;
            option.count += 1;
        }
        option
    }

    /// Reads the bytes after kind and length. Bytes beyond the last whole counter are padding (RFC
    /// 9768 §3.2.3).
    pub(super) fn parse(kind: u8, data: &[u8]) -> Self {
        let order = if kind == ACCECN_0 { AccEcnOrder::Ect0First } else { AccEcnOrder::Ect1First };
        let (fields, _) = data.as_chunks::<FIELD>();
        let mut option = Self { order, count: 0, counters: [[0; FIELD]; 3] };
        for (to, field) in option.counters.iter_mut().zip(fields) {
            *to = *field;
            option.count += 1;
        }
        option
    }

    /// The order of the counters.
    pub const fn order(&self) -> AccEcnOrder {
        self.order
    }

    /// Number of counters, 0 to 3.
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// True without counters.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The counters with the codepoints that they count, in wire order.
    pub fn counters(&self) -> impl Iterator<Item = (Ecn, u32)> {
        let values = self.counters.into_iter().map(|[a, b, c]| u32::from_be_bytes([0, a, b, c]));
        self.order.fields().into_iter().zip(values).take(self.len())
    }

    /// The option without its last counter.
    #[must_use]
    pub fn shortened(mut self) -> Self {
        self.count = self.count.saturating_sub(1);
        let last = self.len();
        if let Some(dropped) = self.counters.get_mut(last) {
            *dropped = [0; FIELD];
        }
        self
    }

    /// The bytes of the option, in the first [`Self::wire_len`] of the array.
    pub(super) fn bytes(&self) -> [u8; Self::MAX_LEN] {
        let kind = match self.order {
            AccEcnOrder::Ect0First => ACCECN_0,
            AccEcnOrder::Ect1First => ACCECN_1,
        };
        let mut bytes = [0; Self::MAX_LEN];
        bytes[0] = kind;
        bytes[1] = 2 + 3 * self.count;
        bytes[2..].copy_from_slice(self.counters.as_flattened());
        bytes
    }

    /// Bytes of the option without padding: 2, 5, 8 or 11.
    pub const fn wire_len(&self) -> usize {
        2 + FIELD * self.len()
    }

    /// Bytes that the option adds to a header, a multiple of four. Its last bytes replace NOPs of
    /// the following option, of which there are `spare_nops`, if that saves a word.
    pub(super) const fn padded_len(&self, spare_nops: usize) -> usize {
        let len = self.wire_len();
        if len % 4 > spare_nops { len.next_multiple_of(4) } else { len / 4 * 4 }
    }
}
