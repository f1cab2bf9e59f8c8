//! The endpoint and its connections, every call of which may be on tape.

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
use super::call::{Answer, Call};

/// The endpoint of a host.
pub(crate) struct Boundary {
    endpoint: Endpoint,
    tape: Option<Box<dyn Write + Send>>,
    /// The first error of writing, which ends the tape.
    error: Option<io::Error>,
}

impl std::fmt::Debug for Boundary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Boundary({} connections)", self.endpoint.len())
    }
}

impl Boundary {
    /// An endpoint whose numbers follow from `seed`; its calls go to `tape`, where there is one.
    pub(crate) fn new(seed: u64, tape: Option<Box<dyn Write + Send>>) -> Self {
        let mut boundary = Self { endpoint: Endpoint::new(seed), tape, error: None };
        boundary.line(|| format!("{HEADER}\nseed {seed}"));
        boundary
    }

    fn line<D: Display>(&mut self, text: impl FnOnce() -> D) {
        if let Some(tape) = &mut self.tape
            && let Err(error) = writeln!(tape, "{}", text())
        {
            self.tape = None;
            self.error = Some(error);
        }
    }

    #[inline]
    fn note(&mut self, now: Instant, call: impl FnOnce() -> (Call, Answer)) {
        if self.tape.is_some() {
            let (call, answer) = call();
            self.line(|| format!("{} {call} > {answer}", now.as_ps()));
        }
    }

    /// Why the tape ended early, once; what is on it is flushed.
    pub(crate) fn tape_error(&mut self) -> Option<io::Error> {
        if let Some(tape) = &mut self.tape
            && let Err(error) = tape.flush()
        {
            self.tape = None;
            self.error = Some(error);
        }
        self.error.take()
    }

    /// Connections in the table.
    pub(crate) fn connections(&self) -> u64 {
        self.endpoint.len() as u64
    }

    /// What a connection shows of itself; not on tape, as it changes nothing.
    pub(crate) fn look<T>(&mut self, id: ConnId, look: impl FnOnce(&Connection) -> T) -> Option<T> {
        self.endpoint.conn(id).map(|c| look(c))
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
        self.note(now, || (Call::Listen { port, backlog, config }, Answer::ok(result.is_ok())));
        result
    }

    pub(crate) fn set_time_wait_limit(&mut self, now: Instant, n: usize) {
        self.endpoint.set_time_wait_limit(n);
        self.note(now, || (Call::TimeWaits { n }, Answer::None));
    }

    /// Entries in TIME-WAIT; not on tape.
    #[cfg(test)]
    pub(crate) fn time_waits(&mut self, now: Instant) -> usize {
        self.endpoint.time_waits(now)
    }

    pub(crate) fn unlisten(&mut self, now: Instant, port: u16) {
        self.endpoint.unlisten(port);
        self.note(now, || (Call::Unlisten { port }, Answer::None));
    }

    /// The new connection and its local port.
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
        self.note(now, || {
            let answer = Answer::of(result.map(|(id, port)| format!("{} {port}", id.0)));
            (Call::Connect { local, remote, port, config }, answer)
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
        self.note(now, || {
            let call = Call::Segment { local, remote, segment: Box::new(*segment) };
            (call, Answer::shown(&arrival))
        });
        arrival
    }

    pub(crate) fn poll_reply(&mut self, now: Instant) -> Option<(FourTuple, Segment)> {
        let reply = self.endpoint.poll_reply();
        if let Some((tuple, segment)) = &reply {
            self.note(now, || (Call::Reply, Answer::reply(tuple, segment)));
        }
        reply
    }

    pub(crate) fn handle_path_report(
        &mut self,
        now: Instant,
        id: ConnId,
        seq: SeqNum,
        report: IcmpReport,
    ) -> bool {
        let conn = self.endpoint.conn(id);
        let changed = conn.is_some_and(|c| c.handle_icmp_report(now, seq, report));
        self.note(now, || (Call::Path { id, seq, report }, Answer::ok(changed)));
        changed
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant, id: ConnId) {
        if let Some(conn) = self.endpoint.conn(id) {
            conn.handle_timeout(now);
        }
        self.note(now, || (Call::Timeout { id }, Answer::None));
    }

    #[inline]
    pub(crate) fn poll_transmit(&mut self, now: Instant, id: ConnId) -> Option<Transmit> {
        let conn = self.endpoint.conn(id)?;
        let transmit = conn.poll_transmit(now);
        if self.tape.is_some() {
            let next = conn.poll_timeout();
            self.note(now, || (Call::Transmit { id }, Answer::transmit(transmit.as_ref(), next)));
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
        self.note(now, || (Call::Transmitted { id, transmit, stamp }, Answer::None));
    }

    /// An event that is not there is not on tape.
    #[inline]
    pub(crate) fn poll_event(&mut self, now: Instant, id: ConnId) -> Option<Event> {
        let event = self.endpoint.conn(id)?.poll_event()?;
        self.note(now, || (Call::Event { id }, Answer::shown(&event)));
        Some(event)
    }

    pub(crate) fn send(&mut self, now: Instant, id: ConnId, n: u64) {
        if let Some(conn) = self.endpoint.conn(id) {
            conn.send(n);
        }
        self.note(now, || (Call::Send { id, n }, Answer::None));
    }

    pub(crate) fn send_space(&mut self, now: Instant, id: ConnId) -> u64 {
        let space = self.endpoint.conn(id).map_or(0, Connection::send_space);
        self.note(now, || (Call::Space { id }, Answer::Text(space.to_string())));
        space
    }

    pub(crate) fn read(&mut self, now: Instant, id: ConnId, n: u64) {
        if let Some(conn) = self.endpoint.conn(id) {
            conn.read(n);
        }
        self.note(now, || (Call::Read { id, n }, Answer::None));
    }

    pub(crate) fn set_nagle(&mut self, now: Instant, id: ConnId, on: bool) {
        if let Some(conn) = self.endpoint.conn(id) {
            conn.set_nagle(on);
        }
        self.note(now, || (Call::Nagle { id, on }, Answer::None));
    }

    pub(crate) fn set_receive_buffer(&mut self, now: Instant, id: ConnId, n: u64) {
        if let Some(conn) = self.endpoint.conn(id) {
            conn.set_receive_buffer(n);
        }
        self.note(now, || (Call::Buffer { id, n }, Answer::None));
    }

    pub(crate) fn discard_out_of_order(&mut self, now: Instant, id: ConnId) {
        if let Some(conn) = self.endpoint.conn(id) {
            conn.discard_out_of_order();
        }
        self.note(now, || (Call::Discard { id }, Answer::None));
    }

    pub(crate) fn close(&mut self, now: Instant, id: ConnId) {
        if let Some(conn) = self.endpoint.conn(id) {
            conn.close();
        }
        self.note(now, || (Call::Close { id }, Answer::None));
    }

    pub(crate) fn abort(&mut self, now: Instant, id: ConnId) {
        if let Some(conn) = self.endpoint.conn(id) {
            conn.abort();
        }
        self.note(now, || (Call::Abort { id }, Answer::None));
    }

    pub(crate) fn release(&mut self, now: Instant, id: ConnId) {
        self.endpoint.release(now, id);
        self.note(now, || (Call::Release { id }, Answer::None));
    }
}
