//! The interface of a running marker: what it sees, and its decisions.

use std::fmt;

use lowtide_units::{Duration, Instant, QueueLength};
use lowtide_wire::Ecn;

use crate::Occupancy;

/// A decision of a marker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AqmVerdict {
    /// Forward it unchanged.
    Forward,
    /// Set CE. A packet that already has CE also counts as marked, as in Linux.
    Mark,
    /// Drop it.
    Drop,
}

/// The treatment of packets that are not ECN-capable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NotEct {
    /// Forward them.
    #[default]
    Ignore,
    /// Drop them (RFC 8257 §5 warns of this).
    Drop,
}

impl NotEct {
    /// Returns the decision on a packet with this codepoint that is to be marked.
    pub const fn verdict(self, ecn: Ecn) -> AqmVerdict {
        match (ecn.is_capable(), self) {
            (true, _) => AqmVerdict::Mark,
            (false, Self::Ignore) => AqmVerdict::Forward,
            (false, Self::Drop) => AqmVerdict::Drop,
        }
    }
}

/// The signal of a marker that can mark or drop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CongestionSignal {
    /// Sets CE; packets that are not ECN-capable are treated as given.
    Mark(NotEct),
    /// Drops the packet, whatever its codepoint.
    Drop,
}

impl CongestionSignal {
    /// Returns the decision on a selected packet with this codepoint.
    pub const fn verdict(self, ecn: Ecn) -> AqmVerdict {
        match self {
            Self::Mark(not_ect) => not_ect.verdict(ecn),
            Self::Drop => AqmVerdict::Drop,
        }
    }

    /// Returns true if it sets CE.
    pub const fn sets_ce(self) -> bool {
        matches!(self, Self::Mark(_))
    }

    /// Returns true if it forwards packets that are not ECN-capable.
    pub const fn forwards_not_ect(self) -> bool {
        matches!(self, Self::Mark(NotEct::Ignore))
    }
}

/// An admitted packet, as seen by a marker.
#[derive(Clone, Copy, Debug)]
pub struct EnqueueInfo {
    /// The queue that it found, without the packet itself.
    pub backlog: Occupancy,
    /// Its IP bytes.
    pub size: u32,
    /// Its codepoint.
    pub ecn: Ecn,
    /// Expected start of its transmission; now if the port needs departure events.
    pub tx_start: Instant,
    /// Start of the idle period of its queue; not before now if the queue was busy.
    pub idle_since: Instant,
}

/// A packet at the start of its transmission, as seen by a marker.
#[derive(Clone, Copy, Debug)]
pub struct DequeueInfo {
    /// The queue that remains. Includes the packet itself if the port counts the packet on the
    /// line.
    pub backlog: Occupancy,
    /// Its queueing delay.
    pub sojourn: Duration,
    /// Its IP bytes.
    pub size: u32,
    /// Its codepoint.
    pub ecn: Ecn,
}

/// A running marker at one queue. Usually it decides in one of the two callbacks, and the other
/// forwards. [`super::DecisionPoint`] states which callbacks it gets.
pub trait Aqm: fmt::Debug + Send {
    /// Called when a packet was admitted at `now`.
    fn on_enqueue(&mut self, _now: Instant, _packet: &EnqueueInfo) -> AqmVerdict {
        AqmVerdict::Forward
    }

    /// Called before transmission of a packet starts at `now`. If it is dropped, the next one
    /// follows at once.
    fn on_dequeue(&mut self, _now: Instant, _packet: &DequeueInfo) -> AqmVerdict {
        AqmVerdict::Forward
    }

    /// Called when the last packet of the queue was dropped at dequeue.
    fn on_empty(&mut self) {}

    /// Called when time has passed: the queue had this length until just before `until`. Only with
    /// departure events.
    fn advance(&mut self, _until: Instant, _queue: Occupancy) {}

    /// Returns the queue length up to which `on_enqueue` forwards every packet without effect on
    /// its state, so that the call can be omitted. `None` if it must see each packet;
    /// `u64::MAX` packets if it needs none.
    fn unmarked_limit(&self) -> Option<QueueLength> {
        None
    }
}

/// The answer of [`Aqm::unmarked_limit`] of markers that ignore arrivals.
pub const IGNORES_ARRIVALS: Option<QueueLength> = Some(QueueLength::Packets(u64::MAX));
