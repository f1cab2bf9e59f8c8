//! The delay option of DX §V-B: three host stamps of 32 bits, so that the sender of data learns how long
//! its packets and their acknowledgements were under way.
//!
//! It is an experimental option with an identifier (RFC 6994): 4 bytes on a SYN or SYN-ACK, where it
//! offers, and 16 on every other segment. The paper's has 14 bytes, for a kind of its own that nobody
//! has assigned; a header is padded to whole words, so the two take the same room.
//!
//! | bytes | what |
//! |---|---|
//! | 0, 1 | kind 254, length |
//! | 2, 3 | [`DelayStamps::EXID`] |
//! | 4 to 7 | `t1`: when the data that is acknowledged left, by the clock of its sender |
//! | 8 to 11 | `t2`: when it arrived, by the clock of its receiver |
//! | 12 to 15 | `t3`: when this very segment left, by the clock of who sends it |
//!
//! `t3` of a segment with data is the `t1` of its acknowledgement. `t1` and `t2` both zero acknowledge no
//! stamp. Nanoseconds modulo 2^32: they wrap every 4.29 s. Beside timestamps the option leaves room for
//! one SACK block, without them for two.

use lowtide_units::HostStamp;

use super::{Experimental, Options};
use crate::Segment;

/// The three stamps of one segment, in nanoseconds modulo 2^32.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct DelayStamps {
    /// `t1`, echoed.
    pub sent: u32,
    /// `t2`.
    pub arrived: u32,
    /// `t3`; the driver fills it in as the segment leaves ([`Segment::stamp_departure`]).
    pub left: u32,
}

impl DelayStamps {
    /// The identifier: "DX". Nobody has registered it with IANA.
    pub const EXID: u16 = 0x4458;
    /// Bytes that the option takes in a header.
    pub const WIRE_LEN: usize = 16;

    /// What is acknowledged, if anything is: `t1` and `t2`.
    pub const fn echo(&self) -> Option<(u32, u32)> {
        if self.sent == 0 && self.arrived == 0 { None } else { Some((self.sent, self.arrived)) }
    }
}

impl Options {
    /// The delay option is offered or accepted, as on a SYN or SYN-ACK.
    pub fn offers_delay(&self) -> bool {
        self.experimental.is_some_and(|e| e.exid == DelayStamps::EXID)
    }

    /// Offers or accepts the delay option.
    pub const fn offer_delay(&mut self) {
        self.experimental = Some(Experimental { exid: DelayStamps::EXID, len: 0, data: [0; 12] });
    }

    /// The stamps; `None` without the option or where it only offers.
    #[inline]
    pub fn delay(&self) -> Option<DelayStamps> {
        let e = self.experimental.as_ref().filter(|e| e.exid == DelayStamps::EXID)?;
        let ([sent, arrived, left], []) = e.as_slice().as_chunks::<4>() else { return None };
        let [sent, arrived, left] = [sent, arrived, left].map(|four| u32::from_be_bytes(*four));
        Some(DelayStamps { sent, arrived, left })
    }

    /// Sets the stamps.
    pub fn set_delay(&mut self, stamps: DelayStamps) {
        let mut data = [0; Experimental::MAX_DATA];
        let four = [stamps.sent, stamps.arrived, stamps.left].map(u32::to_be_bytes);
        data.copy_from_slice(four.as_flattened());
        self.experimental = Some(Experimental { exid: DelayStamps::EXID, len: 12, data });
    }
}

impl Segment {
    /// For the driver, as the segment leaves: writes `t3` where the segment has a place for it.
    #[inline]
    pub fn stamp_departure(&mut self, at: HostStamp) {
        if let Some(stamps) = self.options.delay() {
            self.options.set_delay(DelayStamps { left: low(at), ..stamps });
        }
    }
}

/// The part of a stamp that goes on the wire.
#[expect(clippy::cast_possible_truncation, reason = "modulo 2^32 is the format")]
const fn low(at: HostStamp) -> u32 {
    at.0 as u32
}
