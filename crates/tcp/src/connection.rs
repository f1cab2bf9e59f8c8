//! Public interface of one connection. `input` and `ack_processing` handle arrivals, `output`
//! transmission, `handshake` the opening, `expiry` the timers.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::hint::cold_path;

use lowtide_units::{HostStamp, Instant, Probe, Unit};
use lowtide_wire::{IpVersion, Segment, SeqNum};

use crate::cc::{self, CcEntry, CongestionControl};
use crate::defence::ChallengeAckLimiter;
use crate::delay::{DelayMode, DelayState};
use crate::ecn::EcnState;
use crate::event::{CloseReason, Event, EventKind, PendingEvents, SegmentError};
use crate::feedback::FeedbackDecoder;
use crate::handshake::state::Handshake;
use crate::info::{Counters, Info};
use crate::receive::receiver::{Accepted, Receiver};
use crate::send::sender::Sender;
use crate::settings::config::Config;
use crate::state::State;
use crate::timers::deadlines::Timers;
use crate::timers::liveness::state::Liveness;
use crate::timers::retries::Retries;
use crate::timers::rtt::RttEstimator;
use crate::transmit::{Transmit, TransmitId};

/// A TCP connection without I/O.
///
/// The driver passes in segments and the time, and polls for segments to send, the next timeout and
/// events. After any call that returned, poll [`Self::poll_transmit`] until `None`, then
/// [`Self::poll_event`] until `None`, then [`Self::poll_timeout`].
#[derive(Debug)]
#[repr(C)]
pub struct Connection {
    // Ordered by use: the fields that every segment touches share cache lines; rare ones come last.
    pub(crate) config: Arc<Config>,
    pub(crate) state: State,
    pub(crate) pending: PendingEvents,
    /// Until data is sent, arriving ACKs skip the send side: no delay option, no AccECN, no
    /// clock-driven control.
    pub(crate) receive_only: bool,
    /// Segments carry the delay option, or maybe the AccECN option.
    pub(crate) has_extra_option: bool,
    /// SACK was negotiated.
    pub(crate) sack_ok: bool,
    /// Keep-alive or the user timeout is on.
    pub(crate) tracks_liveness: bool,
    /// Reason for the close.
    pub(crate) close_reason: CloseReason,
    pub(crate) ip: IpVersion,
    pub(crate) local_port: u16,
    pub(crate) remote_port: u16,
    pub(crate) retries: Retries,
    /// Sequence number of a RST to send.
    pub(crate) pending_rst: Option<SeqNum>,
    /// It answers a segment, so it has no ACK (RFC 9293 §3.10.7.1).
    pub(crate) rst_without_ack: bool,
    pub(crate) ts: Option<crate::timers::timestamps::TimestampState>,
    pub(crate) rcv: Receiver,
    pub(crate) timers: Timers,
    pub(crate) liveness: Liveness,
    pub(crate) ecn: EcnState,
    pub(crate) snd: Sender,
    pub(crate) cc: Option<Box<dyn CongestionControl>>,
    pub(crate) decoder: Option<Box<dyn FeedbackDecoder>>,
    /// Queueing delay from the delay option, if negotiated.
    pub(crate) delay: Option<Box<DelayState>>,
    pub(crate) rtt: RttEstimator,
    next_id: u64,
    last_departure: Option<HostStamp>,
    pub(crate) counters: Counters,
    pub(crate) handshake: Handshake,
    /// The active control, which may differ from the configured one.
    pub(crate) cc_entry: Option<&'static CcEntry>,
    pub(crate) challenge_ack_limiter: ChallengeAckLimiter,
}

impl Connection {
    pub(crate) fn new(
        config: Arc<Config>,
        local_port: u16,
        remote_port: u16,
        isn: SeqNum,
        state: State,
    ) -> Self {
        Self {
            state,
            local_port,
            remote_port,
            ip: IpVersion::V4,
            snd: Sender::new(isn, &config),
            rcv: Receiver::new(&config),
            ecn: EcnState::new(&config),
            rtt: RttEstimator::new(&config),
            timers: Timers::OFF,
            handshake: Handshake::default(),
            cc: None,
            cc_entry: None,
            decoder: None,
            has_extra_option: false,
            sack_ok: false,
            ts: None,
            delay: None,
            pending: PendingEvents::default(),
            close_reason: CloseReason::Normal,
            receive_only: false,
            pending_rst: None,
            rst_without_ack: false,
            counters: Counters::default(),
            challenge_ack_limiter: ChallengeAckLimiter::default(),
            liveness: Liveness::NEW,
            tracks_liveness: Self::wants_liveness(&config),
            retries: Retries::default(),
            last_departure: None,
            next_id: 0,
            config,
        }
    }

    /// Sets the IP version, before anything is polled. It determines the payload bytes of an MTU;
    /// the default is IPv4.
    #[must_use]
    pub const fn with_ip_version(mut self, ip: IpVersion) -> Self {
        self.ip = ip;
        self
    }

    /// Sets the seed of the random numbers of the congestion control, before ESTABLISHED; without a
    /// call it is zero.
    pub const fn set_cc_seed(&mut self, seed: u64) {
        self.handshake.cc_seed = seed;
    }

    /// Processes a segment that arrived for this connection.
    ///
    /// `Ok` says which of its bytes to keep. An error says why it was rejected; an answer that the
    /// specification requires comes out of [`Self::poll_transmit`].
    #[inline]
    pub fn handle_segment(
        &mut self,
        now: Instant,
        seg: &Segment,
    ) -> Result<Accepted, SegmentError> {
        if self.receive_only && self.snd.sent_nothing() {
            if let Some(accepted) = self.header_prediction(now, seg) {
                return Ok(accepted);
            }
        } else if self.ack_prediction(now, seg) {
            return Ok(Accepted::default());
        }
        self.handle_segment_slow(now, seg)
    }

    #[inline(never)]
    pub(crate) fn handle_segment_slow(
        &mut self,
        now: Instant,
        seg: &Segment,
    ) -> Result<Accepted, SegmentError> {
        self.snd.reset_quota();
        let tuned = self.rcv.is_tuned() && seg.payload_len > 0;
        let arrival = tuned.then(|| self.arrival(now, seg));
        let result = match self.state {
            State::Closed => Err(SegmentError::Closed),
            State::SynSent => self.segment_in_syn_sent(now, seg),
            _ => self.segment_arrives(now, seg),
        };
        if result.is_err() {
            self.counters.rejected += 1;
        }
        if arrival.is_some() {
            self.rcv.tune(arrival.as_ref().filter(|_| result.is_ok()));
        }
        self.track_unacked(now);
        result
    }

    /// Processes expired timers; call at the time returned by [`Self::poll_timeout`].
    pub fn handle_timeout(&mut self, now: Instant) {
        self.snd.reset_quota();
        self.expire(now);
        self.track_unacked(now);
    }

    /// The next segments to send; `None` if there is nothing to send now.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        let mut transmit = Transmit::default();
        self.poll_transmit_into(now, 1, &mut transmit).then_some(transmit)
    }

    /// As [`Self::poll_transmit`], but writes to `out`, which saves a copy. False if there is
    /// nothing to send now; `out` is then unspecified.
    ///
    /// `burst` is the largest number of full segments that the driver takes in one [`Transmit`]
    /// without segmentation offload. They equal the segments of as many calls. With more than one
    /// the driver must send all of them now ([`Transmit::cut_first`]).
    #[doc(hidden)]
    #[inline]
    pub fn poll_transmit_into(&mut self, now: Instant, burst: u32, out: &mut Transmit) -> bool {
        let sends = !self.nothing_to_send() && self.poll_transmit_slow(now, burst, out);
        self.track_unacked(now);
        sends
    }

    /// As [`Self::poll_transmit_into`], with all checks.
    #[inline]
    pub(crate) fn poll_transmit_slow(
        &mut self,
        now: Instant,
        burst: u32,
        out: &mut Transmit,
    ) -> bool {
        let released = self.rcv.released_by_timer();
        let sends = self.next_transmit(now, burst, out);
        if released && sends {
            cold_path();
            out.delack_timeout = !self.rcv.released_by_timer();
        }
        sends
    }

    /// The segments of `id` left the host at `stamp` of the host's clock.
    #[inline]
    pub fn on_transmitted(&mut self, id: TransmitId, stamp: HostStamp) {
        let _ = id;
        self.last_departure = Some(stamp);
    }

    /// Deadline for [`Self::handle_timeout`]; `None` for never.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let at = self.poll_timers().unwrap_or(Instant::FAR_FUTURE);
        let at = self.poll_pacer().map_or(at, |paced| at.min(paced));
        (at < Instant::FAR_FUTURE).then_some(at)
    }

    /// As [`Self::poll_timeout`], but `None` unless it is before `armed`, the time of the driver's
    /// pending timer. Usually compares and computes nothing.
    #[doc(hidden)]
    #[inline]
    pub fn poll_timeout_before(&mut self, armed: Instant) -> Option<Instant> {
        let maybe = self.timers.may_precede(armed)
            || self.rcv.ack_deadline() < armed
            || self.snd.pacing_is_blocked()
            || self.tracks_liveness;
        if maybe { self.timeout_before(armed) } else { None }
    }

    #[cold]
    fn timeout_before(&mut self, armed: Instant) -> Option<Instant> {
        self.timers.update_earliest();
        self.poll_timeout().filter(|at| *at < armed)
    }

    /// As [`Self::poll_timeout`] without pacing, for drivers with coarse timers.
    #[inline]
    pub fn poll_timers(&self) -> Option<Instant> {
        let mut at = self.timers.next().min(self.rcv.ack_deadline());
        if self.tracks_liveness {
            cold_path();
            at = at.min(self.liveness_deadline());
        }
        (at < Instant::FAR_FUTURE).then_some(at)
    }

    /// True if [`Self::poll_event`] returns an event.
    #[doc(hidden)]
    #[inline]
    pub const fn has_events(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The next event for the application.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        Some(match self.pending.take()? {
            EventKind::Established => Event::Established,
            EventKind::Readable => Event::Readable { upto: self.rcv.readable_upto() },
            EventKind::Writable => Event::Writable,
            EventKind::PeerClosed => Event::PeerClosed,
            EventKind::Closed => Event::Closed(self.close_reason),
        })
    }

    /// The application has `n` more bytes to send. They are accepted even beyond the send buffer,
    /// which limits unacknowledged data: a driver with real bytes calls [`Self::send_space`] first.
    /// Ignored after [`Self::close`].
    pub fn send(&mut self, n: u64) {
        if self.snd.rate.is_some() {
            self.note_app_limited();
        }
        self.snd.write(n);
    }

    /// Discards data beyond the send buffer: writes that a blocking application has not completed
    /// when it is stopped. Returns the number of bytes.
    #[doc(hidden)]
    pub fn discard_unsent(&mut self) -> u64 {
        self.snd.discard_unsent()
    }

    /// Free bytes of the send buffer; after a zero, [`Event::Writable`] follows.
    pub fn send_space(&mut self) -> u64 {
        self.snd.space()
    }

    /// Turns Nagle's algorithm on or off (TCP_NODELAY, RFC 9293 §3.7.4).
    pub fn set_nagle(&mut self, on: bool) {
        if self.config.nagle != on {
            Arc::make_mut(&mut self.config).nagle = on;
        }
    }

    /// The application read `n` bytes; the window may open. A peer that has closed is not notified.
    #[inline]
    pub fn read(&mut self, n: u64) {
        if self.rcv.read(n) && self.state.can_receive() {
            self.rcv.schedule_ack_now();
        }
    }

    /// If the only event is [`Event::Readable`], and the peer has not closed: takes it and reads
    /// everything. Returns one past the last byte.
    #[doc(hidden)]
    #[inline]
    pub fn read_all(&mut self) -> Option<u64> {
        if self.rcv.has_fin() || !self.pending.take_only(EventKind::Readable) {
            return None;
        }
        if self.rcv.read_all() && self.state.can_receive() {
            self.rcv.schedule_ack_now();
        }
        Some(self.rcv.nxt())
    }

    /// Closes this end: FIN follows the data already written.
    pub fn close(&mut self) {
        if !self.snd.queue_fin() {
            return;
        }
        match self.state {
            // Nothing was sent that the peer must acknowledge (RFC 9293 §3.10.4). Deviation: with
            // data queued, the close waits for it, as in SYN-RECEIVED, instead of failing the send.
            State::SynSent if self.snd.nothing_written() => self.end(CloseReason::Normal),
            State::Established => self.state = State::FinWait1,
            State::CloseWait => self.state = State::LastAck,
            // In SYN-RECEIVED the close waits for ESTABLISHED; in other states it was already done.
            _ => {}
        }
    }

    /// Aborts the connection: RST, no TIME-WAIT (RFC 9293 §3.10.5).
    pub fn abort(&mut self) {
        if self.state.is_synchronised() && self.state != State::TimeWait
            || self.state == State::SynReceived
        {
            self.pending_rst = Some(self.snd.next_seq());
        }
        self.end(CloseReason::Aborted);
    }

    /// Aborts as [`Self::abort`] because `seg` brought data that is never read (RFC 1122
    /// §4.2.2.13). The RST answers that segment, so that a peer that lost our FIN accepts it (RFC
    /// 9293 §3.10.7.1, RFC 5961 §3.2); as in Linux (`tcp_v4_send_reset`).
    pub fn refuse_data(&mut self, seg: &Segment) {
        self.abort();
        self.pending_rst = self.pending_rst.map(|_| seg.ack);
        self.rst_without_ack = true;
    }

    /// Retransmission timeouts so far: [`crate::Counters::rto_count`] alone.
    #[doc(hidden)]
    pub const fn rto_count(&self) -> u64 {
        self.counters.rto_count
    }

    /// State.
    pub const fn state(&self) -> State {
        self.state
    }

    /// The configuration that it was opened with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Local and remote port.
    pub const fn ports(&self) -> (u16, u16) {
        (self.local_port, self.remote_port)
    }

    /// Bytes received in order and not yet read.
    pub fn unread(&self) -> u64 {
        self.rcv.unread()
    }

    /// SND.UNA: the driver may free payload below this offset.
    pub fn acked_upto(&self) -> u64 {
        self.snd.acked_upto()
    }

    /// Every byte from this offset on was never sent, not even as a window probe.
    pub fn sent_upto(&self) -> u64 {
        self.snd.sent_upto()
    }

    /// True if no timer can end the connection before two retransmission timeouts from now. It is
    /// established, this end has sent no FIN, the peer has acknowledged data, nothing is backed
    /// off, and neither keep-alive nor the user timeout is on.
    #[doc(hidden)]
    pub fn is_making_progress(&self) -> bool {
        matches!(self.state, State::Established | State::FinWait1)
            && !self.snd.fin_is_sent()
            && self.snd.una() > 0
            && self.retries.is_clear()
            && self.config.retries >= 2
            && !self.tracks_liveness
    }

    /// The counters so far.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Name of the active congestion control. A control that needs ECN runs as NewReno without it,
    /// as documented in its file.
    fn effective_cc(&self) -> &'static str {
        match self.cc_entry {
            Some(entry) if entry.requires.ecn && !self.ecn.is_on() => cc::newreno::ENTRY.name,
            Some(entry) => entry.name,
            None => self.config.cc,
        }
    }

    /// A snapshot of the connection.
    pub fn info(&self) -> Info {
        let ssthresh = self.cc.as_ref().map(|c| c.ssthresh()).filter(|s| *s != u64::MAX);
        let measured = self.delay.as_ref().and_then(|d| d.last());
        let (received_ecn_bytes, delivered_ecn_bytes) = self.ecn.option_bytes();
        Info {
            received_ecn_bytes,
            delivered_ecn_bytes,
            marked_syn_acks: u64::from(
                self.ecn.handshake_was_marked() && !self.ecn.is_accecn_client(),
            ),
            state: self.state,
            ecn: self.ecn.mode(),
            ect: self.ecn.may_set_ect(),
            received_ce_pkts: self.ecn.received_ce(),
            cc: self.effective_cc(),
            delay: self.delay_mode(),
            queueing_delay: measured.map(|m| m.queueing),
            stamped_rtt: measured.map(|m| m.rtt),
            snd_cwnd: self.cwnd(),
            snd_ssthresh: ssthresh,
            srtt: self.rtt.srtt(),
            srtt_quantised: self.rtt.srtt_quantised(&self.config),
            rttvar: self.rtt.rttvar(),
            min_rtt: self.rtt.min(),
            rto: self.rtt.rto(),
            in_flight: self.snd.board.pipe(),
            bytes_acked: self.acked_upto(),
            bytes_received: self.rcv.readable_upto(),
            received_ce_bytes: self.rcv.received_ce_bytes(),
            received_bytes: self.rcv.received_bytes(),
            snd_wnd: self.snd.window(),
            rcv_buffer: self.rcv.buffer(),
            mss: self.snd.mss(),
            limited_by: self.snd.limited_by(),
            pacing_rate: self.pacing_rate(),
            in_recovery: self.snd.episode.in_recovery(),
            after_rto: self.snd.episode.after_timeout(),
            last_progress: self.snd.last_progress(),
            last_departure: self.last_departure,
            delack_timeouts: self.rcv.delack_timeouts(),
            delack_time: self.rcv.delack_time(),
            delack_detection: self
                .cc
                .as_ref()
                .map_or_else(Default::default, |c| c.delack_detection()),
            counters: self.counters,
        }
    }

    fn delay_mode(&self) -> DelayMode {
        match (&self.delay, self.config.delay_option) {
            (Some(_), _) => DelayMode::On,
            (None, true) => DelayMode::Refused,
            (None, false) => DelayMode::Off,
        }
    }

    /// The control's window, or the current value during PRR.
    fn cwnd(&self) -> u64 {
        if self.snd.prr().is_some() {
            return self.send_window(self.snd.board.pipe());
        }
        self.cc.as_ref().map_or(0, |c| c.cwnd())
    }

    /// Bytes of memory in use, including bookkeeping (never payload).
    pub fn memory(&self) -> usize {
        let control = self.cc.as_deref().map_or(0, size_of_val);
        let decoder = self.decoder.as_deref().map_or(0, size_of_val);
        let delay = self.delay.as_deref().map_or(0, size_of_val);
        size_of::<Self>() + control + decoder + delay + self.rcv.heap() + self.snd.heap()
    }

    /// Reports the state variables of the congestion control.
    pub fn probe(&self, out: &mut dyn Probe) {
        if let Some(cc) = &self.cc {
            cc.probe(out);
        }
    }

    /// DCTCP's alpha in units of 2^-20, if the congestion control exposes one.
    pub fn alpha_q20(&self) -> Option<u64> {
        struct Alpha(Option<u64>);
        impl Probe for Alpha {
            fn value(&mut self, name: &str, unit: Unit, value: u64) {
                if (name, unit) == ("alpha", Unit::Q20) {
                    self.0 = Some(value);
                }
            }
        }
        let mut alpha = Alpha(None);
        self.probe(&mut alpha);
        alpha.0
    }

    /// Notifies the application of the close and its reason.
    pub(crate) const fn notify_closed(&mut self, reason: CloseReason) {
        self.close_reason = reason;
        self.pending.note(EventKind::Closed);
    }

    pub(crate) fn new_id(&mut self) -> TransmitId {
        self.next_id += 1;
        TransmitId(self.next_id)
    }

    /// Closes the connection: stops the timers and notifies the application once.
    pub(crate) fn end(&mut self, reason: CloseReason) {
        if self.state != State::Closed && self.state != State::TimeWait {
            self.notify_closed(reason);
        }
        self.state = State::Closed;
        self.timers.stop_all();
        self.rcv.clear_pending_ack();
        self.end_pacing();
    }
}
