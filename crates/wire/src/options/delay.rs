//! The delay option of DX §V-B: three 32-bit host timestamps, from which the data sender computes
//! the delays of its packets and their acknowledgements.
//!
//! It is an experimental option with an identifier (RFC 6994): 4 bytes on a SYN or SYN-ACK, where
//! it offers, and 16 on every other segment. The paper's has 14 bytes, with a separate kind that is
//! not assigned. A header is padded to whole words, so both occupy equal space.
//!
//! | bytes | content |
//! |---|---|
//! | 0, 1 | kind 254, length |
//! | 2, 3 | [`DelayStamps::EXID`] |
//! | 4 to 7 | `t1`: departure of the acknowledged data, by the clock of its sender |
//! | 8 to 11 | `t2`: its arrival, by the clock of its receiver |
//! | 12 to 15 | `t3`: departure of this segment, by the clock of its sender |
//!
//! `t3` of a data segment is the `t1` of its acknowledgement. `t1` and `t2` both zero: no echo.
//! Nanoseconds modulo 2^32: they wrap every 4.29 s. With timestamps the option leaves room for one
//! SACK block, without them for two.

use lowtide_units::HostStamp;

use super::{Experimental, ExtraOption, Options};
use crate::Segment;

/// The three timestamps of one segment, in nanoseconds modulo 2^32.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct DelayStamps {
    /// `t1`, echoed.
    pub sent: u32,
    /// `t2`.
    pub arrived: u32,
    /// `t3`; the driver fills it in when the segment leaves ([`Segment::stamp_departure`]).
    pub left: u32,
}

impl DelayStamps {
    /// The identifier: "DX". Not registered with IANA.
    pub const EXID: u16 = 0x4458;
    /// Bytes of the option in a header.
    pub const WIRE_LEN: usize = 16;

    /// The echoed `t1` and `t2`, if any.
    pub const fn echo(&self) -> Option<(u32, u32)> {
        if self.sent == 0 && self.arrived == 0 { None } else { Some((self.sent, self.arrived)) }
    }
}

impl Options {
    /// True if the delay option is offered or accepted, as on a SYN or SYN-ACK.
    pub fn offers_delay(&self) -> bool {
        self.experimental().is_some_and(|e| e.exid == DelayStamps::EXID)
    }

    /// Offers or accepts the delay option.
    pub const fn offer_delay(&mut self) {
        let offer = Experimental { exid: DelayStamps::EXID, len: 0, data: [0; 12] };
        self.extra = Some(ExtraOption::Experimental(offer));
    }

    /// The timestamps; `None` without the option or if it only offers.
    #[inline]
    pub fn delay(&self) -> Option<DelayStamps> {
        let e = self.experimental().filter(|e| e.exid == DelayStamps::EXID)?;
        let ([sent, arrived, left], []) = e.as_slice().as_chunks::<4>() else { return None };
        let [sent, arrived, left] = [sent, arrived, left].map(|four| u32::from_be_bytes(*four));
        Some(DelayStamps { sent, arrived, left })
    }

    /// Sets the timestamps.
    pub fn set_delay(&mut self, stamps: DelayStamps) {
        let mut data = [0; Experimental::MAX_DATA];
        let four = [stamps.sent, stamps.arrived, stamps.left].map(u32::to_be_bytes);
        data.copy_from_slice(four.as_flattened());
        let stamps = Experimental { exid: DelayStamps::EXID, len: 12, data };
        self.extra = Some(ExtraOption::Experimental(stamps));
    }
}

impl Segment {
    /// Writes the departure time `t3` if the segment has the option; called by the driver.
    #[inline]
    pub fn stamp_departure(&mut self, at: HostStamp) {
        if let Some(stamps) = self.options.delay() {
            self.options.set_delay(DelayStamps { left: low(at), ..stamps });
        }
    }
}

/// The low 32 bits of a timestamp, as sent on the wire.
#[expect(clippy::cast_possible_truncation, reason = "modulo 2^32 is the format")]
const fn low(at: HostStamp) -> u32 {
    at.0 as u32
}
