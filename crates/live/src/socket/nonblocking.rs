//! A connection over either TCP. No call blocks.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use socket2::Socket;

use super::Stream;

/// A connection over the kernel's TCP or lowtide's, in non-blocking mode.
#[derive(Debug)]
pub enum NonblockingSocket {
    /// The kernel's TCP.
    Kernel(TcpStream),
    /// Lowtide's TCP.
    Lowtide(Stream),
}

impl NonblockingSocket {
    /// Whether a started connection is established.
    ///
    /// # Errors
    /// The connection failed.
    pub fn is_connected(&self) -> io::Result<bool> {
        match self {
            Self::Kernel(stream) => {
                if let Some(error) = stream.take_error()? {
                    return Err(error);
                }
                match stream.peer_addr() {
                    Ok(_) => Ok(true),
                    Err(e) if e.kind() == io::ErrorKind::NotConnected => Ok(false),
                    Err(e) => Err(e),
                }
            }
            Self::Lowtide(stream) => match stream.finish_connect() {
                Ok(()) => Ok(true),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(false),
                Err(e) => Err(e),
            },
        }
    }

    /// The error with which the connection ended, even if data is unread.
    pub fn error(&self) -> Option<io::Error> {
        match self {
            Self::Kernel(stream) => stream.take_error().unwrap_or_else(Some),
            Self::Lowtide(stream) => stream.error(),
        }
    }

    /// Reads available data; `None` if there is none yet, zero at the end.
    ///
    /// # Errors
    /// Those of a socket.
    pub fn read(&self, out: &mut [u8]) -> io::Result<Option<usize>> {
        retry_on_eintr(|| match self {
            Self::Kernel(stream) => (&mut &*stream).read(out),
            Self::Lowtide(stream) => (&mut &*stream).read(out),
        })
    }

    /// Writes as much as fits; `None` if nothing does.
    ///
    /// # Errors
    /// Those of a socket.
    pub fn write(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        retry_on_eintr(|| match self {
            Self::Kernel(stream) => (&mut &*stream).write(bytes),
            Self::Lowtide(stream) => (&mut &*stream).write(bytes),
        })
    }

    /// Bytes that the peer has acknowledged; `None` for the kernel's TCP.
    pub fn acknowledged(&self) -> Option<u64> {
        match self {
            Self::Kernel(_) => None,
            Self::Lowtide(stream) => Some(stream.acknowledged()),
        }
    }

    /// Closes the sending direction: FIN follows the written data.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn shutdown_write(&self) -> io::Result<()> {
        match self {
            Self::Kernel(stream) => stream.shutdown(Shutdown::Write),
            Self::Lowtide(stream) => stream.shutdown(Shutdown::Write),
        }
    }

    /// Resets the connection.
    pub fn abort(self) {
        match self {
            // With a linger time of zero, closing the socket resets its connection.
            Self::Kernel(stream) => {
                let _ = Socket::from(stream).set_linger(Some(Duration::ZERO));
            }
            Self::Lowtide(stream) => stream.abort(),
        }
    }
}

/// Repeats a call that a signal interrupted.
fn retry_on_eintr(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<Option<usize>> {
    loop {
        match call() {
            Ok(n) => return Ok(Some(n)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}
