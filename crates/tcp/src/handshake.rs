//! Connection establishment: active, passive and simultaneous open (RFC 9293 §3.5, §3.10.7.3), and
//! option negotiation.
//!
//! Deviation: payload or FIN on a SYN or SYN-ACK is ignored, and the peer retransmits it. RFC 9293
//! §3.10.7.2 allows queueing; most stacks do not queue either.

pub(crate) mod state;

use alloc::boxed::Box;
use alloc::sync::Arc;

use lowtide_units::{Duration, Instant};
use lowtide_wire::{DelayStamps, ExtraOption, Flags, Options, Segment, SeqNum, Timestamps};

use crate::ack;
use crate::cc::{self, CcSetup, WindowRules};
use crate::connection::Connection;
use crate::delay::DelayState;
use crate::ecn::PacketClass;
use crate::event::{CloseReason, EventKind, SegmentError};
use crate::feedback;
use crate::receive::quick_acks::InitialQuickAcks;
use crate::receive::receiver::{Accepted, Receiver};
use crate::send::rate_sample::RateSampler;
use crate::settings::config::{BufferTuning, Config, CutFrom, HandshakeRtt};
use crate::state::State;
use crate::timers::rtt::{elapsed_ticks, round_to_ticks};
use crate::timers::timestamps::{TimestampState, tick};
use crate::transmit::Transmit;
use state::PeerOptions;

/// The memory that Linux charges for a segment of up to 1500 B, bytes (`truesize`, measured over
/// TUN); other drivers have other buffers.
const SEGMENT_MEMORY: u64 = 2304;

/// Length of the timestamps option with padding, bytes.
pub(crate) const TIMESTAMPS_LEN: u32 = 12;

impl Connection {
    /// Opens actively: [`Self::poll_transmit`] returns the SYN.
    ///
    /// The driver chooses `isn`, the initial sequence number, and `ts_base`, the offset of TSval.
    pub fn connect(
        config: Arc<Config>,
        local_port: u16,
        remote_port: u16,
        isn: SeqNum,
        ts_base: u32,
    ) -> Self {
        let mut c = Self::new(config, local_port, remote_port, isn, State::SynSent);
        c.handshake.syn_due = true;
        c.handshake.ts_base = ts_base;
        c
    }

    /// Opens passively on an acceptable SYN (SYN set, ACK and RST clear).
    pub fn accept(
        config: Arc<Config>,
        now: Instant,
        syn: &Segment,
        isn: SeqNum,
        ts_base: u32,
    ) -> Self {
        let mut c = Self::new(config, syn.dst_port, syn.src_port, isn, State::SynReceived);
        c.handshake.syn_due = true;
        c.handshake.ts_base = ts_base;
        // The first SYN cannot contradict another.
        let _ = c.ecn.on_syn(syn.flags, syn.ecn);
        c.on_peer_syn(now, syn);
        c
    }

    /// Clears the SYN-ACK's send time, which is unknown with SYN cookies: its ACK gives no RTT
    /// sample.
    pub(crate) const fn forget_syn_time(&mut self) {
        self.handshake.sent_at = None;
    }

    fn on_peer_syn(&mut self, now: Instant, syn: &Segment) {
        let o = &syn.options;
        self.handshake.peer = PeerOptions {
            mss: o.mss,
            window_scale: o.window_scale,
            sack_permitted: o.sack_permitted,
            delay: o.offers_delay(),
        };
        let shift = if self.window_scaling_agreed() { self.own_window_scale() } else { 0 };
        self.rcv.synchronise(syn.seq, shift);
        self.ts = match (self.config.timestamps, o.timestamps) {
            (true, Some(t)) => {
                let granularity = self.config.timestamp_granularity;
                Some(TimestampState::new(granularity, self.handshake.ts_base, t.value, now))
            }
            _ => None,
        };
        self.snd.on_syn_window(syn);
    }

    /// Returns whether window scaling is agreed; valid from the peer's SYN on.
    fn window_scaling_agreed(&self) -> bool {
        self.config.window_scaling && self.handshake.peer.window_scale.is_some()
    }

    /// Returns whether the delay option is configured and packets have room for it, timestamps and
    /// a byte of payload.
    fn wants_delay_option(&self) -> bool {
        let room = self.config.mtu.saturating_sub(self.ip.headers_len());
        self.config.delay_option && room > TIMESTAMPS_LEN + DelayStamps::WIRE_LEN as u32
    }

    /// Bytes of options on a full segment.
    pub(crate) fn option_bytes(&self) -> u32 {
        let timestamps = if self.ts.is_some() { TIMESTAMPS_LEN } else { 0 };
        let delay = if self.delay.is_some() { DelayStamps::WIRE_LEN as u32 } else { 0 };
        timestamps + delay + self.ecn.option_reserve()
    }

    /// The window scale that we offer.
    fn own_window_scale(&self) -> u8 {
        Receiver::scale_for(self.config.receive_buffer.as_u64())
    }

    /// The options of our SYN (all configured) or SYN-ACK (those that the peer offered too).
    pub(crate) fn syn_options(&self, now: Instant) -> Options {
        let answering = self.state == State::SynReceived;
        let peer = &self.handshake.peer;
        let mss =
            (self.config.mtu.saturating_sub(self.ip.headers_len())).min(u32::from(u16::MAX)) as u16;
        let window_scale =
            if answering { self.window_scaling_agreed() } else { self.config.window_scaling };
        let timestamps = match (&self.ts, answering) {
            (Some(ts), true) => Some(ts.stamp(now)),
            (None, true) => None,
            (_, false) => self.config.timestamps.then(|| Timestamps {
                value: tick(now, self.config.timestamp_granularity, self.handshake.ts_base),
                echo: 0,
            }),
        };
        let mut options = Options {
            mss: Some(mss),
            window_scale: window_scale.then(|| self.own_window_scale()),
            sack_permitted: self.config.sack && (!answering || peer.sack_permitted),
            timestamps,
            ..Options::default()
        };
        if self.wants_delay_option() && (!answering || peer.delay) {
            options.offer_delay();
        }
        options
    }

    /// Returns our SYN or SYN-ACK if one is due.
    #[cold]
    #[inline(never)]
    pub(crate) fn syn_segment(&mut self, now: Instant) -> Option<Transmit> {
        if !core::mem::take(&mut self.handshake.syn_due) {
            return None;
        }
        let answering = self.state == State::SynReceived;
        let class = if answering { PacketClass::SynAck } else { PacketClass::Syn };
        let mut header = Segment {
            src_port: self.local_port,
            dst_port: self.remote_port,
            seq: self.snd.isn(),
            flags: Flags::SYN,
            window: self.rcv.advertise_window(true),
            ecn: self.ecn.codepoint(class),
            options: self.syn_options(now),
            ..Segment::default()
        };
        if answering {
            header.ack = self.rcv.seq(0);
            header.flags |= Flags::ACK | self.ecn.syn_ack_flags();
            // Not on a repeated one: a middlebox may have dropped it (RFC 9768 §3.2.3.2.2).
            if self.handshake.sent_at.is_none() && header.options.extra.is_none() {
                header.options.extra = self.ecn.syn_ack_option().map(ExtraOption::AccEcn);
            }
        } else {
            header.flags |= self.ecn.syn_flags();
        }
        self.handshake.repeated |= self.handshake.sent_at.is_some();
        self.handshake.sent_at = Some(now);
        self.handshake.opened_at.get_or_insert(now);
        self.timers.start_rto(now, &self.rtt);
        Some(self.control_segment(header))
    }

    /// Processes a segment in SYN-SENT (RFC 9293 §3.10.7.3).
    #[cold]
    #[inline(never)]
    pub(crate) fn segment_in_syn_sent(
        &mut self,
        now: Instant,
        seg: &Segment,
    ) -> Result<Accepted, SegmentError> {
        let acks = seg.flags.contains(Flags::ACK);
        if acks && seg.ack != self.snd.seq(0) {
            if !seg.flags.contains(Flags::RST) {
                self.pending_rst = Some(seg.ack);
            }
            return Err(SegmentError::AckOfUnsent);
        }
        if seg.flags.contains(Flags::RST) {
            if !acks {
                return Err(SegmentError::BadReset);
            }
            self.end(CloseReason::Refused);
            return Ok(Accepted::default());
        }
        if !seg.flags.contains(Flags::SYN) {
            return Err(SegmentError::BadHandshake);
        }
        self.on_peer_syn(now, seg);
        if acks {
            self.ecn.on_syn_ack(seg.flags, seg.ecn);
            self.establish(now, seg);
            self.rcv.schedule_ack_now();
        } else {
            // Simultaneous open: the peer's SYN is answered as by a server.
            let _ = self.ecn.on_syn(seg.flags, seg.ecn);
            self.state = State::SynReceived;
            self.handshake.on_crossed_syn();
        }
        Ok(Accepted::default())
    }

    /// Processes the SYN-ACK of a simultaneous open. Its SYN and options are known already, so only
    /// its ACK counts (RFC 9293 §3.5, figure 7, line 6). Its sequence number is not acceptable, so
    /// it is answered (§3.10.7.4). As on every SYN, the window is not scaled and ECE is no
    /// congestion echo.
    #[cold]
    #[inline(never)]
    pub(crate) fn simultaneous_syn_ack_arrives(
        &mut self,
        now: Instant,
        seg: &Segment,
    ) -> Result<Accepted, SegmentError> {
        if self.snd.offset(seg.ack) != 0 {
            self.pending_rst = Some(seg.ack);
            return Err(SegmentError::AckOfUnsent);
        }
        if let (Some(ts), Some(option)) = (self.ts.as_mut(), seg.options.timestamps) {
            ts.update(now, option.value);
        }
        self.ecn.on_syn_ack(seg.flags, seg.ecn);
        self.establish(now, seg);
        self.snd.on_syn_window(seg);
        self.rcv.schedule_ack_now();
        Ok(Accepted::default())
    }

    /// RTT of the handshake, which `seg` completes.
    fn handshake_rtt(&self, now: Instant, seg: &Segment) -> Option<Duration> {
        let sent_once = self.handshake.retransmissions == 0 && !self.handshake.repeated;
        match (self.config.handshake_rtt, &self.ts, seg.options.timestamps) {
            _ if sent_once => {
                self.handshake.sent_at.map(|sent_at| elapsed_ticks(sent_at, now, &self.config))
            }
            (HandshakeRtt::Timestamps, Some(ts), Some(option)) => {
                // An echo of the current tick counts as one tick, as in Linux.
                let rtt = ts.rtt_at_least_a_tick(now, option.echo)?;
                Some(round_to_ticks(rtt, &self.config))
            }
            _ => None,
        }
    }

    /// Completes the handshake: the peer acknowledged our SYN, and we have the peer's.
    #[cold]
    #[inline(never)]
    pub(crate) fn establish(&mut self, now: Instant, seg: &Segment) {
        let config = Arc::clone(&self.config);
        let peer = self.handshake.peer;
        // A window scale above 14 is the peer's error: use 14 (RFC 7323 §2.3).
        let agreed = self.window_scaling_agreed();
        self.snd.set_window_shift(if agreed { peer.window_scale.unwrap_or(0).min(14) } else { 0 });
        self.sack_ok = config.sack && peer.sack_permitted;
        let uses_delay = self.wants_delay_option() && peer.delay;
        self.delay = uses_delay.then(|| Box::new(DelayState::new(&config)));
        let uses_accecn = self.ecn.establish_option(seg.options.accecn(), !uses_delay);
        self.has_extra_option = uses_delay || uses_accecn;
        let option_bytes = self.option_bytes();
        // The peer must not control the number of segments in a window (CVE-2019-11479).
        let peer_mss = u32::from(peer.mss.unwrap_or(self.ip.default_mss())).max(config.min_mss);
        let segment = peer_mss.min(config.mtu.saturating_sub(self.ip.headers_len()));
        self.snd.set_mss(segment.saturating_sub(option_bytes).max(1), &config);

        if let Some(rtt) = self.handshake_rtt(now, seg) {
            self.rtt.sample(&config, rtt, (0, 0));
        } else if self.handshake.retransmissions > 0 {
            self.rtt.syn_was_retransmitted(&config);
        }

        let mss = self.snd.mss();
        // If SYN or SYN-ACK was lost more than once, the window is one segment (RFC 5681 §3.1). A
        // single loss may be a timeout of 1 s that was too short, and does not count (RFC 6928 §2;
        // Linux tcp_init_transfer). A CE mark on SYN or SYN-ACK does (RFC 5562 §3.1; RFC 9768
        // §3.2.2.2 requires a reaction but leaves it open).
        let full_window = self.handshake.retransmissions <= 1 && !self.ecn.handshake_was_marked();
        let initial_window =
            if full_window { config.initial_window.bytes(mss) } else { u64::from(mss) };
        let cc_setup = CcSetup {
            mss,
            initial_window,
            floor: u64::from(config.window_floor) * u64::from(mss),
            ssthresh_floor: u64::from(config.ssthresh_floor) * u64::from(mss),
            abc_limit: u64::from(config.abc_limit) * u64::from(mss),
            ecn: self.ecn.is_on(),
            now,
            seed: self.handshake.cc_seed,
            rtt: self.rtt.srtt(),
            rules: window_rules(&config, mss),
        };
        let configured = cc::REGISTRY.find(config.cc).unwrap_or(&cc::newreno::ENTRY);
        // A delay-based congestion control cannot work without the delay option.
        let lacks_delay = configured.requires.host_stamps && !uses_delay;
        let control = if lacks_delay { &cc::newreno::ENTRY } else { configured };
        self.cc_entry = Some(control);
        let values = config.params.values(control.name, control.params);
        self.cc = Some((control.build)(values, &cc_setup));
        self.snd.rate = control.requires.rate_samples.then(|| Box::new(RateSampler::new(now)));
        let mode = self.ecn.mode();
        self.decoder = mode.feedback(config.feedback).map(|name| {
            let decoder = feedback::REGISTRY.find(name).unwrap_or(&feedback::rfc3168::ENTRY);
            (decoder.build)(config.params.values(decoder.name, decoder.params))
        });
        if self.ecn.is_accecn_client() {
            // The SYN-ACK acknowledged one packet, and counts in the mean of packets per ACK.
            self.note_acked_syn();
        }
        let grows = config.window_growth_acks && config.buffer_tuning == BufferTuning::Fixed;
        let growth = if grows { window_growth(config.receive_buffer.as_u64(), mss) } else { 0 };
        let quick_acks = config.initial_quick_acks.as_u64().max(growth);
        let policy = ack::REGISTRY.find(mode.ack(config.ack)).unwrap_or(&ack::rfc3168::ENTRY);
        let setup = ack::AckSetup {
            segments: config.delack_segments.max(1),
            timer: config.delack_timer,
            mss,
            ecn: self.ecn.must_echo(),
        };
        self.receive_only = !uses_delay
            && !self.rcv.is_tuned()
            && !self.ecn.is_accecn()
            && !self.cc.as_ref().is_some_and(|cc| cc.runs_by_the_clock());
        let values = config.params.values(policy.name, policy.params);
        let policy = (policy.build)(values, &setup);
        self.rcv.establish(
            now,
            mss,
            InitialQuickAcks::wrap(policy, quick_acks, config.initial_quick_ack_count),
        );

        self.snd.establish(now);
        self.on_alive(now);
        self.timers.stop_rto();
        self.pending.note(EventKind::Established);
        self.state = if self.snd.fin_is_queued() { State::FinWait1 } else { State::Established };
    }
}

/// The first bytes of a connection during which the window of a fixed buffer grows in Linux. It
/// begins with half of the memory, which is twice `buffer`. The first segment gives the share of
/// payload (`scaling_ratio`, of 1/256). Up to that the window grows two bytes for each that arrives
/// (`tcp_grow_window`).
fn window_growth(buffer: u64, mss: u32) -> u64 {
    let ratio = u64::from(mss.min(1500)) * 256 / SEGMENT_MEMORY;
    (2 * buffer * ratio / 256).saturating_sub(buffer) / 2
}

/// The rules of the window in the settings of a connection.
fn window_rules(config: &Config, mss: u32) -> WindowRules {
    WindowRules {
        counts: config.growth_counts,
        cut_from_window: config.cut_from == CutFrom::Window,
        initial_ssthresh: match config.initial_ssthresh {
            u32::MAX => u64::MAX,
            bytes => u64::from(bytes),
        },
        restart_window: config.restart_window.map(|window| window.bytes(mss)),
    }
}
