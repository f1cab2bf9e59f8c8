//! What happens when a segment arrives (RFC 9293 §3.10.7.4), in the order of its checks.

use lowtide_units::Instant;
use lowtide_wire::{Flags, Segment};

use crate::connection::Connection;
use crate::event::{CloseReason, SegmentError};
use crate::receiver::Accepted;
use crate::state::State;
use crate::timers::Timers;

impl Connection {
    pub(crate) fn segment_arrives(
        &mut self,
        now: Instant,
        seg: &Segment,
    ) -> Result<Accepted, SegmentError> {
        if self.state == State::SynReceived
            && seg.flags.contains(Flags::SYN)
            && !seg.flags.contains(Flags::RST)
            && self.rcv.offset(seg.seq) == -1
        {
            if seg.flags.contains(Flags::ACK) {
                return self.crossing_syn_ack_arrives(now, seg);
            }
            // The peer's SYN again: our SYN-ACK was lost.
            self.ecn.on_syn(seg.flags);
            self.handshake.syn_due = true;
            self.handshake.retransmissions = self.handshake.retransmissions.max(1);
            return Err(SegmentError::BadHandshake);
        }
        let offset = self.rcv.offset(seg.seq);
        self.check_timestamps(now, seg)?;
        if !self.rcv.acceptable(offset, seg.seq_len()) {
            return self.unacceptable(now, seg, offset);
        }
        if let (Some(ts), Some(option)) = (self.ts.as_mut(), seg.options.timestamps)
            && offset <= self.rcv.last_ack_sent as i64
        {
            ts.update(now, option.value);
        }
        if seg.flags.contains(Flags::RST) {
            return self.reset_arrives();
        }
        if seg.flags.contains(Flags::SYN) {
            // Answer and drop, as RFC 9293 recommends; rate limits come with RFC 5961.
            self.rcv.owe_ack_now();
            return Err(SegmentError::UnexpectedSyn);
        }
        if !seg.flags.contains(Flags::ACK) {
            return Err(SegmentError::NoAck);
        }
        if self.state == State::SynReceived {
            if self.snd.offset(seg.ack) != 0 {
                self.reset = Some(seg.ack);
                return Err(SegmentError::AckOfUnsent);
            }
            self.establish(now);
            self.snd.take_window(u64::from(seg.window) << self.snd.shift, seg.seq, seg.ack);
        }
        self.process_ack(now, seg)?;
        self.our_fin_acknowledged(now);
        let accepted = self.take_payload(now, seg);
        Ok(accepted)
    }

    /// PAWS, before the sequence check and not for RST (RFC 7323 §5.3 R1).
    fn check_timestamps(&mut self, now: Instant, seg: &Segment) -> Result<(), SegmentError> {
        let Some(ts) = self.ts.as_ref() else { return Ok(()) };
        if seg.flags.contains(Flags::RST) {
            return Ok(());
        }
        match seg.options.timestamps {
            Some(option) if !ts.is_old(now, option.value) => Ok(()),
            Some(_) => {
                self.rcv.owe_ack_now();
                Err(SegmentError::Paws)
            }
            // Agreed on, so every segment must have it (RFC 7323 §3.2); dropped in silence.
            None => Err(SegmentError::Paws),
        }
    }

    fn unacceptable(
        &mut self,
        now: Instant,
        seg: &Segment,
        offset: i64,
    ) -> Result<Accepted, SegmentError> {
        if seg.flags.contains(Flags::RST) {
            return Err(SegmentError::OutOfWindow);
        }
        self.rcv.note_duplicate(seg);
        // Deviation from RFC 9293 §3.10.7.4: in SYN-RECEIVED an empty segment is not answered. When
        // an old SYN opened it, the peer has another connection, and both would answer each other's
        // answers until one of them gives up.
        if self.state.is_synchronised() || seg.seq_len() > 0 {
            self.rcv.owe_ack_now();
        }
        if self.state == State::TimeWait && seg.flags.contains(Flags::FIN) {
            // Our ACK of the FIN was lost: acknowledge it again and wait again.
            self.timers.time_wait = now + self.config.time_wait;
        }
        // With a closed window, valid ACKs still count (RFC 9293 §3.10.7.4). So do those on old
        // segments, as in FreeBSD, when they acknowledge more: two ends whose window probes were both
        // taken would otherwise refuse each other's ACKs, which come one byte too early, for ever.
        let recent = self.rcv.is_recent(offset) && self.snd.offset(seg.ack) > self.snd.una as i64;
        let ack_counts = self.state.is_synchronised()
            && (offset == self.rcv.nxt as i64 || recent)
            && seg.flags.contains(Flags::ACK)
            && !seg.flags.contains(Flags::SYN);
        if ack_counts {
            self.process_ack(now, seg)?;
            self.our_fin_acknowledged(now);
        }
        Err(SegmentError::OutOfWindow)
    }

    /// Deviations from RFC 9293 §3.10.7.4: TIME-WAIT goes on (RFC 1337 §3), and in CLOSING and
    /// LAST-ACK the end is normal only when all our data was acknowledged.
    fn reset_arrives(&mut self) -> Result<Accepted, SegmentError> {
        let reason = match self.state {
            State::TimeWait => return Err(SegmentError::BadReset),
            State::SynReceived => CloseReason::Refused,
            // Both sides have closed and all data got through: only our FIN may be unacknowledged. A
            // peer that left TIME-WAIT early answers so.
            State::Closing | State::LastAck if self.snd.una >= self.snd.end => CloseReason::Normal,
            _ => CloseReason::Reset,
        };
        self.end(reason);
        Ok(Accepted::default())
    }

    fn our_fin_acknowledged(&mut self, now: Instant) {
        if !self.snd.fin_acked() {
            return;
        }
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => self.wait_out(now),
            State::LastAck => self.end(CloseReason::Normal),
            _ => {}
        }
    }

    fn take_payload(&mut self, now: Instant, seg: &Segment) -> Accepted {
        if !self.state.can_receive() {
            return Accepted::default();
        }
        let before = self.rcv.readable_upto();
        let accepted = self.rcv.on_segment(now, seg);
        self.pending.readable |= self.rcv.readable_upto() > before;
        if self.rcv.finished() {
            self.pending.peer_closed = true;
            match self.state {
                State::Established => self.state = State::CloseWait,
                State::FinWait1 if !self.snd.fin_acked() => self.state = State::Closing,
                State::FinWait1 | State::FinWait2 => self.wait_out(now),
                _ => {}
            }
        }
        accepted
    }

    /// Enters TIME-WAIT: the application is done, old segments are waited out.
    fn wait_out(&mut self, now: Instant) {
        self.pending.closed = Some(CloseReason::Normal);
        self.state = State::TimeWait;
        self.timers = Timers { time_wait: now + self.config.time_wait, ..Timers::OFF };
    }
}
