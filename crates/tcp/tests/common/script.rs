//! One connection in virtual time with a scripted peer.

use std::collections::VecDeque;
use std::sync::Arc;

use lowtide_tcp::{Accepted, Config, Connection, EcnNegotiation, Event, SegmentError};
use lowtide_units::{Duration, Instant};
use lowtide_wire::{Flags, Segment};

use super::{Opts, Origin, Packet, SeqBase, ms};

/// One connection and its log. Every packet that it sends must be expected, at the time at which it
/// is sent, before anything else happens; see [`Script::run`] for the notation.
pub(crate) struct Script {
    pub(crate) conn: Connection,
    pub(crate) now: Instant,
    pub(crate) origin: Origin,
    /// The window field of injected segments without one.
    pub(crate) window: u16,
    /// The bytes accepted from the last injected segment.
    pub(crate) accepted: Accepted,
    /// Injected segments carry timestamps: the peer's clock in milliseconds.
    pub(crate) timestamps: bool,
    last_ts: i64,
    queue: VecDeque<Segment>,
    pub(super) events: VecDeque<Event>,
    log: Vec<String>,
}

impl Script {
    fn new(o: Origin, conn: Connection) -> Self {
        let mut script = Self {
            conn,
            now: Instant::ZERO,
            origin: o,
            window: u16::MAX,
            accepted: Accepted::default(),
            timestamps: false,
            last_ts: 0,
            queue: VecDeque::new(),
            events: VecDeque::new(),
            log: Vec::new(),
        };
        script.pump();
        script
    }

    /// An active open; the SYN is queued to be expected.
    pub(crate) fn active(o: Origin, config: &Config) -> Self {
        Self::new(o, Connection::connect(Arc::new(config.clone()), 1, 2, o.isn, o.ts_local))
    }

    /// A passive open by this SYN; the SYN-ACK is queued to be expected.
    pub(crate) fn passive(o: Origin, config: &Config, syn: &str) -> Self {
        let mut seg = Packet::parse(syn).to_segment(&SeqBase::incoming(&o), u16::MAX);
        (seg.src_port, seg.dst_port) = (2, 1);
        let config = Arc::new(config.clone());
        let conn = Connection::accept(config, Instant::ZERO, &seg, o.isn, o.ts_local);
        let mut script = Self::new(o, conn);
        script.log.insert(0, format!("@0 s < {syn}"));
        script
    }

    /// Opened actively 10 ms ago with a peer that offers the options of `config`, and MSS 1460.
    pub(crate) fn established(o: Origin, config: &Config) -> Self {
        let mut opts = vec!["mss 1460"];
        opts.extend(config.sack.then_some("sackOK"));
        opts.extend(config.window_scaling.then_some("wscale 0"));
        let ecn = if config.ecn == EcnNegotiation::Rfc3168 { "E" } else { "" };
        Self::opened(o, config, &format!("S.{ecn} 0:0(0) ack 1 <{}>", opts.join(",")))
    }

    /// Opened actively 10 ms ago by this SYN-ACK, with timestamps added if offered.
    pub(crate) fn opened(o: Origin, config: &Config, syn_ack: &str) -> Self {
        let mut script = Self::active(o, config);
        script.timestamps = config.timestamps;
        script.sent();
        script.advance(script.now + ms(10));
        script.inject(syn_ack).unwrap_or_else(|e| panic!("{syn_ack}: {e}"));
        let ack = script.sent();
        assert_eq!(ack.payload_len, 0, "only an ACK is due");
        script
    }

    /// Opened passively by a peer that offers the options of `config`, 10 ms after its SYN.
    pub(crate) fn accepted(o: Origin, config: &Config) -> Self {
        let mut opts = vec!["mss 1460"];
        opts.extend(config.sack.then_some("sackOK"));
        opts.extend(config.window_scaling.then_some("wscale 0"));
        opts.extend(config.timestamps.then_some("TS val 0 ecr 0"));
        let ecn = if config.ecn == EcnNegotiation::Off { "" } else { "EW" };
        let syn = format!("S{ecn} 0:0(0) win 65535 <{}>", opts.join(","));
        let mut script = Self::passive(o, config, &syn);
        script.timestamps = config.timestamps;
        script.sent();
        script.advance(script.now + ms(10));
        script.inject(". 1:1(0) ack 1").expect("the handshake ends");
        script
    }

    /// Ends the test with the reason and the log.
    pub(crate) fn fail(&self, why: &str) -> ! {
        panic!("{why}\n--- so far\n{}\n", self.log.join("\n"));
    }

    pub(super) fn note(&mut self, line: &str) {
        self.log.push(format!("@{} {line}", self.now.since_start()));
    }

    /// Polls everything, as a driver must after every call.
    pub(crate) fn pump(&mut self) {
        for _ in 0..100_000 {
            let Some(t) = self.conn.poll_transmit(self.now) else {
                self.events.extend(std::iter::from_fn(|| self.conn.poll_event()));
                return;
            };
            for i in 0..t.segments {
                let seg = t.segment(i);
                let range = t.stream_of(i);
                assert_eq!(range.end - range.start, u64::from(seg.payload_len), "{t:?}");
                let packet = Packet::from_segment(&seg, &SeqBase::outgoing(&self.origin));
                if let Some(Opts { ts: Some((value, _)), .. }) = packet.opts {
                    self.last_ts = value;
                }
                self.note(&format!("> {packet}"));
                self.queue.push_back(seg);
            }
        }
        self.fail("it never stops sending");
    }

    /// Checks that no unexpected packet was sent.
    pub(crate) fn expect_nothing(&self) {
        if let Some(seg) = self.queue.front() {
            let got = Packet::from_segment(seg, &SeqBase::outgoing(&self.origin));
            self.fail(&format!("expected nothing\n     got {got}"));
        }
    }

    /// The next packet, unchecked.
    pub(crate) fn sent(&mut self) -> Segment {
        self.queue.pop_front().unwrap_or_else(|| self.fail("expected a packet\n     got nothing"))
    }

    /// Drops the next packet unchecked; false if there is none.
    pub(crate) fn drop_sent(&mut self) -> bool {
        self.queue.pop_front().is_some()
    }

    /// Checks the next packet; with `psh_open` PSH is not compared.
    pub(crate) fn expect(&mut self, want: &Packet, psh_open: bool) {
        let Some(seg) = self.queue.pop_front() else {
            self.fail(&format!("expected {want}\n     got nothing"));
        };
        let mut got = Packet::from_segment(&seg, &SeqBase::outgoing(&self.origin));
        let shown = got.clone();
        if psh_open {
            got.flags = got.flags.without(Flags::PSH);
        }
        if !want.matches(&got) {
            self.fail(&format!("expected {want}\n     got {shown}"));
        }
    }

    /// A segment of the peer arrives.
    pub(crate) fn inject(&mut self, text: &str) -> Result<(), SegmentError> {
        self.inject_packet(Packet::parse(text))
    }

    pub(super) fn inject_packet(&mut self, mut packet: Packet) -> Result<(), SegmentError> {
        self.expect_nothing();
        let opts = packet.opts.get_or_insert_default();
        if self.timestamps && opts.ts.is_none() && !opts.no_ts {
            let clock = self.now.since_start().as_ms() as i64;
            opts.ts = Some((clock, self.last_ts));
        }
        let mut seg = packet.to_segment(&SeqBase::incoming(&self.origin), self.window);
        (seg.src_port, seg.dst_port) = (2, 1);
        self.note(&format!("< {packet}"));
        let result = self.conn.handle_segment(self.now, &seg);
        if let Err(error) = &result {
            self.note(&format!("  refused: {error}"));
        }
        self.pump();
        result.map(|accepted| self.accepted = accepted)
    }

    /// Advances the time to `target`. Packets sent by timers before that are unexpected.
    pub(crate) fn advance(&mut self, target: Instant) {
        self.expect_nothing();
        let mut rounds = 0;
        while let Some(at) = self.conn.poll_timeout().filter(|at| *at <= target) {
            if at < target {
                self.expect_nothing();
            }
            self.now = at.max(self.now);
            self.conn.handle_timeout(self.now);
            self.pump();
            rounds += 1;
            if rounds > 10_000 {
                self.fail("a timer fires again and again");
            }
        }
        if self.now < target {
            self.expect_nothing();
            self.now = target;
        }
    }

    /// Time until the next timer.
    pub(crate) fn timer(&self) -> Option<Duration> {
        self.conn.poll_timeout().map(|at| at.saturating_since(self.now))
    }

    /// Lets the application act, then polls.
    pub(crate) fn app(&mut self, act: impl FnOnce(&mut Connection)) {
        self.expect_nothing();
        act(&mut self.conn);
        self.pump();
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.expect_nothing();
        }
    }
}
