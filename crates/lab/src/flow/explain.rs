//! Explanation of a flow's completion time: the critical path by phase of the sender and by cause,
//! and the events of its segments.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use lowtide_analysis::{StateShare, shares_text};
use lowtide_record::{RunKey, TraceTables};
use lowtide_rows::{FlowStatus, Role, TraceSegmentRow};
use serde::Serialize;

use super::critical_path::{CriticalPath, DelayCause, PHASES};
use super::events::{EventLog, FlowEvent, FlowEventKind, SegmentName};
use super::limits::SenderBudget;
use super::rows_in_order::{TraceRow, rows_in_order};
use super::{FlowHead, FlowSelector, FlowTrace, TraceConsumer, select_flows};
use crate::error::LabError;

/// Explanation of one flow of one run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Explanation {
    /// The run.
    #[serde(flatten)]
    pub key: RunKey,
    /// Number of the flow.
    pub flow: u32,
    /// Its traffic group.
    pub group: String,
    /// `flow`, or `answers` for a connection that carries the answers to queries.
    pub role: String,
    /// Sending host.
    pub src: String,
    /// Receiving host.
    pub dst: String,
    /// Bytes requested; null for an endless flow.
    pub size_bytes: Option<u64>,
    /// `complete`, `unfinished` or `failed`.
    pub status: String,
    /// Congestion control that the sender requested.
    pub cc: String,
    /// Congestion control that was effective.
    pub cc_used: String,
    /// Setting `ecn` of the end that opened the connection.
    pub ecn_requested: String,
    /// ECN mode that was negotiated.
    pub ecn_mode: String,
    /// Time the application opened the connection, picoseconds.
    pub start_ps: u64,
    /// Explained time, picoseconds: from the open to the delivery of the last byte, or of an
    /// incomplete flow to the arrival of its last data.
    pub total_ps: u64,
    /// Parts of the total; they add up to it.
    pub shares: Vec<DelayShare>,
    /// Time by the state of the sender; adds up to the total too.
    pub budget: Vec<StateShare>,
    /// Segments with ECE that the sender received.
    pub ece_acks: usize,
    /// ACKs that the receiver's delayed-ACK timer released.
    pub delayed_acks: usize,
    /// Marks, losses and reductions in order of time.
    pub events: Vec<FlowEvent>,
    #[serde(skip)]
    threshold: Option<String>,
}

/// A part of the total by phase and cause.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DelayShare {
    /// Phase of the sender: `handshake`, `slow-start`, `avoidance`, `recovery`, `timeout`.
    pub phase: &'static str,
    /// Cause: `serialisation`, `propagation`, `own-bytes`, `other-flows`, `delayed-ack`, `rto`,
    /// `loss-probe`, `reordering`, `timer`, `application`.
    pub cause: &'static str,
    /// The queue, for `own-bytes` and `other-flows`.
    pub queue: Option<String>,
    /// Duration, picoseconds.
    pub time_ps: u64,
}

/// Explains the flow that `choice` selects, once per scheme that it selects.
///
/// # Errors
/// See [`super::FlowSource::explain`].
pub fn explain(
    root: &std::path::Path,
    choice: &FlowSelector,
) -> Result<Vec<Explanation>, LabError> {
    select_flows(root, choice)?.iter().map(|flow| flow.explain(&mut |_| {})).collect()
}

impl DelayCause {
    fn name(&self) -> &'static str {
        match self {
            Self::Serialisation => "serialisation",
            Self::Propagation => "propagation",
            Self::OwnQueueing { .. } => "own-bytes",
            Self::CrossTraffic { .. } => "other-flows",
            Self::DelayedAck => "delayed-ack",
            Self::Rto => "rto",
            Self::LossProbe => "loss-probe",
            Self::Reordering => "reordering",
            Self::Timer => "timer",
            Self::Application => "application",
        }
    }

    fn queue(&self) -> Option<&String> {
        match self {
            Self::OwnQueueing { queue } | Self::CrossTraffic { queue } => Some(queue),
            _ => None,
        }
    }
}

/// Explains a flow from the parts of its trace.
pub(super) struct Explainer {
    head: FlowHead,
    path: CriticalPath,
    budget: SenderBudget,
    log: EventLog,
    ece_acks: usize,
    delayed_acks: usize,
}

impl Explainer {
    pub(super) fn new(head: FlowHead) -> Self {
        let flow = &head.flow;
        Self {
            path: CriticalPath::new(flow.start_ps, flow.delivered_ps.unwrap_or(u64::MAX)),
            budget: SenderBudget::new(flow.start_ps),
            log: EventLog::new(flow.flow),
            ece_acks: 0,
            delayed_acks: 0,
            head,
        }
    }

    fn segment(&mut self, row: &TraceSegmentRow) {
        let echo = row.flags.contains('E') && !row.flags.contains('S');
        match row.event.as_str() {
            "received" if row.place == "sender" && echo => self.ece_acks += 1,
            "sent" if row.trigger == "delayed-ack" => self.delayed_acks += 1,
            _ => {}
        }
        self.path.segment(row);
        self.log.segment(row);
        if let Some(end) = self.path.end() {
            self.budget.sum_until(end);
        }
    }

    fn add(&mut self, rows: &TraceTables, until: u64) {
        rows_in_order(rows, |row| match row {
            TraceRow::Segment(row) => self.segment(row),
            TraceRow::Sender(row) => {
                self.path.sender(row);
                self.budget.sender(row);
                self.log.sender(row);
            }
            TraceRow::Hop(hop) => {
                self.path.hop(hop);
                self.log.hop(hop);
            }
        });
        self.path.forget(until);
    }

    pub(super) fn finish(self) -> Explanation {
        let FlowHead { key, flow, threshold } = self.head;
        let (parts, end) = self.path.finish();
        let mut sums: BTreeMap<(usize, DelayCause), u64> = BTreeMap::new();
        for (phase, cause, time) in parts {
            *sums.entry((phase, cause)).or_default() += time;
        }
        let shares = sums.into_iter().map(|((phase, cause), time_ps)| DelayShare {
            phase: PHASES[phase].0,
            cause: cause.name(),
            queue: cause.queue().cloned(),
            time_ps,
        });
        Explanation {
            key,
            flow: flow.flow,
            group: flow.group.into(),
            role: flow.role.name().to_owned(),
            src: flow.src.into(),
            dst: flow.dst.into(),
            size_bytes: flow.size_bytes,
            status: flow.status.name().to_owned(),
            cc: flow.cc.into(),
            cc_used: flow.cc_used.into(),
            ecn_requested: flow.ecn_requested.into(),
            ecn_mode: flow.ecn_mode.into(),
            start_ps: flow.start_ps,
            total_ps: end.map_or(0, |end| end - flow.start_ps),
            shares: shares.collect(),
            budget: self.budget.budget.shares(),
            ece_acks: self.ece_acks,
            delayed_acks: self.delayed_acks,
            events: self.log.finish(),
            threshold,
        }
    }
}

impl TraceConsumer for Explainer {
    fn part(&mut self, rows: &TraceTables, until: u64) -> Result<(), LabError> {
        self.add(rows, until);
        Ok(())
    }
}

fn cause_text(share: &DelayShare) -> String {
    let queue = share.queue.as_deref().unwrap_or_default();
    match share.cause {
        "serialisation" => "on a line".into(),
        "propagation" => "under way".into(),
        "own-bytes" => format!("behind its own bytes at {queue}"),
        "other-flows" => format!("behind other flows at {queue}"),
        "delayed-ack" => "ACK held back by the receiver".into(),
        "rto" => "waiting for the retransmission timer".into(),
        "loss-probe" => "waiting for the loss probe timer".into(),
        "reordering" => "waiting for the reordering timer".into(),
        "application" => "nothing to send".into(),
        _ => "pacing and other timers".into(),
    }
}

impl Explanation {
    /// Explains one traced flow.
    pub fn of(traced: &FlowTrace) -> Self {
        let mut explainer = Explainer::new(traced.head());
        explainer.add(&traced.tables, u64::MAX);
        explainer.finish()
    }

    /// Returns the explanation as text, with at most `most` events.
    pub fn text(&self, most: usize) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut out, most);
        out
    }

    fn write(&self, out: &mut String, most: usize) -> std::fmt::Result {
        let answers = self.role == Role::Answers.name();
        let (kind, of) = if answers { ("connection", "answers to ") } else { ("flow", "") };
        writeln!(
            out,
            "{kind} {} ({of}{}, {} to {}), {}",
            self.flow, self.group, self.src, self.dst, self.key
        )?;
        let size = match self.size_bytes {
            Some(bytes) => format!("{bytes} B"),
            None if answers => "open from query to query".to_owned(),
            None => "without an end".to_owned(),
        };
        let what = if self.status == FlowStatus::Complete.name() {
            ""
        } else {
            ", explained up to its last data"
        };
        writeln!(
            out,
            "{size}, {}{what}: {} ms from {} ms on",
            self.status,
            ms(self.total_ps),
            ms(self.start_ps)
        )?;
        writeln!(
            out,
            "congestion control {} (asked for: {}), ECN {} (asked for: {})\n",
            self.cc_used, self.cc, self.ecn_mode, self.ecn_requested
        )?;
        if self.total_ps == 0 {
            return writeln!(out, "no data came in");
        }
        self.table(out)?;
        writeln!(out, "\nwhat kept it from sending more: {}", shares_text(&self.budget))?;
        writeln!(
            out,
            "\n{} ACKs came with ECE, {} were released by the delayed-ACK timer, {} events:",
            self.ece_acks,
            self.delayed_acks,
            self.events.len()
        )?;
        for event in self.events.iter().take(most) {
            writeln!(out, "{:>12} ms  {}", ms(event.time_ps), self.line(&event.kind))?;
        }
        if self.events.len() > most {
            writeln!(out, "{:>12}     and {} more (--all)", "", self.events.len() - most)?;
        }
        Ok(())
    }

    /// Writes a table with one row per cause and one column per phase.
    fn table(&self, out: &mut String) -> std::fmt::Result {
        let used: Vec<(&str, &str)> =
            PHASES.into_iter().filter(|(p, _)| self.shares.iter().any(|s| s.phase == *p)).collect();
        let mut causes: Vec<String> = self.shares.iter().map(cause_text).collect();
        causes.sort_unstable();
        causes.dedup();
        let sum = |phase: Option<&str>, cause: Option<&str>| -> u64 {
            let of = |s: &&DelayShare| {
                phase.is_none_or(|p| s.phase == p) && cause.is_none_or(|c| cause_text(s) == c)
            };
            self.shares.iter().filter(of).map(|s| s.time_ps).sum()
        };
        causes.sort_by_key(|c| std::cmp::Reverse(sum(None, Some(c))));
        let width = causes.iter().map(|c| c.chars().count()).max().unwrap_or(0).max(5);
        write!(out, "{:width$}", "ms")?;
        for (_, title) in &used {
            write!(out, "  {title:>11}")?;
        }
        writeln!(out, "  {:>11}  share", "all")?;
        let rows = causes.iter().map(|c| (c.as_str(), Some(c.as_str())));
        for (title, cause) in rows.chain([("total", None)]) {
            write!(out, "{title:width$}")?;
            for (phase, _) in &used {
                let time = sum(Some(phase), cause);
                let cell = if time == 0 { "\u{2013}".to_owned() } else { ms(time) };
                write!(out, "  {cell:>11}")?;
            }
            let all = sum(None, cause);
            let share = all as f64 / self.total_ps as f64 * 100.0;
            writeln!(out, "  {:>11}  {share:>4.1} %", ms(all))?;
        }
        Ok(())
    }

    fn line(&self, what: &FlowEventKind) -> String {
        match what {
            FlowEventKind::Mark { segment, queue, queue_packets, queue_bytes, echo, cut } => {
                let length = self.length(*queue_packets, *queue_bytes);
                let mut text = format!("{segment} marked CE at {queue} ({length})");
                if let Some(echo) = echo {
                    let _ = write!(text, "; echoed by ACK {}", echo.ack);
                    let _ = match echo.received_ps {
                        Some(at) => write!(text, " at {} ms", ms(at)),
                        None => write!(text, ", which did not arrive"),
                    };
                }
                if let Some(cut) = cut {
                    let _ = write!(text, "; cut {cut}");
                }
                text
            }
            FlowEventKind::Loss {
                segment,
                queue,
                queue_packets,
                queue_bytes,
                by,
                retransmission,
            } => {
                let why = match *by {
                    "buffer" => "no room".to_owned(),
                    _ => "by the marker".to_owned(),
                };
                let kb = kilobytes(*queue_bytes);
                let mut text = format!(
                    "{segment} dropped at {queue} ({why}, queue {queue_packets} pkt, {kb})"
                );
                if let Some(sent) = retransmission {
                    let why = match sent.trigger.as_str() {
                        "segment" => "an ACK",
                        "rto" => "the retransmission timer",
                        "loss-probe" => "the loss probe timer",
                        "reordering" => "the reordering timer",
                        _ => "a timer",
                    };
                    let _ = write!(text, "; sent again at {} ms after {why}", ms(sent.time_ps));
                }
                text
            }
            FlowEventKind::Sender { action, cut, ack } => {
                let on = ack.map_or_else(String::new, |a| format!(" on ACK {a}"));
                format!("{action}{on}: {cut}")
            }
        }
    }

    /// Formats the queue length next to the threshold if both have one unit.
    fn length(&self, packets: u32, bytes: u64) -> String {
        match &self.threshold {
            Some(k) if k.contains("pkt") => {
                let k = k.replace(" pkt", "");
                let over = k.parse::<u32>().is_ok_and(|k| packets > k);
                format!("queue {packets} {} K {k}", if over { ">" } else { "against" })
            }
            Some(k) => format!("queue {} against K {k}", kilobytes(bytes)),
            None => format!("queue {packets} pkt, {}", kilobytes(bytes)),
        }
    }
}

impl std::fmt::Display for SegmentName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Data { seq, end } => write!(f, "seq {seq}:{end}"),
            Self::Ack { ack } => write!(f, "ACK {ack}"),
            Self::Control { flags } => write!(f, "segment {flags}"),
        }
    }
}

impl std::fmt::Display for super::events::CwndChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cwnd {:.1} -> {:.1} segments", self.cwnd_before, self.cwnd_after)?;
        if let Some(ssthresh) = self.ssthresh {
            write!(f, ", ssthresh {ssthresh:.1}")?;
        }
        self.alpha.map_or(Ok(()), |a| write!(f, " (alpha {a:.3})"))
    }
}

fn ms(ps: u64) -> String {
    format!("{:.3}", ps as f64 / 1e9)
}

fn kilobytes(bytes: u64) -> String {
    format!("{:.1} kB", bytes as f64 / 1e3)
}
