//! Connections of lowtide's TCP on one host.

use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::time::Duration;

use lowtide_live::{Listener, Live, NonblockingSocket, Poller, Stream};
use lowtide_tcp::Config;

use crate::socket_observer::SocketObserver;
use crate::sockets::{Conn, SocketEvent, Sockets, none_if_would_block};

/// The listener's token; connections use their number.
const LISTENER: u64 = u64::MAX;

/// Connections of lowtide's TCP on one host.
pub(crate) struct LowtideSockets {
    live: Live,
    config: Config,
    listener: Listener,
    poller: Poller,
    conns: Vec<Option<NonblockingSocket>>,
}

impl LowtideSockets {
    /// Creates a host that listens on `port`.
    pub(crate) fn listen(live: Live, port: u16, config: &Config) -> io::Result<Self> {
        let listener = live.listen(port, config)?;
        listener.set_nonblocking(true);
        let poller = Poller::new();
        poller.watch_listener(&listener, LISTENER);
        let (config, conns) = (config.clone(), Vec::new());
        Ok(Self { live, config, listener, poller, conns })
    }

    fn keep(&mut self, stream: Stream) -> io::Result<Conn> {
        let conn = self.conns.len();
        stream.set_nonblocking(true);
        stream.set_nodelay(!self.config.nagle)?;
        self.poller.watch_stream(&stream, conn as u64);
        self.conns.push(Some(NonblockingSocket::Lowtide(stream)));
        Ok(conn)
    }

    fn accept(&mut self, events: &mut Vec<SocketEvent>) -> io::Result<()> {
        while let Some((stream, peer)) = none_if_would_block(self.listener.accept())? {
            let conn = self.keep(stream)?;
            if let SocketAddr::V4(peer) = peer {
                events.push(SocketEvent::Accepted(conn, peer));
            }
        }
        Ok(())
    }
}

impl Sockets for LowtideSockets {
    fn connect(&mut self, to: SocketAddrV4) -> io::Result<(Conn, u16)> {
        let stream = self.live.begin_connect(to.into(), &self.config)?;
        let port = stream.local_addr()?.port();
        Ok((self.keep(stream)?, port))
    }

    fn conns(&self) -> &[Option<NonblockingSocket>] {
        &self.conns
    }

    fn close(&mut self, conn: Conn) {
        self.conns.get_mut(conn).map(Option::take);
    }

    fn wait(&mut self, timeout: Duration, events: &mut Vec<SocketEvent>) -> io::Result<()> {
        for ready in self.poller.wait(Some(timeout)) {
            match ready.0 {
                LISTENER => self.accept(events)?,
                conn => events.push(SocketEvent::Ready(conn as Conn)),
            }
        }
        Ok(())
    }

    fn observer(&self, conn: Conn) -> io::Result<SocketObserver> {
        match self.get(conn)? {
            NonblockingSocket::Lowtide(stream) => Ok(SocketObserver::Lowtide(stream.observer())),
            NonblockingSocket::Kernel(_) => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}
