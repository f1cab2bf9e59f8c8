//! Writing of options, in the layout of [`Options::wire_len`].

use super::{
    EXPERIMENT_2, Experimental, MAX_LEN, MSS, NOP, Options, SACK, SACK_PERMITTED, TIMESTAMPS,
    WINDOW_SCALE,
};
use crate::WireError;

impl Options {
    /// Writes the options to the start of `out` and returns their length, a multiple of four.
    ///
    /// The order is that of Linux: MSS, timestamps (after SACK permitted on a SYN, after two NOPs
    /// elsewhere), window scale, SACK, experimental (kind 254). NOPs align each to four bytes.
    ///
    /// # Errors
    /// [`WireError::OptionsTooLong`] if they need more than 40 bytes, and
    /// [`WireError::ExperimentalTooLong`] if that option states more than it holds.
    pub fn emit(&self, out: &mut [u8; MAX_LEN]) -> Result<usize, WireError> {
        if let Some(Experimental { len, data, .. }) = self.experimental
            && usize::from(len) > data.len()
        {
            return Err(WireError::ExperimentalTooLong { len });
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
        match (self.sack_permitted, self.timestamps.is_some()) {
            (true, true) => to.put(&[SACK_PERMITTED, 2]),
            (true, false) => to.put(&[NOP, NOP, SACK_PERMITTED, 2]),
            (false, true) => to.put(&[NOP, NOP]),
            (false, false) => {}
        }
        if let Some(timestamps) = self.timestamps {
            to.put(&[TIMESTAMPS, 10]);
            to.put(&timestamps.value.to_be_bytes());
            to.put(&timestamps.echo.to_be_bytes());
        }
        if let Some(shift) = self.window_scale {
            to.put(&[NOP, WINDOW_SCALE, 3, shift]);
        }
        if !self.sack.is_empty() {
            to.put(&[NOP, NOP, SACK, 2 + 8 * self.sack.len]);
            for (start, end) in self.sack.as_slice() {
                to.put(&start.raw().to_be_bytes());
                to.put(&end.raw().to_be_bytes());
            }
        }
        if let Some(experimental) = &self.experimental {
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
