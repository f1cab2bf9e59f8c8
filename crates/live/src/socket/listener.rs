//! Accepting connections.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::Stream;
use super::stream::wait_on;
use crate::driver::Shared;

/// A port on which connections are accepted. Dropped, it stops; connections that were accepted go on.
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

    /// The oldest established connection, and where it comes from; waits for one.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] where it would wait and must not; the device is gone.
    pub fn accept(&self) -> io::Result<(Stream, SocketAddr)> {
        self.accept_or_wait(None)
    }

    /// The same, for at most `timeout` without any news.
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
                    drop(state);
                    let stream = Stream::new(Arc::clone(&self.shared), key);
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

    /// Whether [`Self::accept`] gives [`io::ErrorKind::WouldBlock`] instead of waiting.
    pub fn set_nonblocking(&self, on: bool) {
        self.nonblocking.store(on, Ordering::Relaxed);
    }

    /// Whether a connection can be accepted only once its peer has sent data or FIN, as with TCP_DEFER_ACCEPT in
    /// Linux. For servers whose clients speak first: connections without data cost no thread. As many wait as may
    /// be accepted; for one more the oldest is reset.
    pub fn set_defer_accept(&self, on: bool) {
        self.shared.lock().stack.set_defer_accept(self.port, on);
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.stack.unlisten(self.shared.clock.now(), self.port);
        self.shared.unlock(state);
    }
}
