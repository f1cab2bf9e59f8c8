//! Waiting for many streams and listeners at once.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use super::{Listener, Stream};
use crate::stack::ReadySet;

/// A stream or a listener that has news.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ready(
    /// The token that it was registered with.
    pub u64,
);

/// Says which of many streams and listeners have news since it was last asked, as `epoll` does with EPOLLET: it
/// says so once, so read, write or accept until that would block.
#[derive(Clone, Debug, Default)]
pub struct Poller {
    ready: Arc<ReadySet>,
}

impl Poller {
    /// A poller that watches nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with a descriptor to wait on beside others ([`Self::descriptor`]).
    ///
    /// # Errors
    /// There is no descriptor left.
    pub fn with_descriptor() -> io::Result<Self> {
        Ok(Self { ready: Arc::new(ReadySet::with_descriptor()?) })
    }

    /// Readable while [`Self::wait`] would not wait; only with [`Self::with_descriptor`].
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.ready.descriptor()
    }

    /// Watches a stream, in place of whoever watched it. It counts as one with news.
    pub fn watch_stream(&self, stream: &Stream, token: u64) {
        let mut state = stream.shared.lock();
        if let Some(wait) = state.stack.conn_wait(stream.key) {
            wait.registration = Some((Arc::clone(&self.ready), token));
        }
        drop(state);
        self.ready.mark_ready(token);
    }

    /// Watches a listener, in place of whoever watched it. It counts as one with news.
    pub fn watch_listener(&self, listener: &Listener, token: u64) {
        let mut state = listener.shared.lock();
        if let Some(wait) = state.stack.listener_wait(listener.port) {
            wait.registration = Some((Arc::clone(&self.ready), token));
        }
        drop(state);
        self.ready.mark_ready(token);
    }

    /// What has news, by token; waits until something has, at most `timeout`.
    pub fn wait(&self, timeout: Option<Duration>) -> Vec<Ready> {
        self.ready.wait_ready(timeout).into_iter().map(Ready).collect()
    }
}
