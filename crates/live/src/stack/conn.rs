//! A connection as its application sees it.

use std::io;
use std::net::SocketAddr;

use lowtide_payload::{ReceiveBuffer, SendRing};
use lowtide_tcp::{CloseReason, ConnId, Connection, FourTuple, Info};
use lowtide_units::{Instant, Probe, Unit};

use super::WaitQueue;
use super::budget::Charge;
use super::orphans::Orphan;

/// A snapshot of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnInfo {
    /// TCP state.
    pub tcp: Info,
    /// DCTCP's alpha, the estimated marked fraction in units of 2^-20, if the congestion control
    /// keeps one.
    pub alpha_q20: Option<u64>,
    /// Bytes of memory that the connection uses in `tcp`, without payload.
    pub memory: usize,
}

impl ConnInfo {
    pub(super) fn of(conn: &Connection) -> Self {
        let mut alpha = Alpha(None);
        conn.probe(&mut alpha);
        Self { tcp: conn.info(), alpha_q20: alpha.0, memory: conn.memory() }
    }
}

struct Alpha(Option<u64>);

impl Probe for Alpha {
    fn value(&mut self, name: &'static str, unit: Unit, value: u64) {
        if name == "alpha" && unit == Unit::Q20 {
            self.0 = Some(value);
        }
    }
}

/// Readiness of a connection or listener.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Readiness {
    /// A read would return data, the end of data, or an error; on a listener, an accept would
    /// return a connection.
    pub readable: bool,
    /// A write would accept data or fail.
    pub writable: bool,
    /// The connection has ended.
    pub closed: bool,
}

/// A connection and its payload. It outlives the connection in `tcp` until its stream is dropped.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
#[derive(Debug)]
pub(super) struct Conn {
    pub(super) tuple: FourTuple,
    /// Its id in the endpoint; `None` once released there.
    pub(super) id: Option<ConnId>,
    /// The listener to notify once the connection is established.
    pub(super) listener: Option<u16>,
    /// Since when the listener defers it until the peer's first data.
    pub(super) deferred_since: Option<Instant>,
    /// Whether an application holds it or may still accept it.
    pub(super) held: bool,
    /// Whether it is in the list of changed connections.
    pub(super) changed: bool,
    pub(super) established: bool,
    pub(super) peer_closed: bool,
    /// The application sends no more.
    pub(super) write_shut: bool,
    pub(super) read_shut: bool,
    pub(super) close_reason: Option<CloseReason>,
    /// Set once no application holds it.
    pub(super) orphan: Option<Orphan>,
    /// Time at which an orphan is reset; [`Instant::FAR_FUTURE`] if it is not one.
    pub(super) orphaned_until: Instant,
    /// Its deadline in the timer queue; [`Instant::FAR_FUTURE`] for none.
    pub(super) timer_deadline: Instant,
    pub(super) send: SendRing,
    pub(super) receive: ReceiveBuffer,
    /// Its charge to the endpoint's memory budget.
    pub(super) charge: Charge,
    /// Receive buffer limit under memory pressure, bytes.
    pub(super) receive_limit: Option<u64>,
    /// Its application waits for memory to write.
    pub(super) waits_for_memory: bool,
    pub(super) wait: WaitQueue,
    /// Snapshot at its release.
    pub(super) final_info: Option<Box<ConnInfo>>,
}

impl Conn {
    pub(super) fn new(tuple: FourTuple, id: ConnId, listener: Option<u16>) -> Self {
        Self {
            tuple,
            id: Some(id),
            listener,
            deferred_since: None,
            held: true,
            changed: false,
            established: false,
            peer_closed: false,
            write_shut: false,
            read_shut: false,
            close_reason: None,
            orphan: None,
            orphaned_until: Instant::FAR_FUTURE,
            timer_deadline: Instant::FAR_FUTURE,
            send: SendRing::default(),
            receive: ReceiveBuffer::default(),
            charge: Charge::default(),
            receive_limit: None,
            waits_for_memory: false,
            wait: WaitQueue::default(),
            final_info: None,
        }
    }

    /// The error with which it ended, unless it closed normally.
    pub(super) fn error(&self) -> Option<io::Error> {
        let reason = self.close_reason?;
        let kind = match reason {
            CloseReason::Normal => return None,
            CloseReason::Refused => io::ErrorKind::ConnectionRefused,
            CloseReason::Reset => io::ErrorKind::ConnectionReset,
            CloseReason::Aborted => io::ErrorKind::ConnectionAborted,
            CloseReason::TimedOut | CloseReason::UserTimeout | CloseReason::KeepAlive => {
                io::ErrorKind::TimedOut
            }
        };
        Some(io::Error::new(kind, format!("{}: {}", self.peer(), reason.name())))
    }

    pub(super) fn peer(&self) -> SocketAddr {
        SocketAddr::new(self.tuple.remote, self.tuple.remote_port)
    }

    pub(super) fn local(&self) -> SocketAddr {
        SocketAddr::new(self.tuple.local, self.tuple.local_port)
    }
}
