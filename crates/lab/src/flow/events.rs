//! Events of a flow, segment by segment: losses, marks, echoes, window reductions.

use std::collections::{BTreeMap, BTreeSet};

use lowtide_rows::{TraceHopRow, TraceSegmentRow, TraceSenderRow};
use serde::Serialize;

use super::FlowTrace;

/// An event of one segment, or of the sender.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FlowEvent {
    /// Time, picoseconds.
    pub time_ps: u64,
    /// Kind.
    #[serde(flatten)]
    pub kind: FlowEventKind,
}

/// A segment by the name that people use.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "segment", rename_all = "kebab-case")]
pub enum SegmentName {
    /// Data by the offsets of its first byte and one past its last.
    Data {
        /// First byte.
        seq: u64,
        /// One past the last.
        end: u64,
    },
    /// An ACK without data.
    Ack {
        /// Acknowledged offset.
        ack: u64,
    },
    /// SYN, or FIN without data.
    Control {
        /// Its flags.
        flags: String,
    },
}

/// The kinds of events.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum FlowEventKind {
    /// A switch set CE.
    Mark {
        /// The segment.
        #[serde(flatten)]
        segment: SegmentName,
        /// The queue.
        queue: String,
        /// Queue length, packets.
        queue_packets: u32,
        /// Queue length, bytes.
        queue_bytes: u64,
        /// The first ACK that echoed the mark.
        echo: Option<EceAck>,
        /// Reaction of the sender to that ACK.
        cut: Option<CwndChange>,
    },
    /// A packet was dropped: the queue had no room, or its marker dropped it.
    Loss {
        /// The segment.
        #[serde(flatten)]
        segment: SegmentName,
        /// The queue.
        queue: String,
        /// Queue length, packets.
        queue_packets: u32,
        /// Queue length, bytes.
        queue_bytes: u64,
        /// `buffer` or `marker`.
        by: &'static str,
        /// The retransmission of its bytes, if any.
        retransmission: Option<Retransmission>,
    },
    /// The sender changed its window for another reason than a mark above: `cut`,
    /// `fast-retransmit`, `rto`, `undo`, `loss-probe`.
    Sender {
        /// Kind of change.
        action: String,
        /// The change.
        #[serde(flatten)]
        cut: CwndChange,
        /// The ACK that caused it.
        ack: Option<u64>,
    },
}

/// An ACK with ECE.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct EceAck {
    /// Acknowledged offset.
    pub ack: u64,
    /// Time it was sent, picoseconds.
    pub sent_ps: u64,
    /// Time the sender received it, picoseconds; `None` if it was lost, or the run ended before.
    pub received_ps: Option<u64>,
}

/// A change of the window.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CwndChange {
    /// cwnd before, segments.
    pub cwnd_before: f64,
    /// cwnd after, segments. If PRR spreads a reduction over a round trip, it is still to come.
    pub cwnd_after: f64,
    /// ssthresh after, segments, if it changed.
    pub ssthresh: Option<f64>,
    /// DCTCP's alpha, if there is one.
    pub alpha: Option<f64>,
}

/// A retransmission.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Retransmission {
    /// Time, picoseconds.
    pub time_ps: u64,
    /// Trigger, as in the table `trace_segments`.
    pub trigger: String,
}

/// Index of a trace for the search for events.
struct EventIndex<'a> {
    sent: BTreeMap<u64, &'a TraceSegmentRow>,
    received: BTreeMap<u64, &'a TraceSegmentRow>,
    /// ACKs with ECE, in order.
    echoes: Vec<&'a TraceSegmentRow>,
    senders: &'a [TraceSenderRow],
    /// Indices of the rows with a reduction, by the packet that caused it.
    cuts: BTreeMap<u64, usize>,
    rows: &'a [TraceSegmentRow],
}

/// Returns all events of a flow in order of time.
pub(super) fn events(traced: &FlowTrace) -> Vec<FlowEvent> {
    let rows = traced.tables.segments.as_slice();
    let all = |sent: bool| {
        rows.iter().filter(move |r| (r.event == "sent") == sent).map(|r| (r.packet, r)).collect()
    };
    let echo = |r: &&TraceSegmentRow| {
        r.event == "sent"
            && r.place == "receiver"
            && r.flags.contains('E')
            && !r.flags.contains('S')
    };
    let index = EventIndex {
        sent: all(true),
        received: all(false),
        echoes: rows.iter().filter(echo).collect(),
        senders: &traced.tables.senders,
        cuts: traced
            .tables
            .senders
            .iter()
            .enumerate()
            .filter(|(_, r)| has_event(r, "cut"))
            .filter_map(|(i, r)| Some((r.cause?, i)))
            .collect(),
        rows,
    };
    let mut reported = BTreeSet::new();
    let mut out = Vec::new();
    for hop in traced.tables.hops.iter().filter(|h| h.flow == traced.flow.flow) {
        let what = match hop.verdict.as_str() {
            "marked" => index.mark(hop, &mut reported),
            "dropped-by-buffer" => index.loss(hop, "buffer"),
            "dropped-by-marker" => index.loss(hop, "marker"),
            "lost" => index.loss(hop, "line"),
            _ => None,
        };
        out.extend(what.map(|what| FlowEvent { time_ps: hop.time_ps, kind: what }));
    }
    for (i, row) in index.senders.iter().enumerate() {
        let Some(did) = row.events.as_deref() else { continue };
        let parts: Vec<&str> = did
            .split(' ')
            .filter(|e| !matches!(*e, "established" | "recovered"))
            .filter(|e| *e != "cut" || !reported.contains(&i))
            .collect();
        if !parts.is_empty() {
            let ack = row.cause.and_then(|c| index.received.get(&c)).and_then(|r| r.ack_bytes);
            let what = FlowEventKind::Sender { action: parts.join(", "), cut: index.cut(i), ack };
            out.push(FlowEvent { time_ps: row.time_ps, kind: what });
        }
    }
    out.sort_by_key(|e| e.time_ps);
    out
}

fn has_event(row: &TraceSenderRow, what: &str) -> bool {
    row.events.as_ref().is_some_and(|all| all.split(' ').any(|e| e == what))
}

fn name(row: &TraceSegmentRow) -> SegmentName {
    if row.len_bytes > 0 {
        SegmentName::Data { seq: row.seq_bytes, end: row.seq_bytes + u64::from(row.len_bytes) }
    } else if row.flags.contains(['S', 'F', 'R']) {
        SegmentName::Control { flags: row.flags.clone() }
    } else {
        SegmentName::Ack { ack: row.ack_bytes.unwrap_or_default() }
    }
}

impl EventIndex<'_> {
    /// Returns the change of the sender in its row `i`.
    fn cut(&self, i: usize) -> CwndChange {
        let row = &self.senders[i];
        let before = i.checked_sub(1).map_or(row, |b| &self.senders[b]);
        let segments = |bytes: u64| bytes as f64 / f64::from(row.mss_bytes.max(1));
        CwndChange {
            cwnd_before: segments(before.cwnd_bytes),
            cwnd_after: segments(row.cwnd_bytes),
            ssthresh: row
                .ssthresh_bytes
                .filter(|_| row.ssthresh_bytes != before.ssthresh_bytes)
                .map(segments),
            alpha: row.dctcp_alpha_q20.map(|a| a as f64 / f64::from(1 << 20)),
        }
    }

    fn mark(&self, hop: &TraceHopRow, reported: &mut BTreeSet<usize>) -> Option<FlowEventKind> {
        let packet = hop.packet?;
        let row = self.sent.get(&packet)?;
        let came = self.received.get(&packet);
        // Only CE on data is echoed.
        let echo = came.filter(|r| r.place == "receiver" && r.len_bytes > 0).and_then(|came| {
            let first = self.echoes.partition_point(|e| e.time_ps < came.time_ps);
            let after = &self.echoes[first..];
            let end = row.seq_bytes + u64::from(row.len_bytes);
            // Behind a gap the ACK number does not move; the first echo of all is taken then.
            let covers = |e: &&&TraceSegmentRow| e.ack_bytes >= Some(end);
            after.iter().find(covers).or(after.first()).copied()
        });
        let cut = echo.and_then(|e| {
            let place = *self.cuts.get(&e.packet)?;
            // One ACK may answer several marks; its reduction is reported once.
            reported.insert(place).then(|| self.cut(place))
        });
        Some(FlowEventKind::Mark {
            segment: name(row),
            queue: hop.name.to_string(),
            queue_packets: hop.queue_packets,
            queue_bytes: hop.queue_bytes,
            echo: echo.map(|e| EceAck {
                ack: e.ack_bytes.unwrap_or_default(),
                sent_ps: e.time_ps,
                received_ps: self.received.get(&e.packet).map(|r| r.time_ps),
            }),
            cut,
        })
    }

    fn loss(&self, hop: &TraceHopRow, by: &'static str) -> Option<FlowEventKind> {
        let row = self.sent.get(&hop.packet?)?;
        let first = self.rows.partition_point(|r| r.time_ps <= hop.time_ps);
        let again = self.rows[first..].iter().find(|r| {
            r.event == "sent"
                && r.place == row.place
                && r.retransmission
                && row.len_bytes > 0
                && r.seq_bytes <= row.seq_bytes
                && r.seq_bytes + u64::from(r.len_bytes) > row.seq_bytes
        });
        Some(FlowEventKind::Loss {
            segment: name(row),
            queue: hop.name.to_string(),
            queue_packets: hop.queue_packets,
            queue_bytes: hop.queue_bytes,
            by,
            retransmission: again
                .map(|r| Retransmission { time_ps: r.time_ps, trigger: r.trigger.clone() }),
        })
    }
}
