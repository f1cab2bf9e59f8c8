//! The critical path: the chain of packets and waits that led to the last byte, back to the open.
//!
//! Contract: the steps cover the time from the open to the end exactly. Each is serialisation,
//! propagation, queueing behind the flow's own bytes or behind others, or a wait for a timer or the
//! application. Going backwards, a packet was sent because another arrived, and so on. The chain is
//! therefore what bounded the transfer, not the sum of all packets' delays.

use std::collections::BTreeMap;

use lowtide_rows::{TraceHopRow, TraceSegmentRow};

use super::FlowTrace;

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

/// A time span with one cause, picoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct CriticalStep {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) cause: DelayCause,
}

/// State of the walk along the critical path.
struct CriticalPathWalker<'a> {
    rows: &'a [TraceSegmentRow],
    /// Index of the sent row, by packet.
    sent: BTreeMap<u64, usize>,
    /// Index of the row at the other end, by packet.
    received: BTreeMap<u64, usize>,
    hops: BTreeMap<u64, Vec<&'a TraceHopRow>>,
    /// Packets that were enqueued, by queue.
    queues: BTreeMap<u32, Vec<&'a TraceHopRow>>,
    steps: Vec<CriticalStep>,
}

/// Returns the steps in order of time, or none if the flow delivered nothing. The end is the
/// delivery of the last byte; of an incomplete flow, the arrival of its last data.
pub(super) fn critical_path(traced: &FlowTrace) -> Vec<CriticalStep> {
    let rows = traced.tables.segments.as_slice();
    let mut walker = CriticalPathWalker {
        rows,
        sent: BTreeMap::new(),
        received: BTreeMap::new(),
        hops: BTreeMap::new(),
        queues: BTreeMap::new(),
        steps: Vec::new(),
    };
    for (i, row) in rows.iter().enumerate() {
        let places = if row.event == "sent" { &mut walker.sent } else { &mut walker.received };
        places.insert(row.packet, i);
    }
    for hop in &traced.tables.hops {
        if let Some(packet) = hop.packet {
            walker.hops.entry(packet).or_default().push(hop);
        }
        if !hop.verdict.starts_with("dropped") {
            walker.queues.entry(hop.queue).or_default().push(hop);
        }
    }
    let end = traced.flow.delivered_ps.unwrap_or(u64::MAX);
    let last = rows.iter().rposition(|r| {
        r.place == "receiver" && r.event == "received" && r.len_bytes > 0 && r.time_ps <= end
    });
    if let Some(last) = last {
        walker.walk(last);
    }
    let first = walker.steps.last().map_or(0, |s| s.from);
    walker.push_step(traced.flow.start_ps, first, DelayCause::Application);
    walker.steps.reverse();
    walker.steps
}

impl<'a> CriticalPathWalker<'a> {
    /// Adds a step; the walk goes backwards, so the newest step is the earliest.
    fn push_step(&mut self, from: u64, to: u64, cause: DelayCause) {
        if from < to {
            self.steps.push(CriticalStep { from, to, cause });
        }
    }

    /// Walks from the packet that arrived at row `at` back to the open.
    fn walk(&mut self, mut at: usize) {
        // Each iteration goes back at least one row.
        for _ in 0..=self.rows.len() {
            let row = &self.rows[at];
            if row.event != "sent" {
                self.walk_hops(row);
                let Some(&sent) = self.sent.get(&row.packet).filter(|s| **s < at) else { return };
                at = sent;
                continue;
            }
            let next = match row.trigger.as_str() {
                "segment" => row.cause.and_then(|c| self.received.get(&c)).copied(),
                "open" => None,
                _ => self.walk_wait(at),
            };
            let Some(next) = next.filter(|n| *n < at) else { return };
            at = next;
        }
    }

    /// Walks back from the segment at row `at`, which a timer or the application released, to the
    /// previous event of its end. Adds the wait since then.
    fn walk_wait(&mut self, at: usize) -> Option<usize> {
        let row = &self.rows[at];
        let delayed = row.trigger == "delayed-ack";
        let before = self.rows[..at].iter().rposition(|r| {
            let data = r.event == "received" && r.len_bytes > 0;
            // A packet sent at the same time is no event before it.
            let earlier = r.time_ps < row.time_ps || r.event == "received";
            r.place == row.place && earlier && (data || !delayed)
        })?;
        let cause = match row.trigger.as_str() {
            "delayed-ack" => DelayCause::DelayedAck,
            "rto" => DelayCause::Rto,
            "loss-probe" => DelayCause::LossProbe,
            "reordering" => DelayCause::Reordering,
            "application" => DelayCause::Application,
            _ => DelayCause::Timer,
        };
        self.push_step(self.rows[before].time_ps, row.time_ps, cause);
        Some(before)
    }

    /// Adds the steps of the packet of `row`, which arrived.
    fn walk_hops(&mut self, row: &TraceSegmentRow) {
        let mut until = row.time_ps;
        let hops: Vec<&TraceHopRow> =
            self.hops.get(&row.packet).into_iter().flatten().rev().copied().collect();
        for hop in hops {
            self.push_step(hop.departure_ps, until, DelayCause::Propagation);
            self.push_step(hop.start_ps, hop.departure_ps, DelayCause::Serialisation);
            self.walk_queue(hop);
            until = hop.time_ps;
        }
        let sent = self.sent.get(&row.packet).map_or(until, |s| self.rows[*s].time_ps);
        self.push_step(sent, until, DelayCause::Propagation);
    }

    /// Adds the steps of packets that were sent while the packet of `hop` waited.
    fn walk_queue(&mut self, hop: &'a TraceHopRow) {
        let mut until = hop.start_ps;
        let all = self.queues.get(&hop.queue).map_or(&[][..], Vec::as_slice);
        let place = all.partition_point(|h| h.start_ps < hop.start_ps);
        let mut waits = Vec::new();
        for before in all[..place].iter().rev() {
            if until <= hop.time_ps || before.departure_ps <= hop.time_ps {
                break;
            }
            let from = before.start_ps.max(hop.time_ps);
            let own = before.flow == hop.flow && before.from_sender == hop.from_sender;
            // Packets that were queued before the trace began belong to others.
            waits.push((before.departure_ps, until, false));
            waits.push((from, before.departure_ps.min(until), own));
            until = from;
        }
        waits.push((hop.time_ps, until, false));
        for (from, to, own) in waits {
            let queue = hop.name.to_string();
            let cause = if own {
                DelayCause::OwnQueueing { queue }
            } else {
                DelayCause::CrossTraffic { queue }
            };
            self.push_step(from, to, cause);
        }
    }
}
