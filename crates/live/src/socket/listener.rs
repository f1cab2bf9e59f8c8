//! Listening sockets.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::Stream;
use super::stream::wait_on;
use crate::driver::Shared;

/// A port on which connections are accepted. Dropping it stops listening; accepted connections
/// continue.
pub struct Listener {
    pub(super) shared: Arc<Shared>,
    pub(super) port: u16,
    nonblocking: AtomicBool,
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Listener({})", self.port)
    }
}

impl Listener {
    pub(super) fn new(shared: Arc<Shared>, port: u16) -> Self {
        Self { shared, port, nonblocking: AtomicBool::new(false) }
    }

    /// Waits for the oldest established connection. Returns it and its peer address.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if nonblocking and none waits; the device is gone.
    pub fn accept(&self) -> io::Result<(Stream, SocketAddr)> {
        self.accept_or_wait(None)
    }

    /// Accepts as [`Self::accept`] does, waiting at most `timeout` without any event.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`], and as [`Self::accept`].
    pub fn accept_within(&self, timeout: Duration) -> io::Result<(Stream, SocketAddr)> {
        self.accept_or_wait(Some(timeout))
    }

    fn accept_or_wait(&self, timeout: Option<Duration>) -> io::Result<(Stream, SocketAddr)> {
        let mut state = self.shared.lock();
        loop {
            match state.stack.accept(self.port) {
                Ok(key) => {
                    let peer = state.stack.local_and_peer(key).map(|(_, peer)| peer);
                    let acked = state.stack.acked_counter(key);
                    drop(state);
                    let stream = Stream::new(Arc::clone(&self.shared), key, acked);
                    let peer = peer.ok_or(io::ErrorKind::NotConnected)?;
                    return Ok((stream, peer));
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    if self.nonblocking.load(Ordering::Relaxed) {
                        return Err(e);
                    }
                    let wait = state.stack.listener_wait(self.port).cloned();
                    state = wait_on(&self.shared, state, wait, timeout)?;
                }
                Err(e) => return Err(e),
            }
        }
    }

    /// Sets whether [`Self::accept`] returns [`io::ErrorKind::WouldBlock`] instead of waiting.
    pub fn set_nonblocking(&self, on: bool) {
        self.nonblocking.store(on, Ordering::Relaxed);
    }

    /// Makes a connection ready only once its peer has sent data or FIN (TCP_DEFER_ACCEPT). For
    /// servers whose clients send first: connections without data use no thread. After `limit`
    /// without data the connection is reset. At most the accept backlog is deferred; for a further
    /// one the oldest is reset.
    pub fn defer_accept(&self, limit: Duration) {
        let limit = u64::try_from(limit.as_micros()).unwrap_or(u64::MAX);
        let limit = lowtide_units::Duration::from_us(limit);
        self.shared.lock().stack.defer_accept(self.port, limit);
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.stack.unlisten(self.port);
        self.shared.unlock(state);
    }
}
