//! A connection over either TCP.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use lowtide_sockets::ConnInfo;
use nix::errno::Errno;
use socket2::SockRef;

use crate::socket::{Listener, Stream};

/// A connection over lowtide's TCP or the kernel's.
pub trait ByteStream: Send + Sync {
    /// Reads available data; zero at the end of data.
    ///
    /// # Errors
    /// Those of a socket.
    fn read(&self, out: &mut [u8]) -> io::Result<usize>;
    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// Those of a socket.
    fn write_all(&self, bytes: &[u8]) -> io::Result<()>;
    /// Closes the sending direction.
    ///
    /// # Errors
    /// Those of a socket.
    fn shutdown_write(&self) -> io::Result<()>;
    /// Resets the connection. Blocked calls end.
    fn abort(&self);
    /// Sets the timeout of blocking calls; `None` for no timeout.
    ///
    /// # Errors
    /// Those of a socket.
    fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()>;
    /// Bytes that the peer has acknowledged; `None` for the kernel's TCP.
    fn acknowledged(&self) -> Option<u64>;
    /// A snapshot of the connection; `None` for the kernel's TCP.
    fn info(&self) -> Option<ConnInfo>;
    /// Our address.
    ///
    /// # Errors
    /// The connection has ended.
    fn local(&self) -> io::Result<SocketAddr>;
    /// The peer's address.
    ///
    /// # Errors
    /// The connection has ended.
    fn peer(&self) -> io::Result<SocketAddr>;
}

impl ByteStream for Stream {
    fn read(&self, out: &mut [u8]) -> io::Result<usize> {
        let mut stream = self;
        Read::read(&mut stream, out)
    }
    fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        let mut stream = self;
        Write::write_all(&mut stream, bytes)
    }
    fn shutdown_write(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
    fn abort(&self) {
        Self::abort(self);
    }
    fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        Self::set_timeout(self, timeout);
        Ok(())
    }
    fn acknowledged(&self) -> Option<u64> {
        Some(Self::acknowledged(self))
    }
    fn info(&self) -> Option<ConnInfo> {
        Self::info(self)
    }
    fn local(&self) -> io::Result<SocketAddr> {
        self.local_addr()
    }
    fn peer(&self) -> io::Result<SocketAddr> {
        self.peer_addr()
    }
}

impl ByteStream for TcpStream {
    fn read(&self, out: &mut [u8]) -> io::Result<usize> {
        let mut stream = self;
        Read::read(&mut stream, out)
    }
    fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        let mut stream = self;
        Write::write_all(&mut stream, bytes)
    }
    fn shutdown_write(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
    fn abort(&self) {
        // With a linger time of zero, closing the socket resets its connection. Until then, end
        // blocked calls.
        let _ = SockRef::from(self).set_linger(Some(Duration::ZERO));
        let _ = self.shutdown(Shutdown::Both);
    }
    fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.set_read_timeout(timeout)?;
        self.set_write_timeout(timeout)
    }
    fn acknowledged(&self) -> Option<u64> {
        None
    }
    fn info(&self) -> Option<ConnInfo> {
        None
    }
    fn local(&self) -> io::Result<SocketAddr> {
        self.local_addr()
    }
    fn peer(&self) -> io::Result<SocketAddr> {
        self.peer_addr()
    }
}

/// A listener over either TCP.
pub trait Accept: Send + Sync {
    /// Returns the next connection, `None` on timeout.
    ///
    /// # Errors
    /// The listener is gone.
    fn accept_next(&self, timeout: Duration) -> io::Result<Option<Arc<dyn ByteStream>>>;
}

impl Accept for Listener {
    fn accept_next(&self, timeout: Duration) -> io::Result<Option<Arc<dyn ByteStream>>> {
        match self.accept_within(timeout) {
            Ok((stream, _)) => Ok(Some(Arc::new(stream))),
            Err(e) if e.kind() == io::ErrorKind::TimedOut => Ok(None),
            Err(e) => Err(e),
        }
    }
}

/// Whether the listener can continue after an error of accept(2): the connection is gone, or the
/// system lacks descriptors or memory.
fn is_transient(error: &io::Error) -> bool {
    let transient =
        [Errno::EMFILE, Errno::ENFILE, Errno::ENOBUFS, Errno::ENOMEM, Errno::ECONNABORTED];
    error.raw_os_error().is_some_and(|e| transient.contains(&Errno::from_raw(e)))
}

impl Accept for TcpListener {
    fn accept_next(&self, timeout: Duration) -> io::Result<Option<Arc<dyn ByteStream>>> {
        self.set_nonblocking(true)?;
        match self.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                Ok(Some(Arc::new(stream)))
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock || is_transient(&e) => {
                std::thread::sleep(timeout.min(Duration::from_millis(2)));
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }
}
