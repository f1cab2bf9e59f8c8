//! What applications ask for. Nothing here blocks: what would is [`io::ErrorKind::WouldBlock`].

use std::io;
use std::net::{IpAddr, SocketAddr};

use lowtide_tcp::{Config, FourTuple};
use lowtide_units::Instant;

use super::{Conn, ConnInfo, Key, Listener, Readiness, Stack, Wait};

/// The most bytes that one call copies: applications and the driver take turns.
const AT_ONCE: usize = 64 << 10;

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the connection is gone")
}

fn would_block() -> io::Error {
    io::ErrorKind::WouldBlock.into()
}

impl Stack {
    /// The error that everything ends with, once the device is gone.
    pub(crate) fn check(&self) -> io::Result<()> {
        match &self.fault {
            None => Ok(()),
            Some(why) => Err(io::Error::new(io::ErrorKind::NetworkDown, why.to_string())),
        }
    }

    fn conn(&mut self, key: Key) -> io::Result<&mut Conn> {
        self.check()?;
        self.get(key).ok_or_else(gone)
    }

    /// Accepts connections to `port`: at most `half_open` that are not established, and `ready` that are not
    /// accepted.
    pub(crate) fn listen(
        &mut self,
        now: Instant,
        port: u16,
        config: &Config,
        (half_open, ready): (usize, usize),
    ) -> io::Result<()> {
        self.check()?;
        if port == 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "port 0 cannot be listened on",
            ));
        }
        let config = Self::config_for(config);
        self.boundary
            .listen(now, port, config, half_open)
            .map_err(|e| io::Error::new(io::ErrorKind::AddrInUse, e.to_string()))?;
        self.listeners.insert(port, Listener::new(ready));
        Ok(())
    }

    /// Stops listening; what nobody accepted is reset.
    pub(crate) fn unlisten(&mut self, now: Instant, port: u16) {
        self.boundary.unlisten(now, port);
        let Some(listener) = self.listeners.remove(&port) else { return };
        let silent = listener.silent.into_iter().map(|(_, key)| key);
        for key in listener.ready.into_iter().chain(silent) {
            self.abandon(now, key);
        }
    }

    /// The oldest established connection of a listener.
    pub(crate) fn accept(&mut self, port: u16) -> io::Result<Key> {
        self.check()?;
        let listener = self.listeners.get_mut(&port).ok_or_else(gone)?;
        listener.ready.pop_front().ok_or_else(would_block)
    }

    /// Where to wait for a connection of a listener.
    pub(crate) fn listener_wait(&mut self, port: u16) -> Option<&mut Wait> {
        self.listeners.get_mut(&port).map(|l| &mut l.wait)
    }

    /// Begins to open a connection from our address of the peer's family.
    pub(crate) fn connect(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        config: &Config,
    ) -> io::Result<Key> {
        self.check()?;
        if !self.addresses.is_host(remote.ip()) {
            let message =
                format!("{} is no address of one host: connect to a host's own", remote.ip());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let family = |a: &IpAddr| a.is_ipv4() == remote.is_ipv4();
        let local = self.addresses.locals().iter().copied().find(family).ok_or_else(|| {
            let family = if remote.is_ipv4() { "IPv4" } else { "IPv6" };
            let message = format!("this host has no {family} address to reach {remote} from");
            io::Error::new(io::ErrorKind::AddrNotAvailable, message)
        })?;
        let config = Self::config_for(config);
        let (peer, port) = (remote.ip(), remote.port());
        let (id, local_port) = self
            .boundary
            .connect(now, local, peer, port, config)
            .map_err(|e| io::Error::new(io::ErrorKind::AddrInUse, e.to_string()))?;
        let tuple = FourTuple { local, local_port, remote: peer, remote_port: port };
        let key = self.insert(Conn::new(tuple, id, None));
        self.touch(key);
        Ok(key)
    }

    /// Whether the handshake is over.
    pub(crate) fn established(&mut self, key: Key) -> io::Result<()> {
        let conn = self.conn(key)?;
        if conn.established {
            return Ok(());
        }
        match (conn.error(), conn.over) {
            (Some(error), _) => Err(error),
            (None, Some(_)) => Err(gone()),
            (None, None) => Err(would_block()),
        }
    }

    /// Reads what is there into `out`; zero at the end of data. What came before an error is read first.
    pub(crate) fn read(&mut self, now: Instant, key: Key, out: &mut [u8]) -> io::Result<usize> {
        self.check()?;
        let Self { conns, pool, .. } = self;
        let conn = conns.get_mut(key.0 as usize).and_then(Option::as_mut).ok_or_else(gone)?;
        let most = out.len().min(AT_ONCE);
        let n = conn.receive.read(&mut out[..most], pool);
        if n > 0 || most == 0 {
            if let Some(id) = conn.id {
                self.boundary.read(now, id, n as u64);
                self.touch(key);
            }
            self.charge(key);
            return Ok(n);
        }
        conn.receive.trim(pool);
        self.charge(key);
        let conn = self.conn(key)?;
        if conn.read_shut || conn.peer_closed {
            return Ok(0);
        }
        match (conn.error(), conn.over) {
            (Some(error), _) => Err(error),
            (None, Some(_)) => Ok(0),
            (None, None) => Err(would_block()),
        }
    }

    /// Writes as much of `bytes` as the send buffer takes, and says how much.
    pub(crate) fn write(&mut self, now: Instant, key: Key, bytes: &[u8]) -> io::Result<usize> {
        let conn = self.conn(key)?;
        if let Some(error) = conn.error() {
            return Err(error);
        }
        if conn.over.is_some() || conn.write_shut {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let id = conn.id.filter(|_| conn.established).ok_or_else(would_block)?;
        let space = usize::try_from(self.boundary.send_space(now, id)).unwrap_or(usize::MAX);
        let allowed = self.may_write(key);
        let n = bytes.len().min(space).min(AT_ONCE).min(allowed);
        if n == 0 && !bytes.is_empty() {
            return Err(would_block());
        }
        self.boundary.send(now, id, n as u64);
        self.conn(key)?.send.push(&bytes[..n]);
        self.charge(key);
        self.touch(key);
        Ok(n)
    }

    /// FIN follows what was written.
    pub(crate) fn shut_write(&mut self, now: Instant, key: Key) -> io::Result<()> {
        let conn = self.conn(key)?;
        conn.write_shut = true;
        if let Some(id) = conn.id {
            self.boundary.close(now, id);
            self.touch(key);
        }
        Ok(())
    }

    /// What still comes is acknowledged and thrown away.
    pub(crate) fn shut_read(&mut self, now: Instant, key: Key) -> io::Result<()> {
        let conn = self.conn(key)?;
        conn.read_shut = true;
        let unread = conn.receive.unread();
        if let Some(id) = conn.id {
            self.boundary.read(now, id, unread);
            self.touch(key);
        }
        Ok(())
    }

    /// The application lets go of it: FIN follows what was written, or RST where data was not read
    /// (RFC 1122 §4.2.2.13).
    pub(crate) fn drop_stream(&mut self, now: Instant, key: Key) {
        let Some(conn) = self.get(key) else { return };
        conn.held = false;
        let (id, unread) = (conn.id, conn.receive.unread() > 0 && !conn.read_shut);
        match id {
            Some(id) if unread => self.boundary.abort(now, id),
            Some(id) => self.boundary.close(now, id),
            None => {}
        }
        self.touch(key);
        self.forget(key);
    }

    /// Gives a connection up: RST.
    pub(crate) fn abandon(&mut self, now: Instant, key: Key) {
        let Some(conn) = self.get(key) else { return };
        conn.held = false;
        if let Some(id) = conn.id {
            self.boundary.abort(now, id);
        }
        self.touch(key);
        self.forget(key);
    }

    /// RST on a connection that the application goes on to hold.
    pub(crate) fn abort(&mut self, now: Instant, key: Key) {
        if let Some(id) = self.get(key).and_then(|c| c.id) {
            self.boundary.abort(now, id);
            self.touch(key);
        }
    }

    /// Gives every connection up.
    pub(crate) fn abort_all(&mut self, now: Instant) {
        for index in 0..self.conns.len() {
            self.abort(now, Key(index as u32));
        }
    }

    /// TCP_NODELAY.
    pub(crate) fn set_nodelay(&mut self, now: Instant, key: Key, on: bool) -> io::Result<()> {
        if let Some(id) = self.conn(key)?.id {
            self.boundary.set_nagle(now, id, !on);
            self.touch(key);
        }
        Ok(())
    }

    /// What calls would do now.
    pub(crate) fn readiness(&mut self, now: Instant, key: Key) -> Readiness {
        let Ok(conn) = self.conn(key) else {
            return Readiness { readable: true, writable: true, over: true };
        };
        let over = conn.over.is_some();
        let ended = over || conn.peer_closed || conn.read_shut;
        let readable = ended || conn.receive.unread() > 0;
        let (established, shut, id) = (conn.established, conn.write_shut, conn.id);
        let room = id.is_some_and(|id| self.boundary.send_space(now, id) > 0);
        let room = room && self.may_write(key) > 0;
        Readiness { readable, writable: over || shut || (established && room), over }
    }

    /// Where to wait for a connection.
    pub(crate) fn conn_wait(&mut self, key: Key) -> Option<&mut Wait> {
        self.get(key).map(|c| &mut c.wait)
    }

    /// One look at a connection, as it is or as it was when it ended.
    pub(crate) fn info(&mut self, key: Key) -> Option<ConnInfo> {
        let conn = self.get(key)?;
        match (conn.id, &conn.last) {
            (Some(id), _) => self.boundary.look(id, ConnInfo::of),
            (None, last) => last.as_deref().copied(),
        }
    }

    /// Bytes that were written and are not acknowledged.
    pub(crate) fn unacknowledged(&mut self, key: Key) -> u64 {
        self.get(key).map_or(0, |c| c.send.len() as u64)
    }

    /// Why a connection is over, where that is an error.
    pub(crate) fn error(&mut self, key: Key) -> Option<io::Error> {
        match self.conn(key) {
            Ok(conn) => conn.error(),
            Err(gone) => Some(gone),
        }
    }

    /// Our end and the peer's.
    pub(crate) fn ends(&mut self, key: Key) -> Option<(SocketAddr, SocketAddr)> {
        self.get(key).map(|c| (c.local(), c.peer()))
    }
}
