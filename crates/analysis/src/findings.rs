//! Findings about a connection in plain words: symptom, time, duration, usual meaning.
//!
//! Contract: every sentence follows from the numbers of the report; guesses are marked as such.

use super::connection::{ConnectionReport, SYN_RTO_NS};
use super::direction::DirectionReport;
use super::feedback::FeedbackKind;
use super::finding::{FlowFinding, Severity};
use super::format::{bytes, count, percent, rate, time, timestamp};
use super::handshake::NegotiatedEcn;
use super::visibility::CaptureFacts;

struct FindingCollector<'a> {
    found: Vec<FlowFinding>,
    whole: (u64, u64),
    from: Option<&'a str>,
}

impl FindingCollector<'_> {
    fn add(
        &mut self,
        severity: Severity,
        kind: &'static str,
        at: Option<(u64, u64)>,
        what: String,
        means: &'static str,
    ) {
        let (from_ns, to_ns) = at.unwrap_or(self.whole);
        let from = self.from.map(str::to_owned);
        self.found.push(FlowFinding { severity, kind, from, from_ns, to_ns, what, means });
    }
}

/// Returns all findings of a connection, the most severe first, then the longest.
pub(super) fn of(c: &ConnectionReport, facts: &CaptureFacts) -> Vec<FlowFinding> {
    let mut draft =
        FindingCollector { found: Vec::new(), whole: (c.start_ns, c.end_ns), from: None };
    opening(c, facts, &mut draft);
    capture_point(c, &mut draft);
    for d in &c.directions {
        let mut own = FindingCollector {
            found: Vec::new(),
            whole: (d.start_ns, d.end_ns),
            from: Some(&d.from),
        };
        ecn(c, d, &mut own);
        stalls(d, &mut own);
        losses(d, &mut own);
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
            format!("the connection was refused: {tries}, answered by a reset"),
            "no process listens on that port, or a firewall answers in its place",
        ),
        "syn-only" if is_unanswered(c, facts) => out.add(
            Severity::Severe,
            "no-answer",
            None,
            format!("no answer to {tries} in {}", time(facts.end_ns.saturating_sub(c.start_ns))),
            "the host is down, or something on the path drops the SYN or its answer",
        ),
        "syn-only" => out.add(
            Severity::Remark,
            "answer-unknown",
            None,
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
            format!("{} never acknowledged", count(c.syn_acks, "SYN-ACK")),
            "the SYN-ACK does not reach the client, or a SYN flood with spoofed addresses",
        ),
        "unknown" if c.syn_acks > 1 => out.add(
            Severity::Notable,
            "handshake-again",
            None,
            format!("{}, and no packet of the client in the capture", count(c.syn_acks, "SYN-ACK")),
            "a SYN or SYN-ACK was repeated; whether the client acknowledged one is not in the capture",
        ),
        "unknown" => out.add(
            Severity::Remark,
            "handshake-unknown",
            None,
            format!("{} and nothing later in the capture", count(c.syn_acks, "SYN-ACK")),
            "the capture ends, shows one direction only or has only SYNs (a filter on flags): the handshake may have \
             completed",
        ),
        _ if c.syns > 1 || c.syn_acks > 1 => out.add(
            Severity::Notable,
            "handshake-again",
            c.handshake_ns.map(|ns| (c.start_ns, c.start_ns + ns)),
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
            format!("reset by {by} at {}", timestamp(c.end_ns)),
            "an application closed with data unread, or gave up; bytes in flight are lost",
        );
    }
    if c.syn_ace.is_some_and(|ace| ace != 0) && c.ecn == NegotiatedEcn::Off {
        out.add(
            Severity::Notable,
            "ecn-refused",
            None,
            "the client asked for ECN, the server did not agree".to_owned(),
            "ECN is off at the server (Linux: net.ipv4.tcp_ecn), or something on the path clears the flags",
        );
    }
    if c.time_backwards > 0 {
        out.add(
            Severity::Remark,
            "time-backwards",
            None,
            format!("{} stamped earlier than the one before", count(c.time_backwards, "packet")),
            "several queues or interfaces wrote into one file; sort it (`reordercap`) for exact times",
        );
    }
    if c.options_lost > 0 {
        out.add(
            Severity::Remark,
            "options-lost",
            None,
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
            format!("spread over {} interfaces, of which none has all", v.interfaces.len()),
            "a bond, several paths or asymmetric routing; copies are recognised by header fields, IP identification \
             and TTL",
        );
    }
}

fn ecn(c: &ConnectionReport, d: &DirectionReport, out: &mut FindingCollector<'_>) {
    let m = &d.marks;
    for s in &d.collapses {
        let span = s.to_ns - s.from_ns;
        let cwr = if m.cwr == 0 {
            "no segment carries CWR".to_owned()
        } else {
            count(m.cwr, "segment") + " with CWR"
        };
        out.add(
            Severity::Severe,
            "window-collapse",
            Some((s.from_ns, s.to_ns)),
            format!(
                "window collapse: from {} on never more than two segments in flight, with ECE on all of {} \
                 in {}; {cwr}",
                timestamp(s.from_ns),
                count(s.acks, "ACK"),
                time(span),
            ),
            "a DCTCP sender that does not send CWR meets a receiver that echoes until CWR (RFC 3168): every \
             ACK cuts the window, down to its floor. Send CWR after each cut, or let the receiver speak DCTCP",
        );
    }
    if let Some(run) = d.stuck_ece {
        out.add(
            Severity::Severe,
            "stuck-ece",
            Some((run.from_ns, run.to_ns)),
            format!(
                "stuck ECE: {} in a row from {} on ({}), and none of the data that they acknowledge has CWR",
                count(run.acks, "ACK"),
                timestamp(run.from_ns),
                time(run.to_ns - run.from_ns)
            ),
            "the receiver waits for a CWR that the sender never sends; or the queue on the path never falls \
             below its marking threshold",
        );
    }
    if d.feedback.kind == FeedbackKind::None
        && m.ce > 0
        && c.ecn != NegotiatedEcn::Off
        && d.acks_seen
    {
        out.add(
            Severity::Severe,
            "marks-not-echoed",
            None,
            format!("{} arrived with CE and no ACK echoed it", count(m.ce, "segment")),
            "the receiver, or something before it, drops the echo: the sender is blind to the queue",
        );
    }
    let capable = m.ect0 + m.ect1 + m.ce;
    match c.ecn {
        NegotiatedEcn::Rfc3168 | NegotiatedEcn::Accecn if capable == 0 && m.not_ect > 10 => out
            .add(
                Severity::Notable,
                "agreed-not-used",
                None,
                format!(
                    "ECN was agreed, but none of {} is ECN-capable",
                    count(m.not_ect, "segment")
                ),
                "something before the capture clears the ECN field, or the sender gave ECN up",
            ),
        NegotiatedEcn::Off if capable > 0 => out.add(
            Severity::Notable,
            "ect-without-ecn",
            None,
            format!("{} ECN-capable though ECN was not agreed", count(capable, "segment")),
            "marks on this flow have no effect; a tunnel or a switch rewrites the ECN field",
        ),
        _ => {}
    }
    losses_without_marks(c, d, out);
    let fraction = d.alpha.marked_fraction.unwrap_or(0.0);
    if fraction >= 0.5 && d.alpha.windows >= 10 && d.stuck_ece.is_none() && d.collapses.is_empty() {
        let share = format!("{:.0} %", fraction * 100.0);
        out.add(
            Severity::Notable,
            "marked-mostly",
            None,
            format!("{share} of the bytes were acknowledged under a mark"),
            "more senders than the path has room for, a marking threshold that is too low, or an echo that \
             lasts too long for this sender",
        );
    }
}

/// Adds a finding if ECN was agreed, the data is ECN-capable, segments are lost and none is marked.
fn losses_without_marks(c: &ConnectionReport, d: &DirectionReport, out: &mut FindingCollector<'_>) {
    let m = &d.marks;
    let agreed = matches!(c.ecn, NegotiatedEcn::Rfc3168 | NegotiatedEcn::Accecn);
    let capable = m.ect0 + m.ect1;
    // Retransmissions are not ECN-capable (RFC 3168 §6.1.5).
    let first_time = d.segments.saturating_sub(d.retransmitted_segments);
    let nearly_all = capable.saturating_mul(10) >= first_time.saturating_mul(9);
    let unmarked = m.ce == 0 && m.ece_acks == 0 && m.ce_by_ace == 0;
    let needless = d.dsacks.max(d.spurious_bytes.div_ceil(u64::from(d.mss_bytes.max(1))));
    let lost = d.retransmitted_segments.saturating_sub(needless);
    if !(agreed && d.acks_seen && capable >= 10 && nearly_all && unmarked && lost > 0) {
        return;
    }
    let severity = if lost >= 3 { Severity::Notable } else { Severity::Remark };
    out.add(
        severity,
        "losses-without-marks",
        None,
        format!(
            "{} lost, and not one of {} ECN-capable ones marked",
            count(lost, "segment"),
            super::format::grouped(capable)
        ),
        "the bottleneck drops and does not mark: its queue has no ECN marking, or marks only above the length at which \
         it drops (K at or above the buffer); else the losses are no congestion, or a device clears the ECN field",
    );
}

fn stalls(d: &DirectionReport, out: &mut FindingCollector<'_>) {
    let t = &d.timeouts;
    if let Some(short) = t.implausible_ns {
        out.add(
            Severity::Notable,
            "implausible-timeouts",
            t.first_implausible,
            format!(
                "{} that look like timeouts, {} to {} after the timer was armed, less than the least RTO of any stack \
                 in general use; not counted as timeouts",
                count(short.count, "retransmission"),
                time(short.min),
                time(short.max)
            ),
            "copies of packets from a second interface or mirror port, loss probes, or fast retransmits of which the \
             ACKs are not in the capture; if the sender's least RTO is really that small, state it (`--rto-min`)",
        );
    }
    if let Some((from, ..)) = t.listed.first().copied().filter(|_| t.count > 0) {
        let to = t.listed.last().map_or(from, |l| l.1);
        let longest = t.listed.iter().map(|l| l.1 - l.0).max().unwrap_or(0);
        let backoff = match t.most_backoff {
            0 => String::new(),
            n => format!(", up to {} in a row with backoff", n + 1),
        };
        out.add(
            Severity::Severe,
            "timeouts",
            Some((from, to)),
            format!(
                "{}, {} without a packet, the longest {}, the first at {}{backoff}",
                count(t.count, "retransmission timeout"),
                time(t.total_ns),
                time(longest),
                timestamp(from)
            ),
            "the tail of a burst was lost, or a whole window (incast), so that no ACK reported it; a smaller \
             least RTO, loss probes or ECN shorten it",
        );
    }
    if let Some(waits) = d.delayed_acks_ns {
        let usual = waits.p50.unwrap_or(waits.max);
        out.add(
            if waits.count >= 3 { Severity::Notable } else { Severity::Remark },
            "delayed-acks",
            None,
            format!(
                "{} came late while the sender had nothing else in flight: typically {}, at most {}",
                count(waits.count, "ACK"),
                time(usual),
                time(waits.max)
            ),
            "the receiver's delayed-ACK timer (40 ms on Linux, 100 to 200 ms elsewhere) held back the ACK of \
             a last segment: small writes, an odd number of segments, or a window of one segment",
        );
    }
    if let Some(zero) = d.zero_windows_ns {
        out.add(
            Severity::Notable,
            "zero-window",
            d.zero_windows.first().map(|z| (z.0, d.zero_windows.last().map_or(z.1, |l| l.1))),
            format!(
                "the receiver closed its window {}, {} at most",
                times(zero.count),
                time(zero.max)
            ),
            "the receiving application does not read fast enough",
        );
    }
    if d.zero_window_open {
        out.add(
            Severity::Severe,
            "zero-window-at-end",
            d.zero_windows.last().copied(),
            "the receiver's window is closed when the capture ends".to_owned(),
            "the receiving application has stopped reading",
        );
    }
}

fn times(n: u64) -> String {
    if n == 1 { "once".to_owned() } else { count(n, "time") }
}

fn losses(d: &DirectionReport, out: &mut FindingCollector<'_>) {
    let again = d.retransmitted_segments;
    if again > 0 {
        let severity = if again * 100 >= d.segments { Severity::Notable } else { Severity::Remark };
        let needless = match d.spurious_bytes {
            0 => String::new(),
            n => format!("; {} of it had been acknowledged already", bytes(n)),
        };
        out.add(
            severity,
            "retransmissions",
            None,
            format!(
                "{} sent again ({}, {}){needless}",
                count(again, "segment"),
                percent(again, d.segments),
                bytes(d.retransmitted_bytes)
            ),
            "a queue on the path overflows; where ECN was agreed, the marking threshold is too near to the \
             end of the buffer, or another flow fills it",
        );
    }
    if !d.data_seen && d.sack_acks > 0 {
        out.add(
            Severity::Notable,
            "sacked-gaps",
            None,
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
            format!("{} out of order, {far} late at most", count(d.reordered, "packet")),
            "packets of one flow take several paths; more than three late looks like a loss to TCP",
        );
    }
}

fn capture(d: &DirectionReport, out: &mut FindingCollector<'_>) {
    if d.unseen_bytes > 0 && d.data_seen {
        out.add(
            Severity::Remark,
            "not-in-capture",
            None,
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
            format!("{} captured twice; counted once", count(d.captured_twice, "packet")),
            "a mirror port or `-i any` that shows a packet at several places, or a path that repeats packets",
        );
    }
    if d.large_packets > 0 {
        out.add(
            Severity::Remark,
            "offload",
            None,
            format!(
                "{} longer than a segment of {} B, up to {}; each counts as the segments in it",
                count(d.large_packets, "packet"),
                d.mss_bytes,
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
