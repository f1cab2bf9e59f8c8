//! Segment arrival (RFC 9293 §3.10.7.4), in the order of its checks.

use lowtide_units::Instant;
use lowtide_wire::{Ecn, Flags, Segment};

use super::receiver::Accepted;
use super::tuning::Arrival;
use crate::connection::Connection;
use crate::defence::{AckAccept, AckThrottle, RstAccept, SynAnswer, TimeWaitReset};
use crate::event::{CloseReason, EventKind, SegmentError};
use crate::state::State;

/// Flags that do not decide whether a segment is accepted.
const IGNORED_FLAGS: Flags =
    Flags::FIN.with(Flags::PSH).with(Flags::URG).with(Flags::ECE).with(Flags::CWR).with(Flags::AE);

impl Connection {
    /// Header prediction: accepts in-order data at an end that has never sent data (`receive_only`
    /// and [`sent_nothing`](crate::send::sender::Sender::sent_nothing)), if the segment carries
    /// nothing else. Equivalent to [`Self::segment_arrives`] without the checks that cannot
    /// fail.
    #[expect(clippy::inline_always, reason = "every segment takes this path")]
    #[inline(always)]
    pub(crate) fn header_prediction(&mut self, now: Instant, seg: &Segment) -> Option<Accepted> {
        let plain = seg.flags.without(Flags::PSH.with(Flags::CWR)) == Flags::ACK
            && seg.options.sack.is_empty()
            && seg.ack == self.snd.seq(0);
        let receives = self.state.can_receive() && self.rcv.is_next_in_order(seg);
        if !plain || !receives {
            return None;
        }
        match (self.ts.as_mut(), seg.options.timestamps) {
            (None, _) => {}
            (Some(ts), Some(option)) if !ts.is_old(now, option.value) => {
                if self.rcv.nxt <= self.rcv.last_ack_sent {
                    ts.update(now, option.value);
                }
            }
            _ => return None,
        }
        self.update_window(seg, false);
        self.snd.on_no_ece();
        self.on_alive(now);
        self.pending.note(EventKind::Readable);
        let accepted = self.rcv.on_in_order(now, seg);
        self.track_unacked(now);
        Some(accepted)
    }

    /// ACK prediction: processes a pure ACK of new data on the fast path of an end that awaits
    /// nothing else. Equivalent to [`Self::segment_arrives`] without the checks that cannot fail.
    /// False if it does not apply; nothing has changed then.
    #[inline(never)]
    pub(crate) fn ack_prediction(&mut self, now: Instant, seg: &Segment) -> bool {
        let plain = seg.flags.without(IGNORED_FLAGS.without(Flags::FIN)) == Flags::ACK
            && seg.payload_len == 0
            && seg.options.sack.is_empty()
            && self.rcv.next_seq() == seg.seq;
        let awaits = matches!(self.state, State::Established | State::FinWait1)
            && !self.snd.fin_is_sent()
            && !self.ecn.is_accecn();
        let upto = self.snd.offset(seg.ack);
        if !plain || !awaits || !self.snd.acks_new_data(upto) || !self.on_fast_path() {
            return false;
        }
        match (self.ts.as_mut(), seg.options.timestamps) {
            (None, _) => {}
            (Some(ts), Some(option)) if !ts.is_old(now, option.value) => {
                if self.rcv.nxt <= self.rcv.last_ack_sent {
                    ts.update(now, option.value);
                }
            }
            _ => return false,
        }
        self.snd.reset_quota();
        self.update_window(seg, true);
        self.handle_ack_in_order(now, seg, upto as u64);
        self.on_alive(now);
        self.track_unacked(now);
        true
    }

    /// Facts about a segment with data for the tuning of the receive buffer, before its processing.
    pub(crate) fn arrival(&self, now: Instant, seg: &Segment) -> Arrival {
        let window = u64::from(seg.window) << self.snd.window_shift();
        let predicted = self.state == State::Established
            && seg.flags.without(IGNORED_FLAGS) == Flags::ACK
            && !seg.flags.contains(Flags::URG)
            && self.rcv.is_next_in_order(seg)
            && self.snd.offset(seg.ack) == self.snd.una() as i64
            && window > 0
            && window == self.snd.window();
        Arrival {
            now,
            payload: seg.payload_len,
            predicted,
            echo: self.ts.zip(seg.options.timestamps).map(|(ts, option)| (ts, option.echo)),
            tick: self.config.timestamp_granularity,
            srtt: self.rtt.srtt(),
            nxt: self.rcv.nxt,
            consumed: self.rcv.consumed(),
        }
    }

    #[expect(clippy::inline_always, reason = "every segment takes this path")]
    #[inline(always)]
    pub(crate) fn segment_arrives(
        &mut self,
        now: Instant,
        seg: &Segment,
    ) -> Result<Accepted, SegmentError> {
        // Neither SYN nor RST, an ACK, and the handshake is over: true of most segments.
        let usual = seg.flags.without(IGNORED_FLAGS) == Flags::ACK;
        let usual = usual && self.state != State::SynReceived;
        if !usual && let Some(answer) = self.syn_before_checks(now, seg) {
            return answer;
        }
        let offset = self.rcv.offset(seg.seq);
        self.check_timestamps(now, seg)?;
        if !self.rcv.acceptable(offset, seg.seq_len()) {
            return self.unacceptable(now, seg, offset);
        }
        if !usual && let Some(answer) = self.check_flags(now, seg, offset) {
            return answer;
        }
        if let Err(error) = self.check_ack(seg) {
            self.send_challenge_ack(now);
            return Err(error);
        }
        let mut later = false;
        // Only after the sequence check: a forged timestamp would make PAWS reject every other
        // segment.
        if let (Some(ts), Some(option)) = (self.ts.as_mut(), seg.options.timestamps)
            && offset <= self.rcv.last_ack_sent as i64
        {
            later = ts.is_newer(option.value);
            ts.update(now, option.value);
        }
        // A repeat of the handshake's last ACK carries no counter, and its information is repeated
        // by ACKs of data (RFC 9768 §3.2.2.2 leaves such a test open; Linux has none).
        let handshake = self.snd.una() == 0 || self.handshake.is_ambiguous();
        let later = later && (seg.payload_len > 0 || !handshake || self.ecn.has_linux_rules());
        self.process_ack(now, seg, later)?;
        self.on_alive(now);
        self.on_fin_acked(now);
        let accepted = self.accept_payload(now, seg);
        if self.ecn.is_accecn() {
            self.count_ce(seg);
        }
        Ok(accepted)
    }

    /// Handles a SYN that is answered before the other checks; returns the result.
    #[cold]
    #[inline(never)]
    fn syn_before_checks(
        &mut self,
        now: Instant,
        seg: &Segment,
    ) -> Option<Result<Accepted, SegmentError>> {
        if !seg.flags.contains(Flags::SYN) || seg.flags.contains(Flags::RST) {
            return None;
        }
        if self.state == State::SynReceived && self.rcv.offset(seg.seq) == -1 {
            if seg.flags.contains(Flags::ACK) {
                return Some(self.simultaneous_syn_ack_arrives(now, seg));
            }
            // A retransmitted SYN of the peer: our SYN-ACK was lost.
            if self.ecn.on_syn(seg.flags, seg.ecn) {
                self.handshake.on_syn_repeated();
            } else {
                self.abort();
            }
            return Some(Err(SegmentError::BadHandshake));
        }
        if self.state.is_synchronised() && self.config.syn_answer == SynAnswer::ChallengeAck {
            // Regardless of its sequence number and timestamp (RFC 5961 §4.2).
            self.send_challenge_ack(now);
            self.ack_retransmitted_syn_ack(seg);
            return Some(Err(SegmentError::UnexpectedSyn));
        }
        None
    }

    /// Checks the flags of an acceptable segment and completes the handshake in SYN-RECEIVED.
    /// Returns the result if the remaining checks do not run.
    #[cold]
    #[inline(never)]
    fn check_flags(
        &mut self,
        now: Instant,
        seg: &Segment,
        offset: i64,
    ) -> Option<Result<Accepted, SegmentError>> {
        if seg.flags.contains(Flags::RST) {
            return Some(self.rst_arrives(now, offset));
        }
        if seg.flags.contains(Flags::SYN) {
            self.syn_arrives(now);
            return Some(Err(SegmentError::UnexpectedSyn));
        }
        if !seg.flags.contains(Flags::ACK) {
            return Some(Err(SegmentError::NoAck));
        }
        if self.state == State::SynReceived {
            if self.snd.offset(seg.ack) != 0 {
                self.pending_rst = Some(seg.ack);
                return Some(Err(SegmentError::AckOfUnsent));
            }
            if seg.seq_len() == 0 && seg.options.sack.is_empty() {
                self.ecn.on_handshake_ack(seg.flags);
            }
            self.establish(now, seg);
            self.snd.on_window(seg);
        }
        None
    }

    /// Counts the CE mark of a segment that passed all checks (RFC 9768 §3.2), with or without
    /// payload.
    #[cold]
    #[inline(never)]
    fn count_ce(&mut self, seg: &Segment) {
        let marks = match seg.rx.coalesced {
            0 | 1 => u32::from(seg.ecn == Ecn::Ce),
            _ => u32::from(seg.rx.ce_coalesced),
        };
        self.ecn.on_ce_packets(marks);
        let data = seg.payload_len > 0;
        let owed = self.rcv.ack_pending();
        let ce_bytes = u64::from(seg.payload_len) * u64::from(marks) / u64::from(seg.segments());
        let edge = self.ecn.on_packet(seg.ecn, ce_bytes as u32, seg.payload_len);
        if edge && owed && self.ecn.has_linux_rules() {
            self.rcv.schedule_ack_now();
        }
        // An ACK of pure ACKs must not look like a duplicate ACK (RFC 9768 §3.2.2.5.1). With SACK,
        // an ACK without new SACK blocks does not.
        let may_answer = owed || data || (self.sack_ok && self.state.is_synchronised());
        if self.rcv.on_ce_packets(marks, data) && may_answer && self.state != State::TimeWait {
            if !owed {
                self.ecn.schedule_ack_without_sack();
            }
            self.rcv.schedule_ack_now();
        }
    }

    /// Data arrived again, or outside of the window. Linux counts the ECN field of what ends at or
    /// above the last ACK (`tcp_sequence`).
    #[cold]
    #[inline(never)]
    fn count_duplicate(&mut self, seg: &Segment, offset: i64) {
        let end = offset + i64::from(seg.payload_len);
        if end > self.rcv.nxt() as i64 {
            return;
        }
        self.ecn.on_duplicate(seg.seq);
        if self.ecn.has_linux_rules() && end >= self.rcv.last_ack_sent as i64 {
            self.count_ce(seg);
        }
    }

    /// Answers a retransmitted SYN-ACK; with AccECN the ACK reports the ECN field of its arrival.
    #[cold]
    #[inline(never)]
    fn ack_retransmitted_syn_ack(&mut self, seg: &Segment) {
        let again = seg.flags.contains(Flags::SYN | Flags::ACK)
            && self.rcv.offset(seg.seq) == -1
            && self.snd.seq(0) == seg.ack;
        if again && self.rcv.must_ack_now() {
            self.ecn.on_syn_ack_retransmitted(seg.flags, seg.ecn);
        }
    }

    /// Performs PAWS, before the sequence check and not for RST (RFC 7323 §5.3 R1).
    fn check_timestamps(&mut self, now: Instant, seg: &Segment) -> Result<(), SegmentError> {
        let Some(ts) = self.ts.as_ref() else { return Ok(()) };
        if seg.flags.contains(Flags::RST) {
            return Ok(());
        }
        match seg.options.timestamps {
            Some(option) if !ts.is_old(now, option.value) => Ok(()),
            Some(_) => {
                self.ack_unacceptable(now, seg);
                Err(SegmentError::Paws)
            }
            // Negotiated, so every segment must carry it (RFC 7323 §3.2); dropped silently.
            None if self.config.timestamps_required => Err(SegmentError::Paws),
            None => Ok(()),
        }
    }

    #[cold]
    #[inline(never)]
    fn unacceptable(
        &mut self,
        now: Instant,
        seg: &Segment,
        offset: i64,
    ) -> Result<Accepted, SegmentError> {
        if seg.flags.contains(Flags::RST) {
            return Err(SegmentError::OutOfWindow);
        }
        if self.ecn.is_accecn() && seg.payload_len > 0 {
            self.count_duplicate(seg, offset);
        }
        self.rcv.note_duplicate(seg);
        // Deviation from RFC 9293 §3.10.7.4: in SYN-RECEIVED an empty segment is answered only if
        // it acknowledges our SYN, as a keep-alive does after the last ACK of the handshake was
        // lost. If an old SYN opened this connection, the peer has another one, and both ends would
        // answer each other until one gives up.
        let of_this = seg.flags.contains(Flags::ACK) && self.snd.offset(seg.ack) == 0;
        if self.state.is_synchronised() || seg.seq_len() > 0 || of_this {
            self.ack_unacceptable(now, seg);
            self.ack_retransmitted_syn_ack(seg);
        }
        if self.state == State::TimeWait
            && seg.flags.contains(Flags::FIN)
            && self.rcv.offset(seg.seq_end()) == self.rcv.nxt as i64
        {
            // Our ACK of the FIN was lost: acknowledge it again and restart TIME-WAIT.
            self.timers.arm_time_wait(now + self.config.time_wait);
        }
        // With a closed window, valid ACKs still count (RFC 9293 §3.10.7.4). ACKs on old segments
        // also count if they acknowledge more, as in FreeBSD. Otherwise two ends whose window
        // probes were both accepted would reject each other's ACKs, which are one byte too early,
        // without limit.
        let recent = self.rcv.is_recent(offset) && self.snd.offset(seg.ack) > self.snd.una() as i64;
        let ack_counts = self.state.is_synchronised()
            && (offset == self.rcv.nxt as i64 || recent)
            && seg.flags.contains(Flags::ACK)
            && !seg.flags.contains(Flags::SYN)
            && self.check_ack(seg).is_ok();
        if ack_counts {
            self.process_ack(now, seg, false)?;
            self.on_alive(now);
            self.on_fin_acked(now);
        }
        Err(SegmentError::OutOfWindow)
    }

    /// Handles a RST in the window (RFC 9293 §3.10.7.4, second check).
    ///
    /// Deviation: in CLOSING and LAST-ACK the close is normal only if all our data was
    /// acknowledged.
    #[cold]
    #[inline(never)]
    fn rst_arrives(&mut self, now: Instant, offset: i64) -> Result<Accepted, SegmentError> {
        let exact = offset == self.rcv.nxt as i64;
        if self.state == State::TimeWait {
            if self.config.time_wait_reset == TimeWaitReset::Ignore || !exact {
                return Err(SegmentError::BadReset);
            }
        } else if self.config.rst_accept == RstAccept::Exact && !exact {
            self.send_challenge_ack(now);
            return Err(SegmentError::BadReset);
        }
        let reason = match self.state {
            State::SynReceived => CloseReason::Refused,
            // Both ends have closed and all data was delivered; only our FIN may be unacknowledged.
            // A peer that left TIME-WAIT early answers with RST.
            State::Closing | State::LastAck if self.snd.all_data_acked() => CloseReason::Normal,
            _ => CloseReason::Reset,
        };
        self.end(reason);
        Ok(Accepted::default())
    }

    /// Handles a SYN in the window if it was not answered by a challenge ACK (RFC 793 p. 71).
    #[cold]
    #[inline(never)]
    fn syn_arrives(&mut self, now: Instant) {
        if self.config.syn_answer == SynAnswer::Reset && self.state != State::TimeWait {
            self.pending_rst = Some(self.snd.next_seq());
            self.end(CloseReason::Reset);
        } else {
            self.send_challenge_ack(now);
        }
    }

    /// Checks that the acknowledgement number is plausible for a peer that sees our segments (RFC
    /// 5961 §5.2).
    fn check_ack(&self, seg: &Segment) -> Result<(), SegmentError> {
        let ack = self.snd.offset(seg.ack);
        if ack > self.snd.highest_ackable() as i64 {
            return Err(SegmentError::AckOfUnsent);
        }
        let window = match self.config.ack_accept {
            AckAccept::MaxWindow => self.snd.max_window(),
            AckAccept::SentWindow => self.snd.max_window().min(self.snd.una()),
            AckAccept::Any => return Ok(()),
        };
        if ack >= self.snd.una() as i64 - window as i64 {
            Ok(())
        } else {
            Err(SegmentError::OldAck)
        }
    }

    /// Schedules a challenge ACK, within the limit: only a peer that sees it can answer correctly
    /// (RFC 5961).
    #[cold]
    #[inline(never)]
    fn send_challenge_ack(&mut self, now: Instant) {
        let (limit, interval) =
            (self.config.challenge_ack_limit, self.config.challenge_ack_interval);
        if self.challenge_ack_limiter.allows(now, limit, interval) {
            self.counters.challenge_acks += 1;
            self.rcv.schedule_ack_now();
        } else {
            self.counters.throttled_acks += 1;
        }
    }

    /// Schedules the ACK that answers an old segment or one beyond the window.
    #[cold]
    #[inline(never)]
    fn ack_unacceptable(&mut self, now: Instant, seg: &Segment) {
        if self.config.ack_throttle == AckThrottle::Empty && seg.seq_len() == 0 {
            self.send_challenge_ack(now);
        } else {
            self.rcv.schedule_ack_now();
        }
    }

    fn on_fin_acked(&mut self, now: Instant) {
        if !self.snd.fin_acked() {
            return;
        }
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => self.enter_time_wait(now),
            State::LastAck => self.end(CloseReason::Normal),
            _ => {}
        }
    }

    fn accept_payload(&mut self, now: Instant, seg: &Segment) -> Accepted {
        let empty = seg.payload_len == 0 && !seg.flags.contains(Flags::FIN);
        if empty || !self.state.can_receive() {
            return Accepted::default();
        }
        if let Some(delay) = &mut self.delay
            && seg.payload_len >= self.snd.mss()
        {
            delay.on_data(seg);
        }
        let before = self.rcv.readable_upto();
        let accepted = self.rcv.on_segment(now, seg);
        if self.rcv.readable_upto() > before {
            self.pending.note(EventKind::Readable);
        }
        if self.rcv.finished() {
            self.pending.note(EventKind::PeerClosed);
            match self.state {
                State::Established => self.state = State::CloseWait,
                State::FinWait1 if !self.snd.fin_acked() => self.state = State::Closing,
                State::FinWait1 | State::FinWait2 => self.enter_time_wait(now),
                _ => {}
            }
        }
        accepted
    }

    /// Enters TIME-WAIT: notifies the application and waits for old segments to expire.
    #[cold]
    #[inline(never)]
    fn enter_time_wait(&mut self, now: Instant) {
        self.notify_closed(CloseReason::Normal);
        self.state = State::TimeWait;
        self.timers.stop_all();
        self.timers.arm_time_wait(now + self.config.time_wait);
    }
}
