//! Connections of lowtide's TCP on one host.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, SocketAddrV4};
use std::time::Duration;

use lowtide_live::{Listener, Live, Poller, Stream};
use lowtide_tcp::Config;

use crate::socket_info::SocketInfo;
use crate::sockets::{Conn, ReadOutcome, SocketEvent, Sockets, none_if_would_block, payload};

/// The listener's token; connections use their number.
const LISTENER: u64 = u64::MAX;

/// Connections of lowtide's TCP on one host.
pub(crate) struct LowtideSockets {
    live: Live,
    config: Config,
    listener: Listener,
    poller: Poller,
    conns: Vec<Stream>,
    read_buffer: Vec<u8>,
}

impl LowtideSockets {
    /// Creates a host that listens on `port`.
    pub(crate) fn listen(live: Live, port: u16, config: &Config) -> io::Result<Self> {
        let listener = live.listen(port, config)?;
        listener.set_nonblocking(true);
        let poller = Poller::new();
        poller.watch_listener(&listener, LISTENER);
        let (config, conns) = (config.clone(), Vec::new());
        Ok(Self { live, config, listener, poller, conns, read_buffer: vec![0; 1 << 16] })
    }

    fn keep(&mut self, stream: Stream) -> io::Result<Conn> {
        let conn = self.conns.len();
        stream.set_nonblocking(true);
        stream.set_nodelay(!self.config.nagle)?;
        self.poller.watch_stream(&stream, conn as u64);
        self.conns.push(stream);
        Ok(conn)
    }

    fn get(&self, conn: Conn) -> io::Result<&Stream> {
        self.conns.get(conn).ok_or_else(|| io::ErrorKind::NotConnected.into())
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

    fn is_established(&mut self, conn: Conn) -> io::Result<bool> {
        Ok(none_if_would_block(self.get(conn)?.finish_connect())?.is_some())
    }

    fn write(&mut self, conn: Conn, most: u64) -> io::Result<u64> {
        let mut stream = self.get(conn)?;
        Ok(none_if_would_block(stream.write(payload(most)))?.unwrap_or(0) as u64)
    }

    fn shutdown_write(&mut self, conn: Conn) -> io::Result<()> {
        self.get(conn)?.shutdown(Shutdown::Write)
    }

    fn read(&mut self, conn: Conn) -> io::Result<ReadOutcome> {
        let Self { conns, read_buffer: place, .. } = self;
        let mut stream = conns.get(conn).ok_or(io::ErrorKind::NotConnected)?;
        Ok(match none_if_would_block(stream.read(place))? {
            None => ReadOutcome::WouldBlock,
            Some(0) => ReadOutcome::Eof,
            Some(n) => ReadOutcome::Bytes(n as u64),
        })
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

    fn info(&mut self, conns: &[Conn]) -> io::Result<Vec<Option<SocketInfo>>> {
        let query = |conn: &Conn| {
            let stream = self.conns.get(*conn)?;
            let unacknowledged = Some(stream.unacknowledged());
            stream
                .info()
                .map(|info| SocketInfo { unacknowledged, ..SocketInfo::from_lowtide(&info) })
        };
        Ok(conns.iter().map(query).collect())
    }
}
