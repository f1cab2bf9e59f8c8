//! A connection.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use lowtide_sockets::{ConnInfo, ConnKey};

use crate::driver::{Shared, State};
use crate::stack::{Readiness, Stack, WaitQueue};

/// A connection. Dropping it closes it as a socket: FIN follows the written data, or RST if data is
/// unread. Two threads may read and write at the same time.
pub struct Stream {
    pub(super) shared: Arc<Shared>,
    pub(super) key: ConnKey,
    /// Bytes that the peer has acknowledged.
    acked: Arc<AtomicU64>,
    nonblocking: AtomicBool,
    /// Timeout of blocking calls, nanoseconds; zero for none.
    timeout: AtomicU64,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({:?})", self.key)
    }
}

/// Waits for a change of the state, waking the driver first if it has work.
pub(super) fn wait_on<'a>(
    shared: &'a Shared,
    mut state: MutexGuard<'a, State>,
    wait: Option<WaitQueue>,
    timeout: Option<Duration>,
) -> io::Result<MutexGuard<'a, State>> {
    let wait = wait.ok_or(io::ErrorKind::NotConnected)?;
    if state.must_wake() {
        shared.wake();
    }
    let (state, changed) = wait.wait(state, timeout);
    if !changed {
        return Err(io::Error::new(io::ErrorKind::TimedOut, "timed out without an event"));
    }
    Ok(state)
}

impl Stream {
    pub(super) fn new(shared: Arc<Shared>, key: ConnKey, acked: Arc<AtomicU64>) -> Self {
        let (nonblocking, timeout) = (AtomicBool::new(false), AtomicU64::new(0));
        Self { shared, key, acked, nonblocking, timeout }
    }

    /// Repeats `call` until it does not block.
    fn call<T>(&self, mut call: impl FnMut(&mut Stack) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.shared.lock();
        loop {
            let result = call(&mut state.stack);
            let blocks = matches!(&result, Err(e) if e.kind() == io::ErrorKind::WouldBlock);
            if !blocks || self.nonblocking.load(Ordering::Relaxed) {
                self.shared.unlock(state);
                return result;
            }
            let timeout = self.timeout.load(Ordering::Relaxed);
            let timeout = (timeout > 0).then(|| Duration::from_nanos(timeout));
            let wait = state.stack.conn_wait(self.key).cloned();
            state = wait_on(&self.shared, state, wait, timeout)?;
        }
    }

    /// Waits until the connection is established, after [`super::Live::begin_connect`].
    ///
    /// # Errors
    /// The connection could not be opened.
    pub fn finish_connect(&self) -> io::Result<()> {
        self.call(|stack| stack.established(self.key))
    }

    /// Shuts down one direction or both. After a write shutdown FIN follows the written data; after
    /// a read shutdown arriving data is discarded.
    ///
    /// # Errors
    /// The connection or the device is gone.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.call(|stack| {
            if how != Shutdown::Read {
                stack.shut_write(self.key)?;
            }
            if how != Shutdown::Write {
                stack.shut_read(self.key)?;
            }
            Ok(())
        })
    }

    /// Resets the connection.
    pub fn abort(&self) {
        let mut state = self.shared.lock();
        state.stack.abort(self.key);
        self.shared.unlock(state);
    }

    /// Sets whether calls return [`io::ErrorKind::WouldBlock`] instead of waiting.
    pub fn set_nonblocking(&self, on: bool) {
        self.nonblocking.store(on, Ordering::Relaxed);
    }

    /// Sets the time that a call waits without any event; `None` for no limit.
    pub fn set_timeout(&self, timeout: Option<Duration>) {
        let ns = timeout.map_or(0, |t| u64::try_from(t.as_nanos()).unwrap_or(u64::MAX).max(1));
        self.timeout.store(ns, Ordering::Relaxed);
    }

    /// Sets TCP_NODELAY: small segments are sent at once.
    ///
    /// # Errors
    /// The connection or the device is gone.
    pub fn set_nodelay(&self, on: bool) -> io::Result<()> {
        self.call(|stack| stack.set_nodelay(self.key, on))
    }

    /// The error with which the connection ended, if any. It is returned even if data is unread.
    pub fn error(&self) -> Option<io::Error> {
        self.shared.lock().stack.error(self.key)
    }

    /// Returns an observer of the connection for another thread.
    pub fn observer(&self) -> StreamObserver {
        StreamObserver { shared: Arc::clone(&self.shared), key: self.key }
    }

    /// Readiness for reads and writes.
    pub fn readiness(&self) -> Readiness {
        self.shared.lock().stack.readiness(self.key)
    }

    /// A snapshot of the connection, or the last one after its end.
    pub fn info(&self) -> Option<ConnInfo> {
        self.shared.lock().stack.info(self.key)
    }

    /// Bytes that are written and not acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        self.shared.lock().stack.unacknowledged(self.key)
    }

    /// Bytes that the peer has acknowledged. Takes no lock.
    pub fn acknowledged(&self) -> u64 {
        self.acked.load(Ordering::Relaxed)
    }

    /// The peer's address.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        let addresses = self.shared.lock().stack.local_and_peer(self.key);
        addresses.map(|(_, peer)| peer).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Our address.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let addresses = self.shared.lock().stack.local_and_peer(self.key);
        addresses.map(|(local, _)| local).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

/// Reads the state of a connection, and does not keep it open.
pub struct StreamObserver {
    shared: Arc<Shared>,
    key: ConnKey,
}

impl StreamObserver {
    /// A snapshot and the bytes that are written and not acknowledged; `None` once the connection
    /// is released.
    pub fn info(&self) -> Option<(ConnInfo, u64)> {
        let mut state = self.shared.lock();
        Some((state.stack.info(self.key)?, state.stack.unacknowledged(self.key)))
    }
}

impl Read for &Stream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.call(|stack| stack.read(self.key, out))
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.call(|stack| stack.write(self.key, bytes))
    }

    /// No effect: nothing is buffered here.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Stream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        (&*self).read(out)
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.stack.drop_stream(self.key);
        self.shared.unlock(state);
    }
}
