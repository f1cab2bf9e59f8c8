//! Events of a flow, segment by segment: losses, marks, echoes, window reductions.

use std::collections::{BTreeMap, BTreeSet};

use lowtide_rows::{TraceHopRow, TraceSegmentRow, TraceSenderRow};
use serde::Serialize;

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

/// The segment of an event, while it matters.
#[derive(Clone, Debug)]
struct SentSegment {
    row: SegmentFacts,
    /// Events that await its arrival.
    marks: Vec<usize>,
    /// It is an ACK whose echo some event shows.
    shown: bool,
}

#[derive(Clone, Debug)]
struct SegmentFacts {
    name: SegmentName,
    from_sender: bool,
    first: u64,
    end: u64,
}

/// A segment of which bytes were lost, and the event.
#[derive(Clone, Debug)]
struct AwaitedRetransmission {
    event: usize,
    lost_at: u64,
    from_sender: bool,
    first: u64,
}

/// An echo that was sent.
#[derive(Clone, Copy, Debug)]
struct SentEcho {
    at: u64,
    packet: u64,
    ack: Option<u64>,
}

/// A row of the sender with events.
#[derive(Clone, Debug)]
struct SenderEvent {
    time_ps: u64,
    actions: String,
    cause: Option<u64>,
    ack: Option<u64>,
    cut: CwndChange,
}

/// Collects the events of a flow.
#[derive(Clone, Debug)]
pub(super) struct EventLog {
    flow: u32,
    sent: BTreeMap<u64, SentSegment>,
    /// Marks and losses; for each mark the packet of its echo.
    events: Vec<FlowEvent>,
    echoes: BTreeMap<usize, u64>,
    /// Marks that arrived and whose bytes no echo covers yet, with the end of the bytes.
    unechoed: Vec<(usize, u64)>,
    lost: Vec<AwaitedRetransmission>,
    /// Echoes sent and segments arrived at the latest time.
    echoes_now: Vec<SentEcho>,
    arrived_now: Vec<(u64, u64, Option<u64>)>,
    /// Arrival of the ACKs that events show.
    ack_arrivals: BTreeMap<u64, u64>,
    before: Option<TraceSenderRow>,
    sender_events: Vec<SenderEvent>,
}

impl EventLog {
    pub(super) const fn new(flow: u32) -> Self {
        Self {
            flow,
            sent: BTreeMap::new(),
            events: Vec::new(),
            echoes: BTreeMap::new(),
            unechoed: Vec::new(),
            lost: Vec::new(),
            echoes_now: Vec::new(),
            arrived_now: Vec::new(),
            ack_arrivals: BTreeMap::new(),
            before: None,
            sender_events: Vec::new(),
        }
    }

    pub(super) fn segment(&mut self, row: &TraceSegmentRow) {
        let at_receiver = row.place == "receiver";
        if row.event == "sent" {
            let end = row.seq_bytes + u64::from(row.len_bytes);
            let from_sender = !at_receiver;
            let facts = SegmentFacts { name: name(row), from_sender, first: row.seq_bytes, end };
            let sent = SentSegment { row: facts, marks: Vec::new(), shown: false };
            self.sent.insert(row.packet, sent);
            if row.retransmission {
                self.sent_again(row, end);
            }
            if at_receiver && row.flags.contains('E') && !row.flags.contains('S') {
                let echo = SentEcho { at: row.time_ps, packet: row.packet, ack: row.ack_bytes };
                self.echoes_now.retain(|e| e.at == row.time_ps);
                self.echoes_now.push(echo);
                let waiting = std::mem::take(&mut self.unechoed);
                let open =
                    waiting.into_iter().filter(|(event, end)| !self.echo(*event, *end, echo));
                self.unechoed = open.collect();
            }
            return;
        }
        self.arrived_now.retain(|(at, ..)| *at == row.time_ps);
        self.arrived_now.push((row.time_ps, row.packet, row.ack_bytes));
        let Some(sent) = self.sent.remove(&row.packet) else { return };
        if sent.shown {
            self.ack_arrivals.insert(row.packet, row.time_ps);
        }
        // Only CE on data is echoed.
        if !at_receiver || row.len_bytes == 0 {
            return;
        }
        for event in sent.marks {
            let now = self.echoes_now.iter().filter(|e| e.at == row.time_ps).copied();
            let now: Vec<SentEcho> = now.collect();
            if !now.into_iter().any(|echo| self.echo(event, sent.row.end, echo)) {
                self.unechoed.push((event, sent.row.end));
            }
        }
    }

    /// Handles an echo that was sent after the arrival of the mark of `event`. Returns true if it
    /// covers the bytes up to `end`. Behind a gap the ACK number does not move; the first echo of
    /// all is taken then.
    fn echo(&mut self, event: usize, end: u64, echo: SentEcho) -> bool {
        let covers = echo.ack >= Some(end);
        if (covers || !self.echoes.contains_key(&event))
            && let Some(FlowEventKind::Mark { echo: shown, .. }) =
                self.events.get_mut(event).map(|e| &mut e.kind)
        {
            let ack = echo.ack.unwrap_or_default();
            *shown = Some(EceAck { ack, sent_ps: echo.at, received_ps: None });
            self.echoes.insert(event, echo.packet);
            if let Some(sent) = self.sent.get_mut(&echo.packet) {
                sent.shown = true;
            }
        }
        covers
    }

    /// Handles a retransmission of the bytes up to `end`.
    fn sent_again(&mut self, row: &TraceSegmentRow, end: u64) {
        let events = &mut self.events;
        self.lost.retain(|lost| {
            let covers = row.time_ps > lost.lost_at
                && (row.place == "sender") == lost.from_sender
                && row.seq_bytes <= lost.first
                && end > lost.first;
            if covers
                && let Some(FlowEventKind::Loss { retransmission, .. }) =
                    events.get_mut(lost.event).map(|e| &mut e.kind)
            {
                let (time_ps, trigger) = (row.time_ps, row.trigger.clone());
                *retransmission = Some(Retransmission { time_ps, trigger });
            }
            !covers
        });
    }

    pub(super) fn hop(&mut self, hop: &TraceHopRow) {
        if hop.flow != self.flow {
            return;
        }
        let Some(packet) = hop.packet else { return };
        let event = self.events.len();
        let (queue, queue_packets) = (hop.name.to_string(), hop.queue_packets);
        let queue_bytes = hop.queue_bytes;
        let by = match hop.verdict.as_str() {
            "marked" => {
                let Some(sent) = self.sent.get_mut(&packet) else { return };
                sent.marks.push(event);
                let segment = sent.row.name.clone();
                let (echo, cut) = (None, None);
                let kind =
                    FlowEventKind::Mark { segment, queue, queue_packets, queue_bytes, echo, cut };
                self.events.push(FlowEvent { time_ps: hop.time_ps, kind });
                return;
            }
            "dropped-by-buffer" => "buffer",
            "dropped-by-marker" => "marker",
            "lost" => "line",
            _ => return,
        };
        let Some(SentSegment { row, .. }) = self.sent.remove(&packet) else { return };
        if row.end > row.first {
            let (lost_at, from_sender, first) = (hop.time_ps, row.from_sender, row.first);
            self.lost.push(AwaitedRetransmission { event, lost_at, from_sender, first });
        }
        let segment = row.name;
        let retransmission = None;
        let kind =
            FlowEventKind::Loss { segment, queue, queue_packets, queue_bytes, by, retransmission };
        self.events.push(FlowEvent { time_ps: hop.time_ps, kind });
    }

    pub(super) fn sender(&mut self, row: &TraceSenderRow) {
        if let Some(actions) = &row.events {
            let cause = |(_, packet, _): &&(u64, u64, Option<u64>)| Some(*packet) == row.cause;
            let ack = self.arrived_now.iter().find(cause).and_then(|(_, _, ack)| *ack);
            self.sender_events.push(SenderEvent {
                time_ps: row.time_ps,
                actions: actions.clone(),
                cause: row.cause,
                ack,
                cut: cwnd_change(self.before.as_ref().unwrap_or(row), row),
            });
        }
        self.before = Some(row.clone());
    }

    /// Returns all events in order of time.
    pub(super) fn finish(self) -> Vec<FlowEvent> {
        let mut out = self.events;
        let is_cut = |event: &SenderEvent| event.actions.split(' ').any(|e| e == "cut");
        let cuts = self.sender_events.iter().enumerate().filter(|(_, event)| is_cut(event));
        let cuts: BTreeMap<u64, usize> =
            cuts.filter_map(|(i, event)| Some((event.cause?, i))).collect();
        let mut reported = BTreeSet::new();
        for (event, packet) in self.echoes {
            let FlowEventKind::Mark { echo, cut, .. } = &mut out[event].kind else { continue };
            if let Some(echo) = echo {
                echo.received_ps = self.ack_arrivals.get(&packet).copied();
            }
            // One ACK may answer several marks; its reduction is reported once.
            if let Some(place) = cuts.get(&packet).filter(|place| reported.insert(**place)) {
                *cut = Some(self.sender_events[*place].cut.clone());
            }
        }
        for (i, event) in self.sender_events.into_iter().enumerate() {
            let parts: Vec<&str> = event
                .actions
                .split(' ')
                .filter(|e| !matches!(*e, "established" | "recovered"))
                .filter(|e| *e != "cut" || !reported.contains(&i))
                .collect();
            if !parts.is_empty() {
                let (action, cut, ack) = (parts.join(", "), event.cut, event.ack);
                let kind = FlowEventKind::Sender { action, cut, ack };
                out.push(FlowEvent { time_ps: event.time_ps, kind });
            }
        }
        out.sort_by_key(|e| e.time_ps);
        out
    }
}

/// Returns the change of the sender from one row to the next.
fn cwnd_change(before: &TraceSenderRow, row: &TraceSenderRow) -> CwndChange {
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

fn name(row: &TraceSegmentRow) -> SegmentName {
    if row.len_bytes > 0 {
        SegmentName::Data { seq: row.seq_bytes, end: row.seq_bytes + u64::from(row.len_bytes) }
    } else if row.flags.contains(['S', 'F', 'R']) {
        SegmentName::Control { flags: row.flags.clone() }
    } else {
        SegmentName::Ack { ack: row.ack_bytes.unwrap_or_default() }
    }
}
