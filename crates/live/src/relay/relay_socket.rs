//! One side of a relayed connection, whoever's TCP carries it. Nothing here waits.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use lowtide_tcp::Config;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use socket2::{Domain, Protocol, Socket, Type};

use crate::socket::{Live, Poller, Stream};

/// One side.
#[derive(Debug)]
pub(super) enum RelaySocket {
    Kernel(TcpStream),
    Lowtide(Stream),
}

/// Who says that a side has news.
#[derive(Debug)]
pub(super) struct EventSources {
    pub(super) epoll: Epoll,
    pub(super) poller: Poller,
}

impl EventSources {
    /// All news of a kernel's descriptor, each once, as those of lowtide's streams.
    pub(super) fn add(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        let news = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP;
        self.epoll.add(fd, EpollEvent::new(news | EpollFlags::EPOLLET, token))?;
        Ok(())
    }
}

impl RelaySocket {
    /// A connection of the kernel that was accepted.
    pub(super) fn kernel(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Self::Kernel(stream))
    }

    /// A connection of ours that was accepted.
    pub(super) fn lowtide(stream: Stream) -> io::Result<Self> {
        stream.set_nonblocking(true);
        stream.set_nodelay(true)?;
        Ok(Self::Lowtide(stream))
    }

    /// Begins to open a connection over the kernel's TCP.
    pub(super) fn to_kernel(target: SocketAddr) -> io::Result<Self> {
        let kind = Type::STREAM.nonblocking();
        let socket = Socket::new(Domain::for_address(target), kind, Some(Protocol::TCP))?;
        socket.set_tcp_nodelay(true)?;
        match socket.connect(&target.into()) {
            Ok(()) => {}
            Err(e) if e.raw_os_error() == Some(nix::errno::Errno::EINPROGRESS as i32) => {}
            Err(e) => return Err(e),
        }
        Ok(Self::Kernel(socket.into()))
    }

    /// Begins to open a connection over ours.
    pub(super) fn to_lowtide(live: &Live, target: SocketAddr, config: &Config) -> io::Result<Self> {
        Self::lowtide(live.begin_connect(target, config)?)
    }

    pub(super) fn register(&self, by: &EventSources, token: u64) -> io::Result<()> {
        match self {
            Self::Kernel(stream) => by.add(stream, token),
            Self::Lowtide(stream) => {
                by.poller.watch_stream(stream, token);
                Ok(())
            }
        }
    }

    /// Whether a connection that was begun is open.
    pub(super) fn is_connected(&self) -> io::Result<bool> {
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

    /// The error that it has ended with, whatever waits to be read.
    pub(super) fn error(&self) -> Option<io::Error> {
        match self {
            Self::Kernel(stream) => stream.take_error().unwrap_or_else(Some),
            Self::Lowtide(stream) => stream.error(),
        }
    }

    /// Reads what is there; `None` when there is nothing yet, zero at the end.
    pub(super) fn read(&self, out: &mut [u8]) -> io::Result<Option<usize>> {
        retry_on_eintr(|| match self {
            Self::Kernel(stream) => (&mut &*stream).read(out),
            Self::Lowtide(stream) => (&mut &*stream).read(out),
        })
    }

    /// Writes what there is room for; `None` when there is none.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        retry_on_eintr(|| match self {
            Self::Kernel(stream) => (&mut &*stream).write(bytes),
            Self::Lowtide(stream) => (&mut &*stream).write(bytes),
        })
    }

    /// FIN follows what was written.
    pub(super) fn shutdown_write(&self) -> io::Result<()> {
        match self {
            Self::Kernel(stream) => stream.shutdown(Shutdown::Write),
            Self::Lowtide(stream) => stream.shutdown(Shutdown::Write),
        }
    }

    /// RST.
    pub(super) fn abort(self) {
        match self {
            // Closed with nothing to wait for, a socket resets its connection.
            Self::Kernel(stream) => {
                let _ = Socket::from(stream).set_linger(Some(Duration::ZERO));
            }
            Self::Lowtide(stream) => stream.abort(),
        }
    }
}

/// Calls until it was not a signal that ended it.
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
