//! A connection as its application sees it.

use std::io;
use std::net::SocketAddr;

use lowtide_payload::{ReceiveBuffer, SendRing};
use lowtide_tcp::{CloseReason, ConnId, Connection, FourTuple, Info};
use lowtide_units::{Instant, Probe, Unit};

use super::WaitQueue;
use super::budget::Charge;
use super::orphans::Orphan;

/// One look at a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnInfo {
    /// What the transport shows of itself.
    pub tcp: Info,
    /// The estimate of the marked share, 2^20 for all, where the control keeps one.
    pub alpha_q20: Option<u64>,
    /// Bytes of memory that the transport holds for it, without payload.
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

/// What a call would do now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Readiness {
    /// A read would give something: data, the end of it, or an error. A listener: a connection.
    pub readable: bool,
    /// A write would take something, or fail.
    pub writable: bool,
    /// The connection is over.
    pub closed: bool,
}

/// A connection and its bytes. It outlives the connection in `tcp` until its stream is dropped.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
#[derive(Debug)]
pub(super) struct Conn {
    pub(super) tuple: FourTuple,
    /// Its name in the endpoint; `None` once it is released there.
    pub(super) id: Option<ConnId>,
    /// The listener that is to be told when it is established.
    pub(super) listener: Option<u16>,
    /// It waits at its listener for its peer's first data since then.
    pub(super) deferred_since: Option<Instant>,
    /// An application holds it, or may still accept it.
    pub(super) held: bool,
    /// It waits in the list of those that applications changed.
    pub(super) changed: bool,
    pub(super) established: bool,
    pub(super) peer_closed: bool,
    /// The application will send no more.
    pub(super) write_shut: bool,
    pub(super) read_shut: bool,
    pub(super) close_reason: Option<CloseReason>,
    /// Since nobody holds it.
    pub(super) orphan: Option<Orphan>,
    /// When it is given up as an orphan; [`Instant::FAR_FUTURE`] before it is one.
    pub(super) orphaned_until: Instant,
    /// Its timer in the queue; [`Instant::FAR_FUTURE`] for none.
    pub(super) timer_deadline: Instant,
    pub(super) send: SendRing,
    pub(super) receive: ReceiveBuffer,
    /// What it is charged of the memory of the endpoint.
    pub(super) charge: Charge,
    /// Its receive buffer is held to so many bytes, for want of memory.
    pub(super) receive_limit: Option<u64>,
    /// Its application waits to write, for want of memory.
    pub(super) waits_for_memory: bool,
    pub(super) wait: WaitQueue,
    /// How it stood when it was released.
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

    /// The error with which it ended, if it did not end well.
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
