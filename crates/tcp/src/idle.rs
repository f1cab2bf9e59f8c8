//! When there is nothing to send, as mostly: known without a look at all that could be.

use lowtide_units::Instant;

use crate::connection::Connection;
use crate::sender::{LimitedBy, QuotaCheck};

impl Connection {
    /// Nothing is owed, and there is nothing to send (and nothing in flight), as at a side that receives
    /// between its ACKs, or no congestion window for it. What a closer look would note is noted.
    #[inline]
    pub(crate) fn nothing_to_send(&mut self) -> bool {
        let silent = self.state.can_send()
            && self.pending_rst.is_none()
            && !self.rcv.must_ack_now()
            && !self.liveness.probe_due;
        if !silent {
            return false;
        }
        if self.snd.board.is_empty() && !self.snd.has_unsent() {
            self.snd.window_probe_due = false;
            self.set_app_limited();
        } else if self.snd.quota.check(self.snd.mss) == QuotaCheck::CwndLimited {
            self.set_cwnd_limited();
        } else {
            return false;
        }
        self.snd.pacing_blocked = false;
        true
    }

    pub(crate) fn set_cwnd_limited(&mut self) {
        self.snd.limited_by = LimitedBy::Cwnd;
        self.timers.persist = Instant::FAR_FUTURE;
    }

    pub(crate) fn set_app_limited(&mut self) {
        self.snd.limited_by = LimitedBy::Application;
        self.timers.persist = Instant::FAR_FUTURE;
    }
}
