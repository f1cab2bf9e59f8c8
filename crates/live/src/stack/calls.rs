//! Calls of applications. None blocks: a call that would returns [`io::ErrorKind::WouldBlock`].

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use lowtide_sockets::{ConnInfo, ConnKey};
use lowtide_tcp::Config;
use lowtide_units::Instant;

use super::conn::error;
use super::{Conn, ListenState, Readiness, Stack, WaitQueue};

/// Most bytes that one call copies, so that applications and the driver alternate.
const MAX_COPY: usize = 64 << 10;

fn not_connected() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the connection is gone")
}

fn would_block() -> io::Error {
    io::ErrorKind::WouldBlock.into()
}

impl Stack {
    /// Returns the fatal error once the device has failed.
    pub(crate) fn check(&self) -> io::Result<()> {
        match &self.fatal_error {
            None => Ok(()),
            Some(why) => Err(io::Error::new(io::ErrorKind::NetworkDown, why.to_string())),
        }
    }

    fn conn(&mut self, key: ConnKey) -> io::Result<&mut Conn> {
        self.check()?;
        self.sockets.get_mut(key).ok_or_else(not_connected)
    }

    /// Listens on `port` with at most `half_open` connections in the handshake and `ready` that
    /// wait to be accepted.
    pub(crate) fn listen(
        &mut self,
        port: u16,
        config: &Config,
        (half_open, ready): (usize, usize),
    ) -> io::Result<()> {
        self.check()?;
        if port == 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "port 0 is not valid: listen on a port from 1 to 65535",
            ));
        }
        let config = Self::config_for(config);
        self.sockets
            .endpoint()
            .listen(port, config, half_open)
            .map_err(|e| io::Error::new(io::ErrorKind::AddrInUse, e.to_string()))?;
        self.listeners.insert(port, ListenState::new(ready));
        Ok(())
    }

    /// Stops listening and resets the connections that are not accepted yet.
    pub(crate) fn unlisten(&mut self, port: u16) {
        self.sockets.endpoint().unlisten(port);
        let Some(listener) = self.listeners.remove(&port) else { return };
        let deferred = listener.deferred.into_iter().map(|(_, key)| key);
        for key in listener.accept_queue.into_iter().chain(deferred) {
            self.abandon(key);
        }
    }

    /// Returns the oldest established connection of a listener.
    pub(crate) fn accept(&mut self, port: u16) -> io::Result<ConnKey> {
        self.check()?;
        let listener = self.listeners.get_mut(&port).ok_or_else(not_connected)?;
        listener.accept_queue.pop_front().ok_or_else(would_block)
    }

    /// The wait queue of a listener.
    pub(crate) fn listener_wait(&mut self, port: u16) -> Option<&mut WaitQueue> {
        self.listeners.get_mut(&port).map(|l| &mut l.wait)
    }

    /// Opens a connection from our address of the peer's family.
    pub(crate) fn connect(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        config: &Config,
    ) -> io::Result<ConnKey> {
        self.check()?;
        if !self.addresses.is_host(remote.ip()) {
            let message = format!(
                "{} is not a unicast host address: connect to the address of a host",
                remote.ip()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let family = |a: &IpAddr| a.is_ipv4() == remote.is_ipv4();
        let local = self.addresses.locals().iter().copied().find(family).ok_or_else(|| {
            let family = if remote.is_ipv4() { "IPv4" } else { "IPv6" };
            let message = format!("this host has no {family} address to reach {remote} from");
            io::Error::new(io::ErrorKind::AddrNotAvailable, message)
        })?;
        let config = Self::config_for(config);
        let key = self
            .sockets
            .connect(now, local, 0, remote.ip(), remote.port(), config)
            .map_err(|e| io::Error::new(io::ErrorKind::AddrInUse, e.to_string()))?;
        self.charge(key);
        self.mark_changed(key);
        Ok(key)
    }

    /// Returns `Ok` once the handshake is complete.
    pub(crate) fn established(&mut self, key: ConnKey) -> io::Result<()> {
        let conn = self.conn(key)?;
        if conn.established {
            return Ok(());
        }
        match (error(conn), conn.close_reason) {
            (Some(error), _) => Err(error),
            (None, Some(_)) => Err(not_connected()),
            (None, None) => Err(would_block()),
        }
    }

    /// Reads available data into `out`; zero at the end of data. Data that arrived before an error
    /// is read first.
    pub(crate) fn read(&mut self, key: ConnKey, out: &mut [u8]) -> io::Result<usize> {
        self.conn(key)?;
        let most = out.len().min(MAX_COPY);
        let n = self.sockets.read(key, &mut out[..most]);
        if n > 0 || most == 0 {
            self.mark_changed(key);
            self.charge(key);
            return Ok(n);
        }
        self.charge(key);
        let conn = self.conn(key)?;
        if conn.read_shut || conn.peer_closed {
            return Ok(0);
        }
        match (error(conn), conn.close_reason) {
            (Some(error), _) => Err(error),
            (None, Some(_)) => Ok(0),
            (None, None) => Err(would_block()),
        }
    }

    /// Writes as much of `bytes` as the send buffer takes. Returns the number of bytes.
    pub(crate) fn write(&mut self, key: ConnKey, bytes: &[u8]) -> io::Result<usize> {
        let conn = self.conn(key)?;
        if let Some(error) = error(conn) {
            return Err(error);
        }
        if conn.close_reason.is_some() || conn.write_shut {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if !conn.established {
            return Err(would_block());
        }
        let most = bytes.len().min(MAX_COPY).min(self.poll_send_allowance(key));
        if most == 0 && !bytes.is_empty() {
            return Err(would_block());
        }
        let n = self.sockets.write(key, &bytes[..most]).ok_or_else(would_block)?;
        self.charge(key);
        self.mark_changed(key);
        Ok(n)
    }

    /// Closes the sending direction: FIN follows the written data.
    pub(crate) fn shut_write(&mut self, key: ConnKey) -> io::Result<()> {
        self.conn(key)?;
        self.sockets.shut_write(key);
        self.mark_changed(key);
        Ok(())
    }

    /// Closes the receiving direction: data that still arrives is acknowledged and discarded.
    pub(crate) fn shut_read(&mut self, key: ConnKey) -> io::Result<()> {
        let conn = self.conn(key)?;
        conn.read_shut = true;
        let unread = conn.receive.unread();
        if let Some(conn) = self.sockets.transport(key) {
            conn.read(unread);
            self.mark_changed(key);
        }
        Ok(())
    }

    /// Releases the application's stream: FIN follows the written data, or RST if data is unread
    /// (RFC 1122 §4.2.2.13).
    pub(crate) fn drop_stream(&mut self, key: ConnKey) {
        self.close(key, false);
    }

    /// Releases the application's stream and resets the connection.
    pub(crate) fn abandon(&mut self, key: ConnKey) {
        self.close(key, true);
    }

    fn close(&mut self, key: ConnKey, reset: bool) {
        self.sockets.close(key, reset);
        self.mark_changed(key);
        self.forget(key);
    }

    /// Resets a connection that the application continues to hold.
    pub(crate) fn abort(&mut self, key: ConnKey) {
        if let Some(conn) = self.sockets.transport(key) {
            conn.abort();
            self.mark_changed(key);
        }
    }

    /// Resets every connection.
    pub(crate) fn abort_all(&mut self) {
        for key in self.sockets.keys() {
            self.abort(key);
        }
    }

    /// Sets TCP_NODELAY.
    pub(crate) fn set_nodelay(&mut self, key: ConnKey, on: bool) -> io::Result<()> {
        self.conn(key)?;
        if let Some(conn) = self.sockets.transport(key) {
            conn.set_nagle(!on);
            self.mark_changed(key);
        }
        Ok(())
    }

    /// Readiness of the connection for reads and writes.
    pub(crate) fn readiness(&mut self, key: ConnKey) -> Readiness {
        let Ok(conn) = self.conn(key) else {
            return Readiness { readable: true, writable: true, closed: true };
        };
        let closed = conn.close_reason.is_some();
        let at_end = closed || conn.peer_closed || conn.read_shut;
        let readable = at_end || conn.receive.unread() > 0;
        let (established, shut) = (conn.established, conn.write_shut);
        let room = self.sockets.transport(key).is_some_and(|c| c.send_space() > 0);
        let room = room && self.poll_send_allowance(key) > 0;
        Readiness { readable, writable: closed || shut || (established && room), closed }
    }

    /// The wait queue of a connection.
    pub(crate) fn conn_wait(&mut self, key: ConnKey) -> Option<&mut WaitQueue> {
        self.sockets.get_mut(key).map(|c| &mut c.driver.wait)
    }

    /// State of a connection, or its final state once it has ended.
    pub(crate) fn info(&mut self, key: ConnKey) -> Option<ConnInfo> {
        self.sockets.info(key)
    }

    /// Bytes that are written and not acknowledged.
    pub(crate) fn unacknowledged(&mut self, key: ConnKey) -> u64 {
        self.sockets.get(key).map_or(0, |c| c.send.len() as u64)
    }

    /// The counter of bytes that the peer has acknowledged.
    pub(crate) fn acked_counter(&mut self, key: ConnKey) -> Arc<AtomicU64> {
        self.sockets.get(key).map(|c| Arc::clone(&c.driver.acked)).unwrap_or_default()
    }

    /// The error with which a connection ended, if any.
    pub(crate) fn error(&mut self, key: ConnKey) -> Option<io::Error> {
        match self.conn(key) {
            Ok(conn) => error(conn),
            Err(why) => Some(why),
        }
    }

    /// Local and remote address of a connection.
    pub(crate) fn local_and_peer(&mut self, key: ConnKey) -> Option<(SocketAddr, SocketAddr)> {
        self.sockets.get(key).map(|c| (c.local(), c.peer()))
    }
}
