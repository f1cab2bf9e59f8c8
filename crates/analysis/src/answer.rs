//! The answer of a capture: what the transfer waited for, from the time budget of its direction.
//!
//! Contract: a cause is a share of the direction's time with the numbers that decided it. The
//! verdict is `limited`, `healthy` (the line is full, or the application is done) or
//! `undetermined`, with the capture that would decide.

use super::budget::State;
use super::connection::ConnectionReport;
use super::direction::DirectionReport;
use super::format::{bytes, count, grouped, percent, rate, time};
use super::handshake::NegotiatedEcn;
use super::rounds::FULL_PERCENT;
use super::socket_statistics::SocketWitness;
use super::transfer_answer::{Cause, TransferAnswer};

/// Least share of a cause, percent of the direction's time.
const MIN_CAUSE: f64 = 20.0;
/// Least share of a further cause that is named beside a greater one.
const MIN_FURTHER: f64 = 5.0;
/// The smaller direction counts if it has at least one of this many bytes of the larger one.
const FAIR_PART: u64 = 4;
/// Greatest share of unknown time with which a verdict holds.
const MAX_UNKNOWN: f64 = 25.0;
/// A queue is a cause if it adds this much on average, the round trip for which CoDel is set (RFC
/// 8289 §4.3), and this many times the base.
const LONG_QUEUE_NS: u64 = 100_000_000;
const LONG_QUEUE_BASES: u64 = 4;
/// Round trips within which a window may still grow from its initial value.
const GROWTH_TRIPS: u64 = 50;

impl TransferAnswer {
    /// Returns the answer of a connection: of its directions with a fair part of the data that of
    /// the one that ends last, and of the other one if that has a limit other than its application.
    /// The causes are of both: a percentage is of the time of the direction that it names.
    pub(super) fn of(c: &ConnectionReport) -> Self {
        let Some(most) = c.directions.first() else { return without_data(c) };
        let fair = |other: &&DirectionReport| other.bytes.saturating_mul(FAIR_PART) >= most.bytes;
        let mut all: Vec<&DirectionReport> = c.directions.iter().filter(fair).collect();
        all.sort_by_key(|d| std::cmp::Reverse(d.end_ns));
        let Some((d, others)) = all.split_first() else { return without_data(c) };
        let mut answer = Self::of_direction(c, d);
        for other in others {
            let also = Self::of_direction(c, other);
            let idle = also.causes.first().is_none_or(|first| first.kind == "no data offered");
            if also.verdict != "limited" || idle {
                continue;
            }
            let [first, second] = [(&answer, d), (&also, other)]
                .map(|(answer, d)| format!("data of {}: {}", d.from, answer.text));
            if answer.verdict == "healthy" {
                (answer.verdict, answer.text) = ("limited", format!("{second}; {first}"));
            } else {
                answer.text = format!("{first}; {second}");
            }
            answer.causes.extend(also.causes.into_iter().filter(|c| c.kind != "handshake"));
            answer.causes.sort_by_key(|cause| std::cmp::Reverse(cause.ns));
        }
        answer
    }

    fn of_direction(c: &ConnectionReport, d: &DirectionReport) -> Self {
        let mut causes = causes(c, d);
        causes.sort_by_key(|cause| std::cmp::Reverse(cause.ns));
        causes.retain(|cause| cause.percent >= MIN_FURTHER);
        let limited = causes.first().is_some_and(|first| first.percent >= MIN_CAUSE);
        let named: Vec<String> = causes.iter().map(Cause::line).collect();
        let named = named.join(", ");
        let (verdict, text) = match hidden(c, d) {
            Some(hidden) if limited => {
                ("undetermined", format!("undetermined: {hidden}; what it shows: {named}"))
            }
            Some(hidden) => ("undetermined", format!("undetermined: {hidden}")),
            None if limited => ("limited", format!("slow because: {named}")),
            None => ("healthy", format!("healthy: {}{}", healthy(c, d), remarks(c, d))),
        };
        Self { text, verdict, causes }
    }
}

/// Returns the time of a state, nanoseconds.
fn ns(d: &DirectionReport, state: State) -> u64 {
    d.budget.iter().find(|s| s.state == state).map_or(0, |s| s.ns)
}

fn total(d: &DirectionReport) -> u64 {
    d.budget.iter().map(|s| s.ns).sum::<u64>().max(1)
}

fn without_data(c: &ConnectionReport) -> TransferAnswer {
    let (verdict, text) = match c.opened {
        "syn-only" | "half-open" => {
            let (tries, answers) = (count(c.syns, "SYN"), count(c.syn_acks, "SYN-ACK"));
            ("limited", format!("no connection: {tries}, {answers}"))
        }
        _ => {
            let seen = count(c.packets, "packet");
            let text = format!(
                "undetermined: {seen} and no data; a capture at {} and one at {} show whether \
                 either sent any",
                c.client, c.server
            );
            ("undetermined", text)
        }
    };
    TransferAnswer { text, verdict, causes: Vec::new() }
}

/// Returns what this capture hides of the direction, and the capture that shows it.
fn hidden(c: &ConnectionReport, d: &DirectionReport) -> Option<String> {
    let at = format!("a capture of both directions at the sender {}", d.from);
    if !d.data_seen {
        return Some(format!("the data of {} is not in the capture; {at} would decide", d.from));
    }
    if !d.acks_seen && c.visible.packets_of != "both" {
        return Some(format!("no ACK of {} is in the capture; {at} would decide", d.to));
    }
    if d.unseen_bytes.saturating_mul(20) > d.acked_bytes {
        let missing = percent(d.unseen_bytes, d.acked_bytes);
        return Some(format!(
            "{missing} of the acknowledged bytes are not in the capture; {at} without drops would \
             decide"
        ));
    }
    if c.visible.merged {
        return Some(format!("no interface shows the whole connection; {at} would decide"));
    }
    let share = |state| d.budget.iter().find(|s| s.state == state);
    let silent = share(State::Timeout).map_or(0.0, |s| s.possible_percent - s.percent);
    if silent > MAX_UNKNOWN {
        return Some(format!(
            "{silent:.0} % of the time is silence, without data or after packets that were lost \
             before the capture; {at} would decide"
        ));
    }
    let unknown = share(State::Unknown).map_or(0.0, |s| s.percent);
    (unknown > MAX_UNKNOWN).then(|| {
        format!(
            "the last {unknown:.0} % of the time wait for an ACK that is not in the capture; a \
             longer one would decide"
        )
    })
}

/// Collects the causes of one direction.
struct Causes<'a> {
    d: &'a DirectionReport,
    found: Vec<Cause>,
}

impl Causes<'_> {
    fn add(&mut self, kind: &'static str, ns: u64, evidence: String) {
        let percent = ns as f64 / total(self.d) as f64 * 100.0;
        self.found.push(Cause { kind, from: self.d.from.clone(), percent, ns, evidence });
    }
}

fn causes(c: &ConnectionReport, d: &DirectionReport) -> Vec<Cause> {
    let mut out = Causes { d, found: Vec::new() };
    if c.syns > 1 || c.syn_acks > 1 {
        out.add("handshake", ns(d, State::Handshake), handshake(c));
    }
    timeouts(c, d, &mut out);
    windows(d, &mut out);
    let limits = &d.window_limits;
    let kind = match (is_needless(d), late_segments(d)) {
        (true, 1..) => "reordering",
        (true, 0) => "needless retransmissions",
        (false, _) => "losses",
    };
    let recovery = ns(d, State::Recovery).saturating_sub(limits.full_recovery_ns);
    out.add(kind, recovery + limits.after_loss_ns, losses(d));
    out.add("ECN reductions", limits.after_ece_ns, marks(c, d));
    application(c, d, &mut out);
    queue(d, &mut out);
    let base = d.base_rtt_ns.unwrap_or(0).max(1);
    let trips = total(d) / base;
    // A plateau begins with rounds that may have been growth.
    let growth_ns = limits.growth_ns.saturating_sub(d.plateau_ns.saturating_sub(limits.other_ns));
    if trips >= GROWTH_TRIPS && growth_ns * 2 > total(d) {
        out.add("window growth", growth_ns, growth(d));
    }
    let flight = d.flight_bytes.map(|f| format!(", {} in flight at most", bytes(f.max)));
    let text = format!("it neither grew nor was reduced{}", flight.unwrap_or_default());
    out.add("sender's window", limits.other_ns.saturating_sub(d.plateau_ns), text);
    out.found
}

fn timeouts(c: &ConnectionReport, d: &DirectionReport, out: &mut Causes<'_>) {
    let (lost, timeouts) = (ns(d, State::Timeout), &d.timeouts);
    if timeouts.hidden > 0 && timeouts.count == 0 {
        let text = format!(
            "{} after packets that did not reach the capture, {} in all by IP identification",
            count(timeouts.hidden, "silence"),
            grouped(d.missing_packets.unwrap_or(0))
        );
        return out.add("timeouts", lost, text);
    }
    if timeouts.count + timeouts.tail_probes == 0 {
        return;
    }
    let mut text = count(timeouts.count, "timeout");
    if timeouts.tail_probes > 0 {
        text = format!("{text}, {}", count(timeouts.tail_probes, "tail loss probe"));
    }
    if let Some(size) = black_hole(c, d) {
        text = format!(
            "{text}; no segment of {} was acknowledged, the smaller SYN was: a path MTU black hole",
            bytes(size)
        );
    }
    out.add("timeouts", lost, text);
}

fn windows(d: &DirectionReport, out: &mut Causes<'_>) {
    let zeros = d.zero_windows_ns.map_or(0, |z| z.count) + u64::from(d.zero_window_open);
    if zeros > 0 {
        let text = format!("closed {}: the receiving application does not read", times(zeros));
        out.add("zero window", ns(d, State::ZeroWindow), text);
    }
    let window = d.limiting_window_bytes;
    let base = u128::from(d.base_rtt_ns.unwrap_or(0));
    let needed = d.spacing_bytes_per_second.map(|r| (u128::from(r) * base / 1_000_000_000) as u64);
    let needed = needed.filter(|n| Some(*n) > window && zeros == 0);
    let needed = needed.map(|n| format!(" of {} needed", bytes(n))).unwrap_or_default();
    let shown = window.map_or_else(|| "its scale is unknown".to_owned(), bytes);
    let lost = ns(d, State::ReceiveWindow).saturating_sub(d.window_limits.full_receiver_ns);
    out.add("receive window", lost, format!("{shown}{needed}"));
}

fn application(c: &ConnectionReport, d: &DirectionReport, out: &mut Causes<'_>) {
    // Before its first data the other end had the word.
    let opened = c.start_ns + c.handshake_ns.unwrap_or(0);
    let first_wait = d.start_ns.saturating_sub(opened);
    let idle = ns(d, State::NoData).saturating_sub(first_wait);
    let flat = match d.flight_bytes.filter(|_| d.plateau_ns * 2 > idle) {
        Some(f) => format!(": at most {} in flight, without loss, mark or queue", bytes(f.max)),
        None => String::new(),
    };
    let by = d.socket.as_ref().and_then(SocketWitness::idle_by);
    let by = by.unwrap_or_else(|| "the application or the send buffer".to_owned());
    out.add("no data offered", idle, format!("{by}{flat}"));
    let late = match d.delayed_acks_ns {
        Some(waits) => format!("{}, {} at most", count(waits.count, "late ACK"), time(waits.max)),
        None => "none later than 5 ms".to_owned(),
    };
    let nagle = match d.nagle_waits {
        0 => String::new(),
        n => {
            format!("; {} waited for the ACK of the one before (Nagle)", count(n, "small segment"))
        }
    };
    out.add("delayed ACKs", ns(d, State::DelayedAck), late + &nagle);
}

fn queue(d: &DirectionReport, out: &mut Causes<'_>) {
    let Some((base, mean)) = d.base_rtt_ns.zip(d.mean_rtt_ns) else { return };
    let queue = mean.saturating_sub(base);
    if queue < LONG_QUEUE_NS || queue < base.saturating_mul(LONG_QUEUE_BASES) {
        return;
    }
    let limited = ns(d, State::SenderWindow) + ns(d, State::ReceiveWindow);
    let most = d.path_rtt_ns.map_or(mean, |t| t.max);
    let text = format!(
        "the round trip is {} without it, {} on average, {} at most",
        time(base),
        time(mean),
        time(most)
    );
    out.add("queue", (limited as f64 * d.queue_percent / 100.0) as u64, text);
}

/// Describes the growth of the window, and names its algorithm if nine in ten rounds agree.
fn growth(d: &DirectionReport) -> String {
    let g = &d.growth;
    let steps = g.rounds.saturating_sub(1).max(1);
    let name = match (g.slow_start * 10 >= steps * 9, g.avoidance * 10 >= steps * 9) {
        (true, _) => "slow start: ",
        (_, true) => "congestion avoidance: ",
        _ => "",
    };
    let added = g.last_bytes.saturating_sub(g.first_bytes) as f64;
    format!(
        "{name}{} to {} in flight in {}, {:.1} segments more in each on average; {} grew by 40 % \
         or more, {} by 10 % or less",
        bytes(g.first_bytes),
        bytes(g.last_bytes),
        count(g.rounds, "round"),
        added / (steps * d.full_segment()) as f64,
        grouped(g.slow_start),
        grouped(g.avoidance)
    )
}

fn handshake(c: &ConnectionReport) -> String {
    let took = c.handshake_ns.map(|ns| format!(" in {}", time(ns))).unwrap_or_default();
    if c.ecn_syn_dropped() {
        return format!(
            "{} with ECE and CWR unanswered, a plain SYN answered{took}: the path or the server \
             drops SYNs that ask for ECN",
            count(c.ecn_syns, "SYN")
        );
    }
    format!("{} and {}{took}", count(c.syns, "SYN"), count(c.syn_acks, "SYN-ACK"))
}

/// Returns whether most retransmissions repeated data that had arrived.
pub(super) fn is_needless(d: &DirectionReport) -> bool {
    needless(d) * 2 > d.retransmitted_segments
}

/// Returns the retransmissions of data that had arrived.
pub(super) fn needless(d: &DirectionReport) -> u64 {
    d.dsacks.max(d.spurious_bytes.div_ceil(d.full_segment()))
}

/// Returns the segments that others overtook on the path, before and behind the capture.
pub(super) fn late_segments(d: &DirectionReport) -> u64 {
    d.reordered + d.reordered_beyond
}

/// Returns whether window-limited time has a queue of more than an eighth of the base round trip.
pub(super) fn has_queue(d: &DirectionReport) -> bool {
    let both = d.base_rtt_ns.zip(d.mean_rtt_ns);
    both.is_some_and(|(base, mean)| mean.saturating_sub(base) > base / 8)
}

fn losses(d: &DirectionReport) -> String {
    let again = grouped(d.retransmitted_segments);
    let mut text = format!("{again} of {} sent again", count(d.segments, "segment"));
    if d.dsacks > 0 {
        text = format!("{text}, {} needlessly by DSACK", grouped(d.dsacks));
    }
    if late_segments(d) > 0 {
        text = format!("{text}, {} overtaken on the path", grouped(late_segments(d)));
    }
    let Some((base, mean)) = d.base_rtt_ns.zip(d.mean_rtt_ns) else { return text };
    let queue = if has_queue(d) { "" } else { "no queue: " };
    format!("{text}; {queue}round trip {} on average, {} at least", time(mean), time(base))
}

pub(super) fn marks(c: &ConnectionReport, d: &DirectionReport) -> String {
    let m = &d.marks;
    if c.ecn == NegotiatedEcn::Accecn {
        return format!("{} with CE by ACE", count(m.ce_by_ace, "packet"));
    }
    let ce = match m.ce {
        0 => String::new(),
        n => format!("CE on {} of {}, ", grouped(n), count(d.segments, "segment")),
    };
    let (ece, acks) = (grouped(m.ece_acks), count(m.acks, "ACK"));
    format!("{ce}ECE on {ece} of {acks}, CWR on {}", count(m.cwr, "segment"))
}

/// Returns the payload of segments none of which was acknowledged, after a handshake.
pub(super) fn black_hole(c: &ConnectionReport, d: &DirectionReport) -> Option<u64> {
    let size = u64::from(d.largest_payload_bytes);
    let stuck = d.acked_bytes == 0 && d.timeouts.count >= 2 && c.opened == "handshake";
    (stuck && size >= 500).then_some(size)
}

fn healthy(c: &ConnectionReport, d: &DirectionReport) -> String {
    let (limits, all) = (&d.window_limits, total(d));
    let full = limits.full_sender_ns + limits.full_receiver_ns + limits.full_recovery_ns;
    if full * 2 > all {
        let trips = d.base_rtt_ns.zip(d.mean_rtt_ns).map(|(base, mean)| {
            format!(", round trip {} on average, {} without the queue", time(mean), time(base))
        });
        let (part, goodput) = (percent(full, all), rate(d.acked_bytes, all));
        let trips = trips.unwrap_or_default();
        let line = rate(limits.line_bytes_per_second, 1_000_000_000);
        return format!(
            "the line is full ({FULL_PERCENT} % of its rate or more) for {part} of the time; \
             {goodput} of {line} by its ACKs{trips}"
        );
    }
    let trips = d.base_rtt_ns.map(|base| {
        format!(", {:.1} round trips of {}", all as f64 / base.max(1) as f64, time(base))
    });
    let trips = trips.unwrap_or_default();
    let outstanding = d.bytes.saturating_sub(d.retransmitted_bytes) > d.acked_bytes;
    let done = if c.ended == "open" || outstanding {
        "no cause has a fifth of the time so far"
    } else {
        "the application is done"
    };
    format!("{done}: {} in {}{trips}", bytes(d.acked_bytes), time(all))
}

/// Returns what the path does beside a full line.
fn remarks(c: &ConnectionReport, d: &DirectionReport) -> String {
    let m = &d.marks;
    let mut out = Vec::new();
    if late_segments(d) * 100 > d.segments {
        out.push(format!(
            "reordering: {} overtaken on the path, {} sent again, {} needlessly by DSACK",
            count(late_segments(d), "segment"),
            grouped(d.retransmitted_segments),
            grouped(d.dsacks)
        ));
    }
    let capable = m.ect0 + m.ect1 + m.ce;
    let echoed = m.ece_acks + m.ce_by_ace;
    let lost = d.retransmitted_segments > 0 && !is_needless(d);
    if c.ecn_agreed() && capable == 0 && m.not_ect > 10 {
        let sent = count(m.not_ect, "segment");
        out.push(format!("ECN was agreed, and none of {sent} is ECN-capable here"));
    } else if c.ecn_agreed() && echoed + m.ce == 0 && lost {
        out.push(format!(
            "ECN has no effect: {} sent again, and no mark on {} ECN-capable ones",
            count(d.retransmitted_segments, "segment"),
            grouped(capable)
        ));
    } else if echoed > 0 {
        out.push(format!("ECN marks: {}", marks(c, d)));
    }
    out.insert(0, String::new());
    out.join("; ")
}

pub(super) fn times(n: u64) -> String {
    if n == 1 { "once".to_owned() } else { count(n, "time") }
}
