//! Sample step: round-trip time, queueing delay and the facts for the congestion control.

use lowtide_units::{Duration, Instant};
use lowtide_wire::Segment;

use super::decode::DecodedAck;
use super::loss::LossUpdate;
use super::scoreboard::Delivery;
use crate::cc::{AckSample, GrowthCounts};
use crate::connection::Connection;
use crate::feedback::CeFeedback;
use crate::loss::recovery::Acked;
use crate::send::sender::{CwndUsage, LimitedBy};
use crate::settings::config::GrowthWhen;
use crate::timers::rtt::{elapsed_ticks, round_to_ticks};

impl Connection {
    /// Takes the measurements of an ACK and returns the sample for the congestion control.
    #[expect(clippy::inline_always, reason = "one copy per path; a call would copy the result")]
    #[inline(always)]
    pub(super) fn ack_sample(
        &mut self,
        seg: &Segment,
        ack: DecodedAck,
        delivery: Delivery,
        acked: &Acked,
        feedback: &CeFeedback,
        loss: &LossUpdate,
    ) -> AckSample {
        let (now, advanced) = (ack.at, ack.advanced);
        let rtt = self.measure_rtt(now, seg, acked, advanced);
        let measured = match &mut self.delay {
            None => None,
            Some(delay) => delay.on_ack(now, seg),
        };
        self.counters.delivered_ce_bytes += feedback.ce_bytes;
        self.counters.delivered_ce_segs += u64::from(feedback.ce_segments);
        let round_ended = advanced && ack.upto >= self.snd.round_end;
        if round_ended {
            self.snd.round_end = self.snd.nxt;
            self.snd.board.trim();
        }
        let rate_sample = match &mut self.snd.rate {
            None => None,
            Some(rate) => {
                let newest = acked.newest.max(acked.newest_resent);
                rate.on_ack(now, ack.upto, acked.delivered_bytes, newest, self.rtt.min())
            }
        };
        let may_reduce = feedback.congested && !loss.recovering && self.ecn.may_reduce(ack.upto);
        AckSample {
            now,
            snd_una: ack.upto,
            snd_nxt: self.snd.nxt,
            acked_bytes: acked.acked_bytes,
            acked_segments: acked.acked_segments,
            sacked_bytes: acked.sacked_bytes,
            sacked_segments: acked.sacked_segments,
            delivered_bytes: self.newly_delivered(ack, acked, feedback),
            delivered_segments: acked.delivered_segments,
            lost_bytes: loss.lost.bytes,
            lost_segments: loss.lost.segments,
            ce_bytes: feedback.ce_bytes,
            ce_segments: feedback.ce_segments,
            ece: feedback.congested,
            rtt,
            queueing_delay: measured.map(|m| m.queueing),
            base_rtt: measured.map(|m| m.base_rtt),
            fabric_delay: measured.map(|m| m.rtt),
            endpoint_delay: measured.map(|m| m.in_hosts),
            in_flight: self.snd.board.pipe(),
            prior_in_flight: delivery.prior_in_flight,
            snd_wnd: self.snd.window(),
            rate_sample,
            app_limited: self.snd.limited_by != LimitedBy::Cwnd,
            round_ended,
            may_reduce,
            may_grow: advanced
                && !loss.recovering
                && !loss.was_reducing
                && (self.snd.limited_by == LimitedBy::Cwnd || self.grows_unlimited())
                && !self.ecn.frozen(ack.upto, feedback.congested, self.snd.last_ece),
            after_rto: loss.after_rto,
            delack_suspected: self.delack_suspected(ack, acked, rtt),
            delack_timeout: seg.rx.delack_timeout,
        }
    }

    /// Bytes that an ACK delivers. If they grow the window and there is no SACK, duplicates before
    /// it have counted some, all but a segment at most (Linux `tcp_remove_reno_sacks`). Marks are
    /// counted over all.
    #[inline]
    fn newly_delivered(&self, ack: DecodedAck, acked: &Acked, feedback: &CeFeedback) -> u64 {
        let delivered = acked.delivered_bytes;
        if ack.duplicates == 0
            || feedback.ce_bytes > 0
            || self.config.growth_counts != GrowthCounts::Delivered
        {
            return delivered;
        }
        let mss = u64::from(self.snd.mss);
        delivered.saturating_sub(u64::from(ack.duplicates) * mss).max(delivered.min(mss))
    }

    /// True if the window grows although cwnd did not stop the last attempt to send. When cwnd
    /// does, it is below the peer's window, so that every rule permits growth.
    #[inline(never)]
    fn grows_unlimited(&self) -> bool {
        match self.config.growth_when {
            GrowthWhen::CwndLimited => false,
            GrowthWhen::BelowRwnd => {
                self.cc.as_ref().is_some_and(|cc| cc.cwnd() <= self.snd.window())
            }
            GrowthWhen::Always => true,
            GrowthWhen::WindowUsage => {
                let usage = &self.snd.cwnd_usage;
                let twice = 2 * usage.segments * u64::from(self.snd.mss);
                usage.limited
                    || self.cc.as_ref().is_some_and(|cc| cc.cwnd() < cc.ssthresh().min(twice))
            }
        }
    }

    /// Records how the last sends used the congestion window, before an ACK changes the flight or a
    /// timeout the window. Since the last record both only changed by these sends, so the state
    /// after the last one decides (Linux `tcp_cwnd_validate`).
    #[inline]
    pub(crate) fn note_cwnd_usage(&mut self) {
        if self.config.growth_when == GrowthWhen::WindowUsage {
            self.update_cwnd_usage();
        }
    }

    #[inline(never)]
    fn update_cwnd_usage(&mut self) {
        let cwnd = self.cc.as_ref().map_or(0, |cc| cc.cwnd());
        let snd = &mut self.snd;
        let segments = snd.board.len() as u64;
        let sent = snd.nxt > snd.cwnd_usage.noted;
        snd.cwnd_usage.noted = snd.nxt;
        let full = sent && segments >= cwnd / u64::from(snd.mss.max(1));
        let limited = full || snd.limited_by == LimitedBy::Cwnd && !snd.pacing_blocked;
        let usage = &mut snd.cwnd_usage;
        let larger = !usage.limited && segments > usage.segments;
        if (sent || limited) && (snd.una >= usage.end || limited || larger) {
            *usage = CwndUsage { limited, segments, end: snd.nxt, noted: snd.nxt };
        }
    }

    /// Takes one sample per ACK: from the newest segment sent only once, unless it waited for a
    /// retransmission. Otherwise from the timestamps (RFC 7323 §4), which also time
    /// retransmissions.
    fn measure_rtt(
        &mut self,
        now: Instant,
        seg: &Segment,
        acked: &Acked,
        advanced: bool,
    ) -> Option<Duration> {
        let clean = acked.newest.as_ref().filter(|_| !acked.filled_hole);
        let sample = match (clean, &self.ts, seg.options.timestamps) {
            (Some(newest), _, _) => Some(elapsed_ticks(newest.at, now, &self.config)),
            (None, Some(ts), Some(option)) if advanced => {
                ts.rtt(now, option.echo).map(|rtt| round_to_ticks(rtt, &self.config))
            }
            _ => None,
        };
        match sample {
            Some(rtt) => {
                self.rtt.sample(&self.config, rtt, (self.snd.una(), self.snd.nxt()));
                if let Some(ext) = &mut self.snd.recovery_ext {
                    ext.on_rtt_sample();
                }
            }
            // Deviation: an ACK of new data ends the backoff without a sample
            // (docs/reference/deviations.md).
            None if advanced => self.rtt.reset_backoff(),
            None => {}
        }
        sample
    }

    /// Computes [`AckSample::delack_suspected`].
    fn delack_suspected(&self, ack: DecodedAck, acked: &Acked, rtt: Option<Duration>) -> bool {
        if !self.snd.board.is_empty() {
            return false;
        }
        (1..self.config.delack_segments).contains(&acked.acked_segments)
            && self.snd.last_ece == ack.ece
            && rtt
                .zip(self.rtt.min())
                .is_some_and(|(r, min)| r >= min + self.config.rto_granularity)
    }
}
