//! Events for the application, and reasons for a close.

use core::fmt;

lowtide_units::named_enum! {
    /// Reason for the end of a connection.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    #[non_exhaustive]
    pub enum CloseReason {
        /// Both ends closed and everything was acknowledged.
        Normal = "closed",
        /// The peer reset it.
        Reset = "reset by the peer",
        /// The peer refused it: RST in answer to SYN.
        Refused = "refused by the peer",
        /// No answer within the retry limit.
        TimedOut = "timed out",
        /// No progress within the user timeout.
        UserTimeout = "user timeout",
        /// No answer to keep-alive probes.
        KeepAlive = "no answer to keep-alive",
        /// This end aborted it.
        Aborted = "aborted",
    }
}

/// Notification for the application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The handshake is over.
    Established,
    /// Bytes below this offset are contiguous and may be read.
    Readable {
        /// One past the last readable byte.
        upto: u64,
    },
    /// The send buffer has room again.
    Writable,
    /// The peer sent FIN: no more bytes follow the readable ones.
    PeerClosed,
    /// The connection is closed; in TIME-WAIT this is reported before the wait ends.
    Closed(CloseReason),
}

/// A kind of [`Event`]; its value is its bit in [`PendingEvents`], lowest bit first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum EventKind {
    Established = 1,
    Readable = 2,
    Writable = 4,
    PeerClosed = 8,
    Closed = 16,
}

/// Pending events: each kind at most once, in a fixed order. One word, because it is polled after
/// each segment and usually empty.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PendingEvents(u8);

impl PendingEvents {
    pub(crate) const fn note(&mut self, kind: EventKind) {
        self.0 |= kind as u8;
    }

    /// No event is pending.
    #[inline]
    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Removes the event if it is the only one. Returns whether it was.
    #[inline]
    pub(crate) const fn take_only(&mut self, kind: EventKind) -> bool {
        let only = self.0 == kind as u8;
        if only {
            self.0 = 0;
        }
        only
    }

    /// Removes and returns the first event.
    #[inline]
    pub(crate) const fn take(&mut self) -> Option<EventKind> {
        let kind = match self.0.trailing_zeros() {
            0 => EventKind::Established,
            1 => EventKind::Readable,
            2 => EventKind::Writable,
            3 => EventKind::PeerClosed,
            4 => EventKind::Closed,
            _ => return None,
        };
        self.0 &= !(kind as u8);
        Some(kind)
    }
}

/// Reason why a segment was rejected. It was dropped without effect, except for an ACK or a RST
/// that the specification requires as answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SegmentError {
    /// The connection is closed.
    Closed,
    /// Outside the receive window (RFC 9293 §3.10.7.4, first check).
    OutOfWindow,
    /// Older than the timestamp seen last (PAWS, RFC 7323 §5).
    Paws,
    /// Acknowledges data that was never sent.
    AckOfUnsent,
    /// Acknowledges less than any segment in flight can (RFC 5961 §5.2).
    OldAck,
    /// SYN on a synchronised connection.
    UnexpectedSyn,
    /// ACK flag missing.
    NoAck,
    /// RST that is not acceptable.
    BadReset,
    /// Does not fit the handshake.
    BadHandshake,
}

impl fmt::Display for SegmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "the connection is closed",
            Self::OutOfWindow => "outside the receive window",
            Self::Paws => "older than the last timestamp (PAWS)",
            Self::AckOfUnsent => "acknowledges data that was never sent",
            Self::OldAck => "its acknowledgement is too old",
            Self::UnexpectedSyn => "SYN on a synchronised connection",
            Self::NoAck => "no ACK flag",
            Self::BadReset => "unacceptable RST",
            Self::BadHandshake => "does not fit the handshake",
        })
    }
}

impl core::error::Error for SegmentError {}
