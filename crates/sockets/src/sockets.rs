//! The connections of a host: their table, arriving data, calls of applications, output.

use std::net::IpAddr;
use std::sync::Arc;

use lowtide_tcp::{
    Arrival, CloseReason, Config, ConnId, Connection, Endpoint, Event, FourTuple, OpenError, State,
};
use lowtide_units::Instant;
use lowtide_wire::Segment;

use crate::conn::{Conn, ConnInfo};
use crate::payload::ChunkPool;

/// Identifies a connection until [`Sockets::remove_ended`] frees it for reuse.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ConnKey(u32);

/// State of a connection after its events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Polled {
    /// Whether there was an event for its application.
    pub has_events: bool,
    /// Whether the handshake has just been completed.
    pub newly_established: bool,
    /// Stream offset up to which the peer has acknowledged data.
    pub acked: u64,
    /// TCP state.
    pub state: State,
    /// Time of its next timer.
    pub timer: Option<Instant>,
}

/// The connections of a host. `D` is the state that a driver keeps with each.
#[derive(Debug)]
pub struct Sockets<D> {
    endpoint: Endpoint,
    conns: Vec<Option<Conn<D>>>,
    free: Vec<u32>,
    /// The key of each connection of the endpoint.
    by_id: Vec<Option<ConnKey>>,
    /// Free chunks for payload.
    pool: ChunkPool,
}

impl<D: Default> Sockets<D> {
    /// A host without connections.
    pub fn new(endpoint: Endpoint) -> Self {
        let (conns, free, by_id) = (Vec::new(), Vec::new(), Vec::new());
        Self { endpoint, conns, free, by_id, pool: ChunkPool::default() }
    }

    /// Opens a connection. `local_port` 0 selects an ephemeral port.
    ///
    /// # Errors
    /// The four-tuple is in use, or no port is free.
    pub fn connect(
        &mut self,
        now: Instant,
        local: IpAddr,
        local_port: u16,
        remote: IpAddr,
        remote_port: u16,
        config: Arc<Config>,
    ) -> Result<ConnKey, OpenError> {
        let id = self.endpoint.connect(now, local, local_port, remote, remote_port, config)?;
        let tuple = self.endpoint.tuple(id).ok_or(OpenError::NoPort)?;
        Ok(self.insert(id, Conn::new(tuple, id, None)))
    }

    /// Handles an arriving segment with its payload. Also returns the connection to poll, if any.
    ///
    /// Data that no application will read is answered with RST (RFC 1122 §4.2.2.13).
    pub fn handle_segment(
        &mut self,
        now: Instant,
        local: IpAddr,
        remote: IpAddr,
        segment: &Segment,
        payload: &[u8],
    ) -> (Arrival, Option<ConnKey>) {
        let arrival = self.endpoint.handle_segment(now, local, remote, segment, None);
        let (id, accepted, is_new) = match &arrival {
            Arrival::Taken(id, accepted) => (*id, Some(accepted), false),
            Arrival::Refused(id, _) => (*id, None, false),
            Arrival::Opened(id) => (*id, None, true),
            Arrival::Completed(id, accepted) => (*id, Some(accepted), true),
            // Stray, TIME-WAIT, backlog full, cookie: no connection took it.
            _ => return (arrival, None),
        };
        if is_new {
            let (local_port, remote_port) = (segment.dst_port, segment.src_port);
            let tuple = FourTuple { local, local_port, remote, remote_port };
            self.insert(id, Conn::new(tuple, id, Some(local_port)));
        }
        let Some(key) = self.key_of(id) else { return (arrival, None) };
        if let Some(accepted) = accepted.filter(|accepted| !accepted.stream.is_empty())
            && let Some(conn) = self.conns.get_mut(key.0 as usize).and_then(Option::as_mut)
        {
            if !conn.held {
                if let Some(conn) = self.endpoint.conn(id) {
                    conn.refuse_data(segment);
                }
            } else if !conn.read_shut {
                let fresh = payload.get(accepted.skip as usize..).unwrap_or(&[]);
                conn.receive.insert(&accepted.stream, fresh, &mut self.pool);
            }
        }
        (arrival, Some(key))
    }

    fn insert(&mut self, id: ConnId, conn: Conn<D>) -> ConnKey {
        let key = ConnKey(self.free.pop().unwrap_or(self.conns.len() as u32));
        match self.conns.get_mut(key.0 as usize) {
            Some(slot) => *slot = Some(conn),
            None => self.conns.push(Some(conn)),
        }
        let index = id.0 as usize;
        if self.by_id.len() <= index {
            self.by_id.resize(index + 1, None);
        }
        self.by_id[index] = Some(key);
        key
    }
}

impl<D> Sockets<D> {
    /// The endpoint, for listeners and for calls about a single connection.
    pub const fn endpoint(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    /// Number of connections in the endpoint, without those in TIME-WAIT.
    pub fn connections(&self) -> u64 {
        self.endpoint.len() as u64
    }

    /// A connection.
    #[inline]
    pub fn get(&self, key: ConnKey) -> Option<&Conn<D>> {
        self.conns.get(key.0 as usize)?.as_ref()
    }

    /// A connection, to be changed.
    #[inline]
    pub fn get_mut(&mut self, key: ConnKey) -> Option<&mut Conn<D>> {
        self.conns.get_mut(key.0 as usize)?.as_mut()
    }

    /// A connection and the endpoint, to send its data: for each transmission of
    /// [`Connection::poll_transmit`] the driver sends the segments with bytes of `send` and calls
    /// [`Connection::on_transmitted`].
    #[inline]
    pub fn with_endpoint(&mut self, key: ConnKey) -> Option<(&mut Conn<D>, &mut Endpoint)> {
        Some((self.conns.get_mut(key.0 as usize)?.as_mut()?, &mut self.endpoint))
    }

    /// Keys of all connections in order of their slots. Keys of free slots are among them.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = ConnKey> + use<D> {
        (0..self.conns.len() as u32).map(ConnKey)
    }

    /// All connections, also those that have ended and are held.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Conn<D>> {
        self.conns.iter().flatten()
    }

    /// Finds the connection of a four-tuple in the endpoint.
    pub fn find(&self, tuple: &FourTuple) -> Option<(ConnId, ConnKey)> {
        let id = self.endpoint.find(tuple)?;
        Some((id, self.key_of(id)?))
    }

    #[inline]
    fn key_of(&self, id: ConnId) -> Option<ConnKey> {
        self.by_id.get(id.0 as usize).copied().flatten()
    }

    /// The connection of a key in the endpoint, until it is released there.
    #[inline]
    pub fn transport(&mut self, key: ConnKey) -> Option<&mut Connection> {
        let id = self.get(key)?.id?;
        self.endpoint.conn(id)
    }

    /// Time of the next timer of a connection.
    pub fn poll_timeout(&mut self, key: ConnKey) -> Option<Instant> {
        self.transport(key)?.poll_timeout()
    }

    /// Fires the timer of a connection if it is due at `now`. Returns false if it is not.
    pub fn handle_timeout(&mut self, now: Instant, key: ConnKey) -> bool {
        let due = self.poll_timeout(key).is_some_and(|at| at <= now);
        if let Some(conn) = self.transport(key).filter(|_| due) {
            conn.handle_timeout(now);
        }
        due
    }

    /// Handles all events of a connection and frees acknowledged bytes. `None` once the endpoint
    /// has released it.
    pub fn poll_events(&mut self, key: ConnKey) -> Option<Polled> {
        let (conn, endpoint) = self.with_endpoint(key)?;
        let transport = endpoint.conn(conn.id?)?;
        let (mut has_events, mut newly_established) = (false, false);
        while let Some(event) = transport.poll_event() {
            has_events = true;
            match event {
                Event::Established => newly_established = true,
                Event::Readable { upto } => conn.receive.set_readable(upto),
                Event::PeerClosed => conn.peer_closed = true,
                Event::Closed(reason) => conn.close_reason = Some(reason),
                // Writable: a driver asks for the space.
                _ => {}
            }
        }
        let acked = transport.acked_upto();
        let (state, timer) = (transport.state(), transport.poll_timeout());
        conn.send.acknowledge(acked);
        conn.established |= newly_established;
        Some(Polled { has_events, newly_established, acked, state, timer })
    }

    /// Releases a connection in the endpoint: it has ended, or continues in TIME-WAIT there.
    pub fn release(&mut self, now: Instant, key: ConnKey) {
        let Some((conn, endpoint)) = self.with_endpoint(key) else { return };
        let Some(id) = conn.id.take() else { return };
        conn.final_info = endpoint.conn(id).map(|c| Box::new(ConnInfo::of(c)));
        conn.close_reason.get_or_insert(CloseReason::Normal);
        conn.send.trim();
        // The handshake failed before the listener was notified: no application will accept it.
        if conn.listener.take().is_some() {
            conn.held = false;
        }
        endpoint.release(now, id);
        if let Some(slot) = self.by_id.get_mut(id.0 as usize) {
            *slot = None;
        }
    }

    /// Removes and returns a connection that neither the endpoint nor an application holds.
    pub fn remove_ended(&mut self, key: ConnKey) -> Option<Conn<D>> {
        let slot = self.conns.get_mut(key.0 as usize)?;
        let removed = slot.take_if(|conn| conn.id.is_none() && !conn.held)?;
        self.free.push(key.0);
        Some(removed)
    }

    /// Copies readable bytes into `out`, consumes them and returns their number. Without any, frees
    /// memory that an idle connection does not need.
    pub fn read(&mut self, key: ConnKey, out: &mut [u8]) -> usize {
        let Self { endpoint, conns, pool, .. } = self;
        let Some(conn) = conns.get_mut(key.0 as usize).and_then(Option::as_mut) else { return 0 };
        let n = conn.receive.read(out, pool);
        if n == 0 {
            conn.receive.trim(pool);
        } else if let Some(conn) = conn.id.and_then(|id| endpoint.conn(id)) {
            conn.read(n as u64);
        }
        n
    }

    /// Writes as many of `bytes` as the send buffer takes and returns their number. `None` if the
    /// buffer is full or the connection is not established.
    pub fn write(&mut self, key: ConnKey, bytes: &[u8]) -> Option<usize> {
        let (conn, endpoint) = self.with_endpoint(key)?;
        let transport = endpoint.conn(conn.id.filter(|_| conn.established)?)?;
        let space = usize::try_from(transport.send_space()).unwrap_or(usize::MAX);
        let n = bytes.len().min(space);
        if n == 0 && !bytes.is_empty() {
            return None;
        }
        transport.send(n as u64);
        conn.send.push(&bytes[..n]);
        Some(n)
    }

    /// Closes the sending direction: FIN follows the written data.
    pub fn shut_write(&mut self, key: ConnKey) {
        if let Some(conn) = self.get_mut(key) {
            conn.write_shut = true;
        }
        if let Some(conn) = self.transport(key) {
            conn.close();
        }
    }

    /// Releases the connection for its application: FIN follows the written data. RST is sent
    /// instead with `reset`, or if data is unread (RFC 1122 §4.2.2.13).
    pub fn close(&mut self, key: ConnKey, reset: bool) {
        let Some(conn) = self.get_mut(key) else { return };
        conn.held = false;
        let unread = conn.receive.unread() > 0 && !conn.read_shut;
        match self.transport(key) {
            Some(conn) if reset || unread => conn.abort(),
            Some(conn) => conn.close(),
            None => {}
        }
    }

    /// Snapshot of a connection, or its last one.
    pub fn info(&mut self, key: ConnKey) -> Option<ConnInfo> {
        let (conn, endpoint) = self.with_endpoint(key)?;
        match conn.id {
            Some(id) => endpoint.conn(id).map(|c| ConnInfo::of(c)),
            None => conn.final_info.as_deref().copied(),
        }
    }
}
