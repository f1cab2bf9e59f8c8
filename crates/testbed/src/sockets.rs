//! Connections of one host as its applications use them, over lowtide's TCP or the kernel's.

use std::io;
use std::net::SocketAddrV4;
use std::time::Duration;

use lowtide_live::NonblockingSocket;

use crate::socket_info::SocketInfo;

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
    /// All connections in order of creation.
    fn conns(&self) -> &[NonblockingSocket];
    /// Waits for events, at most `timeout`.
    fn wait(&mut self, timeout: Duration, events: &mut Vec<SocketEvent>) -> io::Result<()>;
    /// Snapshots of these connections.
    fn info(&mut self, conns: &[Conn]) -> io::Result<Vec<Option<SocketInfo>>>;

    /// A connection.
    fn get(&self, conn: Conn) -> io::Result<&NonblockingSocket> {
        self.conns().get(conn).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Writes at most `most` bytes; returns the number accepted.
    fn write(&self, conn: Conn, most: u64) -> io::Result<u64> {
        let len = usize::try_from(most).unwrap_or(usize::MAX).min(PAYLOAD.len());
        Ok(self.get(conn)?.write(&PAYLOAD[..len])?.unwrap_or(0) as u64)
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
