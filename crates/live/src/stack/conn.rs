//! State that the driver keeps with each connection, and the state that applications see.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use lowtide_tcp::CloseReason;
use lowtide_units::Instant;

use super::WaitQueue;
use super::budget::Charge;
use super::orphans::Orphan;

/// A connection with its payload.
pub(super) type Conn = lowtide_sockets::Conn<DriverState>;

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

/// State that the driver keeps with a connection.
#[derive(Debug)]
pub(super) struct DriverState {
    /// Bytes that the peer had acknowledged at the last poll. Its stream reads it without a lock.
    pub(super) acked: Arc<AtomicU64>,
    /// Since when the listener defers it until the peer's first data.
    pub(super) deferred_since: Option<Instant>,
    /// Whether it is in the list of changed connections.
    pub(super) changed: bool,
    /// Set once no application holds it.
    pub(super) orphan: Option<Orphan>,
    /// Time at which an orphan is reset; [`Instant::FAR_FUTURE`] if it is not one.
    pub(super) orphaned_until: Instant,
    /// Its deadline in the timer queue; [`Instant::FAR_FUTURE`] for none.
    pub(super) timer_deadline: Instant,
    /// Its charge to the endpoint's memory budget.
    pub(super) charge: Charge,
    /// Receive buffer limit under memory pressure, bytes.
    pub(super) receive_limit: Option<u64>,
    /// Its application waits for memory to write.
    pub(super) waits_for_memory: bool,
    pub(super) wait: WaitQueue,
}

impl Default for DriverState {
    fn default() -> Self {
        Self {
            acked: Arc::default(),
            deferred_since: None,
            changed: false,
            orphan: None,
            orphaned_until: Instant::FAR_FUTURE,
            timer_deadline: Instant::FAR_FUTURE,
            charge: Charge::default(),
            receive_limit: None,
            waits_for_memory: false,
            wait: WaitQueue::default(),
        }
    }
}

/// The error with which a connection ended, unless it closed normally.
pub(super) fn error(conn: &Conn) -> Option<io::Error> {
    let reason = conn.close_reason?;
    let kind = match reason {
        CloseReason::Normal => return None,
        CloseReason::Refused => io::ErrorKind::ConnectionRefused,
        CloseReason::Reset => io::ErrorKind::ConnectionReset,
        CloseReason::TimedOut | CloseReason::UserTimeout | CloseReason::KeepAlive => {
            io::ErrorKind::TimedOut
        }
        // Aborted.
        _ => io::ErrorKind::ConnectionAborted,
    };
    Some(io::Error::new(kind, format!("{}: {}", conn.peer(), reason.name())))
}
