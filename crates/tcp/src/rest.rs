//! When there is nothing to send, as mostly: known without a look at all that could be.

use lowtide_units::Instant;

use crate::connection::Connection;
use crate::sender::{LimitedBy, Next};

impl Connection {
    /// Nothing is owed, and there is nothing to send (and nothing in flight), as at a side that receives
    /// between its ACKs, or no congestion window for it. What a closer look would note is noted.
    #[inline]
    pub(crate) fn rests(&mut self) -> bool {
        let silent = self.state.can_send()
            && self.reset.is_none()
            && !self.rcv.must_ack_now()
            && !self.liveness.probe_due;
        if !silent {
            return false;
        }
        if self.snd.board.is_empty() && !self.snd.has_unsent() {
            self.snd.probe_due = false;
            self.nothing_to_send();
        } else if self.snd.ahead.next(self.snd.mss) == Next::Stop {
            self.window_is_full();
        } else {
            return false;
        }
        self.snd.pacing_blocked = false;
        true
    }

    pub(crate) fn window_is_full(&mut self) {
        self.snd.limited_by = LimitedBy::Cwnd;
        self.timers.persist = Instant::FAR_FUTURE;
    }

    pub(crate) fn nothing_to_send(&mut self) {
        self.snd.limited_by = LimitedBy::Application;
        self.timers.persist = Instant::FAR_FUTURE;
    }
}
