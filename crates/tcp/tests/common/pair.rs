//! Two connections over a link in virtual time.

use std::collections::BTreeMap;
use std::sync::Arc;

use lowtide_tcp::{Config, Connection, Event};
use lowtide_units::{Duration, Instant};
use lowtide_wire::{Ecn, Segment};

use super::{Origin, Packet, SeqBase};

/// One of the two ends; A opens actively.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    A,
    B,
}

/// A segment in flight.
#[derive(Clone, Debug)]
pub(crate) struct SentSegment {
    /// Its sender.
    pub(crate) from: Side,
    /// Number of segments that this side sent before.
    pub(crate) index: usize,
    pub(crate) seg: Segment,
    /// The segment with relative numbers.
    pub(crate) packet: Packet,
    pub(crate) sent_at: Instant,
}

impl SentSegment {
    /// It carries payload.
    pub(crate) fn has_data(&self) -> bool {
        self.seg.payload_len > 0
    }
}

/// Action of the link on a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LinkAction {
    Pass,
    Drop,
    /// Marked CE if ECN-capable; otherwise it passes.
    Mark,
    /// It is delayed by this much more.
    Delay(Duration),
    /// It arrives twice.
    Duplicate,
}

/// Two connections, the link between them and all sent segments.
pub(crate) struct Pair {
    pub(crate) a: Connection,
    pub(crate) b: Option<Connection>,
    pub(crate) now: Instant,
    /// Every sent segment with the action of the link.
    pub(crate) trace: Vec<(SentSegment, LinkAction)>,
    pub(crate) events: Vec<(Side, Event)>,
    /// A side reads its data as soon as it can.
    pub(crate) reads: [bool; 2],
    origin: Origin,
    config_b: Arc<Config>,
    delay: Duration,
    link: Box<dyn FnMut(&SentSegment) -> LinkAction>,
    in_flight: BTreeMap<(Instant, u64), (Side, Segment)>,
    counter: u64,
    sent: [usize; 2],
}

impl Pair {
    /// A opens to B over a link with `delay` in each direction.
    pub(crate) fn new(o: Origin, a: &Config, b: &Config, delay: Duration) -> Self {
        Self {
            a: Connection::connect(Arc::new(a.clone()), 1, 2, o.isn, o.ts_local),
            b: None,
            now: Instant::ZERO,
            trace: Vec::new(),
            events: Vec::new(),
            reads: [true; 2],
            origin: o,
            config_b: Arc::new(b.clone()),
            delay,
            link: Box::new(|_| LinkAction::Pass),
            in_flight: BTreeMap::new(),
            counter: 0,
            sent: [0; 2],
        }
    }

    /// B also opens actively, instead of listening.
    pub(crate) fn simultaneous(o: Origin, a: &Config, b: &Config, delay: Duration) -> Self {
        let mut pair = Self::new(o, a, b, delay);
        let config = Arc::clone(&pair.config_b);
        pair.b = Some(Connection::connect(config, 2, 1, o.irs, o.ts_remote));
        pair
    }

    /// Sets the action of the link for each segment from here on.
    pub(crate) fn link(&mut self, link: impl FnMut(&SentSegment) -> LinkAction + 'static) {
        self.link = Box::new(link);
    }

    pub(crate) fn conn(&mut self, side: Side) -> &mut Connection {
        match side {
            Side::A => &mut self.a,
            Side::B => self.b.as_mut().expect("B does not exist yet"),
        }
    }

    fn has(&self, side: Side) -> bool {
        side == Side::A || self.b.is_some()
    }

    fn pump(&mut self, side: Side) {
        if !self.has(side) {
            return;
        }
        let now = self.now;
        for _ in 0..100_000 {
            let Some(t) = self.conn(side).poll_transmit(now) else { break };
            for i in 0..t.segments {
                self.carry(side, t.segment(i));
            }
        }
        while let Some(event) = self.conn(side).poll_event() {
            self.events.push((side, event));
            if matches!(event, Event::Readable { .. }) && self.reads[side as usize] {
                let n = self.conn(side).unread();
                self.conn(side).read(n);
                self.pump(side);
            }
        }
    }

    fn carry(&mut self, from: Side, seg: Segment) {
        let frame = match from {
            Side::A => SeqBase::outgoing(&self.origin),
            Side::B => SeqBase::incoming(&self.origin),
        };
        let index = self.sent[from as usize];
        self.sent[from as usize] += 1;
        let packet = Packet::from_segment(&seg, &frame);
        let sent = SentSegment { from, index, seg, packet, sent_at: self.now };
        let action = (self.link)(&sent);
        self.trace.push((sent, action));
        let to = if from == Side::A { Side::B } else { Side::A };
        let mut seg = seg;
        let mut at = self.now + self.delay;
        match action {
            LinkAction::Drop => return,
            LinkAction::Mark if seg.ecn.is_capable() => seg.ecn = Ecn::Ce,
            LinkAction::Delay(more) => at += more,
            LinkAction::Pass | LinkAction::Mark | LinkAction::Duplicate => {}
        }
        for _ in 0..if action == LinkAction::Duplicate { 2 } else { 1 } {
            self.in_flight.insert((at, self.counter), (to, seg));
            self.counter += 1;
        }
    }

    fn arrive(&mut self, side: Side, seg: &Segment) {
        if self.has(side) {
            let now = self.now;
            // Rejected segments are in the counters of the connection.
            let _ = self.conn(side).handle_segment(now, seg);
        } else {
            let config = Arc::clone(&self.config_b);
            let (isn, ts) = (self.origin.irs, self.origin.ts_remote);
            self.b = Some(Connection::accept(config, self.now, seg, isn, ts));
        }
        self.pump(side);
    }

    /// Processes the next due item before `until`; false if there is none.
    fn step(&mut self, until: Instant) -> bool {
        self.pump(Side::A);
        self.pump(Side::B);
        let packet = self.in_flight.keys().next().map(|k| k.0);
        let timers = [self.a.poll_timeout(), self.b.as_ref().and_then(Connection::poll_timeout)];
        let next = packet.into_iter().chain(timers.into_iter().flatten()).min();
        let Some(at) = next.filter(|at| *at <= until) else { return false };
        self.now = at.max(self.now);
        if packet == Some(at) {
            if let Some((_, (to, seg))) = self.in_flight.pop_first() {
                self.arrive(to, &seg);
            }
            return true;
        }
        for (side, timer) in [Side::A, Side::B].into_iter().zip(timers) {
            if timer == Some(at) {
                let now = self.now;
                self.conn(side).handle_timeout(now);
                self.pump(side);
            }
        }
        true
    }

    /// Advances the time by `span`.
    pub(crate) fn run(&mut self, span: Duration) {
        let until = self.now + span;
        let mut steps = 0;
        while self.step(until) {
            steps += 1;
            assert!(steps < 1_000_000, "no end at {:?}\n{}", self.now, self.tail());
        }
        self.now = until;
    }

    /// Advances the time until `done`, by at most `span`.
    pub(crate) fn run_until(&mut self, span: Duration, mut done: impl FnMut(&Self) -> bool) {
        let until = self.now + span;
        while !done(self) {
            assert!(self.step(until), "not done by {until:?}\n{}", self.tail());
        }
    }

    /// Segments of one side in the order of sending.
    pub(crate) fn sent_by(&self, side: Side) -> impl Iterator<Item = &SentSegment> {
        self.trace.iter().map(|(t, _)| t).filter(move |t| t.from == side)
    }

    /// The last segments, for errors.
    pub(crate) fn tail(&self) -> String {
        let from = self.trace.len().saturating_sub(60);
        let lines = self.trace[from..].iter().map(|(t, action)| {
            let arrow = if t.from == Side::A { ">" } else { "<" };
            format!("{:?} {arrow} {} {action:?}", t.sent_at, t.packet)
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}
