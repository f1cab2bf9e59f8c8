//! Connections of one host as its applications use them, over lowtide's TCP or the kernel's.

use std::io;
use std::net::SocketAddrV4;
use std::time::Duration;

use lowtide_live::NonblockingSocket;

use crate::socket_observer::SocketObserver;

/// A connection of a host, numbered from zero in order of creation.
pub(crate) type Conn = usize;

/// An event of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SocketEvent {
    /// A connection was accepted.
    Accepted(Conn, SocketAddrV4),
    /// State changed: it may be established, readable, writable or closed.
    Ready(Conn),
}

/// Bytes that one call writes at most; their contents are ignored.
static PAYLOAD: [u8; 1 << 16] = [0x5a; 1 << 16];

/// Non-blocking sockets; only [`Self::wait`] blocks. Events are edge-triggered: the caller reads
/// and writes until the socket would block.
pub(crate) trait Sockets {
    /// Starts to open a connection; returns it and its local port.
    fn connect(&mut self, to: SocketAddrV4) -> io::Result<(Conn, u16)>;
    /// All connections in order of creation; `None` once closed.
    fn conns(&self) -> &[Option<NonblockingSocket>];
    /// Closes a connection: FIN follows the written data, and its resources are released.
    fn close(&mut self, conn: Conn);
    /// Waits for events, at most `timeout`.
    fn wait(&mut self, timeout: Duration, events: &mut Vec<SocketEvent>) -> io::Result<()>;
    /// An observer of an established connection.
    fn observer(&self, conn: Conn) -> io::Result<SocketObserver>;

    /// A connection.
    fn get(&self, conn: Conn) -> io::Result<&NonblockingSocket> {
        let socket = self.conns().get(conn).and_then(Option::as_ref);
        socket.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Writes at most `most` bytes, as many as the socket accepts; returns their number.
    fn write(&self, conn: Conn, most: u64) -> io::Result<u64> {
        let mut left = most;
        while left > 0 {
            let len = usize::try_from(left).unwrap_or(usize::MAX).min(PAYLOAD.len());
            let Some(taken) = self.get(conn)?.write(&PAYLOAD[..len])? else { break };
            left -= taken as u64;
        }
        Ok(most - left)
    }
}

/// Maps `WouldBlock` to `None`.
pub(crate) fn none_if_would_block<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(e) => Err(e),
    }
}
