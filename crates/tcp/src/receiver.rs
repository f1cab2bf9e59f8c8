//! The receiving half: RCV.NXT, the window that is offered, SACK blocks, and the ACK that is owed.
//!
//! Decides what must be acknowledged at once (a gap, the filling of one, a duplicate, FIN, a window
//! that opens); an [`AckPolicy`] may ask for sooner. Offsets count payload bytes; the FIN counts one.

use alloc::boxed::Box;
use core::ops::Range;

use lowtide_units::{Duration, Instant};
use lowtide_wire::{Ecn, Flags, Segment, SeqNum};

use crate::ack::{AckAction, AckPolicy, CeSample, RxSample};
use crate::reassembly::Reassembly;

mod blocks;

/// Which of an arriving segment's bytes are new, and where they belong.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Accepted {
    /// Offsets in the stream of the bytes to keep; empty when there is nothing to keep.
    pub stream: Range<u64>,
    /// How many leading payload bytes of the segment to skip.
    pub skip: u32,
}

/// An acknowledgement with an older number and echo that must go out first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SplitAck {
    pub(crate) upto: u64,
    pub(crate) echo: bool,
}

/// What became of an arriving segment's payload.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
#[derive(Debug)]
struct PlacedSegment {
    accepted: Accepted,
    has_new: bool,
    in_order: bool,
    duplicate: bool,
    /// It must be acknowledged at once.
    immediate: bool,
}

#[derive(Debug)]
#[repr(C)]
pub(crate) struct Receiver {
    // In the order of use: what every segment touches stands together, what few do comes last.
    /// RCV.NXT.
    pub(crate) nxt: u64,
    /// The right edge that was promised; it never moves left.
    right_edge: u64,
    /// Last.ACK.sent of RFC 7323 §4.3.
    pub(crate) last_ack_sent: u64,
    consumed: u64,
    buffer: u64,
    pub(crate) received_bytes: u64,
    policy: Option<Box<dyn AckPolicy>>,
    ack_deadline: Instant,
    /// When the data came whose ACK waits for the deadline.
    ack_since: Instant,
    irs: SeqNum,
    mss: u32,
    /// The window that the last segment offered, while no data has come since the handshake and nothing
    /// else is to be said: the next one says the same.
    window_unchanged: Option<u16>,
    rcv_wscale: u8,
    ack_pending: bool,
    ack_now: bool,
    /// The delayed-ACK timer has fired and the ACK is not out yet.
    timer_fired: bool,
    dsack_on: bool,
    /// Offset of the peer's FIN, once seen, in order or not.
    fin_at: Option<u64>,
    split: Option<SplitAck>,
    reassembly: Reassembly,
    /// Payload bytes that came with CE; all payload bytes that came, duplicates included.
    pub(crate) marked_bytes: u64,
    dsack: Option<(u64, u64)>,
    /// ACKs that the timer released.
    pub(crate) delack_timeouts: u32,
    /// How long ACKs waited that the timer released, all together.
    pub(crate) delack_time: Duration,
}

impl Receiver {
    pub(crate) fn new(buffer: u64, dsack_on: bool) -> Self {
        Self {
            irs: SeqNum::new(0),
            nxt: 0,
            consumed: 0,
            last_ack_sent: 0,
            buffer,
            right_edge: 0,
            rcv_wscale: 0,
            mss: 536,
            reassembly: Reassembly::default(),
            dsack_on,
            dsack: None,
            fin_at: None,
            policy: None,
            ack_pending: false,
            ack_now: false,
            timer_fired: false,
            delack_timeouts: 0,
            ack_deadline: Instant::FAR_FUTURE,
            ack_since: Instant::ZERO,
            delack_time: Duration::ZERO,
            split: None,
            marked_bytes: 0,
            received_bytes: 0,
            window_unchanged: None,
        }
    }

    /// The shift that lets 16 bits offer the whole buffer, at most 14 (RFC 7323 §2.3).
    pub(crate) const fn scale_for(buffer: u64) -> u8 {
        let mut shift = 0;
        while shift < 14 && (buffer >> shift) > 65_535 {
            shift += 1;
        }
        shift
    }

    /// The peer's SYN arrived; our windows are shifted by that much from here on.
    pub(crate) const fn synchronise(&mut self, irs: SeqNum, shift: u8) {
        self.irs = irs;
        self.rcv_wscale = shift;
    }

    /// The handshake is over.
    pub(crate) fn establish(&mut self, mss: u32, policy: Box<dyn AckPolicy>) {
        self.mss = mss;
        self.policy = Some(policy);
    }

    /// Sequence number of a payload offset.
    pub(crate) const fn seq(&self, offset: u64) -> SeqNum {
        self.irs.add(1).add(offset)
    }

    /// Payload offset of a sequence number, taken as near RCV.NXT as it can be; negative before the
    /// stream.
    pub(crate) fn offset(&self, seq: SeqNum) -> i64 {
        self.nxt as i64 + i64::from(seq.diff(self.seq(self.nxt)))
    }

    /// The field to put on the wire now, and the promise that goes with it.
    ///
    /// Silly-window avoidance: the edge moves by at least one segment or half the buffer
    /// (RFC 9293 §3.8.6.2.2).
    pub(crate) fn advertise_window(&mut self, on_syn: bool) -> u16 {
        self.advertise_window_from(self.nxt, on_syn)
    }

    /// The same on a segment that acknowledges up to `ack` only.
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

    /// The largest window that the field can say.
    const fn max_window(&self) -> u64 {
        65_535 << self.rcv_wscale
    }

    /// Where the right edge could be: the whole free buffer, as far as the field can say it.
    fn target(&self) -> u64 {
        let unread = self.nxt.saturating_sub(self.consumed);
        self.nxt + self.buffer.saturating_sub(unread).min(self.max_window())
    }

    fn window(&self) -> u64 {
        self.right_edge.saturating_sub(self.nxt)
    }

    /// The acceptability test of RFC 9293 §3.4 over `[start, start + len)`.
    ///
    /// Deviation: a segment of no length may also start at the right edge itself. That is where the
    /// ACKs of a sender stand that has used up the window; were they refused while its data is on the
    /// way (or lost), two such ends would answer each other's ACKs for ever. Linux (tcp_sequence) and
    /// FreeBSD accept them too.
    pub(crate) fn acceptable(&self, start: i64, len: u32) -> bool {
        let (nxt, wnd) = (self.nxt as i64, self.window() as i64);
        let end = start + i64::from(len);
        match (len, wnd) {
            (0, _) => (nxt..=nxt + wnd).contains(&start),
            // Nothing fits, but an ACK on such a segment still counts; the caller keeps that.
            (_, 0) => false,
            _ => (nxt..nxt + wnd).contains(&start) || (nxt..nxt + wnd).contains(&(end - 1)),
        }
    }

    /// The offset is old, yet not older than what may still be on its way: one window.
    pub(crate) const fn is_recent(&self, offset: i64) -> bool {
        let age = self.nxt as i64 - offset;
        0 < age && age <= self.buffer as i64
    }

    /// The segment brings data, the next that is expected, in full and nothing else.
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

    /// Takes the payload (and FIN) of an acceptable segment that has either.
    pub(crate) fn on_segment(&mut self, now: Instant, seg: &Segment) -> Accepted {
        if self.is_next_in_order(seg) {
            return self.on_in_order(now, seg);
        }
        let (start, before) = (self.offset(seg.seq), self.nxt);
        let fin = seg.flags.contains(Flags::FIN);
        let placed = self.place_segment(start, i64::from(seg.payload_len), fin);
        self.decide_ack(now, seg, before, &placed);
        placed.accepted
    }

    /// The same of a segment that is expected ([`Self::expects`]).
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

    /// Whether and when the segment is acknowledged; RCV.NXT was `before` when it came.
    #[inline]
    fn decide_ack(&mut self, now: Instant, seg: &Segment, before: u64, placed: &PlacedSegment) {
        self.window_unchanged = None;
        self.received_bytes += u64::from(seg.payload_len);
        if seg.ecn == Ecn::Ce {
            self.marked_bytes += u64::from(seg.payload_len);
        }
        let prior_echo = self.ack_pending && self.echo();
        let sample = RxSample {
            now,
            in_order: placed.in_order,
            duplicate: placed.duplicate,
            segments: seg.segments(),
            payload: seg.payload_len,
            // A FIN without data may be ECT (RFC 8257 §3.6), but the marks that count are those of data.
            ect: seg.payload_len > 0 && seg.ecn.is_capable(),
            // Data outside the window says nothing of the path now (RFC 3168 §6.1.5).
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
            _ => self.schedule_ack_now(),
        }
    }

    /// Finds the place of a segment of any kind: `len` bytes from offset `start`, and a FIN behind them.
    #[inline(never)]
    fn place_segment(&mut self, start: i64, len: i64, fin: bool) -> PlacedSegment {
        let before = self.nxt;
        // Trim to the window: what is below RCV.NXT is old, what is beyond the edge does not fit.
        let fin_offset = start + len;
        let new_start = start.max(before as i64) as u64;
        let mut new_end = (start + len).max(before as i64) as u64;
        // Nothing may follow a FIN.
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
            // Of several parts that were there, the first is reported (RFC 2883 §4.2.2, §4.2.3).
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
            // Bytes held beyond a FIN cannot be: such a FIN is a lie and is ignored.
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
    }

    /// The connection is over: no ACK goes out any more.
    pub(crate) const fn clear_pending_ack(&mut self) {
        self.ack_pending = false;
        self.ack_now = false;
        self.timer_fired = false;
        self.ack_deadline = Instant::FAR_FUTURE;
        self.split = None;
    }

    /// The peer's FIN and all data before it have arrived.
    pub(crate) fn finished(&self) -> bool {
        self.fin_at.is_some_and(|f| self.nxt > f)
    }

    /// In-order payload bytes that the application may have.
    pub(crate) fn readable_upto(&self) -> u64 {
        if self.finished() { self.nxt - 1 } else { self.nxt }
    }

    /// The application read up to `consumed + n`. True when the window opened enough to say so.
    pub(crate) fn read(&mut self, n: u64) -> bool {
        self.consumed = (self.consumed + n).min(self.readable_upto());
        let gain = self.target().saturating_sub(self.right_edge);
        let least = u64::from(self.mss).min(self.buffer / 2);
        gain > 0
            && (gain >= self.buffer.min(self.max_window()) / 2
                || (gain >= least && self.window() < least))
    }

    pub(crate) fn unread(&self) -> u64 {
        self.readable_upto().saturating_sub(self.consumed)
    }

    /// A segment with so many CE packets was accepted under Accurate ECN; true when the policy wants an
    /// ACK at once.
    pub(crate) fn on_ce_packets(&mut self, ce: u32, data: bool) -> bool {
        self.window_unchanged = None;
        let marks = CeSample { ce, data, ack_pending: self.ack_pending };
        self.policy.as_mut().is_some_and(|p| p.on_ce_sample(&marks))
    }

    /// Something that arrived is not acknowledged.
    pub(crate) const fn ack_pending(&self) -> bool {
        self.ack_pending
    }

    pub(crate) fn echo(&self) -> bool {
        self.policy.as_ref().is_some_and(|p| p.echo())
    }

    pub(crate) const fn take_split(&mut self) -> Option<SplitAck> {
        self.split.take()
    }

    pub(crate) const fn must_ack_now(&self) -> bool {
        self.ack_now
    }

    pub(crate) const fn ack_deadline(&self) -> Instant {
        self.ack_deadline
    }

    /// The delayed-ACK timer fired.
    pub(crate) fn on_ack_timer(&mut self, now: Instant) {
        if self.ack_pending && self.ack_deadline <= now {
            if !self.ack_now {
                self.timer_fired = true;
                self.delack_timeouts += 1;
                self.delack_time += now.saturating_since(self.ack_since);
            }
            self.ack_now = true;
        }
    }

    /// The delayed-ACK timer, and nothing else, is why an ACK is due.
    pub(crate) const fn released_by_timer(&self) -> bool {
        self.timer_fired
    }

    /// What a segment says that goes out now and acknowledges everything up to RCV.NXT: its window, and
    /// its echo.
    #[inline]
    pub(crate) fn acknowledge(&mut self, now: Instant) -> (u16, bool) {
        match self.window_unchanged {
            Some(window) => (window, false),
            None => self.acknowledge_slow(now),
        }
    }

    /// The next segment does not say the same as the last one only because nothing has come.
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
            let silent = self.nxt == 0 && self.received_bytes == 0 && self.fin_at.is_none();
            self.window_unchanged = (silent && !echo).then_some(window);
        }
        (window, echo)
    }

    /// The receive buffer is of that size from now on.
    #[cold]
    pub(crate) fn set_buffer(&mut self, bytes: u64) {
        self.buffer = bytes.max(1);
        self.window_unchanged = None;
    }

    /// Data beyond the first gap did not arrive.
    #[cold]
    pub(crate) fn discard_out_of_order(&mut self) {
        self.reassembly.clear();
    }

    /// Bytes held outside of this struct.
    pub(crate) fn heap(&self) -> usize {
        self.policy.as_deref().map_or(0, size_of_val) + self.reassembly.heap()
    }
}
