//! Both sides of a relayed connection: how they are opened and watched.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;

use lowtide_tcp::Config;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use socket2::{Domain, Protocol, Socket, Type};

use crate::socket::{Live, NonblockingSocket, Poller, Stream};

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

impl NonblockingSocket {
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
}
