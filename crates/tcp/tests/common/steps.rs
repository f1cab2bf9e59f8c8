//! The lines of a transcript.

use lowtide_tcp::{CloseReason, Event, IcmpReport};
use lowtide_units::{Probe, Unit, parse_duration};

use super::{Packet, Script};

impl Script {
    /// Runs the lines of `text`; `//` begins a comment. A line may begin with `+10ms`: wait that
    /// long first, with nothing sent meanwhile. Then comes one of
    ///
    /// ```text
    /// < PACKET            it arrives and is accepted
    /// < PACKET -> ERROR   it arrives and is rejected with this SegmentError
    /// > PACKET            it is sent now
    /// < PACKET * 3        three times, the sequence number advancing by the payload; with `>` PSH
    ///                     is not compared
    /// send N, read N, close, abort      action of the application
    /// is KEY VALUE        a fact of Info or of the timers, see `fact`
    /// event NAME          the next event
    /// too-big SEQ MTU, refused SEQ      ICMP error for a packet with that sequence number
    /// ```
    ///
    /// A failure prints the line.
    pub(crate) fn run(&mut self, text: &str) {
        for (index, line) in text.lines().enumerate() {
            let step = line.split("//").next().unwrap_or_default().trim();
            if !step.is_empty() {
                self.note(&format!("[line {}] {step}", index + 1));
                self.step(step);
            }
        }
        self.expect_nothing();
    }

    fn step(&mut self, step: &str) {
        let mut rest = step;
        if let Some(after) = step.strip_prefix('+') {
            let (wait, tail) = after.split_once(' ').unwrap_or((after, ""));
            let wait = parse_duration(wait).unwrap_or_else(|e| panic!("{step}: {e}"));
            self.advance(self.now + wait);
            rest = tail.trim();
        }
        let (op, args) = rest.split_once(' ').unwrap_or((rest, ""));
        let args = args.trim();
        match op {
            "" => {}
            "<" => self.arrives(args),
            ">" => self.leaves(args),
            "send" => self.app(|c| c.send(amount(args))),
            "read" => self.app(|c| c.read(amount(args))),
            "close" => self.app(lowtide_tcp::Connection::close),
            "abort" => self.app(lowtide_tcp::Connection::abort),
            "is" => {
                let (key, want) = args.split_once(' ').expect("is KEY VALUE");
                let got = self.fact(key);
                if got != want {
                    self.fail(&format!("expected {key} {want}\n     got {key} {got}"));
                }
            }
            "too-big" => {
                let (seq, mtu) = args.split_once(' ').expect("too-big SEQ MTU");
                self.report(seq, IcmpReport::TooBig { mtu: amount(mtu) as u32 });
            }
            "refused" => self.report(args, IcmpReport::HardError),
            "event" => {
                let got = self.events.pop_front().map_or("none".to_owned(), |e| name(&e));
                if got != args {
                    self.fail(&format!("expected event {args}\n     got event {got}"));
                }
            }
            _ => panic!("unknown step {step:?}"),
        }
    }

    fn arrives(&mut self, args: &str) {
        let (args, want) = args.split_once("->").unwrap_or((args, "Ok"));
        let (mut packet, times) = repeated(args);
        for _ in 0..times {
            let got = match self.inject_packet(packet.clone()) {
                Ok(()) => "Ok".to_owned(),
                Err(e) => format!("{e:?}"),
            };
            if got != want.trim() {
                self.fail(&format!("{packet}\nexpected {}\n     got {got}", want.trim()));
            }
            packet.seq += i64::from(packet.len);
        }
    }

    fn report(&mut self, seq: &str, report: IcmpReport) {
        let (seq, now) = (self.origin.isn.add(amount(seq)), self.now);
        self.app(|c| {
            c.handle_icmp_report(now, seq, report);
        });
    }

    fn leaves(&mut self, args: &str) {
        let (mut packet, times) = repeated(args);
        for _ in 0..times {
            self.expect(&packet, args.contains('*'));
            packet.seq += i64::from(packet.len);
        }
    }

    /// A fact as text: `state`, `cwnd`, `ssthresh`, `flight`, `mss`, `rto`, `srtt`, `wnd`, `acked`,
    /// `received`, `limited`, `rate` (bit/s), `ecn`, `ect`, `ce-segs`, `ce-in`, `recovery`, `rtos`,
    /// `retransmits`, `undos`, `cuts`, `probes`, `probe-repairs`, `ce`, `challenges`, `throttled`,
    /// `unread`, `alpha` in 1/1024, and `timer`, the time to the next one.
    pub(crate) fn fact(&self, key: &str) -> String {
        let info = self.conn.info();
        let span = |d: Option<lowtide_units::Duration>| {
            d.map_or("none".to_owned(), |d| d.to_string().replace(' ', ""))
        };
        match key {
            "state" => format!("{:?}", info.state),
            "cwnd" => info.snd_cwnd.to_string(),
            "ssthresh" => info.snd_ssthresh.map_or("none".to_owned(), |s| s.to_string()),
            "flight" => info.in_flight.to_string(),
            "mss" => info.mss.to_string(),
            "rto" => span(Some(info.rto)),
            "srtt" => span(info.srtt),
            "wnd" => info.snd_wnd.to_string(),
            "acked" => info.bytes_acked.to_string(),
            "received" => info.bytes_received.to_string(),
            "limited" => format!("{:?}", info.limited_by),
            "rate" => info.pacing_rate.map_or("none".to_owned(), |r| r.as_bps().to_string()),
            "ecn" => format!("{:?}", info.ecn),
            "ect" => info.ect.to_string(),
            "ce-segs" => info.counters.delivered_ce_segs.to_string(),
            "ce-in" => info.received_ce_pkts.to_string(),
            "recovery" => info.in_recovery.to_string(),
            "rtos" => info.counters.rto_count.to_string(),
            "retransmits" => info.counters.fast_retransmits.to_string(),
            "undos" => info.counters.undos.to_string(),
            "cuts" => info.counters.ecn_reductions.to_string(),
            "probes" => info.counters.loss_probes.to_string(),
            "probe-repairs" => info.counters.loss_probe_recoveries.to_string(),
            "ce" => info.counters.delivered_ce_bytes.to_string(),
            "challenges" => info.counters.challenge_acks.to_string(),
            "throttled" => info.counters.throttled_acks.to_string(),
            "unread" => self.conn.unread().to_string(),
            "alpha" => {
                let mut probe = Alpha(None);
                self.conn.probe(&mut probe);
                probe.0.map_or("none".to_owned(), |a| (a >> 10).to_string())
            }
            "timer" => span(self.timer()),
            _ => panic!("no fact {key:?}"),
        }
    }
}

/// DCTCP's alpha, in 20 fraction bits.
struct Alpha(Option<u64>);

impl Probe for Alpha {
    fn value(&mut self, name: &str, unit: Unit, value: u64) {
        if name == "alpha" && unit == Unit::Q20 {
            self.0 = Some(value);
        }
    }
}

fn amount(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("not a number of bytes: {text:?}"))
}

fn repeated(args: &str) -> (Packet, u32) {
    let (text, times) = args.split_once('*').unwrap_or((args, "1"));
    (Packet::parse(text), times.trim().parse().expect("how many times"))
}

fn name(event: &Event) -> String {
    match event {
        Event::Established => "established".to_owned(),
        Event::Readable { upto } => format!("readable {upto}"),
        Event::Writable => "writable".to_owned(),
        Event::PeerClosed => "peer-closed".to_owned(),
        Event::Closed(reason) => match reason {
            CloseReason::Normal => "closed",
            CloseReason::Reset => "reset",
            CloseReason::Refused => "refused",
            CloseReason::TimedOut => "timed-out",
            CloseReason::UserTimeout => "user-timeout",
            CloseReason::KeepAlive => "keep-alive",
            CloseReason::Aborted => "aborted",
            other => panic!("{other:?} is new"),
        }
        .to_owned(),
        other => panic!("{other:?} is new"),
    }
}
