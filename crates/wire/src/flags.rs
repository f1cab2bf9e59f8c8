//! The nine control bits of the TCP header: the eight of RFC 9293 and AE (RFC 9768).

use core::fmt;
use core::ops::{BitOr, BitOrAssign};

/// A set of TCP control bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(u16);

impl Flags {
    /// No bit set.
    pub const NONE: Self = Self(0);
    /// No more data from the sender.
    pub const FIN: Self = Self(0x001);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x002);
    /// Reset the connection.
    pub const RST: Self = Self(0x004);
    /// Push.
    pub const PSH: Self = Self(0x008);
    /// The acknowledgement field is valid.
    pub const ACK: Self = Self(0x010);
    /// The urgent pointer is valid.
    pub const URG: Self = Self(0x020);
    /// ECN echo (RFC 3168).
    pub const ECE: Self = Self(0x040);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Self = Self(0x080);
    /// Accurate ECN (RFC 9768), formerly the nonce sum.
    pub const AE: Self = Self(0x100);

    /// The three bits of the ACE field: AE, CWR and ECE (RFC 9768 §3.2.2).
    pub const ACE: Self = Self(0x1c0);

    /// The set with the nine low bits of `bits`.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits & 0x1ff)
    }
    /// The nine bits.
    pub const fn bits(self) -> u16 {
        self.0
    }
    /// True if every bit of `other` is in `self`.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    /// True if any bit of `other` is in `self`.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
    /// The set without the bits of `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
    /// AE, CWR and ECE as one number, 0 to 7, ECE the lowest bit (RFC 9768 §3.2.2).
    pub const fn ace(self) -> u8 {
        (self.0 >> 6 & 7) as u8
    }
    /// The set with the three low bits of `ace` as AE, CWR and ECE.
    pub const fn with_ace(self, ace: u8) -> Self {
        Self(self.0 & !Self::ACE.0 | (ace as u16 & 7) << 6)
    }
    /// The union, usable in constants.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.with(other)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for Flags {
    /// packetdrill's letters: `S F R P . U E W A`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LETTERS: [(Flags, &str); 9] = [
            (Flags::SYN, "S"),
            (Flags::FIN, "F"),
            (Flags::RST, "R"),
            (Flags::PSH, "P"),
            (Flags::ACK, "."),
            (Flags::URG, "U"),
            (Flags::ECE, "E"),
            (Flags::CWR, "W"),
            (Flags::AE, "A"),
        ];
        for (flag, letter) in LETTERS {
            if self.contains(flag) {
                f.write_str(letter)?;
            }
        }
        Ok(())
    }
}
