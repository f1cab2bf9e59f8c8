//! One direction of a relayed connection.

use std::io;

use super::relay_socket::RelaySocket;

/// How far a direction is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ForwardResult {
    /// Until one side has news.
    Blocked,
    /// There may be more; others take their turn.
    MorePending,
    /// The end was handed on.
    Finished,
}

/// Bytes from one side to the other.
#[derive(Debug, Default)]
pub(super) struct RelayDirection {
    /// What was read and not written, from `done` on. Without memory while there is nothing.
    buffered: Vec<u8>,
    written: usize,
    /// The end was read.
    eof_read: bool,
    /// And handed on.
    eof_sent: bool,
    /// Bytes that were written.
    pub(super) bytes: u64,
}

impl RelayDirection {
    /// Bytes that wait for the side they go to.
    pub(super) fn buffered_bytes(&self) -> usize {
        self.buffered.len() - self.written
    }

    /// Nothing is read, so that an error of the side it comes from would not be seen.
    pub(super) fn is_read_paused(&self) -> bool {
        self.buffered_bytes() > 0 || self.eof_read
    }

    /// Moves what can be moved, up to `budget` bytes, by way of `place`.
    pub(super) fn forward(
        &mut self,
        from: &RelaySocket,
        to: &RelaySocket,
        place: &mut [u8],
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
            let most = place.len().min(budget);
            let Some(n) = from.read(place.get_mut(..most).unwrap_or_default())? else {
                return Ok(ForwardResult::Blocked);
            };
            self.eof_read = n == 0;
            budget -= n;
            let read = place.get(..n).unwrap_or_default();
            let written = if n > 0 { to.write(read)?.unwrap_or(0) } else { 0 };
            self.bytes += written as u64;
            // What is over waits here, and nothing more is read before it is gone.
            if let Some(rest) = read.get(written..).filter(|r| !r.is_empty()) {
                self.buffered = rest.to_vec();
            }
        }
    }
}
