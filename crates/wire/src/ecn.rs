//! The two ECN bits of the IP header (RFC 3168 §5).

/// The ECN codepoint of a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Ecn {
    /// `00`: the transport does not support ECN.
    #[default]
    NotEct = 0b00,
    /// `01`: ECN-capable, ECT(1).
    Ect1 = 0b01,
    /// `10`: ECN-capable, ECT(0).
    Ect0 = 0b10,
    /// `11`: congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// The codepoint in the two low bits of a traffic-class byte.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            0b11 => Self::Ce,
            _ => Self::NotEct,
        }
    }
    /// The two bits.
    pub const fn bits(self) -> u8 {
        self as u8
    }
    /// True if a switch may mark this packet instead of dropping it: ECT(0), ECT(1) or CE.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}
