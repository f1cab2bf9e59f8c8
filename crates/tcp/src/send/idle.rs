//! Fast check for the common case of nothing to send.

use super::quota::{QuotaCheck, SendQuota};
use super::sender::LimitedBy;
use crate::connection::Connection;

impl Connection {
    /// True if no ACK is due and nothing can be sent: no data, as at a receiver between its ACKs,
    /// or no room in the congestion window. Records the limit as the full checks would.
    #[inline]
    pub(crate) fn nothing_to_send(&mut self) -> bool {
        let silent = self.state.can_send()
            && self.pending_rst.is_none()
            && !self.rcv.must_ack_now()
            && !self.keep_alive_is_due();
        if !silent {
            return false;
        }
        if self.snd.quota.idle {
            return true;
        }
        if self.snd.board.is_empty() && !self.snd.has_unsent() {
            self.set_idle();
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
        self.timers.stop_persist();
    }

    /// Records that there is no data, neither in flight nor to send.
    pub(crate) fn set_idle(&mut self) {
        self.snd.window_probe_due = false;
        self.snd.quota = SendQuota::IDLE;
        self.set_app_limited();
    }

    /// The application writes. If it had left cwnd unused until now, what follows tells the rate of
    /// the application (draft-cheng-iccrg-delivery-rate-estimation-02 §3.4; Linux
    /// `tcp_rate_check_app_limited`).
    #[cold]
    pub(crate) fn note_app_limited(&mut self) {
        let snd = &mut self.snd;
        let in_flight = snd.board.pipe();
        let unused = snd.write_seq.saturating_sub(snd.nxt) < u64::from(snd.mss)
            && self.cc.as_ref().is_some_and(|cc| in_flight < cc.cwnd())
            && snd.board.lost_is_resent()
            && !snd.tsq_throttled;
        if let Some(rate) = snd.rate.as_mut().filter(|_| unused) {
            rate.set_app_limited(in_flight);
        }
    }

    pub(crate) fn set_app_limited(&mut self) {
        self.snd.limited_by = LimitedBy::Application;
        self.timers.stop_persist();
    }
}
