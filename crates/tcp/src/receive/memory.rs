//! Memory limits per connection, for a driver that shares memory among many connections.
//!
//! Contract: an advertised window is never shrunk (RFC 9293 §3.8.6.2.1). Data beyond a gap may be
//! discarded although it was SACKed, which RFC 2018 §8 allows: the sender keeps it until it is
//! acknowledged cumulatively.

use lowtide_wire::Segment;

use crate::connection::Connection;

/// Position of data relative to the data that has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataKind {
    /// All of it has arrived already, or there is none.
    Duplicate,
    /// It contains the next expected byte.
    InSequence,
    /// Beyond a gap.
    OutOfOrder,
}

impl Connection {
    /// Limits unread data to `bytes`, at least one, in place of the configured receive buffer; a
    /// tuned buffer stays within it. A lower limit stops the window from growing but never moves
    /// its right edge left. After a higher limit, the next ACK advertises a larger window.
    pub fn set_receive_buffer(&mut self, bytes: u64) {
        self.rcv.set_buffer(bytes);
    }

    /// Discards all data beyond the first gap, as if it had not arrived. The driver must discard
    /// its bytes too. A FIN beyond the gap is kept.
    pub fn discard_out_of_order(&mut self) {
        self.rcv.discard_out_of_order();
    }

    /// Classifies the data of an arriving segment.
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
