//! One end of a connection with its own virtual clock.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use lowtide_tcp::units::{Duration, HostStamp, Instant};
use lowtide_tcp::wire::Segment;
use lowtide_tcp::{
    Arrival, CloseReason, Config, ConnId, Connection, Endpoint, Event, OpenError, State,
};

use super::misuse::Misuse;

pub(super) const CLIENT: Address = Address { ip: Ipv4Addr::new(10, 0, 0, 1), port: 49_152 };
pub(super) const SERVER: Address = Address { ip: Ipv4Addr::new(10, 0, 0, 2), port: 80 };

/// Bytes that one end can write in all.
const MAX_WRITTEN: u64 = 1 << 48;
/// Timers that may fire at one instant. TCP needs fewer; without a bound an error would not return.
const MAX_TIMERS_AT_ONCE: u32 = 16;

/// Address and port of an end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    pub(super) ip: Ipv4Addr,
    pub(super) port: u16,
}

/// One end: its connection, its clock and the segments that it has sent.
#[derive(Debug)]
pub(super) struct End {
    endpoint: Endpoint,
    /// `None` for a server before a SYN has arrived.
    id: Option<ConnId>,
    local: Address,
    remote: Address,
    now: Instant,
    /// Segments with the time when they were sent.
    sent: VecDeque<(Instant, Segment)>,
    events: Vec<&'static str>,
    written: u64,
    closed: bool,
    close_reason: Option<CloseReason>,
    /// Seed of the random numbers of the congestion control.
    cc_seed: u64,
}

impl End {
    fn new(local: Address, remote: Address, seed: u64) -> Self {
        Self {
            endpoint: Endpoint::new(seed),
            id: None,
            local,
            remote,
            now: Instant::ZERO,
            sent: VecDeque::new(),
            events: Vec::new(),
            written: 0,
            closed: false,
            close_reason: None,
            cc_seed: seed,
        }
    }

    /// Opens a connection.
    pub(super) fn client(config: Arc<Config>, seed: u64) -> Result<Self, OpenError> {
        let mut end = Self::new(CLIENT, SERVER, seed);
        let (local, remote) = (CLIENT.ip.into(), SERVER.ip.into());
        let id = end.endpoint.connect(end.now, local, CLIENT.port, remote, SERVER.port, config)?;
        end.opened_as(id);
        end.settle();
        Ok(end)
    }

    /// Waits for a SYN.
    pub(super) fn server(config: Arc<Config>, seed: u64) -> Result<Self, Misuse> {
        let mut end = Self::new(SERVER, CLIENT, seed);
        end.endpoint.listen(SERVER.port, config, 1).map_err(Misuse::of)?;
        Ok(end)
    }

    pub(super) const fn now(&self) -> Instant {
        self.now
    }

    pub(super) fn state(&mut self) -> Option<State> {
        self.opened().map(|conn| conn.state())
    }

    pub(super) const fn close_reason(&self) -> Option<CloseReason> {
        self.close_reason
    }

    fn opened_as(&mut self, id: ConnId) {
        self.id = Some(id);
        let seed = self.cc_seed;
        if let Some(conn) = self.opened() {
            conn.set_cc_seed(seed);
        }
    }

    fn opened(&mut self) -> Option<&mut Connection> {
        self.endpoint.conn(self.id?)
    }

    pub(super) fn conn(&mut self) -> Result<&mut Connection, Misuse> {
        let none = || {
            Misuse::new(
                "the server has no connection yet",
                "give it the SYN of a client by `receive`",
            )
        };
        self.opened().ok_or_else(none)
    }

    pub(super) fn next_timeout(&mut self) -> Option<Instant> {
        self.opened().and_then(|conn| conn.poll_timeout())
    }

    /// Moves the clock by `duration`; timers fire at their time.
    pub(super) fn advance(
        &mut self,
        duration: Duration,
        mut is_interrupted: impl FnMut() -> bool,
    ) -> Result<(), Misuse> {
        let until = self.now + duration;
        if until == Instant::FAR_FUTURE {
            return Err(Misuse::new("virtual time ends after 213 days", "advance by less"));
        }
        let mut at_once = 0;
        while let Some(at) = self.next_timeout().filter(|at| *at <= until) {
            at_once = if at > self.now { 0 } else { at_once + 1 };
            if at_once > MAX_TIMERS_AT_ONCE || is_interrupted() {
                break;
            }
            self.now = self.now.max(at);
            let now = self.now;
            if let Some(conn) = self.opened() {
                conn.handle_timeout(now);
            }
            self.settle();
        }
        if !is_interrupted() {
            self.now = until;
            self.settle();
        }
        Ok(())
    }

    /// The time from now to the next timer.
    pub(super) fn until_timeout(&mut self) -> Result<Duration, Misuse> {
        let at = self.next_timeout().ok_or_else(|| {
            Misuse::new("no timer is set", "give `advance` a duration, as \"10 us\"")
        })?;
        Ok(at.saturating_since(self.now))
    }

    /// The segments sent since the last call.
    pub(super) fn take_sent(&mut self) -> VecDeque<(Instant, Segment)> {
        std::mem::take(&mut self.sent)
    }

    pub(super) fn take_events(&mut self) -> Vec<&'static str> {
        std::mem::take(&mut self.events)
    }

    /// Processes a segment that arrives now. Returns the reason if TCP rejects it.
    pub(super) fn receive(&mut self, mut segment: Segment) -> Option<String> {
        if (segment.src_port, segment.dst_port) == (0, 0) {
            (segment.src_port, segment.dst_port) = (self.remote.port, self.local.port);
        }
        segment.rx.stamp = Some(self.stamp());
        let (local, remote) = (IpAddr::V4(self.local.ip), IpAddr::V4(self.remote.ip));
        let arrival = self.endpoint.handle_segment(self.now, local, remote, &segment, self.id);
        let rejected = match arrival {
            Arrival::Opened(id) | Arrival::Completed(id, _) => {
                self.opened_as(id);
                None
            }
            Arrival::Refused(_, error) => Some(error.to_string()),
            Arrival::Stray => Some("no connection has its ports".to_owned()),
            Arrival::BacklogFull => Some("the server has a connection already".to_owned()),
            _ => None,
        };
        self.settle();
        rejected
    }

    pub(super) fn write(&mut self, bytes: u64) -> Result<(), Misuse> {
        let total = self.written.saturating_add(bytes);
        self.conn()?;
        if self.closed {
            return Err(Misuse::new("this end is closed", "write before `close` and `abort`"));
        }
        if total > MAX_WRITTEN {
            return Err(Misuse::new("one end can write 2^48 bytes", "write less"));
        }
        self.written = total;
        self.conn()?.send(bytes);
        self.settle();
        Ok(())
    }

    /// Reads `bytes`, or all that can be read; returns their number.
    pub(super) fn read(&mut self, bytes: Option<u64>) -> Result<u64, Misuse> {
        let conn = self.conn()?;
        let readable = conn.unread();
        let bytes = bytes.unwrap_or(readable);
        if bytes > readable {
            let message = format!("{bytes} bytes cannot be read: {readable} are there");
            return Err(Misuse::new(message, "`readable` is their number"));
        }
        conn.read(bytes);
        self.settle();
        Ok(bytes)
    }

    pub(super) fn close(&mut self) -> Result<(), Misuse> {
        self.conn()?.close();
        self.closed = true;
        self.settle();
        Ok(())
    }

    pub(super) fn abort(&mut self) -> Result<(), Misuse> {
        self.conn()?.abort();
        self.closed = true;
        self.settle();
        Ok(())
    }

    /// The host's clock, which timestamps arrivals and departures for the delay option.
    const fn stamp(&self) -> HostStamp {
        HostStamp(self.now.as_ps() / 1000)
    }

    /// Takes what the connection sends now, and its events.
    fn settle(&mut self) {
        let (now, stamp) = (self.now, self.stamp());
        let Self { endpoint, sent, events, close_reason, id, .. } = self;
        if let Some(conn) = id.and_then(|id| endpoint.conn(id)) {
            while let Some(transmit) = conn.poll_transmit(now) {
                for i in 0..transmit.segments {
                    let mut segment = transmit.segment(i);
                    segment.stamp_departure(stamp);
                    sent.push_back((now, segment));
                }
                conn.on_transmitted(transmit.id, stamp);
            }
            while let Some(event) = conn.poll_event() {
                events.push(match event {
                    Event::Established => "established",
                    Event::Readable { .. } => "readable",
                    Event::Writable => "writable",
                    Event::PeerClosed => "peer-closed",
                    Event::Closed(reason) => {
                        *close_reason = Some(reason);
                        "closed"
                    }
                    _ => continue,
                });
            }
        }
        while let Some((_, segment)) = endpoint.poll_reply() {
            sent.push_back((now, segment));
        }
    }
}
