//! Writing of options, in the layout of [`Options::wire_len`].

use super::{
    EXPERIMENT_2, ExtraOption, MAX_LEN, MSS, NOP, Options, SACK, SACK_PERMITTED, TIMESTAMPS,
    WINDOW_SCALE,
};
use crate::WireError;

impl Options {
    /// Writes the options to the start of `out` and returns their length, a multiple of four.
    ///
    /// The order is that of Linux: MSS, timestamps (after SACK permitted on a SYN, after two NOPs
    /// elsewhere), AccECN, window scale, SACK, experimental (kind 254). NOPs align each to four
    /// bytes; the last bytes of a short AccECN option replace NOPs of the option after it.
    ///
    /// # Errors
    /// [`WireError::OptionsTooLong`] if they need more than 40 bytes, and
    /// [`WireError::ExperimentalTooLong`] if that option states more than it holds.
    pub fn emit(&self, out: &mut [u8; MAX_LEN]) -> Result<usize, WireError> {
        if let Some(experimental) = self.experimental()
            && usize::from(experimental.len) > experimental.data.len()
        {
            return Err(WireError::ExperimentalTooLong { len: experimental.len });
        }
        let len = self.wire_len();
        if len > MAX_LEN {
            return Err(WireError::OptionsTooLong { len });
        }
        let mut to = Cursor { out, at: 0 };
        if let Some(mss) = self.mss {
            to.put(&[MSS, 4]);
            to.put(&mss.to_be_bytes());
        }
        if let Some(timestamps) = self.timestamps {
            to.put(&if self.sack_permitted { [SACK_PERMITTED, 2] } else { [NOP, NOP] });
            to.put(&[TIMESTAMPS, 10]);
            to.put(&timestamps.value.to_be_bytes());
            to.put(&timestamps.echo.to_be_bytes());
        }
        // The two bytes in front of the next option that has room for them.
        let mut nops = [NOP, NOP];
        if let Some(option) = self.accecn() {
            let (bytes, padded) = (option.bytes(), option.padded_len(self.spare_nops()));
            let bytes = bytes.get(..option.wire_len()).unwrap_or(&bytes);
            let (whole, rest) = bytes.split_at(padded.min(bytes.len()));
            to.put(whole);
            for _ in whole.len()..padded {
                to.put(&[NOP]);
            }
            for (nop, byte) in nops.iter_mut().zip(rest) {
                *nop = *byte;
            }
        }
        if self.sack_permitted && self.timestamps.is_none() {
            to.put(&core::mem::replace(&mut nops, [NOP, NOP]));
            to.put(&[SACK_PERMITTED, 2]);
        }
        if let Some(shift) = self.window_scale {
            // Two bytes in succession wait for an option with two NOPs.
            let nop = if nops[1] == NOP { core::mem::replace(&mut nops[0], NOP) } else { NOP };
            to.put(&[nop, WINDOW_SCALE, 3, shift]);
        }
        if !self.sack.is_empty() {
            to.put(&nops);
            to.put(&[SACK, 2 + 8 * self.sack.len]);
            for (start, end) in self.sack.as_slice() {
                to.put(&start.raw().to_be_bytes());
                to.put(&end.raw().to_be_bytes());
            }
        }
        if let Some(ExtraOption::Experimental(experimental)) = &self.extra {
            to.put(&[EXPERIMENT_2, 4 + experimental.len]);
            to.put(&experimental.exid.to_be_bytes());
            to.put(experimental.as_slice());
        }
        while to.at < len {
            to.put(&[NOP]);
        }
        Ok(len)
    }
}

/// Write position of the next option.
struct Cursor<'a> {
    out: &'a mut [u8; MAX_LEN],
    at: usize,
}

impl Cursor<'_> {
    /// Appends `bytes`, which fit because `wire_len` was checked against [`MAX_LEN`].
    fn put(&mut self, bytes: &[u8]) {
        let end = self.at + bytes.len();
        self.out[self.at..end].copy_from_slice(bytes);
        self.at = end;
    }
}
