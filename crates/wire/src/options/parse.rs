//! Reading of options.

use super::{
    ACCECN_0, ACCECN_1, AccEcnOption, END, EXPERIMENT_1, EXPERIMENT_2, Experimental, ExtraOption,
    MSS, NOP, Options, SACK, SACK_PERMITTED, SackBlocks, TIMESTAMPS, Timestamps, WINDOW_SCALE,
};
use crate::{SeqNum, WireError};

impl Options {
    /// Reads the option bytes of a header.
    ///
    /// - Unknown kinds are skipped; bytes after "end of options" are ignored.
    /// - Of a kind that occurs twice, the first counts; the rest must still be well formed. (No RFC
    ///   decides this; Linux takes the last.)
    /// - Options that belong on a SYN are reported on any segment; the connection ignores them
    ///   elsewhere.
    /// - Experimental options (RFC 6994) are kept if they have an ExID and at most 12 bytes after
    ///   it; others of kind 253 and 254 are unknown options. The kind itself is not kept.
    /// - An AccECN option of another length than RFC 9768 §3.2.3 lists has the counters that fit.
    /// - Of an experimental and an AccECN option the first counts.
    ///
    /// # Errors
    /// [`WireError::OptionLength`] for a length of 0 or 1 (RFC 9293 §3.1, MUST-7) or one that a
    /// known kind cannot have; [`WireError::OptionTruncated`] for an option that runs past the end.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let mut options = Self::default();
        let mut rest = bytes;
        while let Some((&kind, after_kind)) = rest.split_first() {
            if kind == END {
                break;
            }
            if kind == NOP {
                rest = after_kind;
                continue;
            }
            let Some(&len) = after_kind.first() else {
                return Err(WireError::OptionTruncated { kind });
            };
            if len < 2 {
                return Err(WireError::OptionLength { kind, len });
            }
            let Some((option, after)) = rest.split_at_checked(usize::from(len)) else {
                return Err(WireError::OptionTruncated { kind });
            };
            rest = after;
            options.take(kind, len, option.get(2..).unwrap_or(&[]))?;
        }
        Ok(options)
    }

    /// Stores one option; `data` follows the length byte.
    fn take(&mut self, kind: u8, len: u8, data: &[u8]) -> Result<(), WireError> {
        let wrong = WireError::OptionLength { kind, len };
        match kind {
            MSS => {
                let mss = u16::from_be_bytes(data.try_into().map_err(|_| wrong)?);
                self.mss.get_or_insert(mss);
            }
            WINDOW_SCALE => {
                let [shift] = <[u8; 1]>::try_from(data).map_err(|_| wrong)?;
                self.window_scale.get_or_insert(shift);
            }
            SACK_PERMITTED if data.is_empty() => self.sack_permitted = true,
            SACK_PERMITTED => return Err(wrong),
            SACK => {
                let blocks = sack_blocks(data).ok_or(wrong)?;
                if self.sack.is_empty() {
                    self.sack = blocks;
                }
            }
            TIMESTAMPS => {
                let ([value, echo], []) = data.as_chunks::<4>() else {
                    return Err(wrong);
                };
                self.timestamps.get_or_insert(Timestamps {
                    value: u32::from_be_bytes(*value),
                    echo: u32::from_be_bytes(*echo),
                });
            }
            EXPERIMENT_1 | EXPERIMENT_2 => {
                if let Some((exid, data)) = data.split_first_chunk::<2>()
                    && let Some(found) = Experimental::new(u16::from_be_bytes(*exid), data)
                {
                    self.extra.get_or_insert(ExtraOption::Experimental(found));
                }
            }
            ACCECN_0 | ACCECN_1 => {
                self.extra.get_or_insert(ExtraOption::AccEcn(AccEcnOption::parse(kind, data)));
            }
            _ => {}
        }
        Ok(())
    }
}

/// One to four blocks that fill `data`.
fn sack_blocks(data: &[u8]) -> Option<SackBlocks> {
    let (edges, []) = data.as_chunks::<4>() else {
        return None;
    };
    let (pairs, []) = edges.as_chunks::<2>() else {
        return None;
    };
    let mut blocks = SackBlocks::EMPTY;
    for [start, end] in pairs {
        let start = SeqNum::new(u32::from_be_bytes(*start));
        if !blocks.push(start, SeqNum::new(u32::from_be_bytes(*end))) {
            return None;
        }
    }
    (!blocks.is_empty()).then_some(blocks)
}
