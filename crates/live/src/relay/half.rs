//! One direction of a relayed connection.

use std::io;

use super::end::End;

/// How far a direction is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Went {
    /// Until one side has news.
    Waits,
    /// There may be more; others take their turn.
    Further,
    /// The end was handed on.
    Over,
}

/// Bytes from one side to the other.
#[derive(Debug, Default)]
pub(super) struct Half {
    /// What was read and not written, from `done` on. Without memory while there is nothing.
    kept: Vec<u8>,
    done: usize,
    /// The end was read.
    ended: bool,
    /// And handed on.
    over: bool,
    /// Bytes that were written.
    pub(super) bytes: u64,
}

impl Half {
    /// Bytes that wait for the side they go to.
    pub(super) fn waiting(&self) -> usize {
        self.kept.len() - self.done
    }

    /// Nothing is read, so that an error of the side it comes from would not be seen.
    pub(super) fn is_deaf(&self) -> bool {
        self.waiting() > 0 || self.ended
    }

    /// Moves what can be moved, up to `budget` bytes, by way of `place`.
    pub(super) fn run(
        &mut self,
        from: &End,
        to: &End,
        place: &mut [u8],
        mut budget: usize,
    ) -> io::Result<Went> {
        if self.over {
            return Ok(Went::Over);
        }
        loop {
            while self.waiting() > 0 {
                let Some(n) = to.write(self.kept.get(self.done..).unwrap_or_default())? else {
                    return Ok(Went::Waits);
                };
                self.done += n;
                self.bytes += n as u64;
            }
            (self.kept, self.done) = (Vec::new(), 0);
            if self.ended {
                to.finish()?;
                self.over = true;
                return Ok(Went::Over);
            }
            if budget == 0 {
                return Ok(Went::Further);
            }
            let most = place.len().min(budget);
            let Some(n) = from.read(place.get_mut(..most).unwrap_or_default())? else {
                return Ok(Went::Waits);
            };
            self.ended = n == 0;
            budget -= n;
            let read = place.get(..n).unwrap_or_default();
            let written = if n > 0 { to.write(read)?.unwrap_or(0) } else { 0 };
            self.bytes += written as u64;
            // What is over waits here, and nothing more is read before it is gone.
            if let Some(rest) = read.get(written..).filter(|r| !r.is_empty()) {
                self.kept = rest.to_vec();
            }
        }
    }
}
