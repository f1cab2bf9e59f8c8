//! Memory that a driver shares out over many connections: how much one may use, and what it gives back.
//!
//! Contract: a window that was offered is never taken back (RFC 9293 §3.8.6.2.1). Data beyond a gap may
//! be forgotten though it was reported by SACK, which RFC 2018 §8 allows: the sender keeps it until it is
//! acknowledged cumulatively.

use lowtide_wire::Segment;

use crate::connection::Connection;

/// Where data belongs, beside what has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataKind {
    /// It has arrived already, or there is none.
    Duplicate,
    /// The next byte that is expected is among it.
    InSequence,
    /// Beyond a gap.
    OutOfOrder,
}

impl Connection {
    /// Bounds the data that may wait to be read to `bytes` from now on, in place of the configured
    /// receive buffer; at least one byte. A smaller bound stops the window from growing and never moves
    /// its right edge left; with a larger one the next ACK offers more.
    pub fn set_receive_buffer(&mut self, bytes: u64) {
        self.rcv.set_buffer(bytes);
    }

    /// Forgets all data beyond the first gap, as if it had not arrived. The driver does so with its
    /// bytes. A FIN beyond the gap is remembered.
    pub fn discard_out_of_order(&mut self) {
        self.rcv.discard_out_of_order();
    }

    /// Where the data of an arriving segment belongs, beside what has arrived.
    pub fn classify(&self, seg: &Segment) -> DataKind {
        let (start, next) = (self.rcv.offset(seg.seq), self.rcv.nxt as i64);
        if start > next {
            DataKind::OutOfOrder
        } else if start + i64::from(seg.payload_len) > next {
            DataKind::InSequence
        } else {
            DataKind::Duplicate
        }
    }
}
