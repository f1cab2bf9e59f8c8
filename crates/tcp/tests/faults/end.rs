//! One end of a connection: the application, its byte buffers, and its expectations.

use lowtide_tcp::{CloseReason, ConnId, Connection, Event};
use lowtide_units::{Duration, Instant};

use crate::buffers::{ReceiveBuffer, SendBuffer};
use crate::case::{Close, EndPlan, Reads};
use crate::invariants::InvariantChecker;
use crate::pattern::Pattern;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Closing {
    No,
    At(Instant),
    Done,
}

#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) pair: usize,
    pub(crate) side: usize,
    pub(crate) id: ConnId,
    pub(crate) plan: EndPlan,
    pub(crate) out: SendBuffer,
    pub(crate) inbox: ReceiveBuffer,
    pub(crate) invariants: InvariantChecker,
    /// The application assumes that it may write.
    writable: bool,
    /// It asked for room, got zero, and waits for [`Event::Writable`].
    waits_for_room: bool,
    pub(crate) established: bool,
    pub(crate) peer_closed: bool,
    pub(crate) reason: Option<CloseReason>,
    /// It closed at a RST of an earlier connection on its ports, by the rule of RFC 793.
    pub(crate) old_reset: bool,
    /// It ended without notifying the connection.
    pub(crate) vanished: bool,
    pub(crate) released: bool,
    write_at: Instant,
    read_at: Instant,
    closing: Closing,
    pub(crate) timeout: Option<Instant>,
    /// The last scheduled wake-up of the application.
    pub(crate) scheduled: Option<Instant>,
    /// The content of the received bytes is certain.
    pub(crate) honest: bool,
}

impl End {
    pub(crate) fn new(
        now: Instant,
        pair: usize,
        side: usize,
        id: ConnId,
        plan: EndPlan,
        patterns: [Pattern; 2],
        honest: bool,
    ) -> Self {
        let limit = plan.config.receive_buffer.as_u64();
        Self {
            pair,
            side,
            id,
            out: SendBuffer::new(patterns[side]),
            inbox: ReceiveBuffer::new(patterns[1 - side], limit),
            invariants: InvariantChecker::new(!honest),
            writable: true,
            waits_for_room: false,
            established: false,
            peer_closed: false,
            reason: None,
            old_reset: false,
            vanished: false,
            released: false,
            write_at: now,
            read_at: now,
            closing: Closing::No,
            timeout: None,
            scheduled: None,
            honest,
            plan,
        }
    }

    /// True if it ended, in any way.
    pub(crate) fn is_over(&self) -> bool {
        self.reason.is_some()
    }

    /// True if an earlier connection on its ports ended it.
    pub(crate) fn reset_by_predecessor(&self) -> bool {
        self.old_reset && matches!(self.reason, Some(CloseReason::Reset | CloseReason::Refused))
    }

    pub(crate) fn on_event(&mut self, now: Instant, event: Event) {
        assert!(self.reason.is_none(), "{event:?} after Closed");
        match event {
            Event::Established => {
                assert!(!self.established, "established twice");
                self.established = true;
                self.write_at = self.write_at.max(now);
            }
            Event::Readable { upto } => {
                self.inbox.set_readable(upto);
                let wait = match self.plan.reads {
                    Reads::Eager => Duration::ZERO,
                    Reads::Slow => self.plan.read_pause,
                    Reads::Lazy => self.plan.read_pause + Duration::from_ms(100),
                    Reads::Hoard => self.plan.read_pause + Duration::from_secs(5),
                };
                if self.read_at <= now {
                    self.read_at = now + wait;
                }
            }
            Event::Writable => {
                assert!(self.waits_for_room, "Writable without an earlier zero from send_space");
                self.waits_for_room = false;
                self.writable = true;
            }
            Event::PeerClosed => {
                assert!(!self.peer_closed, "the peer closed twice");
                self.peer_closed = true;
            }
            Event::Closed(reason) => {
                self.reason = Some(reason);
            }
            other => panic!("{other:?} is new"),
        }
    }

    /// Lets the application act; `true` if it did something.
    pub(crate) fn act(&mut self, now: Instant, conn: &mut Connection) -> bool {
        let mut acted = false;
        if self.inbox.readable() > 0 && (self.read_at <= now || self.is_over()) {
            let whole = self.is_over() || self.plan.reads != Reads::Slow;
            let want = if whole { u64::MAX } else { self.plan.read_chunk };
            let n = self.inbox.read(want, self.honest);
            conn.read(n);
            self.read_at = now + self.plan.read_pause;
            acted = true;
        }
        if self.is_over() {
            return acted;
        }
        let may_write = self.established || self.plan.early;
        while may_write && self.writable && self.left() > 0 && self.write_at <= now {
            acted = true;
            let space = if self.plan.flood { u64::MAX } else { conn.send_space() };
            if space == 0 {
                self.writable = false;
                self.waits_for_room = true;
                break;
            }
            let chunk = if self.plan.flood { u64::MAX } else { self.plan.chunk };
            let n = self.left().min(chunk).min(space);
            self.out.write(n);
            conn.send(n);
            self.write_at = now + self.plan.write_pause;
        }
        let done = self.out.end() + self.inbox.read_upto();
        match self.plan.close {
            Close::Abort(after) if may_write && done >= after.min(self.plan.total) => {
                conn.abort();
                return true;
            }
            Close::Vanish(after) if may_write && done >= after.min(self.plan.total) => {
                self.vanished = true;
                self.reason = Some(CloseReason::Aborted);
                return false;
            }
            _ => {}
        }
        let waits = self.plan.close == Close::AfterPeer && !self.peer_closed;
        if may_write && self.left() == 0 && !waits && self.closing == Closing::No {
            self.closing = Closing::At(now + self.plan.close_pause);
        }
        if matches!(self.closing, Closing::At(at) if at <= now) {
            self.closing = Closing::Done;
            conn.close();
            acted = true;
        }
        acted
    }

    /// The application closed its direction, so all its data is written.
    pub(crate) fn has_closed(&self) -> bool {
        self.closing == Closing::Done
    }

    pub(crate) fn left(&self) -> u64 {
        self.plan.total - self.out.end()
    }

    /// Time of the application's next action.
    pub(crate) fn wakes_at(&self) -> Option<Instant> {
        if self.is_over() {
            return None;
        }
        let may_write = self.established || self.plan.early;
        let write = may_write && self.writable && self.left() > 0;
        let read = self.inbox.readable() > 0;
        let close = match self.closing {
            Closing::At(at) => Some(at),
            _ => None,
        };
        [write.then_some(self.write_at), read.then_some(self.read_at), close]
            .into_iter()
            .flatten()
            .min()
    }
}
