//! The receiver: RCV.NXT, the advertised window, SACK blocks, and the pending ACK.
//!
//! Decides what must be acknowledged at once (a gap, the filling of one, a duplicate, FIN, a window
//! that opens). An [`AckPolicy`] may acknowledge earlier. Offsets count payload bytes; the FIN
//! counts one.

use alloc::boxed::Box;
use core::ops::Range;

use lowtide_units::{Duration, Instant};
use lowtide_wire::{Ecn, Flags, Segment, SeqNum};

use super::reassembly::Reassembly;
use super::tuning::{AfterArrival, Arrival, BufferTuner};
use crate::ack::{AckAction, AckPolicy, CeSample, RxSample};
use crate::settings::config::{Config, FinAck};

mod blocks;

/// The new bytes of an arriving segment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Accepted {
    /// Stream offsets of the bytes to keep; empty if there are none.
    pub stream: Range<u64>,
    /// Number of leading payload bytes of the segment to skip.
    pub skip: u32,
}

/// An ACK with an older number and echo that must be sent first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SplitAck {
    pub(crate) upto: u64,
    pub(crate) echo: bool,
}

/// Result of placing a segment's payload.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
#[derive(Debug)]
struct PlacedSegment {
    accepted: Accepted,
    has_new: bool,
    in_order: bool,
    duplicate: bool,
    /// The segment must be acknowledged at once.
    immediate: bool,
}

/// State of the switch `pingpong`.
#[derive(Debug)]
struct Pingpong {
    /// Data sent within this time after data arrived answers it.
    within: Duration,
    last_data: Option<Instant>,
    answers: bool,
}

#[derive(Debug)]
#[repr(C)]
pub(crate) struct Receiver {
    // Fields in the order of use: first those that every segment touches.
    /// RCV.NXT.
    pub(super) nxt: u64,
    /// The advertised right edge of the window; it never moves left.
    right_edge: u64,
    /// Last.ACK.sent of RFC 7323 §4.3.
    pub(super) last_ack_sent: u64,
    consumed: u64,
    buffer: u64,
    /// Payload bytes received, duplicates included.
    received_bytes: u64,
    policy: Option<Box<dyn AckPolicy>>,
    ack_deadline: Instant,
    /// Arrival time of the data whose ACK is delayed.
    ack_since: Instant,
    irs: SeqNum,
    mss: u32,
    /// The window of the last segment, while it is unchanged: no data has arrived since the
    /// handshake, and no ACK is pending.
    window_unchanged: Option<u16>,
    rcv_wscale: u8,
    ack_pending: bool,
    ack_now: bool,
    /// The delayed-ACK timer has fired, and the ACK was not sent yet.
    timer_fired: bool,
    dsack_on: bool,
    /// Offset of the peer's FIN once received, in order or not.
    fin_at: Option<u64>,
    split: Option<SplitAck>,
    /// After the split ACK the rest is not due, but delayed.
    split_only: bool,
    reassembly: Reassembly,
    /// Payload bytes received with CE.
    received_ce_bytes: u64,
    dsack: Option<(u64, u64)>,
    /// The data whose ACK is pending ends with PSH or in a short segment.
    pushed: bool,
    push_acks: bool,
    window_growth_acks: bool,
    /// The mode of answers, if it is tracked.
    pingpong: Option<Pingpong>,
    /// Time that the ACK of a FIN without data waits; `None` for no time.
    fin_ack_wait: Option<Duration>,
    /// ACKs sent by the delayed-ACK timer.
    delack_timeouts: u32,
    /// Sum of the delays of these ACKs.
    delack_time: Duration,
    /// Tunes the size of the buffer, if it is not fixed.
    tuner: Option<Box<BufferTuner>>,
}

impl Receiver {
    pub(crate) fn new(config: &Config) -> Self {
        let tuner = BufferTuner::new(config).map(Box::new);
        let buffer = tuner.as_ref().map_or(config.receive_buffer.as_u64(), |t| t.size());
        Self {
            tuner,
            irs: SeqNum::new(0),
            nxt: 0,
            consumed: 0,
            last_ack_sent: 0,
            buffer,
            right_edge: 0,
            rcv_wscale: 0,
            mss: 536,
            reassembly: Reassembly::default(),
            dsack_on: config.dsack,
            dsack: None,
            fin_ack_wait: (config.fin_ack == FinAck::Delayed).then_some(config.delack_timer),
            fin_at: None,
            policy: None,
            pushed: false,
            push_acks: config.push_acks,
            pingpong: config.pingpong.then_some(Pingpong {
                within: config.delack_timer,
                last_data: None,
                answers: false,
            }),
            window_growth_acks: config.window_growth_acks,
            ack_pending: false,
            ack_now: false,
            timer_fired: false,
            delack_timeouts: 0,
            ack_deadline: Instant::FAR_FUTURE,
            ack_since: Instant::ZERO,
            delack_time: Duration::ZERO,
            split: None,
            split_only: false,
            received_ce_bytes: 0,
            received_bytes: 0,
            window_unchanged: None,
        }
    }

    /// The window scale that allows a 16-bit window to cover the whole buffer, at most 14 (RFC 7323
    /// §2.3).
    pub(crate) const fn scale_for(buffer: u64) -> u8 {
        let mut shift = 0;
        while shift < 14 && (buffer >> shift) > 65_535 {
            shift += 1;
        }
        shift
    }

    /// Sets IRS from the peer's SYN, and our window scale from now on.
    pub(crate) const fn synchronise(&mut self, irs: SeqNum, shift: u8) {
        self.irs = irs;
        self.rcv_wscale = shift;
    }

    /// Sets the MSS and the ACK policy at the end of the handshake.
    pub(crate) fn establish(&mut self, now: Instant, mss: u32, policy: Box<dyn AckPolicy>) {
        self.mss = mss;
        self.policy = Some(policy);
        if let Some(tuner) = &mut self.tuner {
            tuner.on_established(now, mss);
            self.buffer = tuner.size();
        }
    }

    /// Returns whether the size of the buffer is tuned.
    pub(crate) const fn is_tuned(&self) -> bool {
        self.tuner.is_some()
    }

    /// The size of the buffer, bytes.
    pub(crate) const fn buffer(&self) -> u64 {
        self.buffer
    }

    /// Bytes that the application has read.
    pub(crate) const fn consumed(&self) -> u64 {
        self.consumed
    }

    /// Tunes the buffer after a segment with data was processed; `None`: it was refused.
    pub(crate) fn tune(&mut self, arrival: Option<&Arrival>) {
        let after = AfterArrival {
            nxt: self.nxt,
            top: self.reassembly.top(),
            window: self.right_edge.saturating_sub(self.last_ack_sent),
        };
        if let Some(tuner) = &mut self.tuner {
            match arrival {
                Some(arrival) => tuner.on_data(arrival, &after),
                None => tuner.on_refused(),
            }
            let grown = tuner.size() > self.buffer;
            self.buffer = tuner.size();
            if grown && self.window_growth_acks && self.ack_pending {
                self.schedule_ack_now();
            }
        }
    }

    /// Sequence number of a payload offset.
    pub(crate) const fn seq(&self, offset: u64) -> SeqNum {
        self.irs.add(1).add(offset)
    }

    /// Returns true if payload has arrived.
    #[inline]
    pub(crate) const fn has_data(&self) -> bool {
        self.received_bytes > 0
    }

    /// RCV.NXT.
    #[inline]
    pub(crate) const fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Sequence number of RCV.NXT, which an ACK of everything received carries.
    #[inline]
    pub(crate) const fn next_seq(&self) -> SeqNum {
        self.seq(self.nxt)
    }

    /// Payload bytes received, duplicates included.
    pub(crate) const fn received_bytes(&self) -> u64 {
        self.received_bytes
    }

    /// Payload bytes received with CE.
    pub(crate) const fn received_ce_bytes(&self) -> u64 {
        self.received_ce_bytes
    }

    /// ACKs sent by the delayed-ACK timer.
    pub(crate) const fn delack_timeouts(&self) -> u32 {
        self.delack_timeouts
    }

    /// Sum of the delays of the ACKs sent by the delayed-ACK timer.
    pub(crate) const fn delack_time(&self) -> Duration {
        self.delack_time
    }

    /// Payload offset of a sequence number, the one nearest to RCV.NXT; negative before the stream.
    pub(crate) fn offset(&self, seq: SeqNum) -> i64 {
        self.nxt as i64 + i64::from(seq.diff(self.seq(self.nxt)))
    }

    /// Returns the window field of a segment sent now, and advances the advertised right edge.
    ///
    /// Silly-window avoidance: the edge moves by at least one segment or half the buffer (RFC 9293
    /// §3.8.6.2.2).
    pub(crate) fn advertise_window(&mut self, on_syn: bool) -> u16 {
        self.advertise_window_from(self.nxt, on_syn)
    }

    /// [`Self::advertise_window`] for a segment that acknowledges up to `ack` only.
    pub(crate) fn advertise_window_from(&mut self, ack: u64, on_syn: bool) -> u16 {
        let target = self.target();
        if target >= self.right_edge + (self.buffer / 2).min(u64::from(self.mss)).max(1) {
            self.right_edge = target;
        }
        let window = self.right_edge.saturating_sub(ack);
        // The window of a SYN is never scaled (RFC 7323 §2.2).
        let shift = if on_syn { 0 } else { self.rcv_wscale };
        let field = (window >> shift).min(65_535) as u16;
        if on_syn {
            self.right_edge = self.nxt + u64::from(field);
        }
        field
    }

    /// The largest window that the field can represent.
    const fn max_window(&self) -> u64 {
        65_535 << self.rcv_wscale
    }

    /// The largest possible right edge: the whole free buffer, limited by the window field.
    fn target(&self) -> u64 {
        let unread = self.nxt.saturating_sub(self.consumed);
        self.nxt + self.buffer.saturating_sub(unread).min(self.max_window())
    }

    fn window(&self) -> u64 {
        self.right_edge.saturating_sub(self.nxt)
    }

    /// The acceptability test of RFC 9293 §3.4 over `[start, start + len)`.
    ///
    /// Deviation: a segment without payload may also start at the right edge itself. A sender that
    /// has used up the window sends its ACKs there. If they were rejected while its data is in
    /// flight or lost, two such ends would answer each other's ACKs forever. Linux (tcp_sequence)
    /// and FreeBSD accept them too.
    pub(crate) fn acceptable(&self, start: i64, len: u32) -> bool {
        let (nxt, wnd) = (self.nxt as i64, self.window() as i64);
        let end = start + i64::from(len);
        match (len, wnd) {
            (0, _) => (nxt..=nxt + wnd).contains(&start),
            // No data fits, but the ACK on such a segment still counts; the caller handles it.
            (_, 0) => false,
            _ => (nxt..nxt + wnd).contains(&start) || (nxt..nxt + wnd).contains(&(end - 1)),
        }
    }

    /// Returns whether the offset is old by at most one window, so that the segment may have been
    /// in flight.
    pub(crate) const fn is_recent(&self, offset: i64) -> bool {
        let age = self.nxt as i64 - offset;
        0 < age && age <= self.buffer as i64
    }

    /// Returns whether the segment carries exactly the next expected data and nothing else.
    #[expect(clippy::inline_always, reason = "every segment comes this way")]
    #[inline(always)]
    pub(crate) fn is_next_in_order(&self, seg: &Segment) -> bool {
        seg.payload_len > 0
            && seg.seq == self.seq(self.nxt)
            && !seg.flags.contains(Flags::FIN)
            && self.fin_at.is_none()
            && !self.reassembly.has_gap()
            && self.nxt + u64::from(seg.payload_len) <= self.right_edge
    }

    /// Accepts the payload and FIN of an acceptable segment that has either.
    pub(crate) fn on_segment(&mut self, now: Instant, seg: &Segment) -> Accepted {
        if self.is_next_in_order(seg) {
            return self.on_in_order(now, seg);
        }
        let (start, before) = (self.offset(seg.seq), self.nxt);
        let fin = seg.flags.contains(Flags::FIN);
        let placed = self.place_segment(start, i64::from(seg.payload_len), fin);
        if let Some(wait) = self.fin_ack_wait
            && self.finished()
            && before > 0
            && self.nxt == before + 1
        {
            // FIN without new data, in order. Its ACK reports no duplicates.
            self.dsack = None;
            self.window_unchanged = None;
            self.received_bytes += u64::from(seg.payload_len);
            self.schedule_ack(now, wait);
            return placed.accepted;
        }
        self.decide_ack(now, seg, before, &placed);
        placed.accepted
    }

    /// [`Self::on_segment`] for an expected segment ([`Self::is_next_in_order`]).
    #[expect(clippy::inline_always, reason = "every segment comes this way")]
    #[inline(always)]
    pub(crate) fn on_in_order(&mut self, now: Instant, seg: &Segment) -> Accepted {
        let before = self.nxt;
        self.nxt = before + u64::from(seg.payload_len);
        let placed = PlacedSegment {
            accepted: Accepted { stream: before..self.nxt, skip: 0 },
            has_new: true,
            in_order: true,
            duplicate: false,
            immediate: false,
        };
        self.decide_ack(now, seg, before, &placed);
        placed.accepted
    }

    /// Decides whether and when the segment is acknowledged; `before` is RCV.NXT at its arrival.
    #[inline]
    fn decide_ack(&mut self, now: Instant, seg: &Segment, before: u64, placed: &PlacedSegment) {
        self.window_unchanged = None;
        self.received_bytes += u64::from(seg.payload_len);
        if seg.ecn == Ecn::Ce {
            self.received_ce_bytes += u64::from(seg.payload_len);
        }
        if self.push_acks || self.pingpong.is_some() {
            self.note_pushed(now, seg);
        }
        let prior_echo = self.ack_pending && self.echo();
        let sample = RxSample {
            now,
            in_order: placed.in_order,
            duplicate: placed.duplicate,
            segments: seg.segments(),
            payload: seg.payload_len,
            // A FIN without data may be ECT (RFC 8257 §3.6), but only marks on data count.
            ect: seg.payload_len > 0 && seg.ecn.is_capable(),
            // Data outside the window does not show the current state of the path (RFC 3168
            // §6.1.5).
            ce: seg.ecn == Ecn::Ce && placed.has_new,
            cwr: seg.flags.contains(Flags::CWR),
            ack_pending: self.ack_pending,
            prior_rcv_nxt: before,
        };
        let action = self.policy.as_mut().map_or(AckAction::Now, |p| p.on_data(&sample));
        match action {
            AckAction::Delay(wait) if !placed.immediate => self.schedule_ack(now, wait),
            AckAction::SplitAt { prior_rcv_nxt: prior } if self.ack_pending => {
                self.split = Some(SplitAck { upto: prior, echo: prior_echo });
                self.schedule_ack_now();
            }
            AckAction::OldEcho { prior_rcv_nxt: prior, wait } if self.ack_pending => {
                self.split = Some(SplitAck { upto: prior, echo: prior_echo });
                let delayed = !placed.immediate && !self.ack_now;
                self.schedule_ack_now();
                if delayed {
                    self.ack_deadline = now + wait;
                    self.ack_since = now;
                    self.split_only = true;
                }
            }
            _ => self.schedule_ack_now(),
        }
    }

    /// Records whether a read of this data acknowledges it, and when it arrived. A FIN with data
    /// enters the mode of answers (Linux `tcp_fin`).
    #[inline(never)]
    fn note_pushed(&mut self, now: Instant, seg: &Segment) {
        let fin = seg.flags.contains(Flags::FIN);
        if let Some(mode) = &mut self.pingpong {
            mode.last_data = Some(now);
        }
        let ends = seg.flags.contains(Flags::PSH) || seg.payload_len < self.mss;
        self.pushed |= self.push_acks && ends && seg.payload_len > 0 && !fin && !self.answers();
    }

    /// New data was sent. As an answer to data that arrived within the time of a delayed ACK it
    /// ends the ACKs that are not delayed (Linux `tcp_event_data_sent`).
    #[inline]
    pub(crate) fn on_data_sent(&mut self, now: Instant) {
        if self.pingpong.is_some() {
            self.note_answer(now);
        }
    }

    #[inline(never)]
    fn note_answer(&mut self, now: Instant) {
        if let Some(mode) = &mut self.pingpong
            && !mode.answers
            && mode.last_data.is_some_and(|at| now.saturating_since(at) < mode.within)
        {
            self.set_answers(true);
        }
    }

    fn answers(&self) -> bool {
        self.pingpong.as_ref().is_some_and(|mode| mode.answers)
    }

    #[cold]
    fn set_answers(&mut self, answers: bool) {
        if let Some(mode) = &mut self.pingpong {
            mode.answers = answers;
        }
        if let Some(policy) = self.policy.as_mut() {
            policy.on_pingpong(answers);
        }
    }

    /// Places a segment of any kind: `len` bytes from offset `start`, then an optional FIN.
    #[inline(never)]
    fn place_segment(&mut self, start: i64, len: i64, fin: bool) -> PlacedSegment {
        let before = self.nxt;
        // Trim to the window: data below RCV.NXT is old, data beyond the right edge does not fit.
        let fin_offset = start + len;
        let new_start = start.max(before as i64) as u64;
        let mut new_end = (start + len).max(before as i64) as u64;
        // No data may follow a FIN.
        let limit = self.fin_at.map_or(self.right_edge, |f| f.min(self.right_edge));
        new_end = new_end.min(limit.max(before));
        let has_new = new_end > new_start;
        let immediate;
        let mut duplicate = len > 0 && !has_new;
        let mut in_order = false;
        if len > 0 && start < before as i64 && self.dsack_on {
            let old_start = start.max(0) as u64;
            let old_end = (start + len).clamp(0, before as i64) as u64;
            self.dsack = (old_start < old_end).then_some((old_start, old_end));
        }
        let mut accepted = Accepted::default();
        if has_new {
            let had_gap = self.reassembly.has_gap();
            // Of several parts that were held, the first is reported (RFC 2883 §4.2.2, §4.2.3).
            if self.dsack_on
                && start >= before as i64
                && let Some(again) = self.reassembly.first_held(new_start, new_end)
            {
                self.dsack = Some(again);
            }
            let placed = self.reassembly.insert(&mut self.nxt, new_start, new_end);
            in_order = placed.advanced;
            duplicate = placed.duplicate;
            // RFC 5681 §4.2: at once for out-of-order data and for data that fills a gap.
            immediate = had_gap || !placed.advanced;
            if !placed.duplicate && !placed.refused {
                accepted = Accepted {
                    stream: new_start..new_end,
                    skip: (new_start as i64 - start) as u32,
                };
            }
        } else {
            immediate = true;
        }
        if fin
            && fin_offset >= before as i64
            && self.fin_at.is_none()
            && fin_offset as u64 <= self.right_edge
        {
            // A FIN below data already held is invalid and is ignored.
            if self.reassembly.top().is_none_or(|top| top <= fin_offset as u64) {
                self.fin_at = Some(fin_offset as u64);
            }
        }
        let fin_now = self.fin_at == Some(self.nxt);
        if fin_now {
            self.nxt += 1;
            self.right_edge = self.right_edge.max(self.nxt);
        }
        PlacedSegment { accepted, has_new, in_order, duplicate, immediate: immediate || fin_now }
    }

    fn schedule_ack(&mut self, now: Instant, wait: Duration) {
        if !self.ack_pending {
            self.ack_deadline = now + wait;
            self.ack_since = now;
        }
        self.ack_pending = true;
    }

    pub(crate) const fn schedule_ack_now(&mut self) {
        self.window_unchanged = None;
        self.ack_pending = true;
        self.ack_now = true;
        self.split_only = false;
    }

    /// Clears the pending ACK.
    pub(crate) const fn clear_pending_ack(&mut self) {
        self.ack_pending = false;
        self.ack_now = false;
        self.timer_fired = false;
        self.pushed = false;
        self.ack_deadline = Instant::FAR_FUTURE;
        self.split = None;
    }

    /// Returns whether the peer's FIN has arrived, in order or not.
    #[inline]
    pub(crate) const fn has_fin(&self) -> bool {
        self.fin_at.is_some()
    }

    /// Returns whether the peer's FIN and all data before it have arrived.
    pub(crate) fn finished(&self) -> bool {
        self.fin_at.is_some_and(|f| self.nxt > f)
    }

    /// In-order payload bytes that the application may read.
    pub(crate) fn readable_upto(&self) -> u64 {
        if self.finished() { self.nxt - 1 } else { self.nxt }
    }

    /// Records that the application read `n` bytes. Returns whether the window opened enough for a
    /// window update.
    pub(crate) fn read(&mut self, n: u64) -> bool {
        self.consumed = (self.consumed + n).min(self.readable_upto());
        (self.pushed && self.unread() == 0)
            || self.opens_window(self.target().saturating_sub(self.right_edge))
    }

    /// [`Self::read`] of everything, before the peer's FIN has arrived.
    #[inline]
    pub(crate) fn read_all(&mut self) -> bool {
        self.consumed = self.nxt;
        if self.pushed {
            return true;
        }
        let free = self.buffer.min(self.max_window());
        self.opens_window(free.saturating_sub(self.window()))
    }

    /// Returns whether a window update is due if the right edge can move by `gain`.
    #[inline]
    fn opens_window(&self, gain: u64) -> bool {
        let threshold = u64::from(self.mss).min(self.buffer / 2);
        gain > 0
            && (gain >= self.buffer.min(self.max_window()) / 2
                || (gain >= threshold && self.window() < threshold))
    }

    pub(crate) fn unread(&self) -> u64 {
        self.readable_upto().saturating_sub(self.consumed)
    }

    /// Passes the CE packets of an accepted segment to the policy (AccECN). Returns whether the
    /// policy requests an immediate ACK.
    pub(crate) fn on_ce_packets(&mut self, ce: u32, data: bool) -> bool {
        self.window_unchanged = None;
        let marks = CeSample { ce, data, ack_pending: self.ack_pending };
        self.policy.as_mut().is_some_and(|p| p.on_ce_sample(&marks))
    }

    /// Returns whether received data is not yet acknowledged.
    pub(crate) const fn ack_pending(&self) -> bool {
        self.ack_pending
    }

    pub(crate) fn echo(&self) -> bool {
        self.policy.as_ref().is_some_and(|p| p.echo())
    }

    /// Takes the ACK that precedes the pending one, which is then due at once, or delayed after an
    /// old echo.
    pub(crate) const fn take_split(&mut self) -> Option<SplitAck> {
        let split = self.split.take();
        if let Some(split) = &split
            && self.split_only
        {
            self.split_only = false;
            self.ack_now = false;
            self.last_ack_sent = split.upto;
        }
        split
    }

    pub(crate) const fn must_ack_now(&self) -> bool {
        self.ack_now
    }

    pub(crate) const fn ack_deadline(&self) -> Instant {
        self.ack_deadline
    }

    /// Handles the delayed-ACK timer.
    pub(crate) fn on_ack_timer(&mut self, now: Instant) {
        if self.ack_pending && self.ack_deadline <= now {
            if !self.ack_now {
                self.timer_fired = true;
                if self.answers() {
                    self.set_answers(false);
                }
                self.delack_timeouts += 1;
                self.delack_time += now.saturating_since(self.ack_since);
            }
            self.ack_now = true;
        }
    }

    /// Returns whether only the delayed-ACK timer made the ACK due.
    pub(crate) const fn released_by_timer(&self) -> bool {
        self.timer_fired
    }

    /// Returns the window and echo of a segment that is sent now and acknowledges everything up to
    /// RCV.NXT.
    #[inline]
    pub(crate) fn acknowledge(&mut self, now: Instant) -> (u16, bool) {
        match self.window_unchanged {
            Some(window) => (window, false),
            None => self.acknowledge_slow(now),
        }
    }

    /// True if the next segment repeats the window of the last one, and no ACK is pending.
    pub(crate) const fn window_is_unchanged(&self) -> bool {
        self.window_unchanged.is_some()
    }

    /// Forces the next segment to recompute its window and echo.
    #[cfg(test)]
    pub(crate) const fn force_slow_path(&mut self) {
        self.window_unchanged = None;
    }

    #[inline(never)]
    fn acknowledge_slow(&mut self, now: Instant) -> (u16, bool) {
        let (window, echo) = (self.advertise_window(false), self.echo());
        self.last_ack_sent = self.nxt;
        self.clear_pending_ack();
        if let Some(policy) = self.policy.as_mut() {
            policy.on_ack_sent(now);
            if let Some(tuner) = &mut self.tuner {
                tuner.on_ack_sent(now);
            }
            let silent = self.nxt == 0 && self.received_bytes == 0 && self.fin_at.is_none();
            self.window_unchanged = (silent && !echo).then_some(window);
        }
        (window, echo)
    }

    /// Sets the size of the receive buffer, or the limit of a tuned one.
    #[cold]
    pub(crate) fn set_buffer(&mut self, bytes: u64) {
        self.buffer = bytes.max(1);
        if let Some(tuner) = &mut self.tuner {
            tuner.set_limit(self.buffer);
            self.buffer = tuner.size();
        }
        self.window_unchanged = None;
    }

    /// Discards data beyond the first gap.
    #[cold]
    pub(crate) fn discard_out_of_order(&mut self) {
        self.reassembly.clear();
    }

    /// Heap memory, bytes.
    pub(crate) fn heap(&self) -> usize {
        self.policy.as_deref().map_or(0, size_of_val)
            + self.tuner.as_deref().map_or(0, size_of_val)
            + self.reassembly.heap()
    }
}
