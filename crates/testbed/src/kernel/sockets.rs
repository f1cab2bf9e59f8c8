//! Kernel sockets in this thread's namespace.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use lowtide_live::NonblockingSocket;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use socket2::{Domain, Protocol, Socket, Type};

use super::diag::DiagHandle;
use super::tcp_config::KernelTcpConfig;
use crate::socket_observer::SocketObserver;
use crate::sockets::{Conn, SocketEvent, Sockets, none_if_would_block};

/// Length of the accept queue.
const BACKLOG: i32 = 4096;
/// The listener's token; connections use their number.
const LISTENER: u64 = u64::MAX;
/// Maximum events of one call.
const MAX_EVENTS: usize = 64;

/// Kernel connections of one host.
pub(crate) struct KernelSockets {
    epoll: Epoll,
    listener: Socket,
    address: Ipv4Addr,
    cc: String,
    nodelay: bool,
    conns: Vec<Option<NonblockingSocket>>,
    diag: Arc<DiagHandle>,
}

impl KernelSockets {
    /// Creates a host at `address` that listens on `port`.
    pub(crate) fn listen(address: Ipv4Addr, port: u16, end: &KernelTcpConfig) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let listener = Self::socket(&end.cc, end.nodelay)?;
        listener.set_reuse_address(true)?;
        listener.bind(&SocketAddr::from((address, port)).into())?;
        listener.listen(BACKLOG)?;
        epoll.add(&listener, EpollEvent::new(EpollFlags::EPOLLIN, LISTENER))?;
        let (cc, nodelay) = (end.cc.clone(), end.nodelay);
        let diag = Arc::new(DiagHandle::open()?);
        Ok(Self { epoll, listener, address, cc, nodelay, conns: Vec::new(), diag })
    }

    fn socket(cc: &str, nodelay: bool) -> io::Result<Socket> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(nodelay)?;
        socket.set_tcp_congestion(cc.as_bytes())?;
        Ok(socket)
    }

    fn keep(&mut self, socket: Socket) -> io::Result<Conn> {
        let conn = self.conns.len();
        let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLET;
        self.epoll.add(&socket, EpollEvent::new(flags, conn as u64))?;
        self.conns.push(Some(NonblockingSocket::Kernel(socket.into())));
        Ok(conn)
    }

    fn accept(&mut self, out: &mut Vec<SocketEvent>) -> io::Result<()> {
        while let Some((socket, peer)) = none_if_would_block(self.listener.accept())? {
            socket.set_nonblocking(true)?;
            socket.set_tcp_nodelay(self.nodelay)?;
            let conn = self.keep(socket)?;
            if let Some(peer) = peer.as_socket_ipv4() {
                out.push(SocketEvent::Accepted(conn, peer));
            }
        }
        Ok(())
    }
}

impl Drop for KernelSockets {
    /// Aborts every connection: one that continued would keep its namespace alive.
    fn drop(&mut self) {
        self.conns.drain(..).flatten().for_each(NonblockingSocket::abort);
    }
}

impl Sockets for KernelSockets {
    fn connect(&mut self, to: SocketAddrV4) -> io::Result<(Conn, u16)> {
        let socket = Self::socket(&self.cc, self.nodelay)?;
        // Bind first: the local port must be known before the peer sees it.
        socket.bind(&SocketAddr::from((self.address, 0)).into())?;
        let port = socket.local_addr()?.as_socket_ipv4().map_or(0, |a| a.port());
        match socket.connect(&SocketAddr::V4(to).into()) {
            Err(e) if e.raw_os_error() != Some(nix::errno::Errno::EINPROGRESS as i32) => Err(e),
            _ => Ok((self.keep(socket)?, port)),
        }
    }

    fn conns(&self) -> &[Option<NonblockingSocket>] {
        &self.conns
    }

    fn close(&mut self, conn: Conn) {
        self.conns.get_mut(conn).map(Option::take);
    }

    fn wait(&mut self, timeout: Duration, out: &mut Vec<SocketEvent>) -> io::Result<()> {
        // `epoll_wait` has millisecond resolution, which is too coarse for flow starts.
        let mut fds = [PollFd::new(self.epoll.0.as_fd(), PollFlags::POLLIN)];
        let _ = ppoll(&mut fds, Some(TimeSpec::from(timeout)), None);
        let mut events = [EpollEvent::empty(); MAX_EVENTS];
        let found = match self.epoll.wait(&mut events, EpollTimeout::ZERO) {
            Err(nix::errno::Errno::EINTR) => 0,
            found => found?,
        };
        for event in &events[..found] {
            match event.data() {
                LISTENER => self.accept(out)?,
                conn => out.push(SocketEvent::Ready(conn as Conn)),
            }
        }
        Ok(())
    }

    fn observer(&self, conn: Conn) -> io::Result<SocketObserver> {
        let NonblockingSocket::Kernel(socket) = self.get(conn)? else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let (SocketAddr::V4(local), SocketAddr::V4(peer)) =
            (socket.local_addr()?, socket.peer_addr()?)
        else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        Ok(SocketObserver::Kernel { diag: Arc::clone(&self.diag), local, peer })
    }
}
