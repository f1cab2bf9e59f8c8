//! One side of a relayed connection, over either TCP. Nothing here blocks.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use lowtide_tcp::Config;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use socket2::{Domain, Protocol, Socket, Type};

use crate::socket::{Live, Poller, Stream};

/// One side of a connection.
#[derive(Debug)]
pub(super) enum RelaySocket {
    Kernel(TcpStream),
    Lowtide(Stream),
}

/// Event sources: epoll for the kernel's sockets, a poller for lowtide's.
#[derive(Debug)]
pub(super) struct EventSources {
    pub(super) epoll: Epoll,
    pub(super) poller: Poller,
}

impl EventSources {
    /// Registers a kernel descriptor, edge-triggered like lowtide's streams.
    pub(super) fn add(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        let events = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP;
        self.epoll.add(fd, EpollEvent::new(events | EpollFlags::EPOLLET, token))?;
        Ok(())
    }
}

impl RelaySocket {
    /// Wraps an accepted connection of the kernel.
    pub(super) fn kernel(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Self::Kernel(stream))
    }

    /// Wraps an accepted connection of lowtide.
    pub(super) fn lowtide(stream: Stream) -> io::Result<Self> {
        stream.set_nonblocking(true);
        stream.set_nodelay(true)?;
        Ok(Self::Lowtide(stream))
    }

    /// Starts to connect over the kernel's TCP.
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

    /// Starts to connect over lowtide's TCP.
    pub(super) fn to_lowtide(live: &Live, target: SocketAddr, config: &Config) -> io::Result<Self> {
        Self::lowtide(live.begin_connect(target, config)?)
    }

    pub(super) fn register(&self, sources: &EventSources, token: u64) -> io::Result<()> {
        match self {
            Self::Kernel(stream) => sources.add(stream, token),
            Self::Lowtide(stream) => {
                sources.poller.watch_stream(stream, token);
                Ok(())
            }
        }
    }

    /// Whether a started connection is established.
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

    /// The error with which the connection ended, even if data is unread.
    pub(super) fn error(&self) -> Option<io::Error> {
        match self {
            Self::Kernel(stream) => stream.take_error().unwrap_or_else(Some),
            Self::Lowtide(stream) => stream.error(),
        }
    }

    /// Reads available data; `None` if there is none yet, zero at the end.
    pub(super) fn read(&self, out: &mut [u8]) -> io::Result<Option<usize>> {
        retry_on_eintr(|| match self {
            Self::Kernel(stream) => (&mut &*stream).read(out),
            Self::Lowtide(stream) => (&mut &*stream).read(out),
        })
    }

    /// Writes as much as fits; `None` if nothing does.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        retry_on_eintr(|| match self {
            Self::Kernel(stream) => (&mut &*stream).write(bytes),
            Self::Lowtide(stream) => (&mut &*stream).write(bytes),
        })
    }

    /// Closes the sending direction: FIN follows the written data.
    pub(super) fn shutdown_write(&self) -> io::Result<()> {
        match self {
            Self::Kernel(stream) => stream.shutdown(Shutdown::Write),
            Self::Lowtide(stream) => stream.shutdown(Shutdown::Write),
        }
    }

    /// Resets the connection.
    pub(super) fn abort(self) {
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
