//! A connection, whoever's TCP carries it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use crate::socket::{Listener, Stream};
use crate::stack::ConnInfo;

/// A connection over lowtide's TCP or the kernel's.
pub trait Pipe: Send + Sync {
    /// Reads what is there; zero at the end of data.
    ///
    /// # Errors
    /// As sockets do.
    fn read(&self, out: &mut [u8]) -> io::Result<usize>;
    /// Writes all of it.
    ///
    /// # Errors
    /// As sockets do.
    fn write_all(&self, bytes: &[u8]) -> io::Result<()>;
    /// No more data from here.
    ///
    /// # Errors
    /// As sockets do.
    fn finish(&self) -> io::Result<()>;
    /// What its transport shows; nothing of the kernel's.
    fn info(&self) -> Option<ConnInfo>;
    /// Our address.
    ///
    /// # Errors
    /// It is gone.
    fn local(&self) -> io::Result<SocketAddr>;
    /// The peer's address.
    ///
    /// # Errors
    /// It is gone.
    fn peer(&self) -> io::Result<SocketAddr>;
}

impl Pipe for Stream {
    fn read(&self, out: &mut [u8]) -> io::Result<usize> {
        let mut stream = self;
        Read::read(&mut stream, out)
    }
    fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        let mut stream = self;
        Write::write_all(&mut stream, bytes)
    }
    fn finish(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
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

impl Pipe for TcpStream {
    fn read(&self, out: &mut [u8]) -> io::Result<usize> {
        let mut stream = self;
        Read::read(&mut stream, out)
    }
    fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        let mut stream = self;
        Write::write_all(&mut stream, bytes)
    }
    fn finish(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
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

/// Where connections come in.
pub trait Accept: Send + Sync {
    /// The next connection; `None` when none came in time.
    ///
    /// # Errors
    /// The listener is gone.
    fn next(&self, timeout: Duration) -> io::Result<Option<Arc<dyn Pipe>>>;
}

impl Accept for Listener {
    fn next(&self, timeout: Duration) -> io::Result<Option<Arc<dyn Pipe>>> {
        match self.accept_within(timeout) {
            Ok((stream, _)) => Ok(Some(Arc::new(stream))),
            Err(e) if e.kind() == io::ErrorKind::TimedOut => Ok(None),
            Err(e) => Err(e),
        }
    }
}

impl Accept for TcpListener {
    fn next(&self, timeout: Duration) -> io::Result<Option<Arc<dyn Pipe>>> {
        self.set_nonblocking(true)?;
        match self.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                Ok(Some(Arc::new(stream)))
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(timeout.min(Duration::from_millis(2)));
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }
}
