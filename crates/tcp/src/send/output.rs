//! Transmission: which segment may be sent now, and the state changes after it. `header` builds the
//! segment.

use core::hint::cold_path;

use lowtide_units::Instant;
use lowtide_wire::Flags;

use super::quota::{QuotaCheck, SendQuota};
use super::sender::{LimitedBy, Sender};
use super::tso_defer::SendOpportunity;
use crate::cc::CongestionEvent;
use crate::connection::Connection;
use crate::ecn::PacketClass;
use crate::loss::detection::LossDetector;
use crate::loss::probe::LossProbe;
use crate::loss::recovery::TxSegment;
use crate::settings::config::{IdleDecay, NagleRule, WindowProbe};
use crate::state::State;
use crate::transmit::Transmit;

/// One send decision: sequence range and kind of transmission.
#[derive(Clone, Copy, Debug)]
enum Plan {
    /// New payload (`len` bytes in `segments` segments), with or without FIN.
    New { len: u64, segments: u32, fin: bool },
    /// A segment that was sent before.
    Retransmit(TxSegment),
    /// A probe for the tail of a flight.
    TailLossProbe(LossProbe),
    /// The last segment again although nothing says that it is lost (RFC 6675 NextSeg rule 4).
    Rescue(TxSegment),
    /// One byte beyond a closed window, or an empty segment that asks for an ACK.
    WindowProbe,
}

impl Connection {
    /// Order of urgency: RST, SYN, an older ACK that must precede, an ACK with SACK blocks, data, a
    /// plain ACK.
    #[inline(never)]
    pub(crate) fn next_transmit(&mut self, now: Instant, burst: u32, out: &mut Transmit) -> bool {
        self.snd.pacing_blocked = false;
        if self.pending_rst.is_some() || !self.state.is_synchronised() {
            return self.next_unsynchronised(now).map(|rare| *out = rare).is_some();
        }
        if self.rcv.must_ack_now() {
            if self.ecn.ack_without_sack_due() {
                *out = self.ack_without_sack(now);
                return true;
            }
            if let Some(split) = self.rcv.take_split() {
                self.prior_ack(now, split.upto, split.echo, out);
                return true;
            }
            // SACK blocks go on a separate segment: a full data segment has no room for them.
            if self.sack_ok && self.rcv.has_blocks() {
                self.pure_ack(now, out);
                return true;
            }
        }
        if self.snd.board.is_empty() && !self.snd.has_unsent() && self.rcv.must_ack_now() {
            // Nothing but the ACK, as at a receiver.
            self.set_idle();
            self.pure_ack(now, out);
            return true;
        }
        if self.state.can_send() {
            match self.check_quota(now) {
                QuotaCheck::FullSegment => {
                    self.send_from_quota(now, burst, out);
                    return true;
                }
                QuotaCheck::CwndLimited => self.set_cwnd_limited(),
                QuotaCheck::Deferred => {}
                QuotaCheck::Unknown => {
                    if let Some(plan) = self.plan(now) {
                        match plan {
                            Plan::New { len, segments, fin } => {
                                self.new_data(now, len, segments, fin, out);
                            }
                            rare => *out = self.execute(now, &rare),
                        }
                        return true;
                    }
                }
            }
        }
        if self.rcv.must_ack_now() {
            self.pure_ack(now, out);
            return true;
        }
        let due = self.liveness.take_probe();
        if due {
            *out = self.keep_alive_probe(now);
        }
        due
    }

    /// A RST or a segment of the handshake.
    #[cold]
    #[inline(never)]
    fn next_unsynchronised(&mut self, now: Instant) -> Option<Transmit> {
        if let Some(seq) = self.pending_rst.take() {
            return Some(self.reset_segment(now, seq));
        }
        if self.state == State::Closed {
            return None;
        }
        let syn = self.syn_segment(now);
        // Segments that the handshake did not accept are answered (RFC 9293 §3.10.7.4).
        syn.or_else(|| {
            self.rcv.must_ack_now().then(|| {
                let mut ack = Transmit::default();
                self.pure_ack(now, &mut ack);
                ack
            })
        })
    }

    /// Builds the segment of any plan, by the slow path.
    #[cold]
    #[inline(never)]
    fn execute(&mut self, now: Instant, plan: &Plan) -> Transmit {
        match plan {
            Plan::New { len, segments, fin } => {
                let mut out = Transmit::default();
                self.new_data(now, *len, *segments, *fin, &mut out);
                out
            }
            Plan::Retransmit(sent) => {
                self.snd.board.move_high_rxt(sent.end());
                self.retransmission(now, sent)
            }
            Plan::Rescue(sent) => {
                // HighRxt is unchanged: segments below may still be missing.
                self.snd.episode.on_rescue();
                self.retransmission(now, sent)
            }
            Plan::TailLossProbe(tail) => self.send_loss_probe(now, tail),
            Plan::WindowProbe => self.window_probe(now),
        }
    }

    /// Checks the quota, and computes it first in the usual case: data is in flight, nothing is
    /// being repaired, and only windows limit the sender. These are the steps of [`Self::plan`]
    /// that have an effect then.
    #[inline]
    fn check_quota(&mut self, now: Instant) -> QuotaCheck {
        let mss = self.snd.mss;
        let check = self.snd.quota.check(mss);
        if check != QuotaCheck::Unknown {
            return check;
        }
        let snd = &self.snd;
        let usual = !snd.board.is_empty()
            && !snd.window_probe_due
            && !snd.episode.in_recovery()
            && snd.episode.dup_acks() == 0
            && !snd.recovery_ext.as_ref().is_some_and(|ext| ext.probe_is_due())
            && self.quota_applies();
        if usual {
            let data = snd.available().min(snd.usable_window());
            let in_flight = snd.board.pipe();
            let cwnd = self.send_window(in_flight);
            let room = cwnd.saturating_sub(in_flight);
            self.snd.quota = if self.config.tso_defer == 0 {
                SendQuota::new(mss, data, room)
            } else {
                // Time alone may end the wait, so each attempt decides anew.
                self.snd.quota = SendQuota::UNKNOWN;
                match self.quota_of_burst(now, room, cwnd) {
                    Ok(quota) => quota,
                    Err(limit) => {
                        self.snd.limited_by = limit;
                        self.timers.stop_persist();
                        return QuotaCheck::Deferred;
                    }
                }
            };
        }
        self.snd.quota.check(mss)
    }

    /// Sends full segments that the quota permits.
    #[inline]
    fn send_from_quota(&mut self, now: Instant, burst: u32, out: &mut Transmit) {
        let mss = self.snd.mss;
        let most = if self.header_repeats() { burst } else { 1 };
        let segments = self.snd.quota.take(mss, most);
        self.timers.stop_persist();
        self.new_data(now, u64::from(segments) * u64::from(mss), segments, false, out);
    }

    /// The quota for the next burst (switch `tso-defer`), or the limit if it is deferred.
    #[inline(never)]
    fn quota_of_burst(
        &mut self,
        now: Instant,
        room: u64,
        cwnd: u64,
    ) -> Result<SendQuota, LimitedBy> {
        let mss = self.snd.mss;
        let (available, window) = (self.snd.available(), self.snd.usable_window());
        let data = available.min(window);
        let opportunity = SendOpportunity { available, room, window, cwnd };
        if room < u64::from(mss) || data <= u64::from(mss) {
            return Ok(SendQuota::new(mss, data, room));
        }
        // After the burst the decision is made anew.
        let burst = u64::from(self.next_burst(now, opportunity)?) * u64::from(mss);
        Ok(SendQuota::new(mss, data.min(burst + 1), burst))
    }

    fn plan(&mut self, now: Instant) -> Option<Plan> {
        if core::mem::take(&mut self.snd.window_probe_due)
            && self.snd.board.is_empty()
            && self.snd.has_unsent()
        {
            cold_path();
            return Some(self.plan_window_probe());
        }
        // With nothing in flight no probe is due, so its state is not read.
        if !self.snd.board.is_empty()
            && let Some(ext) = &mut self.snd.recovery_ext
            && ext.take_probe()
            && let Some(tail) = self.plan_loss_probe()
        {
            return Some(Plan::TailLossProbe(tail));
        }
        if !self.snd.has_unsent() && !self.snd.episode.in_recovery() {
            self.set_app_limited();
            return None;
        }
        let plan = self.plan_unpaced(now);
        self.arm_persist(now, plan.is_some());
        if plan.is_some() && self.pacing_defers(now) { None } else { plan }
    }

    fn plan_unpaced(&mut self, now: Instant) -> Option<Plan> {
        let ca_open = self.in_ca_open();
        let (cwnd, in_flight) = if ca_open {
            (self.cc.as_ref().map_or(0, |cc| cc.cwnd()), self.snd.board.pipe())
        } else {
            let inflated = self.snd.prr().is_none() && self.snd.episode.in_newreno_recovery();
            let board = &self.snd.board;
            let in_flight = if inflated { board.flight_size() } else { board.pipe() };
            (self.send_window(in_flight), in_flight)
        };
        if self.snd.episode.frto_sends_new_data() {
            // At most two segments (RFC 5682 §2.1 step 2 b).
            let cwnd = cwnd.min(2 * u64::from(self.snd.mss));
            let plan = self.plan_new(now, cwnd, in_flight, ca_open);
            if plan.is_some() || !self.snd.episode.end_frto_without_data(self.snd.nxt) {
                return plan;
            }
        }
        if self.snd.episode.in_recovery()
            && !self.snd.episode.holds_retransmissions()
            && let Some(lost) = self.snd.board.next_lost()
        {
            if self.snd.episode.must_send_one()
                || in_flight + u64::from(lost.len) <= cwnd
                || (in_flight == 0 && self.small_window_permits(now))
            {
                return Some(Plan::Retransmit(lost));
            }
            self.snd.limited_by = LimitedBy::Cwnd;
            return None;
        }
        let plan = self.plan_new(now, cwnd, in_flight, ca_open);
        if plan.is_none()
            && self.snd.limited_by != LimitedBy::Cwnd
            && self.snd.episode.in_fast_recovery()
            && self.loss_detector() == LossDetector::Sack
        {
            return self.plan_hole(cwnd, in_flight);
        }
        plan
    }

    /// NextSeg rules 3 and 4 of RFC 6675 §4, when there is no new data to send. Rule 4 is applied
    /// once per episode. Deviation: it does not apply to a segment already retransmitted in this
    /// episode; otherwise a sender without more data would send every lost segment twice.
    #[cold]
    #[inline(never)]
    fn plan_hole(&mut self, cwnd: u64, in_flight: u64) -> Option<Plan> {
        let fits = |s: &TxSegment| in_flight + u64::from(s.len) <= cwnd;
        if let Some(hole) = self.snd.board.next_hole().filter(fits) {
            return Some(Plan::Retransmit(hole));
        }
        if self.snd.episode.is_rescued() {
            return None;
        }
        self.snd.board.last_unsacked().filter(fits).map(Plan::Rescue)
    }

    fn plan_new(&mut self, now: Instant, cwnd: u64, in_flight: u64, ca_open: bool) -> Option<Plan> {
        let mss = u64::from(self.snd.mss);
        let flight_size = self.snd.board.flight_size();
        let available = self.snd.available();
        let fin_alone = self.snd.nxt == self.snd.write_seq && self.snd.fin_queued;
        if available == 0 && !fin_alone {
            let waiting = self.snd.nxt < self.snd.write_seq;
            self.snd.limited_by =
                if waiting { LimitedBy::SendBuffer } else { LimitedBy::Application };
            return None;
        }
        let window = self.snd.usable_window();
        if fin_alone {
            cold_path();
            if window == 0 {
                self.snd.limited_by = LimitedBy::ReceiveWindow;
                return None;
            }
            return Some(Plan::New { len: 0, segments: 1, fin: true });
        }

        let want = available.min(mss);
        let len = want.min(window);
        // Silly-window avoidance (RFC 9293 §3.8.6.2.1 rule 3): send less than wanted only if it is
        // at least half of the peer's largest window. With Nagle, only with nothing in flight.
        if len < mss {
            let held = flight_size > 0 && self.config.nagle;
            if len < want && (len == 0 || len < self.snd.max_wnd / 2 || held) {
                self.snd.limited_by = LimitedBy::ReceiveWindow;
                return None;
            }
            let last = self.snd.nxt + len == self.snd.write_seq;
            let small_is_acked = self.snd.small_end <= self.snd.una;
            let minshall = self.config.nagle_rule == NagleRule::Minshall && small_is_acked;
            if held && !minshall && !(last && self.snd.fin_queued) {
                self.snd.limited_by = LimitedBy::Application;
                return None;
            }
            if self.snd.board.len() >= Sender::max_segments(&self.config) {
                cold_path();
                self.snd.limited_by = LimitedBy::SendBuffer;
                return None;
            }
        }
        let cwnd = if self.restart_after_idle(now) { self.cc.as_ref()?.cwnd() } else { cwnd };
        let room = if ca_open {
            cwnd.saturating_sub(in_flight)
        } else {
            self.cwnd_room(cwnd, in_flight, flight_size)
        };
        if room < len {
            self.snd.limited_by = LimitedBy::Cwnd;
            let permitted = in_flight == 0 && self.small_window_permits(now);
            let fin = permitted && self.fin_joins(len, window);
            return permitted.then_some(Plan::New { len, segments: 1, fin });
        }
        let (mut len, mut segments, mut most) = (len, 1, self.config.most_segments());
        let bursts = self.config.tso_defer > 0;
        if bursts && len == mss {
            let opportunity = SendOpportunity { available, room, window, cwnd };
            match self.next_burst(now, opportunity) {
                Ok(burst) => most = most.min(burst),
                Err(limit) => {
                    self.snd.limited_by = limit;
                    return None;
                }
            }
        }
        if ca_open && self.quota_applies() {
            if len == mss && !bursts {
                let (data, room) = (available.min(window).saturating_sub(mss), room - mss);
                self.snd.quota = SendQuota::new(self.snd.mss, data, room);
            }
        } else if most > 1 {
            let whole = available.min(window).min(room).min(self.config.largest_burst()) / mss;
            segments = whole.min(u64::from(most)).max(1) as u32;
            if segments > 1 {
                len = u64::from(segments) * mss;
            }
        }
        let fin = self.fin_joins(len, window);
        Some(Plan::New { len, segments, fin })
    }

    /// The next `len` bytes end the data, and the peer's window has room for the FIN after them.
    fn fin_joins(&self, len: u64, window: u64) -> bool {
        self.snd.fin_queued && self.snd.nxt + len == self.snd.write_seq && window > len
    }

    /// True if the next send decision depends only on data and windows, which each segment reduces
    /// by its length. A reduction by PRR permits a number of bytes, as a window does.
    fn quota_applies(&self) -> bool {
        self.config.tso_segments <= 1 && !self.snd.tsq_throttled && self.pacing_rate().is_none()
    }

    /// True if segments of new data sent now differ in their sequence numbers only.
    fn header_repeats(&self) -> bool {
        self.rcv.window_is_unchanged() && !self.ecn.cwr_is_due() && !self.has_extra_option
    }

    /// No loss is suspected or being repaired and no reduction is in progress: the congestion
    /// window is that of the congestion control.
    pub(super) fn in_ca_open(&self) -> bool {
        !self.snd.episode.in_recovery()
            && self.snd.episode.dup_acks() == 0
            && self.snd.prr().is_none()
    }

    /// Bytes of new data that the congestion window permits.
    fn cwnd_room(&self, cwnd: u64, in_flight: u64, flight_size: u64) -> u64 {
        let duplicates = self.snd.episode.dup_acks();
        let (cwnd, in_flight) = if duplicates == 0 || self.snd.episode.in_recovery() {
            (cwnd, in_flight)
        } else if !self.config.limited_transmit {
            (cwnd, flight_size)
        } else if !self.sack_ok && self.snd.prr().is_none() {
            // Without SACK each of the first two duplicates permits one segment (RFC 3042 §2). With
            // SACK the pipe shrinks, and PRR computes its own limit.
            (cwnd + u64::from(duplicates.min(2)) * u64::from(self.snd.mss), flight_size)
        } else {
            (cwnd, in_flight)
        };
        cwnd.saturating_sub(in_flight)
    }

    /// RFC 5681 §4.1: after an RTO without sending, the congestion window may no longer fit the
    /// path. True if the congestion control was notified.
    ///
    /// A connection that has sent nothing has its initial window, so only a smaller restart window
    /// changes it: FreeBSD counts the silence from the last segment that arrived (`t_rcvtime`).
    /// Here it is counted from the handshake, and a connection that received data is not idle.
    fn restart_after_idle(&mut self, now: Instant) -> bool {
        if !self.snd.board.is_empty() {
            return false;
        }
        let since = match self.snd.last_sent_at {
            None if self.config.restart_window.is_none() || self.rcv.has_data() => return false,
            None => self.snd.established_at(),
            Some(last) => last,
        };
        let idle = now.saturating_since(since);
        let rto = self.rtt.rto();
        let restart = self.config.idle_restart && idle > rto && !self.window_is_small();
        if restart {
            let rtos = (idle.as_ps().div_ceil(rto.as_ps().max(1)) - 1).min(64) as u32;
            let halvings = (self.config.idle_decay == IdleDecay::PerRto).then_some(rtos);
            self.notify_cc(&CongestionEvent::IdleRestart { now, idle, halvings });
            self.snd.last_sent_at = Some(now);
        }
        restart
    }

    /// Arms the persist timer if the window is (nearly) closed and nothing is in flight to elicit
    /// an ACK.
    fn arm_persist(&mut self, now: Instant, sending: bool) {
        let stuck = !sending
            && self.snd.board.is_empty()
            && self.snd.has_unsent()
            && self.snd.limited_by == LimitedBy::ReceiveWindow;
        if stuck {
            self.timers.start_persist(now + self.rtt.rto_backed_off(self.snd.window_probes));
        } else {
            self.timers.stop_persist();
        }
    }

    /// The persist timer fired: sends as many bytes as fit the window, or one byte beyond it.
    #[cold]
    #[inline(never)]
    fn plan_window_probe(&self) -> Plan {
        let window = self.snd.usable_window();
        let len = window
            .min(self.snd.write_seq - self.snd.nxt.min(self.snd.write_seq))
            .min(u64::from(self.snd.mss));
        if len > 0 { Plan::New { len, segments: 1, fin: false } } else { Plan::WindowProbe }
    }

    #[inline(never)]
    pub(crate) fn new_data(
        &mut self,
        now: Instant,
        len: u64,
        segments: u32,
        fin: bool,
        out: &mut Transmit,
    ) {
        let start = self.snd.nxt;
        let end = start + len;
        let last = end == self.snd.write_seq;
        // A FIN alone is not a data packet (RFC 3168 §6.1.4).
        let class = if len > 0 { PacketClass::NewData } else { PacketClass::Control };
        self.put_header(now, self.snd.seq(start), class, out);
        if self.has_extra_option {
            let payload = len.min(u64::from(self.snd.mss)) as u32;
            self.put_extra_option(now, class, payload, &mut out.header);
        }
        let header = &mut out.header;
        header.payload_len = len as u32;
        if last && len > 0 {
            header.flags |= Flags::PSH;
            if len < u64::from(segments) * u64::from(self.snd.mss) {
                self.snd.small_end = end;
            }
        }
        if end == self.snd.burst_end && self.snd.burst_push {
            header.flags |= Flags::PSH;
        }
        if fin {
            cold_path();
            header.flags |= Flags::FIN;
        }
        if len > 0 && self.ecn.take_cwr() {
            header.flags |= Flags::CWR;
            if let Some(decoder) = self.decoder.as_mut() {
                decoder.on_cwr_sent(end);
            }
        }
        if self.snd.board.is_empty() {
            self.snd.delivered_at = now;
            self.snd.prepare_recovery(&self.config);
            if let Some(rate) = &self.snd.rate {
                let app_limited = rate.is_app_limited();
                self.notify_cc(&CongestionEvent::TransmitStart { now, app_limited });
            }
        }
        if segments > 1 {
            self.note_burst(now, end, fin);
        } else {
            self.note_sent(now, start, (len + u64::from(fin)) as u32);
        }
        self.snd.nxt = end + u64::from(fin);
        self.snd.fin_sent |= fin;
        if self.snd.episode.dup_acks() > 0 && !self.snd.episode.in_recovery() {
            cold_path();
            self.snd.limited_transmit_bytes += len;
        }
        self.snd.window_probe_end = None;
        self.snd.window_probes = 0;
        self.rcv.on_data_sent(now);
        self.sent_data(now, len as u32);
        if self.snd.recovery_ext.is_some() {
            self.rearm_loss_probe(now, true);
        }
        self.complete(start..end, segments, out);
    }

    /// Adds one segment of new data to the scoreboard.
    fn note_sent(&mut self, now: Instant, start: u64, len: u32) {
        if let Some(rate) = &mut self.snd.rate {
            let in_flight = self.snd.board.pipe() + u64::from(len);
            rate.on_sent(now, start + u64::from(len), in_flight, self.snd.board.is_empty());
        }
        self.snd.board.push(start, len, now);
        if self.snd.window_probe_end.is_some_and(|probed| start < probed) {
            cold_path();
            self.snd.board.mark_ambiguous();
        }
        self.counters.data_segs_out += 1;
    }

    /// Adds the segments from SND.NXT to `end`, which leave in one send.
    #[inline(never)]
    fn note_burst(&mut self, now: Instant, end: u64, fin: bool) {
        let mss = u64::from(self.snd.mss);
        let mut at = self.snd.nxt;
        while at < end {
            let piece = (end - at).min(mss);
            let with_fin = u64::from(fin && at + piece == end);
            self.note_sent(now, at, (piece + with_fin) as u32);
            at += piece;
        }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn retransmission(&mut self, now: Instant, sent: &TxSegment) -> Transmit {
        let payload_end = sent.end().min(self.snd.write_seq);
        let len = payload_end.saturating_sub(sent.start);
        let class = PacketClass::Retransmission;
        let mut header = self.segment(now, self.snd.seq(sent.start), class, len as u32);
        header.payload_len = len as u32;
        if sent.end() > self.snd.write_seq {
            header.flags |= Flags::FIN;
        }
        if payload_end == self.snd.write_seq && len > 0 {
            header.flags |= Flags::PSH;
        }
        self.snd.board.on_retransmit(sent.start, sent.end(), now);
        if let Some(rate) = &mut self.snd.rate {
            rate.on_retransmitted(now, sent.start, sent.end(), self.snd.board.pipe());
        }
        let stamp = header.options.timestamps.map(|stamps| stamps.value);
        self.snd.eifel.on_retransmit(self.snd.una, sent.end(), stamp);
        self.snd.episode.on_retransmit();
        self.counters.data_segs_out += 1;
        self.counters.bytes_retrans += len;
        self.sent_data(now, header.payload_len);
        let is_head = sent.start == self.snd.una;
        if is_head && self.config.resend_restarts_rto && !self.timers.reorder_runs() {
            self.timers.arm_rto(now, &self.rtt);
        }
        self.transmit(header, sent.start..payload_end, 1)
    }

    /// One byte of new data beyond the window (RFC 9293 §3.8.6.1). SND.NXT is unchanged: the byte
    /// counts as sent only if the peer accepts it.
    ///
    /// If only a FIN is left to send, the probe is empty and repeats the last sequence number,
    /// which also elicits an ACK (as in Linux, whose every probe is empty). The peer would reject a
    /// FIN sent into the closed window, and the FIN would wait for the retransmission timer after
    /// the window had opened.
    #[cold]
    #[inline(never)]
    fn window_probe(&mut self, now: Instant) -> Transmit {
        let start = self.snd.nxt;
        if start >= self.snd.write_seq || self.config.window_probe == WindowProbe::Empty {
            let header = self.segment(now, self.snd.old_seq(), PacketClass::Control, 0);
            return self.control_segment(header);
        }
        let mut header = self.segment(now, self.snd.seq(start), PacketClass::Control, 1);
        header.payload_len = 1;
        let end = start + 1;
        self.snd.window_probe_end = Some(end);
        self.transmit(header, start..end, 1)
    }

    /// Data was sent: starts the retransmission timer (RFC 6298 §5.1) and advances the pacer.
    #[expect(clippy::inline_always, reason = "every data segment takes this path")]
    #[inline(always)]
    fn sent_data(&mut self, now: Instant, payload: u32) {
        self.snd.last_sent_at = Some(now);
        self.snd.limited_by = LimitedBy::Application;
        if let Some(prr) = self.snd.prr_mut() {
            prr.on_sent(u64::from(payload));
        }
        self.timers.start_rto(now, &self.rtt);
        if !self.snd.quota.unpaced {
            self.advance_pacer(now, payload);
        }
    }
}
