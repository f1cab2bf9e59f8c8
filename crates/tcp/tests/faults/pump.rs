//! The driver's duties after every call: send, poll events, let the application act, schedule the
//! next timeout.

use lowtide_tcp::{EcnMode, EcnNegotiation, State};
use lowtide_units::HostStamp;
use lowtide_wire::{Addresses, Flags, Segment, packet};

use crate::case::{ADDRESSES, Attacker, Reads};
use crate::draw::Draw;
use crate::forge;
use crate::world::{Job, Packet, World};

impl World {
    pub(crate) fn pump(&mut self, end: usize) {
        if self.ends[end].released {
            return;
        }
        let (side, id, pair) = (self.ends[end].side, self.ends[end].id, self.ends[end].pair);
        for round in 0.. {
            assert!(round < 5_000, "application and connection keep each other busy");
            self.send_all(end);
            let conn = self.hosts[side].conn(id).expect("it is not released");
            let e = &mut self.ends[end];
            let mut busy = false;
            while let Some(event) = conn.poll_event() {
                if self.trace {
                    println!("{} {side} {id:?} {event:?}", self.now);
                }
                e.on_event(self.now, event);
                busy = true;
            }
            busy |= e.act(self.now, conn);
            if conn.poll_timeout().is_some_and(|at| at + self.case.lateness <= self.now) {
                conn.handle_timeout(self.now);
                self.inspect(end);
                busy = true;
            }
            if !busy {
                break;
            }
            self.progress[pair] = self.now;
        }
        self.look(end);
    }

    fn send_all(&mut self, end: usize) {
        let (side, id, pair) = (self.ends[end].side, self.ends[end].id, self.ends[end].pair);
        let buffer = self.ends[end].plan.config.send_buffer.as_u64();
        let mut sent = 0;
        loop {
            let conn = self.hosts[side].conn(id).expect("it is not released");
            let e = &mut self.ends[end];
            let acked = conn.acked_upto();
            if acked > e.out.base() {
                self.progress[pair] = self.now;
            }
            e.out.forget(acked);
            let Some(t) = conn.poll_transmit(self.now) else { break };
            let mtu = conn.config().mtu;
            conn.on_transmitted(t.id, HostStamp(self.now.as_ps() / 1000));
            e.invariants.transmits(&t, &conn.info(), &e.plan.config, e.inbox.read_upto());
            if t.header.payload_len > 0 {
                let ahead = t.stream.end - acked;
                assert!(ahead <= buffer, "{ahead} B unacknowledged, the buffer has {buffer}");
            }
            sent += 1;
            // At worst everything outstanding is retransmitted, one byte at a time.
            let most = 50 + 2 * buffer.min(e.plan.total);
            assert!(sent <= most, "it never stops sending");
            if t.segments > 1 && t.header.payload_len < 60_000 && self.draw.permille(200) {
                // Segmentation and aggregation cancel out: it is sent and arrives as one.
                let mut payload = Vec::new();
                self.ends[end].out.copy(t.stream.start, t.stream.end, &mut payload);
                self.tally.aggregated += 1;
                self.emit(pair, side, &t.header, &payload, t.segments as u16);
                continue;
            }
            for i in 0..t.segments {
                let seg = t.segment(i);
                assert!(seg.ipv4_len() <= mtu, "{} B on the wire", seg.ipv4_len());
                let range = t.stream_of(i);
                assert_eq!(range.end - range.start, u64::from(seg.payload_len));
                let mut payload = Vec::new();
                self.ends[end].out.copy(range.start, range.end, &mut payload);
                self.emit(pair, side, &seg, &payload, 1);
            }
        }
    }

    /// Puts a segment on the wire, and the attacker's forgeries after it.
    pub(crate) fn emit(
        &mut self,
        pair: usize,
        side: usize,
        seg: &Segment,
        payload: &[u8],
        segments: u16,
    ) {
        if seg.flags.contains(Flags::RST) {
            // A later connection has equal ports; the segment does not identify it.
            let ports = self.case.pairs[pair].ports;
            for (index, plan) in self.case.pairs.iter().enumerate() {
                self.resets[index][side] |= index == pair || plan.ports == ports;
            }
            self.tally.resets_sent += 1;
        }
        if self.trace {
            println!("{} {side} > {}", self.now, brief(seg));
        }
        let games = self.case.middleboxes[side].clone();
        let last_ack = self.last_acks[pair][side];
        let played = match games {
            Some(g) => g.process(&mut self.draw, self.now, seg, last_ack, &mut self.tally),
            None => vec![*seg],
        };
        if seg.flags.contains(Flags::ACK) && !seg.flags.contains(Flags::RST) {
            self.last_acks[pair][side] = Some(seg.ack);
        }
        for seg in &played {
            self.transmit(pair, side, seg, payload, segments, true);
        }
        let chance = match self.case.attacker {
            Attacker::No => 0,
            Attacker::Blind => 150,
            Attacker::LyingPeer => 100,
        };
        if self.forgeries_left > 0 && self.draw.permille(chance) {
            self.forgeries_left -= 1;
            self.tally.forged += 1;
            let d = &mut self.draw;
            let forged = match self.case.attacker {
                Attacker::LyingPeer => forge::insider(d, seg),
                _ => forge::blind(d, seg),
            };
            let payload = forge::payload(d, &forged, payload);
            self.transmit(pair, side, &forged, &payload, 1, false);
        }
    }

    fn transmit(
        &mut self,
        pair: usize,
        side: usize,
        seg: &Segment,
        payload: &[u8],
        segments: u16,
        genuine: bool,
    ) {
        let link = &mut self.links[side];
        let mut seg = *seg;
        seg.ecn = link.remark_ecn(self.now, seg.ecn, &mut self.tally);
        let [src, dst] = [ADDRESSES[side], ADDRESSES[1 - side]];
        let mut bytes = vec![0; packet::MAX_HEADERS_LEN + payload.len()];
        let len = packet::emit(&Addresses::V4 { src, dst }, &seg, payload, &mut bytes);
        let Ok(len) = len else {
            // A lying peer may request more options than fit.
            assert!(!genuine, "{seg:?} fits into no packet");
            return;
        };
        bytes.truncate(len);
        for delivery in link.carry(self.now, &bytes, &mut self.tally) {
            let original = delivery.corrupted.then(|| bytes.clone());
            let packet =
                Packet { to: 1 - side, bytes: delivery.bytes, original, segments, genuine, pair };
            self.add(delivery.at, Job::Arrive(Box::new(packet)));
        }
    }

    /// The connection processed an input and has not sent since.
    pub(crate) fn inspect(&mut self, end: usize) {
        let e = &mut self.ends[end];
        if let Some(conn) = self.hosts[e.side].conn(e.id) {
            e.invariants.before_send(&conn.info(), &e.plan.config, conn.acked_upto());
        }
    }

    /// Checks the connection from outside, and releases it when it is over.
    fn look(&mut self, end: usize) {
        if self.ends[end].vanished {
            self.tally.vanished += 1;
            self.release(end);
            return;
        }
        let now = self.now;
        let e = &mut self.ends[end];
        let conn = self.hosts[e.side].conn(e.id).expect("it is not released");
        let info = conn.info();
        e.invariants.after_send(&info, conn.acked_upto());
        e.timeout = conn.poll_timeout().map(|at| at + self.case.lateness);
        assert!(e.timeout.is_none_or(|at| at > now), "wants to come back at {:?}", e.timeout);
        let readable = e.inbox.read_upto() + e.inbox.readable();
        if info.state.is_synchronised() && e.invariants.ack_due(readable, &e.plan.config) {
            let latest = now + e.plan.config.delack_timer + self.case.lateness;
            assert!(e.timeout.is_some_and(|at| at <= latest), "an ACK is pending for too long");
        }
        if info.state.can_receive() {
            e.invariants.check_window_opens(readable, e.inbox.readable(), info.mss, &e.plan.config);
        }
        if info.ecn != EcnMode::Off && e.honest {
            let wishes = self.case.pairs[e.pair].ends.each_ref().map(|e| e.config.ecn);
            let accurate = wishes.iter().all(|w| w.accepts_accecn());
            // The end that opens may have requested classic ECN.
            let classic =
                info.ecn == EcnMode::Classic && wishes.contains(&EcnNegotiation::AccEcnRfc3168);
            assert!(
                !wishes.contains(&EcnNegotiation::Off)
                    && wishes.iter().any(|w| w.requests_ecn())
                    && (classic || (info.ecn == EcnMode::AccEcn) == accurate),
                "{:?} out of {wishes:?}",
                info.ecn
            );
        }
        if let Some(rtt) = info.min_rtt.filter(|_| e.honest) {
            // A timestamp has a resolution of one tick, and so has the clock of round trips.
            let least = self.case.faults[0].delay + self.case.faults[1].delay;
            let config = &e.plan.config;
            let tick = config.timestamp_granularity + config.rtt_granularity;
            assert!(rtt + tick >= least, "a round trip of {rtt}, the path takes {least}");
        }
        assert_eq!(conn.unread(), e.inbox.readable(), "unread bytes");
        let waits = match info.state {
            State::Established | State::CloseWait => conn.acked_upto() < e.out.end(),
            State::FinWait2 | State::Closed => false,
            _ => true,
        };
        assert!(!waits || e.timeout.is_some(), "{:?}: waits and no timer runs", info.state);
        if info.state == State::Closed {
            assert!(e.is_over(), "closed without an event");
            assert_eq!(e.timeout, None, "a timer of a closed connection");
        }
        if self.draw.permille(20) {
            let size = format!("{conn:?}").len() as u64;
            let held = e.invariants.sent.saturating_sub(e.out.base()) + 2;
            assert!(size <= 100_000 + 200 * held, "{size} characters of state");
        }
        if e.is_over() && (info.state == State::Closed || !e.plan.keep_time_wait) {
            self.release(end);
        } else if let Some(at) = self.ends[end].wakes_at()
            && self.ends[end].scheduled != Some(at)
        {
            self.ends[end].scheduled = Some(at);
            self.add(at.max(now), Job::App(end));
        }
    }

    fn release(&mut self, end: usize) {
        let e = &mut self.ends[end];
        let host = &mut self.hosts[e.side];
        let conn = host.conn(e.id).expect("it is not released");
        let counters = conn.info().counters;
        self.tally.retransmission_timeouts += counters.rto_count;
        self.tally.fast_retransmits += counters.fast_retransmits;
        self.tally.loss_probes += counters.loss_probes;
        self.tally.probe_recoveries += counters.loss_probe_recoveries;
        self.tally.ecn_reductions += counters.ecn_reductions;
        let info = conn.info();
        if info.ecn == EcnMode::AccEcn {
            self.tally.accurate += 1;
            self.tally.ce_packets += info.received_ce_pkts;
            self.tally.ce_reported += counters.delivered_ce_segs;
        }
        self.tally.retransmitted_bytes += counters.bytes_retrans;
        self.tally.closed_windows += e.invariants.closed_windows;
        self.tally.sequence_wraps += u64::from(e.invariants.wrapped());
        self.tally.timestamp_wraps += u64::from(e.invariants.stamps_wrapped);
        self.tally.bytes_read += e.inbox.read_upto();
        self.tally.hoards += u64::from(e.plan.reads == Reads::Hoard);
        self.tally.outcome(e.reason.expect("it is over"), e.reset_by_predecessor());
        host.release(self.now, e.id);
        e.released = true;
        e.timeout = None;
        let (next, side) = (e.pair + 1, e.side);
        let follows = side == 0 && self.case.pairs.get(next).is_some_and(|p| p.reuses_ports);
        let begun = self.ends.iter().any(|e| e.pair == next && e.side == 0);
        if follows && !begun {
            self.tally.sequels += 1;
            self.progress[next] = self.now;
            let mut d = Draw::new(self.case.seed, next as u64, "sequel");
            self.add(self.now + d.micros(1, 1_000_000), Job::Open(next, 0));
        }
    }
}

/// A segment in one line, in the style of tcpdump.
pub(crate) fn brief(seg: &Segment) -> String {
    let o = &seg.options;
    let syn = o.mss.map_or(String::new(), |mss| {
        format!(" mss {mss} scale {:?} sack {}", o.window_scale, o.sack_permitted)
    });
    let stamps = o.timestamps.map_or(String::new(), |t| format!(" ts {} {}", t.value, t.echo));
    format!(
        "{}>{} {:?} {:?} {:?}+{} ack {:?} win {}{syn}{stamps} {:?}",
        seg.src_port,
        seg.dst_port,
        seg.flags,
        seg.ecn,
        seg.seq,
        seg.payload_len,
        seg.ack,
        seg.window,
        o.sack.as_slice()
    )
}
