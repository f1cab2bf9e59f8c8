//! Findings about a connection in plain words: symptom, time, duration, and what the numbers beside
//! it make of it, with the frames that show it.
//!
//! Contract: every sentence follows from the numbers of the report, and none contradicts another.

use super::answer::{self, has_queue, needless};
use super::connection::{ConnectionReport, SYN_RTO_NS};
use super::direction::DirectionReport;
use super::evidence::{self, Event};
use super::feedback::FeedbackKind;
use super::finding::{FlowFinding, Severity};
use super::format::{bytes, count, grouped, percent, rate, time, timestamp};
use super::handshake::NegotiatedEcn;
use super::visibility::CaptureFacts;

struct FindingCollector<'a> {
    found: Vec<FlowFinding>,
    whole: (u64, u64),
    ends: [&'a str; 2],
    from: Option<&'a DirectionReport>,
}

impl FindingCollector<'_> {
    fn add(
        &mut self,
        severity: Severity,
        kind: &'static str,
        at: Option<(u64, u64)>,
        frames: Vec<u64>,
        what: String,
        means: impl Into<String>,
    ) {
        let (from_ns, to_ns) = at.unwrap_or(self.whole);
        let from = self.from.map(|d| d.from.clone());
        let filter = evidence::filter(self.ends, &frames, (from_ns, to_ns));
        let means = means.into();
        self.found.push(FlowFinding {
            severity,
            kind,
            from,
            from_ns,
            to_ns,
            what,
            means,
            frames,
            filter,
        });
    }

    /// Returns the frames of an event of the direction.
    fn frames(&self, event: Event) -> Vec<u64> {
        self.from.map(|d| d.frames.of(event)).unwrap_or_default()
    }
}

/// Returns all findings of a connection, the most severe first, then the longest.
pub(super) fn of(c: &ConnectionReport, facts: &CaptureFacts) -> Vec<FlowFinding> {
    let ends = [c.client.as_str(), c.server.as_str()];
    let whole = (c.start_ns, c.end_ns);
    let mut draft = FindingCollector { found: Vec::new(), whole, ends, from: None };
    opening(c, facts, &mut draft);
    capture_point(c, &mut draft);
    for d in &c.directions {
        let mut own = FindingCollector {
            found: Vec::new(),
            whole: (d.start_ns, d.end_ns),
            ends,
            from: Some(d),
        };
        ecn(c, d, &mut own);
        stalls(c, d, &mut own);
        losses(c, d, &mut own);
        capture(d, &mut own);
        draft.found.append(&mut own.found);
    }
    // A collapse explains the stuck ECE that comes with it.
    let rank = |f: &FlowFinding| f.kind != "window-collapse";
    draft.found.sort_by_key(|f| {
        (f.severity, rank(f), std::cmp::Reverse(f.to_ns.saturating_sub(f.from_ns)))
    });
    draft.found
}

fn opening(c: &ConnectionReport, facts: &CaptureFacts, out: &mut FindingCollector<'_>) {
    let tries = count(c.syns, "SYN");
    match c.opened {
        "syn-only" if c.ended == "reset" => out.add(
            Severity::Severe,
            "refused",
            None,
            c.syn_frames.clone(),
            format!("the connection was refused: {tries}, answered by a reset"),
            "no process listens on that port, or a firewall answers in its place",
        ),
        "syn-only" if is_unanswered(c, facts) => out.add(
            Severity::Severe,
            "no-answer",
            None,
            c.syn_frames.clone(),
            format!("no answer to {tries} in {}", time(facts.end_ns.saturating_sub(c.start_ns))),
            "the host is down, or something on the path drops the SYN or its answer",
        ),
        "syn-only" => out.add(
            Severity::Remark,
            "answer-unknown",
            None,
            c.syn_frames.clone(),
            format!(
                "{tries} and no answer in the {} until the capture ends",
                time(facts.end_ns.saturating_sub(c.start_ns))
            ),
            "the capture ends before a SYN is sent again, or shows one direction only: the server may have answered",
        ),
        "half-open" => out.add(
            Severity::Severe,
            "half-open",
            None,
            c.syn_frames.clone(),
            format!("{} never acknowledged", count(c.syn_acks, "SYN-ACK")),
            "the SYN-ACK does not reach the client, or a SYN flood with spoofed addresses",
        ),
        "unknown" if c.syn_acks > 1 => out.add(
            Severity::Notable,
            "handshake-again",
            None,
            c.syn_frames.clone(),
            format!("{}, and no packet of the client in the capture", count(c.syn_acks, "SYN-ACK")),
            "a SYN or SYN-ACK was repeated; whether the client acknowledged one is not in the capture",
        ),
        "unknown" => out.add(
            Severity::Remark,
            "handshake-unknown",
            None,
            c.syn_frames.clone(),
            format!("{} and nothing later in the capture", count(c.syn_acks, "SYN-ACK")),
            "the capture ends, shows one direction only or has only SYNs (a filter on flags): the handshake may have \
             completed",
        ),
        _ if (c.syns > 1 || c.syn_acks > 1) && !c.ecn_syn_dropped() => out.add(
            Severity::Notable,
            "handshake-again",
            c.handshake_ns.map(|ns| (c.start_ns, c.start_ns + ns)),
            c.syn_frames.clone(),
            format!(
                "{tries} and {}: opening took {}",
                count(c.syn_acks, "SYN-ACK"),
                c.handshake_ns.map_or_else(|| "an unknown time".to_owned(), time)
            ),
            "packets of the handshake were lost; each loss costs a timeout, usually one second",
        ),
        _ => {}
    }
    if let Some(by) = c.reset_by.as_ref().filter(|_| c.opened != "syn-only") {
        out.add(
            Severity::Notable,
            "reset",
            Some((c.end_ns, c.end_ns)),
            c.reset_frame.into_iter().collect(),
            format!("reset by {by} at {}", timestamp(c.end_ns)),
            "an application closed with data unread, or gave up; bytes in flight are lost",
        );
    }
    if c.ecn_syn_dropped() {
        out.add(
            Severity::Severe,
            "ecn-syn-dropped",
            c.handshake_ns.map(|ns| (c.start_ns, c.start_ns + ns)),
            c.syn_frames.clone(),
            format!(
                "{} with ECE and CWR unanswered, then a plain SYN answered: opening took {}",
                count(c.ecn_syns, "SYN"),
                c.handshake_ns.map_or_else(|| "an unknown time".to_owned(), time)
            ),
            "the path or the server drops SYNs that ask for ECN, and the client fell back (RFC 3168 §6.1.1.1); \
             or the first SYN was lost by chance: another connection would decide",
        );
    }
    if c.syn_ace.is_some_and(|ace| ace != 0) && c.ecn == NegotiatedEcn::Off {
        out.add(
            Severity::Notable,
            "ecn-refused",
            None,
            c.syn_frames.clone(),
            "the client asked for ECN, the server did not agree".to_owned(),
            "ECN is off at the server (Linux: net.ipv4.tcp_ecn), or something on the path clears the flags",
        );
    }
    if c.time_backwards > 0 {
        out.add(
            Severity::Remark,
            "time-backwards",
            None,
            Vec::new(),
            format!("{} stamped earlier than the one before", count(c.time_backwards, "packet")),
            "several queues or interfaces wrote into one file; sort it (`reordercap`) for exact times",
        );
    }
    if c.options_lost > 0 {
        out.add(
            Severity::Remark,
            "options-lost",
            None,
            Vec::new(),
            format!("{} without readable options", count(c.options_lost, "packet")),
            "the capture cuts packets too short: capture at least 120 bytes of each",
        );
    }
}

/// Returns whether a SYN is unanswered. A single SYN counts only if answers are captured and there
/// was time for one.
fn is_unanswered(c: &ConnectionReport, facts: &CaptureFacts) -> bool {
    let waited = facts.end_ns.saturating_sub(c.start_ns) >= SYN_RTO_NS;
    c.syns > 1 || (waited && facts.two_way)
}

/// Adds findings about the location of the capture.
fn capture_point(c: &ConnectionReport, out: &mut FindingCollector<'_>) {
    let v = &c.visible;
    let only = match v.packets_of {
        "client" => Some((&c.client, &c.server)),
        "server" => Some((&c.server, &c.client)),
        _ => None,
    };
    if let Some((seen, unseen)) = only.filter(|_| matches!(c.opened, "handshake" | "under-way")) {
        out.add(
            Severity::Remark,
            "one-direction",
            None,
            Vec::new(),
            format!("only packets of {seen} are in the capture, none of {unseen}"),
            "a capture filter, a mirror port of one direction, or asymmetric routing; the other end's ACKs and data \
             are unknown",
        );
    }
    if v.packets_elsewhere > 0 {
        let selected =
            v.interfaces.iter().find(|i| i.selected).map_or("one interface", |i| &i.name);
        out.add(
            Severity::Remark,
            "several-interfaces",
            None,
            Vec::new(),
            format!(
                "captured on {} interfaces; analysed at {selected}, without {} at the others",
                v.interfaces.len(),
                count(v.packets_elsewhere, "packet")
            ),
            "the capture listens on several interfaces of one path (`-i any`, a router, a bridge, containers)",
        );
    }
    if v.merged {
        out.add(
            Severity::Remark,
            "merged-interfaces",
            None,
            Vec::new(),
            format!("spread over {} interfaces, of which none has all", v.interfaces.len()),
            "a bond, several paths or asymmetric routing; copies are recognised by header fields, IP identification \
             and TTL",
        );
    }
}

fn ecn(c: &ConnectionReport, d: &DirectionReport, out: &mut FindingCollector<'_>) {
    let m = &d.marks;
    let numbers = answer::marks(c, d);
    for s in d.collapses.iter().filter(|_| !marks_everything(c, d)) {
        let means = if m.cwr == 0 {
            "the sender cuts its window and sends no CWR; a receiver of RFC 3168 echoes until CWR, so \
             every ACK cuts again, down to the floor"
        } else {
            "the sender sends CWR and ECE goes on: nearly every window has a mark. Two segments in \
             flight fill no queue; see which queue marks, and at what length"
        };
        out.add(
            Severity::Severe,
            "window-collapse",
            Some((s.from_ns, s.to_ns)),
            out.frames(Event::Ece),
            format!(
                "window collapse: from {} on never more than two segments in flight, with ECE on all of \
                 {} in {}; in all, {numbers}",
                timestamp(s.from_ns),
                count(s.acks, "ACK"),
                time(s.to_ns - s.from_ns),
            ),
            means,
        );
    }
    if let Some(run) = d.stuck_ece {
        out.add(
            Severity::Severe,
            "stuck-ece",
            Some((run.from_ns, run.to_ns)),
            out.frames(Event::Ece),
            format!(
                "stuck ECE: {} in a row from {} on ({}), and none of the data that they acknowledge has CWR",
                count(run.acks, "ACK"),
                timestamp(run.from_ns),
                time(run.to_ns - run.from_ns)
            ),
            match (m.ce, has_queue(d)) {
                (0, false) => "there is no queue meanwhile: the echo waits for a CWR that is not sent",
                (0, true) => "there is a queue meanwhile: it never falls below its marking threshold, or the \
                              echo waits for a CWR that is not sent",
                _ => "the data has CE here; a receiver of RFC 3168 would end the echo at CWR",
            },
        );
    }
    path(c, d, out);
    losses_without_marks(c, d, out);
    let fraction = d.alpha.marked_fraction.unwrap_or(0.0);
    let explained = d.stuck_ece.is_some() || !d.collapses.is_empty() || marks_everything(c, d);
    if fraction >= 0.5 && d.alpha.windows >= 10 && !explained {
        out.add(
            Severity::Notable,
            "marked-mostly",
            None,
            out.frames(Event::Ece),
            format!("{:.0} % of the bytes were acknowledged under a mark: {numbers}", fraction * 100.0),
            if has_queue(d) {
                "the queue stays above its marking threshold: more senders than the path has room for"
            } else {
                "there is no queue: the marking threshold is too low, or the echo outlasts the marks"
            },
        );
    }
}

/// Returns whether every ECN-capable segment is marked, or every ACK echoes although CWR was sent.
fn marks_everything(c: &ConnectionReport, d: &DirectionReport) -> bool {
    let m = &d.marks;
    let capable = m.ect0 + m.ect1 + m.ce;
    let all_ce = m.ce >= 10 && m.ce * 100 >= capable * 99;
    let classic = c.ecn == NegotiatedEcn::Rfc3168;
    let all_echo = classic && m.ece_acks >= 20 && m.ece_acks * 100 >= m.acks * 99 && m.cwr >= 10;
    c.ecn_agreed() && (all_ce || all_echo)
}

/// Adds findings about the treatment of ECN on the path.
fn path(c: &ConnectionReport, d: &DirectionReport, out: &mut FindingCollector<'_>) {
    let m = &d.marks;
    let capable = m.ect0 + m.ect1 + m.ce;
    if marks_everything(c, d) {
        let queue = match (d.base_rtt_ns.zip(d.mean_rtt_ns), has_queue(d)) {
            (Some((base, mean)), false) => format!(
                "no queue explains it (round trip {} on average, {} at least): a device sets CE on \
                 every packet",
                time(mean),
                time(base)
            ),
            (Some((base, mean)), true) => format!(
                "round trip {} on average, {} at least: a queue that never falls below its threshold, \
                 or a device that sets CE on every packet",
                time(mean),
                time(base)
            ),
            (None, _) => "a device sets CE on every packet, or the echo never ends".to_owned(),
        };
        let frames = if m.ce > 0 { Event::Ce } else { Event::Ece };
        out.add(
            Severity::Severe,
            "ce-on-all",
            None,
            out.frames(frames),
            format!("a mark on everything: {}", answer::marks(c, d)),
            queue,
        );
    }
    let echo_absent = d.feedback.kind == FeedbackKind::None && m.ce > 0 && d.acks_seen;
    if echo_absent && c.ecn != NegotiatedEcn::Off {
        out.add(
            Severity::Severe,
            "marks-not-echoed",
            None,
            out.frames(Event::Ce),
            format!("{} arrived with CE and no ACK echoed it", count(m.ce, "segment")),
            "the receiver, or something before it, drops the echo: the sender does not see the queue",
        );
    }
    let e = &d.evidence;
    if e.unechoed_acks >= 5 && e.unechoed_acks * 20 >= e.marked_acks && m.ece_acks > 0 {
        out.add(
            Severity::Notable,
            "echo-late",
            None,
            out.frames(Event::Ce),
            format!(
                "{} of {} for marked data had no ECE",
                e.unechoed_acks,
                count(e.marked_acks, "ACK")
            ),
            "the echo comes late, or something between thins it",
        );
    }
    match c.ecn {
        NegotiatedEcn::Rfc3168 | NegotiatedEcn::Accecn if capable == 0 && m.not_ect > 10 => {
            let near = c.capture_location;
            let at_sender = (near == "client") == (d.from == c.client) && near != "between";
            out.add(
                Severity::Notable,
                "agreed-not-used",
                None,
                Vec::new(),
                format!("ECN was agreed, but none of {} is ECN-capable", count(m.not_ect, "segment")),
                if at_sender && near != "unknown" {
                    "the capture is at the sender: it gave ECN up, or does not use it"
                } else {
                    "the path before the capture clears the ECN field, or the sender does not set it; a \
                     capture at the sender would decide"
                },
            );
        }
        NegotiatedEcn::Off if capable > 0 => out.add(
            Severity::Notable,
            "ect-without-ecn",
            None,
            out.frames(Event::Ect),
            format!(
                "{} ECN-capable though ECN was not agreed, {} of them with CE",
                count(capable, "segment"),
                grouped(m.ce)
            ),
            "the receiver does not echo marks of this flow; a tunnel or a device rewrites the ECN field, \
             or the sender sets it without agreement",
        ),
        _ => {}
    }
}

/// Adds a finding if ECN was agreed, the data is ECN-capable, segments are lost and none is marked.
fn losses_without_marks(c: &ConnectionReport, d: &DirectionReport, out: &mut FindingCollector<'_>) {
    let m = &d.marks;
    let capable = m.ect0 + m.ect1;
    // Retransmissions are not ECN-capable (RFC 3168 §6.1.5).
    let first_time = d.segments.saturating_sub(d.retransmitted_segments);
    let nearly_all = capable.saturating_mul(10) >= first_time.saturating_mul(9);
    let unmarked = m.ce == 0 && m.ece_acks == 0 && m.ce_by_ace == 0;
    let lost = d.retransmitted_segments.saturating_sub(needless(d));
    if !(c.ecn_agreed() && d.acks_seen && capable >= 10 && nearly_all && unmarked && lost > 0) {
        return;
    }
    let severity = if lost >= 3 { Severity::Notable } else { Severity::Remark };
    out.add(
        severity,
        "losses-without-marks",
        None,
        out.frames(Event::Retransmission),
        format!(
            "{} lost, and not one of {} ECN-capable ones marked",
            count(lost, "segment"),
            grouped(capable)
        ),
        if has_queue(d) {
            "there is a queue, and the bottleneck drops and does not mark: it has no ECN marking, marks only \
             at a length at which it drops, or the path clears the ECN field (a capture at the receiver \
             shows whether ECT arrives)"
        } else {
            "there was no queue: a bottleneck would not have marked; the losses are random or a policer's"
        },
    );
}

fn stalls(c: &ConnectionReport, d: &DirectionReport, out: &mut FindingCollector<'_>) {
    let t = &d.timeouts;
    if let Some(short) = t.implausible_ns {
        out.add(
            Severity::Remark,
            "early-retransmissions",
            t.first_implausible,
            out.frames(Event::EarlyTimer),
            format!(
                "{} after a pause of {} to {}, less than SRTT or the least RTO; not counted as timeouts",
                count(short.count, "retransmission"),
                time(short.min),
                time(short.max)
            ),
            "copies of packets from a second interface or mirror port, RACK's timer, loss probes, or fast \
             retransmits of which the ACKs are not in the capture; if the sender's least RTO is really that \
             small, state it (`--rto-min`)",
        );
    }
    if let Some((from, ..)) = t.listed.first().copied().filter(|_| t.count > 0) {
        let to = t.listed.last().map_or(from, |l| l.1);
        let longest = t.listed.iter().map(|l| l.1 - l.0).max().unwrap_or(0);
        let backoff = match t.most_backoff {
            0 => String::new(),
            n => format!(", up to {} in a row with backoff", n + 1),
        };
        let means = match answer::black_hole(c, d) {
            Some(size) => format!(
                "no segment of {} was acknowledged, the smaller SYN was: the path drops large packets and \
                 their ICMP messages (path MTU black hole), or fails after the handshake",
                bytes(size)
            ),
            None if d.sack_acks + d.duplicate_acks == 0 => "no duplicate or selective ACK came: the tail of a \
                 burst or a whole window was lost"
                .to_owned(),
            None => "the ACKs that came did not start a fast retransmit of these segments, or it was lost \
                     too"
                .to_owned(),
        };
        out.add(
            Severity::Severe,
            "timeouts",
            Some((from, to)),
            out.frames(Event::Timeout),
            format!(
                "{}, {} without a packet, the longest {}, the first at {}{backoff}",
                count(t.count, "retransmission timeout"),
                time(t.total_ns),
                time(longest),
                timestamp(from)
            ),
            means,
        );
    }
    if t.hidden > 0 {
        out.add(
            Severity::Severe,
            "hidden-timeouts",
            None,
            out.frames(Event::Timeout),
            format!(
                "{} that ended after packets had been lost before the capture: {} in all",
                count(t.hidden, "silence"),
                grouped(d.missing_packets.unwrap_or(0))
            ),
            "the sender counts its packets in the IP identification, and the numbers are missing here: its \
             retransmission timer fired",
        );
    }
    if let Some(waits) = d.delayed_acks_ns {
        let usual = waits.p50.unwrap_or(waits.max);
        let timer = match usual {
            35_000_000..=60_000_000 => "Linux's delayed-ACK timer has 40 ms",
            90_000_000..=110_000_000 | 180_000_000..=220_000_000 => {
                "delayed-ACK timers of BSD and Windows have 100 to 200 ms"
            }
            _ => "no usual delayed-ACK timer has that time: a queue or a busy receiver may",
        };
        let nagle = match d.nagle_waits {
            0 => String::new(),
            n => format!(
                "; {} waited for it in the sender (Nagle's algorithm, `TCP_NODELAY` turns it off)",
                count(n, "small segment")
            ),
        };
        out.add(
            if waits.count >= 3 { Severity::Notable } else { Severity::Remark },
            "delayed-acks",
            None,
            out.frames(Event::LateAck),
            format!(
                "{} came late while the sender had nothing else in flight: typically {}, at most {}",
                count(waits.count, "ACK"),
                time(usual),
                time(waits.max)
            ),
            format!("{timer}{nagle}"),
        );
    }
    if let Some(zero) = d.zero_windows_ns {
        out.add(
            Severity::Notable,
            "zero-window",
            d.zero_windows.first().map(|z| (z.0, d.zero_windows.last().map_or(z.1, |l| l.1))),
            out.frames(Event::ZeroWindow),
            format!(
                "the receiver closed its window {}, {} at most; {}",
                answer::times(zero.count),
                time(zero.max),
                count(d.window_probes, "window probe")
            ),
            "the receiving application does not read as fast as data comes",
        );
    }
    if d.zero_window_open {
        out.add(
            Severity::Severe,
            "zero-window-at-end",
            d.zero_windows.last().copied(),
            out.frames(Event::ZeroWindow),
            "the receiver's window is closed when the capture ends".to_owned(),
            "the receiving application has stopped reading",
        );
    }
}

fn losses(c: &ConnectionReport, d: &DirectionReport, out: &mut FindingCollector<'_>) {
    let again = d.retransmitted_segments;
    if again > 0 {
        let severity = if again * 100 >= d.segments { Severity::Notable } else { Severity::Remark };
        let unneeded = match d.spurious_bytes {
            0 => String::new(),
            n => format!("; {} of it had been acknowledged already", bytes(n)),
        };
        let place = match d.lost_before_capture_segments {
            0 => String::new(),
            n => format!("; {} lost before the capture", count(n, "segment")),
        };
        out.add(
            severity,
            "retransmissions",
            None,
            out.frames(Event::Retransmission),
            format!(
                "{} sent again ({}, {}){unneeded}{place}",
                count(again, "segment"),
                percent(again, d.segments),
                bytes(d.retransmitted_bytes)
            ),
            cause_of_losses(c, d),
        );
    }
    if !d.data_seen && d.sack_acks > 0 {
        out.add(
            Severity::Notable,
            "sacked-gaps",
            None,
            out.frames(Event::Sack),
            format!("{} with SACK blocks beyond a gap", count(d.sack_acks, "ACK")),
            "segments were lost or reordered before the receiver; the data, which would distinguish the two, is not in the capture",
        );
    }
    if d.reordered > 0 {
        let far = d.reordering_packets.map_or(0, |s| s.max);
        let severity =
            if d.reordered * 100 >= d.packets { Severity::Notable } else { Severity::Remark };
        out.add(
            severity,
            "reordering",
            None,
            out.frames(Event::Reordered),
            format!("{} out of order, {far} late at most", count(d.reordered, "packet")),
            if far >= 3 {
                "the path before the capture reorders; three or more late looks like a loss to a sender \
                 without RACK (RFC 5681 §3.2)"
            } else {
                "the path before the capture reorders, by less than the three that start a fast retransmit"
            },
        );
    }
    if d.reordered_beyond > 0 {
        out.add(
            if d.reordered_beyond * 100 >= d.segments { Severity::Notable } else { Severity::Remark },
            "reordering-beyond",
            None,
            out.frames(Event::Reordered),
            format!(
                "{} that SACK reported, filled by the first transmission",
                count(d.reordered_beyond, "gap")
            ),
            format!(
                "the path beyond the capture reorders; {} sent again meanwhile, {} reported by DSACK as needless",
                count(again, "segment"),
                grouped(d.dsacks)
            ),
        );
    }
}

/// Returns what the numbers say of the cause of retransmissions.
fn cause_of_losses(c: &ConnectionReport, d: &DirectionReport) -> String {
    let unneeded = needless(d);
    if answer::is_needless(d) {
        return match answer::late_segments(d) {
            0 => format!("{unneeded} of them repeated data that had arrived"),
            n => format!(
                "{unneeded} of them repeated data that had arrived: {n} were overtaken, not lost"
            ),
        };
    }
    if answer::black_hole(c, d).is_some() {
        return "none of this size was ever acknowledged".to_owned();
    }
    let Some((base, mean)) = d.base_rtt_ns.zip(d.mean_rtt_ns) else {
        return "the round trip is unknown: a full queue and random loss look the same".to_owned();
    };
    let trips = format!("round trip {} on average, {} at least", time(mean), time(base));
    if has_queue(d) {
        format!("there is a queue ({trips}): it overflows")
    } else {
        format!(
            "there is no queue ({trips}): a policer, a buffer of a small part of a round trip, or a bad link"
        )
    }
}

fn capture(d: &DirectionReport, out: &mut FindingCollector<'_>) {
    if d.unseen_bytes > 0 && d.data_seen {
        out.add(
            Severity::Remark,
            "not-in-capture",
            None,
            out.frames(Event::Missing),
            format!("{} were acknowledged but are not in the capture", bytes(d.unseen_bytes)),
            "the capture lost packets (a larger buffer: `tcpdump -B`), or sees only one of several paths: \
             retransmissions and round trips are incomplete",
        );
    }
    if d.captured_twice > 0 {
        out.add(
            Severity::Remark,
            "captured-twice",
            None,
            out.frames(Event::Copy),
            format!("{} captured twice; counted once", count(d.captured_twice, "packet")),
            "a mirror port or `-i any` that shows a packet at several places, or a path that repeats packets",
        );
    }
    if d.large_packets > 0 {
        let size = match d.mss_bytes {
            Some(mss) => format!("a segment of {mss} B"),
            None => "most".to_owned(),
        };
        out.add(
            Severity::Remark,
            "offload",
            None,
            out.frames(Event::Large),
            format!(
                "{} longer than {size}, up to {}; each counts as the segments in it",
                count(d.large_packets, "packet"),
                bytes(u64::from(d.largest_payload_bytes))
            ),
            "segmentation or receive offload (TSO, GRO): what the wire saw is finer; `ethtool -K DEV tso off \
             gso off gro off` shows it",
        );
    }
}

/// Returns the goodput of a direction.
pub(super) fn goodput(d: &DirectionReport) -> String {
    rate(d.acked_bytes, d.end_ns - d.start_ns)
}
