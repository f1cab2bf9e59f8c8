//! One direction of a relayed connection.

use std::io;

use crate::socket::NonblockingSocket;

/// Progress of a direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ForwardResult {
    /// Wait for an event of one side.
    Blocked,
    /// More may be pending; other connections run first.
    MorePending,
    /// The end of data was forwarded.
    Finished,
}

/// Forwards bytes from one side to the other.
#[derive(Debug, Default)]
pub(super) struct RelayDirection {
    /// Bytes read but not written, from `written` on. Unallocated while empty.
    buffered: Vec<u8>,
    written: usize,
    /// Whether the end of data was read.
    eof_read: bool,
    /// Whether the end of data was forwarded.
    eof_sent: bool,
    /// Bytes written.
    pub(super) bytes: u64,
}

impl RelayDirection {
    /// Bytes waiting to be written.
    pub(super) fn buffered_bytes(&self) -> usize {
        self.buffered.len() - self.written
    }

    /// Whether reading is paused, so that an error of the source would go unnoticed.
    pub(super) fn is_read_paused(&self) -> bool {
        self.buffered_bytes() > 0 || self.eof_read
    }

    /// Forwards up to `budget` bytes, using `buffer` as scratch space.
    pub(super) fn forward(
        &mut self,
        from: &NonblockingSocket,
        to: &NonblockingSocket,
        buffer: &mut [u8],
        mut budget: usize,
    ) -> io::Result<ForwardResult> {
        if self.eof_sent {
            return Ok(ForwardResult::Finished);
        }
        loop {
            while self.buffered_bytes() > 0 {
                let Some(n) = to.write(self.buffered.get(self.written..).unwrap_or_default())?
                else {
                    return Ok(ForwardResult::Blocked);
                };
                self.written += n;
                self.bytes += n as u64;
            }
            (self.buffered, self.written) = (Vec::new(), 0);
            if self.eof_read {
                to.shutdown_write()?;
                self.eof_sent = true;
                return Ok(ForwardResult::Finished);
            }
            if budget == 0 {
                return Ok(ForwardResult::MorePending);
            }
            let most = buffer.len().min(budget);
            let Some(n) = from.read(buffer.get_mut(..most).unwrap_or_default())? else {
                return Ok(ForwardResult::Blocked);
            };
            self.eof_read = n == 0;
            budget -= n;
            let read = buffer.get(..n).unwrap_or_default();
            let written = if n > 0 { to.write(read)?.unwrap_or(0) } else { 0 };
            self.bytes += written as u64;
            // Keep the unwritten rest; nothing more is read until it is written.
            if let Some(rest) = read.get(written..).filter(|r| !r.is_empty()) {
                self.buffered = rest.to_vec();
            }
        }
    }
}
