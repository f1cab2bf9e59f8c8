//! What is wrong with a connection, in plain words: what, when, how long, what it usually means.
//!
//! Contract: every sentence follows from the numbers of the report; what only may be so is said so.

use super::connection::Connection;
use super::direction::Direction;
use super::feedback::Kind;
use super::finding::{Finding, Weight};
use super::opening::Mode;
use super::words::{bytes, count, moment, percent, rate, time};

struct Draft<'a> {
    found: Vec<Finding>,
    whole: (u64, u64),
    from: Option<&'a str>,
}

impl Draft<'_> {
    fn add(
        &mut self,
        weight: Weight,
        kind: &'static str,
        at: Option<(u64, u64)>,
        what: String,
        means: &str,
    ) {
        let (from_ns, to_ns) = at.unwrap_or(self.whole);
        let (from, means) = (self.from.map(str::to_owned), means.to_owned());
        self.found.push(Finding { weight, kind, from, from_ns, to_ns, what, means });
    }
}

/// All findings of a connection, the worst first, among equals the longest.
pub(super) fn of(c: &Connection) -> Vec<Finding> {
    let mut draft = Draft { found: Vec::new(), whole: (c.start_ns, c.end_ns), from: None };
    opening(c, &mut draft);
    for d in &c.directions {
        let mut own =
            Draft { found: Vec::new(), whole: (d.start_ns, d.end_ns), from: Some(&d.from) };
        ecn(c, d, &mut own);
        stalls(d, &mut own);
        losses(d, &mut own);
        capture(d, &mut own);
        draft.found.append(&mut own.found);
    }
    // A collapse explains the stuck echo beside it.
    let rank = |f: &Finding| f.kind != "window-collapse";
    draft
        .found
        .sort_by_key(|f| (f.weight, rank(f), std::cmp::Reverse(f.to_ns.saturating_sub(f.from_ns))));
    draft.found
}

fn opening(c: &Connection, out: &mut Draft<'_>) {
    let tries = count(c.syns, "SYN");
    match c.opened {
        "syn-only" if c.ended == "reset" => out.add(
            Weight::Severe,
            "refused",
            None,
            format!("the connection was refused: {tries}, answered by a reset"),
            "nobody listens on that port, or a firewall answers in its place",
        ),
        "syn-only" => out.add(
            Weight::Severe,
            "no-answer",
            None,
            format!("nobody answered {tries} in {}", time(c.end_ns - c.start_ns)),
            "the host is down, or something on the way drops the SYN or its answer",
        ),
        "half-open" => out.add(
            Weight::Severe,
            "half-open",
            None,
            format!("{} never acknowledged", count(c.syn_acks, "SYN-ACK")),
            "the answer does not reach the client, or a SYN flood with false addresses",
        ),
        _ if c.syns > 1 || c.syn_acks > 1 => out.add(
            Weight::Notable,
            "handshake-again",
            c.handshake_ns.map(|ns| (c.start_ns, c.start_ns + ns)),
            format!(
                "{tries} and {}: opening took {}",
                count(c.syn_acks, "SYN-ACK"),
                c.handshake_ns.map_or_else(|| "an unknown time".to_owned(), time)
            ),
            "packets of the handshake were lost; each loss costs a timeout, a second as a rule",
        ),
        _ => {}
    }
    if let Some(by) = c.reset_by.as_ref().filter(|_| c.opened != "syn-only") {
        out.add(
            Weight::Notable,
            "reset",
            Some((c.end_ns, c.end_ns)),
            format!("reset by {by} at {}", moment(c.end_ns)),
            "an application closed with data unread, or gave up; bytes under way are lost",
        );
    }
    if c.syn_ace.is_some_and(|ace| ace != 0) && c.ecn == Mode::Off {
        out.add(
            Weight::Notable,
            "ecn-refused",
            None,
            "the client asked for ECN, the server did not agree".to_owned(),
            "ECN is off at the server (Linux: net.ipv4.tcp_ecn), or something on the way clears the flags",
        );
    }
    if c.time_backwards > 0 {
        out.add(
            Weight::Remark,
            "time-backwards",
            None,
            format!("{} stamped earlier than the one before", count(c.time_backwards, "packet")),
            "several queues or interfaces wrote into one file; sort it (`reordercap`) for exact times",
        );
    }
    if c.options_lost > 0 {
        out.add(
            Weight::Remark,
            "options-lost",
            None,
            format!("{} without readable options", count(c.options_lost, "packet")),
            "the capture cuts packets too short: capture at least 120 bytes of each",
        );
    }
}

fn ecn(c: &Connection, d: &Direction, out: &mut Draft<'_>) {
    let m = &d.marks;
    for s in &d.collapses {
        let span = s.to_ns - s.from_ns;
        let cwr = if m.cwr == 0 {
            "no segment carries CWR".to_owned()
        } else {
            count(m.cwr, "segment") + " with CWR"
        };
        out.add(
            Weight::Severe,
            "window-collapse",
            Some((s.from_ns, s.to_ns)),
            format!(
                "window collapse: from {} on never more than two segments in flight, with ECE on all of {} \
                 in {}; {cwr}",
                moment(s.from_ns),
                count(s.acks, "ACK"),
                time(span),
            ),
            "a DCTCP sender that does not send CWR meets a receiver that echoes until CWR (RFC 3168): every \
             ACK cuts the window, down to its floor. Send CWR after each cut, or let the receiver speak DCTCP",
        );
    }
    if let Some(run) = d.stuck_ece {
        out.add(
            Weight::Severe,
            "stuck-ece",
            Some((run.from_ns, run.to_ns)),
            format!(
                "stuck ECE: {} in a row from {} on ({}), and none of the data that they acknowledge has CWR",
                count(run.acks, "ACK"),
                moment(run.from_ns),
                time(run.to_ns - run.from_ns)
            ),
            "the receiver waits for a CWR that the sender never sends; or the queue on the way never falls \
             below its marking threshold",
        );
    }
    if d.feedback.kind == Kind::None && m.ce > 0 && c.ecn != Mode::Off {
        out.add(
            Weight::Severe,
            "marks-not-echoed",
            None,
            format!("{} came with CE and no ACK said so", count(m.ce, "segment")),
            "the receiver, or something before it, drops the echo: the sender is blind to the queue",
        );
    }
    let capable = m.ect0 + m.ect1 + m.ce;
    match c.ecn {
        Mode::Rfc3168 | Mode::Accecn if capable == 0 && m.not_ect > 10 => out.add(
            Weight::Notable,
            "agreed-not-used",
            None,
            format!("ECN was agreed, but none of {} is ECN-capable", count(m.not_ect, "segment")),
            "something before the capture clears the ECN field, or the sender gave ECN up",
        ),
        Mode::Off if capable > 0 => out.add(
            Weight::Notable,
            "ect-without-ecn",
            None,
            format!("{} ECN-capable though ECN was not agreed", count(capable, "segment")),
            "marks on this flow tell nobody anything; a tunnel or a switch rewrites the ECN field",
        ),
        _ => {}
    }
    let fraction = d.alpha.marked_fraction.unwrap_or(0.0);
    if fraction >= 0.5 && d.alpha.windows >= 10 && d.stuck_ece.is_none() && d.collapses.is_empty() {
        let share = format!("{:.0} %", fraction * 100.0);
        out.add(
            Weight::Notable,
            "marked-mostly",
            None,
            format!("{share} of the bytes were acknowledged under a mark"),
            "more senders than the path has room for, a marking threshold that is too low, or an echo that \
             lasts too long for this sender",
        );
    }
}

fn stalls(d: &Direction, out: &mut Draft<'_>) {
    let t = &d.timeouts;
    if let Some((from, ..)) = t.listed.first().copied().filter(|_| t.count > 0) {
        let to = t.listed.last().map_or(from, |l| l.1);
        let longest = t.listed.iter().map(|l| l.1 - l.0).max().unwrap_or(0);
        let backoff = match t.most_backoff {
            0 => String::new(),
            n => format!(", up to {} in a row with backoff", n + 1),
        };
        out.add(
            Weight::Severe,
            "timeouts",
            Some((from, to)),
            format!(
                "{}, {} without a packet, the longest {}, the first at {}{backoff}",
                count(t.count, "retransmission timeout"),
                time(t.total_ns),
                time(longest),
                moment(from)
            ),
            "the tail of a burst was lost, or a whole window (incast), so that no ACK could tell; a smaller \
             least RTO, loss probes or ECN shorten it",
        );
    }
    if let Some(waits) = d.delayed_acks_ns {
        let usual = waits.p50.unwrap_or(waits.max);
        out.add(
            if waits.count >= 3 { Weight::Notable } else { Weight::Remark },
            "delayed-acks",
            None,
            format!(
                "{} came late while the sender had nothing else under way: {} as a rule, {} at most",
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
            Weight::Notable,
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
            Weight::Severe,
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

fn losses(d: &Direction, out: &mut Draft<'_>) {
    let again = d.retransmitted_segments;
    if again > 0 {
        let weight = if again * 100 >= d.segments { Weight::Notable } else { Weight::Remark };
        let needless = match d.needless_bytes {
            0 => String::new(),
            n => format!("; {} of it had been acknowledged already", bytes(n)),
        };
        out.add(
            weight,
            "retransmissions",
            None,
            format!(
                "{} sent again ({}, {}){needless}",
                count(again, "segment"),
                percent(again, d.segments),
                bytes(d.retransmitted_bytes)
            ),
            "a queue on the way overflows; where ECN was agreed, the marking threshold is too near to the \
             end of the buffer, or another flow fills it",
        );
    }
    if d.reordered > 0 {
        let far = d.reordering_packets.map_or(0, |s| s.max);
        let weight = if d.reordered * 100 >= d.packets { Weight::Notable } else { Weight::Remark };
        out.add(
            weight,
            "reordering",
            None,
            format!("{} out of order, {far} late at most", count(d.reordered, "packet")),
            "packets of one flow take several ways; more than three late looks like a loss to TCP",
        );
    }
}

fn capture(d: &Direction, out: &mut Draft<'_>) {
    if d.unseen_bytes > 0 {
        out.add(
            Weight::Remark,
            "not-in-capture",
            None,
            format!("{} were acknowledged but are not in the capture", bytes(d.unseen_bytes)),
            "the capture lost packets (a larger buffer: `tcpdump -B`), or sees only one of several ways: \
             retransmissions and round trips are incomplete",
        );
    }
    if d.captured_twice > 0 {
        out.add(
            Weight::Remark,
            "captured-twice",
            None,
            format!("{} captured twice; counted once", count(d.captured_twice, "packet")),
            "the capture listens on several interfaces of one way (`-i any`)",
        );
    }
    if d.large_packets > 0 {
        out.add(
            Weight::Remark,
            "offload",
            None,
            format!(
                "{} longer than a segment of {} B, up to {}; each counts as the segments that it stands for",
                count(d.large_packets, "packet"),
                d.mss_bytes,
                bytes(u64::from(d.largest_payload_bytes))
            ),
            "segmentation or receive offload (TSO, GRO): what the wire saw is finer; `ethtool -K DEV tso off \
             gso off gro off` shows it",
        );
    }
}

/// One line that sums a direction up.
pub(super) fn goodput(d: &Direction) -> String {
    rate(d.acked_bytes, d.end_ns - d.start_ns)
}
