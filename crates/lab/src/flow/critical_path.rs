//! The critical path: the chain of packets and waits that led to the last byte, back to the open.
//!
//! Contract: the steps cover the time from the open to the end exactly. Each is serialisation,
//! propagation, queueing behind the flow's own bytes or behind others, or a wait for a timer or the
//! application. Going backwards, a packet was sent because another arrived, and so on. The chain is
//! therefore what bounded the transfer, not the sum of all packets' delays.
//!
//! Each row of a trace continues the chain of an earlier row, so chains are built forwards: every
//! chain that may still be continued is kept as its sums by phase and cause.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use lowtide_rows::{TraceHopRow, TraceSegmentRow, TraceSenderRow};

/// Cause of a part of the delay.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DelayCause {
    /// Serialisation of the packet, framing included.
    Serialisation,
    /// Propagation from the end of a line to the next node, host jitter included.
    Propagation,
    /// Queueing behind packets of the same flow and direction: the line was sending this flow.
    OwnQueueing {
        /// The queue.
        queue: String,
    },
    /// Queueing behind packets of other flows.
    CrossTraffic {
        /// The queue.
        queue: String,
    },
    /// The receiver delayed its ACK.
    DelayedAck,
    /// Nothing moved until the retransmission timer fired.
    Rto,
    /// Nothing moved until the tail loss probe timer fired.
    LossProbe,
    /// Nothing moved until the RACK reordering timer fired.
    Reordering,
    /// Pacing, or another timer.
    Timer,
    /// The application had nothing to send.
    Application,
}

/// Phases of a sender, each with its title.
pub(super) const PHASES: [(&str, &str); 5] = [
    ("handshake", "handshake"),
    ("slow-start", "slow start"),
    ("avoidance", "avoidance"),
    ("recovery", "recovery"),
    ("timeout", "after RTO"),
];

/// Limit on the records of a queue that are kept for the packets behind them.
const MAX_QUEUE_RECORDS: usize = 1 << 18;

/// Time spans with one cause each, picoseconds; index of the cause in [`CriticalPath::causes`].
type Steps = Vec<(u64, u64, usize)>;

/// The critical path to one row.
#[derive(Clone, Debug, Default)]
struct Chain {
    /// Start and end of its steps, if it has any.
    span: Option<(u64, u64)>,
    /// Time by cause and phase: index `PHASES.len() * cause + phase`.
    sums: Vec<u64>,
}

/// A row with its chain.
#[derive(Clone, Debug)]
struct Reached {
    time: u64,
    chain: Rc<Chain>,
}

/// A packet of the flow that was sent.
#[derive(Clone, Debug)]
struct InFlight {
    sent: Reached,
    hops: Vec<QueuedHop>,
}

/// A packet of the flow at a port.
#[derive(Clone, Copy, Debug)]
struct QueuedHop {
    queue: u32,
    arrival: u64,
    start: u64,
    departure: u64,
    source: PacketSource,
}

/// Flow of a packet, and whether it is from the sender.
type PacketSource = (u32, bool);

/// A port on the path.
#[derive(Clone, Debug)]
struct PathQueue {
    /// Causes of waits: behind the flow's own bytes, and behind others.
    own_bytes: usize,
    other_flows: usize,
    /// Packets that were enqueued, in order: start and end of their transmission.
    packets: VecDeque<(u64, u64, PacketSource)>,
}

/// The rows of one end to which a wait leads back.
#[derive(Clone, Debug, Default)]
struct EndHistory {
    /// The newest row, and the newest row that is older.
    newest: Option<Reached>,
    older: Option<Reached>,
    received: Option<Reached>,
    data: Option<Reached>,
    /// The newest arrival, by packet.
    arrival: Option<(u64, Reached)>,
}

impl EndHistory {
    fn push(&mut self, row: &Reached) {
        if self.newest.as_ref().is_some_and(|newest| newest.time < row.time) {
            self.older = self.newest.take();
        }
        self.newest = Some(row.clone());
    }

    /// Returns the event before a segment that a timer or the application released at `time`.
    fn before(&self, time: u64, delayed: bool) -> Option<&Reached> {
        if delayed {
            return self.data.as_ref();
        }
        // A packet sent at the same time is no event before it.
        match &self.newest {
            Some(newest) if newest.time < time => Some(newest),
            _ => self.received.as_ref().filter(|r| r.time == time).or(self.older.as_ref()),
        }
    }
}

/// A part of the critical path: index of the phase, cause, duration.
pub(super) type PathShare = (usize, DelayCause, u64);

/// Builds the critical path of a flow.
#[derive(Clone, Debug)]
pub(super) struct CriticalPath {
    start: u64,
    /// Data counts up to this time.
    end: u64,
    causes: Vec<DelayCause>,
    /// Start of each phase of the sender, by its index in [`PHASES`].
    phases: Vec<(u64, usize)>,
    in_flight: BTreeMap<u64, InFlight>,
    queues: BTreeMap<u32, PathQueue>,
    /// Sender, receiver.
    ends: [EndHistory; 2],
    last_data: Option<Rc<Chain>>,
}

impl CriticalPath {
    pub(super) fn new(start: u64, end: u64) -> Self {
        Self {
            start,
            end,
            causes: Vec::new(),
            phases: vec![(0, 0)],
            in_flight: BTreeMap::new(),
            queues: BTreeMap::new(),
            ends: [EndHistory::default(), EndHistory::default()],
            last_data: None,
        }
    }

    fn cause(&mut self, cause: &DelayCause) -> usize {
        let known = self.causes.iter().position(|c| c == cause);
        known.unwrap_or_else(|| {
            self.causes.push(cause.clone());
            self.causes.len() - 1
        })
    }

    pub(super) fn sender(&mut self, row: &TraceSenderRow) {
        let phase = PHASES.iter().position(|(p, _)| *p == row.phase).unwrap_or(0);
        if self.phases.last().is_none_or(|(_, last)| *last != phase) {
            self.phases.push((row.time_ps, phase));
        }
    }

    pub(super) fn hop(&mut self, hop: &TraceHopRow) {
        let gone = hop.verdict.starts_with("dropped");
        let (start, departure) = (hop.start_ps, hop.departure_ps);
        let source = (hop.flow, hop.from_sender);
        if !self.queues.contains_key(&hop.queue) {
            let queue = hop.name.to_string();
            let own_bytes = self.cause(&DelayCause::OwnQueueing { queue: queue.clone() });
            let other_flows = self.cause(&DelayCause::CrossTraffic { queue });
            let packets = VecDeque::new();
            self.queues.insert(hop.queue, PathQueue { own_bytes, other_flows, packets });
        }
        if let Some(queue) = self.queues.get_mut(&hop.queue).filter(|_| !gone) {
            queue.packets.push_back((start, departure, source));
        }
        let Some(packet) = hop.packet else { return };
        if gone || hop.verdict == "lost" {
            self.in_flight.remove(&packet);
        } else if let Some(sent) = self.in_flight.get_mut(&packet) {
            let (queue, arrival) = (hop.queue, hop.time_ps);
            sent.hops.push(QueuedHop { queue, arrival, start, departure, source });
        }
    }

    pub(super) fn segment(&mut self, row: &TraceSegmentRow) {
        let end = usize::from(row.place == "receiver");
        if row.event == "sent" {
            let chain = match row.trigger.as_str() {
                "segment" => self.arrival(row.cause),
                "open" => None,
                _ => self.after_wait(row, end),
            };
            let sent = Reached { time: row.time_ps, chain: chain.unwrap_or_default() };
            self.ends[end].push(&sent);
            self.in_flight.insert(row.packet, InFlight { sent, hops: Vec::new() });
            return;
        }
        let sent = self.in_flight.remove(&row.packet);
        let chain = self.after_hops(row.time_ps, sent.as_ref());
        let here = Reached { time: row.time_ps, chain: Rc::new(chain) };
        let history = &mut self.ends[end];
        history.push(&here);
        history.arrival = Some((row.packet, here.clone()));
        if row.event == "received" {
            history.received = Some(here.clone());
            if row.len_bytes > 0 {
                history.data = Some(here.clone());
                if end == 1 && row.time_ps <= self.end {
                    self.last_data = Some(here.chain);
                }
            }
        }
    }

    /// Returns the chain of the packet whose arrival triggered a transmission.
    fn arrival(&self, cause: Option<u64>) -> Option<Rc<Chain>> {
        let arrivals = self.ends.iter().filter_map(|end| end.arrival.as_ref());
        let mut found = arrivals.filter(|(packet, _)| Some(*packet) == cause);
        found.next().map(|(_, reached)| Rc::clone(&reached.chain))
    }

    /// Returns the chain of a segment that a timer or the application released: that of the
    /// previous event of its end, and the wait since then.
    fn after_wait(&mut self, row: &TraceSegmentRow, end: usize) -> Option<Rc<Chain>> {
        let before = self.ends[end].before(row.time_ps, row.trigger == "delayed-ack")?.clone();
        let cause = self.cause(&match row.trigger.as_str() {
            "delayed-ack" => DelayCause::DelayedAck,
            "rto" => DelayCause::Rto,
            "loss-probe" => DelayCause::LossProbe,
            "reordering" => DelayCause::Reordering,
            "application" => DelayCause::Application,
            _ => DelayCause::Timer,
        });
        let mut chain = Chain::clone(&before.chain);
        self.extend(&mut chain, &[(before.time, row.time_ps, cause)]);
        Some(Rc::new(chain))
    }

    /// Returns the chain of a packet that arrives at `time`.
    fn after_hops(&mut self, time: u64, sent: Option<&InFlight>) -> Chain {
        let propagation = self.cause(&DelayCause::Propagation);
        let serialisation = self.cause(&DelayCause::Serialisation);
        let mut chain = sent.map(|sent| Chain::clone(&sent.sent.chain)).unwrap_or_default();
        let mut steps = Vec::new();
        let mut until = time;
        for hop in sent.iter().flat_map(|sent| sent.hops.iter().rev()) {
            steps.push((hop.departure, until, propagation));
            steps.push((hop.start, hop.departure, serialisation));
            self.add_queueing(hop, &mut steps);
            until = hop.arrival;
        }
        steps.push((sent.map_or(until, |sent| sent.sent.time), until, propagation));
        steps.reverse();
        self.extend(&mut chain, &steps);
        chain
    }

    /// Adds the steps of packets that were sent while the packet of `hop` waited, the latest first.
    fn add_queueing(&self, hop: &QueuedHop, steps: &mut Steps) {
        let Some(queue) = self.queues.get(&hop.queue) else { return };
        let cause = |own| if own { queue.own_bytes } else { queue.other_flows };
        let mut until = hop.start;
        let place = queue.packets.partition_point(|(start, ..)| *start < hop.start);
        for (start, departure, source) in queue.packets.range(..place).rev() {
            if until <= hop.arrival || *departure <= hop.arrival {
                break;
            }
            let from = (*start).max(hop.arrival);
            // Packets that were queued before the trace began belong to others.
            steps.push((*departure, until, cause(false)));
            steps.push((from, (*departure).min(until), cause(*source == hop.source)));
            until = from;
        }
        steps.push((hop.arrival, until, cause(false)));
    }

    /// Continues a chain by steps in order of time.
    fn extend(&self, chain: &mut Chain, steps: &[(u64, u64, usize)]) {
        chain.sums.resize(self.causes.len() * PHASES.len(), 0);
        for (from, to, cause) in steps.iter().filter(|(from, to, _)| from < to) {
            chain.span = Some((chain.span.map_or(*from, |(first, _)| first), *to));
            for (phase, from, to) in split(&self.phases, *from, *to) {
                chain.sums[PHASES.len() * cause + phase] += to - from;
            }
        }
    }

    /// Forgets the records of queues that no packet in flight has waited for.
    pub(super) fn forget(&mut self, until: u64) {
        let oldest = self.in_flight.first_key_value().map_or(until, |(_, p)| p.sent.time);
        for queue in self.queues.values_mut() {
            let gone = |(_, departure, _): &(u64, u64, PacketSource)| *departure <= oldest;
            while queue.packets.front().is_some_and(gone) || queue.packets.len() > MAX_QUEUE_RECORDS
            {
                queue.packets.pop_front();
            }
        }
    }

    /// Returns the end of the path so far: the arrival of the last data.
    pub(super) fn end(&self) -> Option<u64> {
        self.last_data.as_ref()?.span.map(|(_, end)| end)
    }

    /// Returns the parts of the path and its end: the delivery of the last byte; of an incomplete
    /// flow, the arrival of its last data. A flow that delivered nothing has no parts.
    pub(super) fn finish(mut self) -> (Vec<PathShare>, Option<u64>) {
        let mut chain = self.last_data.take().map(|c| Chain::clone(&c)).unwrap_or_default();
        let Some((first, end)) = chain.span else { return (Vec::new(), None) };
        let application = self.cause(&DelayCause::Application);
        self.extend(&mut chain, &[(self.start, first, application)]);
        let parts = chain.sums.iter().enumerate().filter(|(_, time)| **time > 0);
        let parts = parts.map(|(slot, time)| {
            (slot % PHASES.len(), self.causes[slot / PHASES.len()].clone(), *time)
        });
        (parts.collect(), Some(end))
    }
}

/// Splits a time span into parts with one phase each.
fn split(phases: &[(u64, usize)], from: u64, to: u64) -> Vec<(usize, u64, u64)> {
    let first = phases.partition_point(|(at, _)| *at <= from).saturating_sub(1);
    let mut out = Vec::new();
    let mut at = from;
    for (i, (_, phase)) in phases.iter().enumerate().skip(first) {
        let end = phases.get(i + 1).map_or(u64::MAX, |next| next.0).min(to);
        if end > at {
            out.push((*phase, at, end));
            at = end;
        }
        if at >= to {
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_split_where_the_phase_changes() {
        let phases = [(0, 0), (10, 1), (30, 2)];
        assert_eq!(split(&phases, 5, 40), [(0, 5, 10), (1, 10, 30), (2, 30, 40)]);
        assert_eq!(split(&phases, 10, 20), [(1, 10, 20)]);
        assert_eq!(split(&phases, 30, 31), [(2, 30, 31)]);
    }
}
