//! The socket calls, with Linux's results and errors.

use std::collections::VecDeque;
use std::net::IpAddr;

use lowtide_sockets::ConnKey;
use lowtide_tcp::CloseReason;

use super::{Conn, Socket, SocketKind, Stack};
use crate::host::{CallError, Errno, Shutdown};

type Result<T> = std::result::Result<T, CallError>;

impl Stack {
    /// Creates a TCP socket with the lowest free descriptor, from 3 up.
    pub fn socket(&mut self, v6: bool) -> i32 {
        let socket = Socket {
            v6,
            nonblocking: false,
            bound: None,
            kind: SocketKind::Idle,
            config: self.settings.config.clone(),
            linger: None,
            read_shut: false,
        };
        self.open(socket)
    }

    fn open(&mut self, socket: Socket) -> i32 {
        let fd = (3..i32::MAX).find(|fd| !self.sockets.contains_key(fd)).unwrap_or(i32::MAX);
        self.sockets.insert(fd, socket);
        fd
    }

    pub(super) fn get(&mut self, fd: i32) -> Result<&mut Socket> {
        self.sockets.get_mut(&fd).ok_or(CallError::Errno(Errno::EBADF))
    }

    /// Connection of a descriptor.
    pub(super) fn stream(&mut self, fd: i32) -> Result<ConnKey> {
        match self.get(fd)?.kind {
            SocketKind::Stream { conn, .. } => Ok(conn),
            SocketKind::Idle | SocketKind::Listening { .. } => Err(Errno::ENOTCONN.into()),
        }
    }

    fn conn(&mut self, key: ConnKey) -> Result<&mut Conn> {
        self.conns.get_mut(key).ok_or(CallError::Errno(Errno::ENOTCONN))
    }

    /// Takes the pending error of a connection.
    fn take_error_of(&mut self, key: ConnKey) -> Result<()> {
        let conn = self.conn(key)?;
        let error = pending_error(conn);
        conn.driver.error_taken |= error.is_some();
        error.map_or(Ok(()), |errno| Err(errno.into()))
    }

    /// Error of a call that would wait.
    fn would_block(&mut self, fd: i32) -> CallError {
        match self.get(fd) {
            Ok(socket) if !socket.nonblocking => CallError::WouldBlock,
            Ok(_) => Errno::EAGAIN.into(),
            Err(error) => error,
        }
    }

    /// Sets or clears O_NONBLOCK.
    pub fn set_nonblocking(&mut self, fd: i32, on: bool) -> Result<()> {
        self.get(fd)?.nonblocking = on;
        Ok(())
    }

    /// True if O_NONBLOCK is set.
    pub fn nonblocking(&mut self, fd: i32) -> Result<bool> {
        Ok(self.get(fd)?.nonblocking)
    }

    /// Sets the socket's local address.
    pub fn bind(&mut self, fd: i32, address: IpAddr, port: u16) -> Result<()> {
        let socket = self.get(fd)?;
        if socket.bound.is_some() {
            return Err(Errno::EINVAL.into());
        }
        if socket.v6 != address.is_ipv6() {
            return Err(Errno::EAFNOSUPPORT.into());
        }
        socket.bound = Some((address, port));
        Ok(())
    }

    /// Accepts connections to the bound port, with at most `backlog` of them not established.
    ///
    /// Deviation: the socket must be bound; Linux would choose a port.
    pub fn listen(&mut self, fd: i32, backlog: usize) -> Result<()> {
        let socket = self.get(fd)?;
        match socket.kind {
            SocketKind::Listening { .. } => return Ok(()),
            SocketKind::Stream { .. } => return Err(Errno::EINVAL.into()),
            SocketKind::Idle => {}
        }
        let port = socket.bound.map(|(_, port)| port).filter(|p| *p != 0).ok_or(Errno::EINVAL)?;
        socket.kind = SocketKind::Listening { port, ready: VecDeque::new() };
        let config = Self::config_of(socket);
        if self.conns.endpoint().listen(port, config, backlog.max(1)).is_err() {
            self.get(fd)?.kind = SocketKind::Idle;
            return Err(Errno::EADDRINUSE.into());
        }
        Ok(())
    }

    /// Oldest established connection of a listener: its descriptor and the peer's address.
    pub fn accept(&mut self, fd: i32) -> Result<(i32, IpAddr, u16)> {
        let socket = self.get(fd)?;
        let (v6, config) = (socket.v6, socket.config.clone());
        let SocketKind::Listening { ready, .. } = &mut socket.kind else {
            return Err(Errno::EINVAL.into());
        };
        let Some(conn) = ready.pop_front() else { return Err(self.would_block(fd)) };
        let tuple = self.conn(conn)?.tuple;
        let accepted = Socket {
            v6,
            nonblocking: false,
            bound: Some((tuple.local, tuple.local_port)),
            kind: SocketKind::Stream { conn, connecting: false },
            config,
            linger: None,
            read_shut: false,
        };
        Ok((self.open(accepted), tuple.remote, tuple.remote_port))
    }

    /// Opens a connection. On a blocking socket the first call gives [`CallError::WouldBlock`]; a
    /// later call returns the result.
    pub fn connect(&mut self, fd: i32, remote: IpAddr, remote_port: u16) -> Result<()> {
        let default = if remote.is_ipv6() {
            IpAddr::V6(self.settings.local_v6)
        } else {
            IpAddr::V4(self.settings.local_v4)
        };
        let socket = self.get(fd)?;
        let nonblocking = socket.nonblocking;
        match &mut socket.kind {
            SocketKind::Listening { .. } => return Err(Errno::EISCONN.into()),
            SocketKind::Stream { conn, connecting } => {
                let conn = *conn;
                if !std::mem::take(connecting) {
                    return Err(Errno::EISCONN.into());
                }
                return self.connect_again(fd, conn, nonblocking);
            }
            SocketKind::Idle => {}
        }
        if socket.v6 != remote.is_ipv6() {
            return Err(Errno::EAFNOSUPPORT.into());
        }
        let (local, local_port) = socket.bound.unwrap_or((default, 0));
        let local = if local.is_unspecified() { default } else { local };
        let config = Self::config_of(socket);
        self.prepare_isn();
        let opened = self.conns.connect(self.now, local, local_port, remote, remote_port, config);
        let conn = opened.map_err(|_| Errno::EADDRNOTAVAIL)?;
        let tuple = self.conn(conn)?.tuple;
        let socket = self.get(fd)?;
        socket.kind = SocketKind::Stream { conn, connecting: true };
        socket.bound = Some((local, tuple.local_port));
        self.pump(conn);
        Err(if nonblocking { Errno::EINPROGRESS.into() } else { CallError::WouldBlock })
    }

    fn connect_again(&mut self, fd: i32, key: ConnKey, nonblocking: bool) -> Result<()> {
        self.take_error_of(key)?;
        let conn = self.conn(key)?;
        if conn.established {
            return Ok(());
        }
        if conn.close_reason.is_some() {
            return Err(Errno::ECONNABORTED.into());
        }
        if let SocketKind::Stream { connecting, .. } = &mut self.get(fd)?.kind {
            *connecting = true;
        }
        Err(if nonblocking { Errno::EALREADY.into() } else { CallError::WouldBlock })
    }

    /// Reads at most `max` bytes; none at the end of stream. `peek` leaves them in the buffer.
    pub fn read(&mut self, fd: i32, max: usize, peek: bool) -> Result<Vec<u8>> {
        let key = self.stream(fd)?;
        let read_shut = self.get(fd)?.read_shut;
        let conn = self.conn(key)?;
        let mut bytes = vec![0; max.min(conn.receive.unread() as usize)];
        if peek {
            conn.receive.peek(&mut bytes);
        } else if !bytes.is_empty() {
            self.conns.read(key, &mut bytes);
            self.pump(key);
        }
        if !bytes.is_empty() || max == 0 {
            return Ok(bytes);
        }
        self.take_error_of(key)?;
        let conn = self.conn(key)?;
        if conn.peer_closed || conn.close_reason.is_some() || read_shut {
            return Ok(bytes);
        }
        Err(self.would_block(fd))
    }

    /// Writes as many of `bytes` as fit into the send buffer; returns their number.
    pub fn write(&mut self, fd: i32, bytes: &[u8]) -> Result<usize> {
        let key = match self.stream(fd) {
            Err(CallError::Errno(Errno::ENOTCONN)) => return Err(Errno::EPIPE.into()),
            other => other?,
        };
        self.take_error_of(key)?;
        let conn = self.conn(key)?;
        if conn.close_reason.is_some() || conn.write_shut {
            return Err(Errno::EPIPE.into());
        }
        let Some(n) = self.conns.write(key, bytes) else {
            return Err(self.would_block(fd));
        };
        self.pump(key);
        Ok(n)
    }

    /// Closes one direction or both.
    pub fn shutdown(&mut self, fd: i32, how: Shutdown) -> Result<()> {
        let key = self.stream(fd)?;
        if self.conn(key)?.close_reason.is_some() {
            return Err(Errno::ENOTCONN.into());
        }
        if how != Shutdown::Write {
            self.get(fd)?.read_shut = true;
        }
        if how != Shutdown::Read {
            self.conns.shut_write(key);
            self.pump(key);
        }
        Ok(())
    }

    /// Closes the descriptor. FIN follows the written data. RST is sent instead if data is unread
    /// (RFC 1122 §4.2.2.13) or SO_LINGER is on with zero seconds.
    ///
    /// Deviation: `close` does not wait for SO_LINGER with more than zero seconds.
    pub fn close(&mut self, fd: i32) -> Result<()> {
        let socket = self.sockets.remove(&fd).ok_or(Errno::EBADF)?;
        match socket.kind {
            SocketKind::Idle => {}
            SocketKind::Listening { port, ready } => {
                self.conns.endpoint().unlisten(port);
                for conn in ready {
                    self.release(conn, true);
                }
            }
            SocketKind::Stream { conn, .. } => self.release(conn, socket.linger == Some(0)),
        }
        Ok(())
    }

    /// Takes the socket's pending error.
    pub(super) fn take_error(&mut self, fd: i32) -> Result<i32> {
        match self.get(fd)?.kind {
            SocketKind::Stream { conn, .. } => match self.take_error_of(conn) {
                Err(CallError::Errno(errno)) => Ok(errno.number()),
                other => other.map(|()| 0),
            },
            SocketKind::Idle | SocketKind::Listening { .. } => Ok(0),
        }
    }

    /// Unread bytes (FIONREAD, SIOCINQ): zero before a connection, EINVAL on a listener.
    pub fn unread(&mut self, fd: i32) -> Result<u64> {
        match self.get(fd)?.kind {
            SocketKind::Idle => Ok(0),
            SocketKind::Listening { .. } => Err(Errno::EINVAL.into()),
            SocketKind::Stream { conn, .. } => Ok(self.conn(conn)?.receive.unread()),
        }
    }
}

/// The error with which a connection ended, until a call has returned it. As on Linux, a reset
/// after the peer's FIN is EPIPE.
fn pending_error(conn: &Conn) -> Option<Errno> {
    match conn.close_reason.filter(|_| !conn.driver.error_taken)? {
        CloseReason::Normal | CloseReason::Aborted => None,
        CloseReason::Refused => Some(Errno::ECONNREFUSED),
        CloseReason::TimedOut | CloseReason::UserTimeout | CloseReason::KeepAlive => {
            Some(Errno::ETIMEDOUT)
        }
        CloseReason::Reset if conn.peer_closed && !conn.write_shut => Some(Errno::EPIPE),
        // Reset.
        _ => Some(Errno::ECONNRESET),
    }
}
