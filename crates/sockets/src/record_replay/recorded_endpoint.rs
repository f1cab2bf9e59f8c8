//! The endpoint and its connections, with optional recording of all calls.

use std::fmt::Display;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use lowtide_tcp::{
    Arrival, Config, ConnId, Connection, Endpoint, Event, FourTuple, IcmpReport, ListenError,
    OpenError, Transmit, TransmitId,
};
use lowtide_units::{HostStamp, Instant};
use lowtide_wire::{Segment, SeqNum};

use super::HEADER;
use super::call::{ConnCall, EndpointCall, RecordedResult};

/// The recorded endpoint of a host.
pub struct RecordedEndpoint {
    endpoint: Endpoint,
    recording: Option<Box<dyn Write + Send>>,
    /// The first write error, which ends the recording.
    error: Option<io::Error>,
}

impl std::fmt::Debug for RecordedEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RecordedEndpoint({} connections)", self.endpoint.len())
    }
}

impl RecordedEndpoint {
    /// An endpoint seeded with `seed`; its calls are written to `recording`, if given.
    pub fn new(seed: u64, recording: Option<Box<dyn Write + Send>>) -> Self {
        let mut boundary = Self { endpoint: Endpoint::new(seed), recording, error: None };
        boundary.write_line(|| format!("{HEADER}\nseed {seed}"));
        boundary
    }

    fn write_line<D: Display>(&mut self, text: impl FnOnce() -> D) {
        if let Some(file) = &mut self.recording
            && let Err(error) = writeln!(file, "{}", text())
        {
            self.recording = None;
            self.error = Some(error);
        }
    }

    #[inline]
    fn record(&mut self, now: Instant, call: impl FnOnce() -> (EndpointCall, RecordedResult)) {
        if self.recording.is_some() {
            let (call, result) = call();
            self.write_line(|| format!("{} {call} > {result}", now.as_ps()));
        }
    }

    /// Flushes the recording. Returns the error that ended it, once.
    pub fn recording_error(&mut self) -> Option<io::Error> {
        if let Some(file) = &mut self.recording
            && let Err(error) = file.flush()
        {
            self.recording = None;
            self.error = Some(error);
        }
        self.error.take()
    }

    /// Connections in the table.
    pub fn connections(&self) -> u64 {
        self.endpoint.len() as u64
    }

    /// Reads from a connection; not recorded, as it changes nothing.
    pub fn inspect<T>(&mut self, id: ConnId, read: impl FnOnce(&Connection) -> T) -> Option<T> {
        self.endpoint.conn(id).map(|c| read(c))
    }

    /// Finds a connection; not recorded.
    pub fn find(&self, tuple: &FourTuple) -> Option<ConnId> {
        self.endpoint.find(tuple)
    }

    /// [`Endpoint::listen`].
    ///
    /// # Errors
    /// Those of [`Endpoint::listen`].
    pub fn listen(
        &mut self,
        now: Instant,
        port: u16,
        config: Arc<Config>,
        backlog: usize,
    ) -> Result<(), ListenError> {
        let result = self.endpoint.listen(port, Arc::clone(&config), backlog);
        self.record(now, || {
            (EndpointCall::Listen { port, backlog, config }, RecordedResult::ok(result.is_ok()))
        });
        result
    }

    /// [`Endpoint::reconfigure`].
    pub fn reconfigure(&mut self, now: Instant, port: u16, config: Arc<Config>) {
        self.endpoint.reconfigure(port, Arc::clone(&config));
        self.record(now, || (EndpointCall::Reconfigure { port, config }, RecordedResult::None));
    }

    /// [`Endpoint::set_time_wait_limit`].
    pub fn set_time_wait_limit(&mut self, now: Instant, n: usize) {
        self.endpoint.set_time_wait_limit(n);
        self.record(now, || (EndpointCall::SetTimeWaitLimit { n }, RecordedResult::None));
    }

    /// Connections in TIME-WAIT that the endpoint holds alone; not recorded.
    pub fn time_waits(&mut self, now: Instant) -> usize {
        self.endpoint.time_waits(now)
    }

    /// [`Endpoint::unlisten`].
    pub fn unlisten(&mut self, now: Instant, port: u16) {
        self.endpoint.unlisten(port);
        self.record(now, || (EndpointCall::Unlisten { port }, RecordedResult::None));
    }

    /// Opens a connection. `local_port` 0 selects an ephemeral port.
    ///
    /// # Errors
    /// Those of [`Endpoint::connect`].
    pub fn connect(
        &mut self,
        now: Instant,
        local: IpAddr,
        local_port: u16,
        remote: IpAddr,
        port: u16,
        config: Arc<Config>,
    ) -> Result<(ConnId, FourTuple), OpenError> {
        let result =
            self.endpoint.connect(now, local, local_port, remote, port, Arc::clone(&config));
        let result = result.and_then(|id| {
            let tuple = self.endpoint.tuple(id).ok_or(OpenError::NoPort)?;
            Ok((id, tuple))
        });
        self.record(now, || {
            let opened = result.map(|(id, tuple)| format!("{} {}", id.0, tuple.local_port));
            let local = SocketAddr::new(local, local_port);
            let call = EndpointCall::Connect { local, remote, port, config };
            (call, RecordedResult::from_result(opened))
        });
        result
    }

    /// [`Endpoint::set_next_isn`].
    pub fn set_next_isn(&mut self, now: Instant, isn: SeqNum) {
        self.endpoint.set_next_isn(isn);
        self.record(now, || (EndpointCall::SetNextIsn { isn }, RecordedResult::None));
    }

    /// [`Endpoint::handle_segment`].
    #[inline]
    pub fn handle_segment(
        &mut self,
        now: Instant,
        local: IpAddr,
        remote: IpAddr,
        segment: &Segment,
    ) -> Arrival {
        let arrival = self.endpoint.handle_segment(now, local, remote, segment, None);
        self.record(now, || {
            let call = EndpointCall::Segment { local, remote, segment: Box::new(*segment) };
            (call, RecordedResult::debug(&arrival))
        });
        arrival
    }

    /// [`Endpoint::poll_reply`].
    pub fn poll_reply(&mut self, now: Instant) -> Option<(FourTuple, Segment)> {
        let reply = self.endpoint.poll_reply();
        if let Some((tuple, segment)) = &reply {
            self.record(now, || (EndpointCall::Reply, RecordedResult::reply(tuple, segment)));
        }
        reply
    }

    /// [`Connection::handle_icmp_report`]; false without the connection.
    pub fn handle_icmp_report(
        &mut self,
        now: Instant,
        id: ConnId,
        seq: SeqNum,
        report: IcmpReport,
    ) -> bool {
        let conn = self.endpoint.conn(id);
        let changed = conn.is_some_and(|c| c.handle_icmp_report(now, seq, report));
        self.record(now, || (EndpointCall::Icmp { id, seq, report }, RecordedResult::ok(changed)));
        changed
    }

    /// [`Connection::poll_transmit`].
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant, id: ConnId) -> Option<Transmit> {
        let conn = self.endpoint.conn(id)?;
        let transmit = conn.poll_transmit(now);
        if self.recording.is_some() {
            let next = conn.poll_timeout();
            self.record(now, || {
                (EndpointCall::Transmit { id }, RecordedResult::transmit(transmit.as_ref(), next))
            });
        }
        transmit
    }

    /// [`Connection::on_transmitted`].
    #[inline]
    pub fn on_transmitted(
        &mut self,
        now: Instant,
        id: ConnId,
        transmit: TransmitId,
        stamp: HostStamp,
    ) {
        if let Some(conn) = self.endpoint.conn(id) {
            conn.on_transmitted(transmit, stamp);
        }
        self.record(now, || {
            (EndpointCall::Transmitted { id, transmit, stamp }, RecordedResult::None)
        });
    }

    /// Polls an event; `None` is not recorded.
    #[inline]
    pub fn poll_event(&mut self, now: Instant, id: ConnId) -> Option<Event> {
        let event = self.endpoint.conn(id)?.poll_event()?;
        self.record(now, || (EndpointCall::Event { id }, RecordedResult::debug(&event)));
        Some(event)
    }

    /// [`Connection::send_space`]; zero without the connection.
    pub fn send_space(&mut self, now: Instant, id: ConnId) -> u64 {
        let space = self.endpoint.conn(id).map_or(0, Connection::send_space);
        self.record(now, || {
            (EndpointCall::SendSpace { id }, RecordedResult::Text(space.to_string()))
        });
        space
    }

    /// Makes a call of a connection; without effect once it is released.
    #[inline]
    pub fn call(&mut self, now: Instant, id: ConnId, call: ConnCall) {
        if let Some(conn) = self.endpoint.conn(id) {
            match call {
                ConnCall::Timeout => conn.handle_timeout(now),
                ConnCall::Send(n) => conn.send(n),
                ConnCall::Read(n) => conn.read(n),
                ConnCall::SetNagle(on) => conn.set_nagle(on),
                ConnCall::SetReceiveBuffer(n) => conn.set_receive_buffer(n),
                ConnCall::DiscardOutOfOrder => conn.discard_out_of_order(),
                ConnCall::Close => conn.close(),
                ConnCall::Abort => conn.abort(),
            }
        }
        self.record(now, || (EndpointCall::Conn { id, call }, RecordedResult::None));
    }

    /// [`Endpoint::release`].
    pub fn release(&mut self, now: Instant, id: ConnId) {
        self.endpoint.release(now, id);
        self.record(now, || (EndpointCall::Release { id }, RecordedResult::None));
    }
}
