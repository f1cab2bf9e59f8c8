//! TCP options as values; `emit` and `parse` convert to and from bytes.

mod accecn;
mod delay;
mod emit;
mod parse;

use core::hint::cold_path;

pub use accecn::{AccEcnOption, AccEcnOrder};
pub use delay::DelayStamps;

use crate::SeqNum;

/// Maximum bytes of options in a TCP header.
pub const MAX_LEN: usize = 40;

// Kinds (RFC 9293 §3.2, RFC 7323, RFC 2018, RFC 9768 §7, RFC 4727).
const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const ACCECN_0: u8 = 172;
const ACCECN_1: u8 = 174;
const EXPERIMENT_1: u8 = 253;
const EXPERIMENT_2: u8 = 254;

/// The timestamps option (RFC 7323 §3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Timestamps {
    /// TSval: the sender's clock.
    pub value: u32,
    /// TSecr: the echoed clock of the peer; zero without ACK.
    pub echo: u32,
}

/// Up to four SACK blocks (RFC 2018 §3) in wire order. Half open: `[start, end)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct SackBlocks {
    blocks: [(SeqNum, SeqNum); 4],
    len: u8,
}

impl SackBlocks {
    /// Maximum number of blocks in any header.
    pub const MAX: usize = 4;
    /// No blocks.
    pub const EMPTY: Self = Self { blocks: [(SeqNum::new(0), SeqNum::new(0)); 4], len: 0 };

    /// Appends a block; false if there is no room left.
    pub const fn push(&mut self, start: SeqNum, end: SeqNum) -> bool {
        if self.len as usize >= Self::MAX {
            return false;
        }
        self.blocks[self.len as usize] = (start, end);
        self.len += 1;
        true
    }
    /// The number of blocks.
    pub const fn len(&self) -> usize {
        self.len as usize
    }
    /// True if there is no block.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The first `len` blocks.
    #[must_use]
    pub fn truncated(mut self, len: usize) -> Self {
        self.len = self.len.min(u8::try_from(len).unwrap_or(u8::MAX));
        for dropped in self.blocks.iter_mut().skip(len) {
            *dropped = (SeqNum::new(0), SeqNum::new(0));
        }
        self
    }
    /// The blocks in wire order.
    pub fn as_slice(&self) -> &[(SeqNum, SeqNum)] {
        self.blocks.get(..self.len as usize).unwrap_or(&[])
    }
}

/// An experimental option of kind 253 or 254 with its 16-bit identifier (RFC 6994).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Experimental {
    /// The ExID.
    pub exid: u16,
    /// Number of valid bytes in `data`, at most 12.
    pub len: u8,
    /// The bytes after the ExID.
    pub data: [u8; 12],
}

impl Experimental {
    /// Maximum bytes after the ExID.
    pub const MAX_DATA: usize = 12;

    /// The option `exid` with `data`, or `None` above [`Self::MAX_DATA`] bytes.
    pub fn new(exid: u16, data: &[u8]) -> Option<Self> {
        let len = u8::try_from(data.len()).ok()?;
        let mut held = [0; Self::MAX_DATA];
        held.get_mut(..data.len())?.copy_from_slice(data);
        Some(Self { exid, len, data: held })
    }
    /// The bytes after the ExID.
    pub fn as_slice(&self) -> &[u8] {
        self.data.get(..self.len as usize).unwrap_or(&self.data)
    }
}

/// An option that few segments have. A header has room for one beside timestamps and SACK blocks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ExtraOption {
    /// Kind 253 or 254.
    Experimental(Experimental),
    /// Kind 172 or 174.
    AccEcn(AccEcnOption),
}

/// The options of one segment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Options {
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
    /// SACK blocks; empty means that the option is absent.
    pub sack: SackBlocks,
    /// Maximum segment size; on SYN only.
    pub mss: Option<u16>,
    /// Window scale shift as sent; on SYN only. Receivers clamp it to 14 (RFC 7323 §2.3).
    pub window_scale: Option<u8>,
    /// SACK permitted; on SYN only.
    pub sack_permitted: bool,
    /// An experimental or AccECN option; of several the first.
    pub extra: Option<ExtraOption>,
}

impl Options {
    /// The bytes of these options in the header, padded to four: 0 to 40.
    ///
    /// Layout as Linux and FreeBSD send it: timestamps with two leading NOPs (12 B), SACK with two
    /// leading NOPs (4 + 8 n), so that a data segment with timestamps carries 1448 B of a 1500 B
    /// MTU.
    #[inline]
    pub const fn wire_len(&self) -> usize {
        let sack = if self.sack.is_empty() { 0 } else { 4 + 8 * self.sack.len() };
        self.len_without_sack(self.spare_nops()) + sack
    }

    /// Maximum number of SACK blocks that fit with the other options here: 4, or 3 with timestamps.
    /// Blocks already set do not count.
    pub const fn room_for_sack(&self) -> usize {
        let free = MAX_LEN.saturating_sub(self.len_without_sack(2) + 4) / 8;
        if free > SackBlocks::MAX { SackBlocks::MAX } else { free }
    }

    /// The experimental option.
    pub const fn experimental(&self) -> Option<&Experimental> {
        match &self.extra {
            Some(ExtraOption::Experimental(e)) => Some(e),
            _ => None,
        }
    }

    /// The AccECN option.
    pub const fn accecn(&self) -> Option<&AccEcnOption> {
        match &self.extra {
            Some(ExtraOption::AccEcn(option)) => Some(option),
            _ => None,
        }
    }

    #[inline]
    const fn len_without_sack(&self, spare_nops: usize) -> usize {
        let mut n = 4 * self.mss.is_some() as usize + 4 * self.window_scale.is_some() as usize;
        if self.timestamps.is_some() {
            // On a SYN the "SACK permitted" option replaces the two NOPs.
            n += 12;
        } else {
            n += 4 * self.sack_permitted as usize;
        }
        if let Some(extra) = &self.extra {
            cold_path();
            n += match extra {
                ExtraOption::Experimental(e) => (4 + e.len as usize).next_multiple_of(4),
                ExtraOption::AccEcn(option) => option.padded_len(spare_nops),
            };
        }
        n
    }

    /// NOPs in succession, in front of an option after the AccECN one, that it can replace.
    const fn spare_nops(&self) -> usize {
        if !self.sack.is_empty() || (self.sack_permitted && self.timestamps.is_none()) {
            2
        } else {
            self.window_scale.is_some() as usize
        }
    }
}
