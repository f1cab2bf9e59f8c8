//! Polling of many streams and listeners.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use super::{Listener, Stream};
use crate::stack::ReadySet;

/// A stream or listener with events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ready(
    /// Its token.
    pub u64,
);

/// Reports streams and listeners with events since the last call, edge-triggered as `epoll` is with
/// EPOLLET. After an event, read, write or accept until the call would block.
#[derive(Clone, Debug, Default)]
pub struct Poller {
    ready: Arc<ReadySet>,
}

impl Poller {
    /// A poller without registrations.
    pub fn new() -> Self {
        Self::default()
    }

    /// A poller with a descriptor that can be polled with others ([`Self::descriptor`]).
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn with_descriptor() -> io::Result<Self> {
        Ok(Self { ready: Arc::new(ReadySet::with_descriptor()?) })
    }

    /// Readable while [`Self::wait`] would not block; only with [`Self::with_descriptor`].
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.ready.descriptor()
    }

    /// Registers a stream, in place of an earlier registration. It is reported at once.
    pub fn watch_stream(&self, stream: &Stream, token: u64) {
        let mut state = stream.shared.lock();
        if let Some(wait) = state.stack.conn_wait(stream.key) {
            wait.registration = Some((Arc::clone(&self.ready), token));
        }
        drop(state);
        self.ready.mark_ready(token);
    }

    /// Registers a listener, in place of an earlier registration. It is reported at once.
    pub fn watch_listener(&self, listener: &Listener, token: u64) {
        let mut state = listener.shared.lock();
        if let Some(wait) = state.stack.listener_wait(listener.port) {
            wait.registration = Some((Arc::clone(&self.ready), token));
        }
        drop(state);
        self.ready.mark_ready(token);
    }

    /// Waits for events, at most `timeout`. Returns the tokens in order.
    pub fn wait(&self, timeout: Option<Duration>) -> Vec<Ready> {
        self.ready.wait_ready(timeout).into_iter().map(Ready).collect()
    }
}
