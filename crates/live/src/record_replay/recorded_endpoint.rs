//! The endpoint and its connections, with optional recording of all calls.

use std::fmt::Display;
use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::Arc;

use lowtide_tcp::{
    Arrival, Config, ConnId, Connection, Endpoint, Event, FourTuple, IcmpReport, ListenError,
    OpenError, Transmit, TransmitId,
};
use lowtide_units::{HostStamp, Instant};
use lowtide_wire::{Segment, SeqNum};

use super::HEADER;
use super::call::{EndpointCall, RecordedResult};

/// The recorded endpoint of a host.
pub(crate) struct RecordedEndpoint {
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
    /// An endpoint seeded with `seed`; its calls are written to `tape`, if given.
    pub(crate) fn new(seed: u64, tape: Option<Box<dyn Write + Send>>) -> Self {
        let mut boundary = Self { endpoint: Endpoint::new(seed), recording: tape, error: None };
        boundary.write_line(|| format!("{HEADER}\nseed {seed}"));
        boundary
    }

    fn write_line<D: Display>(&mut self, text: impl FnOnce() -> D) {
        if let Some(tape) = &mut self.recording
            && let Err(error) = writeln!(tape, "{}", text())
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
    pub(crate) fn recording_error(&mut self) -> Option<io::Error> {
        if let Some(tape) = &mut self.recording
            && let Err(error) = tape.flush()
        {
            self.recording = None;
            self.error = Some(error);
        }
        self.error.take()
    }

    /// Connections in the table.
    pub(crate) fn connections(&self) -> u64 {
        self.endpoint.len() as u64
    }

    /// Reads from a connection; not recorded, as it changes nothing.
    pub(crate) fn inspect<T>(
        &mut self,
        id: ConnId,
        read: impl FnOnce(&Connection) -> T,
    ) -> Option<T> {
        self.endpoint.conn(id).map(|c| read(c))
    }

    pub(crate) fn find(&self, tuple: &FourTuple) -> Option<ConnId> {
        self.endpoint.find(tuple)
    }

    pub(crate) fn listen(
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

    pub(crate) fn set_time_wait_limit(&mut self, now: Instant, n: usize) {
        self.endpoint.set_time_wait_limit(n);
        self.record(now, || (EndpointCall::SetTimeWaitLimit { n }, RecordedResult::None));
    }

    /// Entries in TIME-WAIT; not recorded.
    #[cfg(test)]
    pub(crate) fn time_wait_count(&mut self, now: Instant) -> usize {
        self.endpoint.time_waits(now)
    }

    pub(crate) fn unlisten(&mut self, now: Instant, port: u16) {
        self.endpoint.unlisten(port);
        self.record(now, || (EndpointCall::Unlisten { port }, RecordedResult::None));
    }

    /// Opens a connection. Returns its id and local port.
    pub(crate) fn connect(
        &mut self,
        now: Instant,
        local: IpAddr,
        remote: IpAddr,
        port: u16,
        config: Arc<Config>,
    ) -> Result<(ConnId, u16), OpenError> {
        let result = self.endpoint.connect(now, local, 0, remote, port, Arc::clone(&config));
        let result = result.and_then(|id| {
            let tuple = self.endpoint.tuple(id).ok_or(OpenError::NoPort)?;
            Ok((id, tuple.local_port))
        });
        self.record(now, || {
            let recorded =
                RecordedResult::from_result(result.map(|(id, port)| format!("{} {port}", id.0)));
            (EndpointCall::Connect { local, remote, port, config }, recorded)
        });
        result
    }

    #[inline]
    pub(crate) fn handle_segment(
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

    pub(crate) fn poll_reply(&mut self, now: Instant) -> Option<(FourTuple, Segment)> {
        let reply = self.endpoint.poll_reply();
        if let Some((tuple, segment)) = &reply {
            self.record(now, || (EndpointCall::Reply, RecordedResult::reply(tuple, segment)));
        }
        reply
    }

    pub(crate) fn handle_icmp_report(
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

    pub(crate) fn handle_timeout(&mut self, now: Instant, id: ConnId) {
        if let Some(conn) = self.endpoint.conn(id) {
            conn.handle_timeout(now);
        }
        self.record(now, || (EndpointCall::Timeout { id }, RecordedResult::None));
    }

    #[inline]
    pub(crate) fn poll_transmit(&mut self, now: Instant, id: ConnId) -> Option<Transmit> {
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

    #[inline]
    pub(crate) fn on_transmitted(
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
    pub(crate) fn poll_event(&mut self, now: Instant, id: ConnId) -> Option<Event> {
        let event = self.endpoint.conn(id)?.poll_event()?;
        self.record(now, || (EndpointCall::Event { id }, RecordedResult::debug(&event)));
        Some(event)
    }

    pub(crate) fn send(&mut self, now: Instant, id: ConnId, n: u64) {
        if let Some(conn) = self.endpoint.conn(id) {
            conn.send(n);
        }
        self.record(now, || (EndpointCall::Send { id, n }, RecordedResult::None));
    }

    pub(crate) fn send_space(&mut self, now: Instant, id: ConnId) -> u64 {
        let space = self.endpoint.conn(id).map_or(0, Connection::send_space);
        self.record(now, || {
            (EndpointCall::SendSpace { id }, RecordedResult::Text(space.to_string()))
        });
        space
    }

    pub(crate) fn read(&mut self, now: Instant, id: ConnId, n: u64) {
        if let Some(conn) = self.endpoint.conn(id) {
            conn.read(n);
        }
        self.record(now, || (EndpointCall::Read { id, n }, RecordedResult::None));
    }

    pub(crate) fn set_nagle(&mut self, now: Instant, id: ConnId, on: bool) {
        if let Some(conn) = self.endpoint.conn(id) {
            conn.set_nagle(on);
        }
        self.record(now, || (EndpointCall::SetNagle { id, on }, RecordedResult::None));
    }

    pub(crate) fn set_receive_buffer(&mut self, now: Instant, id: ConnId, n: u64) {
        if let Some(conn) = self.endpoint.conn(id) {
            conn.set_receive_buffer(n);
        }
        self.record(now, || (EndpointCall::SetReceiveBuffer { id, n }, RecordedResult::None));
    }

    pub(crate) fn discard_out_of_order(&mut self, now: Instant, id: ConnId) {
        if let Some(conn) = self.endpoint.conn(id) {
            conn.discard_out_of_order();
        }
        self.record(now, || (EndpointCall::DiscardOutOfOrder { id }, RecordedResult::None));
    }

    pub(crate) fn close(&mut self, now: Instant, id: ConnId) {
        if let Some(conn) = self.endpoint.conn(id) {
            conn.close();
        }
        self.record(now, || (EndpointCall::Close { id }, RecordedResult::None));
    }

    pub(crate) fn abort(&mut self, now: Instant, id: ConnId) {
        if let Some(conn) = self.endpoint.conn(id) {
            conn.abort();
        }
        self.record(now, || (EndpointCall::Abort { id }, RecordedResult::None));
    }

    pub(crate) fn release(&mut self, now: Instant, id: ConnId) {
        self.endpoint.release(now, id);
        self.record(now, || (EndpointCall::Release { id }, RecordedResult::None));
    }
}
