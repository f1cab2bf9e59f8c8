//! Connections of one host as its applications use them, over lowtide's TCP or the kernel's.

use std::io;
use std::net::SocketAddrV4;
use std::time::Duration;

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

/// Result of a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReadOutcome {
    /// Number of bytes read; their contents are ignored.
    Bytes(u64),
    /// No data yet.
    WouldBlock,
    /// The peer sent FIN.
    Eof,
}

/// Non-blocking sockets; only [`Self::wait`] blocks. Events are edge-triggered: the caller reads
/// and writes until the socket would block.
pub(crate) trait Sockets {
    /// Starts to open a connection; returns it and its local port.
    fn connect(&mut self, to: SocketAddrV4) -> io::Result<(Conn, u16)>;
    /// True if it is established.
    fn is_established(&mut self, conn: Conn) -> io::Result<bool>;
    /// Writes at most `most` bytes; returns the number accepted.
    fn write(&mut self, conn: Conn, most: u64) -> io::Result<u64>;
    /// Closes the send direction.
    fn shutdown_write(&mut self, conn: Conn) -> io::Result<()>;
    /// Reads available data, one call's worth.
    fn read(&mut self, conn: Conn) -> io::Result<ReadOutcome>;
    /// Waits for events, at most `timeout`.
    fn wait(&mut self, timeout: Duration, events: &mut Vec<SocketEvent>) -> io::Result<()>;
    /// Snapshots of these connections.
    fn info(&mut self, conns: &[Conn]) -> io::Result<Vec<Option<SocketInfo>>>;
}

/// Data that applications write; its contents are ignored.
pub(crate) static PAYLOAD: [u8; 1 << 16] = [0x5a; 1 << 16];

/// Slice of [`PAYLOAD`] to write when `most` bytes are left.
pub(crate) fn payload(most: u64) -> &'static [u8] {
    let len = usize::try_from(most).unwrap_or(usize::MAX).min(PAYLOAD.len());
    &PAYLOAD[..len]
}

/// Maps `WouldBlock` to `None`.
pub(crate) fn none_if_would_block<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(e) => Err(e),
    }
}
