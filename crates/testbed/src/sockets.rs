//! Connections of one host as its applications use them, over lowtide's TCP or the kernel's.

use std::io;
use std::net::SocketAddrV4;
use std::time::Duration;

use crate::socket_info::SocketInfo;

/// A connection of a host, numbered from zero in the order in which they came.
pub(crate) type Conn = usize;

/// What has happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SocketEvent {
    /// A connection was accepted.
    Accepted(Conn, SocketAddrV4),
    /// Something changed: it may be open, or read, or written, or over.
    Ready(Conn),
}

/// What a read gave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReadOutcome {
    /// So many bytes, which nobody looks at.
    Bytes(u64),
    /// Nothing yet.
    WouldBlock,
    /// The peer sends no more.
    Eof,
}

/// Nothing here blocks but [`Self::wait`]. News come once: whoever hears of a connection reads and writes until
/// nothing goes any more.
pub(crate) trait Sockets {
    /// Begins to open a connection, and says from which port.
    fn connect(&mut self, to: SocketAddrV4) -> io::Result<(Conn, u16)>;
    /// Whether it is open by now.
    fn is_established(&mut self, conn: Conn) -> io::Result<bool>;
    /// Writes at most `most` bytes; how many were taken.
    fn write(&mut self, conn: Conn, most: u64) -> io::Result<u64>;
    /// No more will be written.
    fn shutdown_write(&mut self, conn: Conn) -> io::Result<()>;
    /// Reads what is there, as far as one call gives it.
    fn read(&mut self, conn: Conn) -> io::Result<ReadOutcome>;
    /// Waits for news, at most `timeout`.
    fn wait(&mut self, timeout: Duration, news: &mut Vec<SocketEvent>) -> io::Result<()>;
    /// Looks at these connections.
    fn info(&mut self, conns: &[Conn]) -> io::Result<Vec<Option<SocketInfo>>>;
}

/// What applications write: nobody reads what it is.
pub(crate) static PAYLOAD: [u8; 1 << 16] = [0x5a; 1 << 16];

/// The part of [`PAYLOAD`] to write next when `most` bytes are left.
pub(crate) fn payload(most: u64) -> &'static [u8] {
    let len = usize::try_from(most).unwrap_or(usize::MAX).min(PAYLOAD.len());
    &PAYLOAD[..len]
}

/// A result that would block is none.
pub(crate) fn none_if_would_block<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(e) => Err(e),
    }
}
