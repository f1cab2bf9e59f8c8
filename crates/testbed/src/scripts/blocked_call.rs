//! A socket call that lasts.

use std::io;
use std::sync::mpsc::{Receiver, TryRecvError};

use socket2::Socket;

/// Result of a call.
pub(super) enum Returned {
    Nothing,
    Socket(Socket),
    Bytes(Vec<u8>),
    Count(usize),
}

/// A call that blocks, on its thread.
pub(super) struct BlockedCall {
    pub(super) result: Receiver<io::Result<Returned>>,
    pub(super) returned: Option<io::Result<Returned>>,
}

impl BlockedCall {
    pub(super) fn has_returned(&mut self) -> bool {
        if self.returned.is_none() {
            self.returned = match self.result.try_recv() {
                Ok(result) => Some(result),
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => Some(Err(io::ErrorKind::Other.into())),
            };
        }
        self.returned.is_some()
    }
}
