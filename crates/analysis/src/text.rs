//! The analysis as text: one block per connection, the most severe first.

use std::fmt::{self, Write as _};

use super::Analysis;
use super::budget::shares_text;
use super::connection::ConnectionReport;
use super::direction::DirectionReport;
use super::finding::Severity;
use super::findings::goodput;
use super::format::{bytes, count, grouped, percent, time, timestamp};
use super::handshake::NegotiatedEcn;
use super::tunnels;
use super::value_summary::ValueSummary;

/// Connections that are shown without `--all`.
pub(super) const MAX_SHOWN: usize = 20;
/// Column in which values begin.
const LABEL: usize = 16;

impl Analysis {
    /// Returns the text: the first connections, or `all`.
    pub fn text(&self, all: bool) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut out, all);
        out.truncate(out.trim_end().len());
        out
    }

    fn write(&self, out: &mut String, all: bool) -> fmt::Result {
        writeln!(out, "{}", self.answer)?;
        writeln!(out, "{}: {}", self.file, self.lead())?;
        for (_, line) in self.remarks() {
            writeln!(out, "  {line}")?;
        }
        let shown = if all { self.flows.len() } else { MAX_SHOWN };
        for flow in self.flows.iter().take(shown) {
            writeln!(out)?;
            connection(out, flow)?;
        }
        let left = self.selected - shown.min(self.flows.len());
        if left > 0 {
            let more = count(left as u64, "more connection");
            writeln!(out, "\n{more} that lost less time (--top N, --all)")?;
        }
        Ok(())
    }

    /// Returns the summary line of the file.
    pub(super) fn lead(&self) -> String {
        let c = &self.contents;
        format!(
            "{}, {} of TCP, in {}; {}; {}",
            count(c.packets, "packet"),
            grouped(c.segments),
            time(c.span_ns),
            count(self.connections as u64, "connection"),
            c.links.join(", "),
        )
    }

    /// Returns remarks about the capture, and whether each is a warning.
    pub(super) fn remarks(&self) -> Vec<(bool, String)> {
        let c = &self.contents;
        let mut out = Vec::new();
        if let Some(broken) = &c.broken {
            out.push((
                true,
                format!(
                    "Not read to its end: {broken}. The analysis covers the {} before.",
                    count(c.packets, "packet")
                ),
            ));
        }
        if c.damaged_blocks > 0 {
            let line = format!(
                "{} malformed and left out, the first at offset {}.",
                count(c.damaged_blocks, "block"),
                c.first_damaged.unwrap_or_default()
            );
            out.push((true, line));
        }
        if self.selected > 1 {
            let lost = self.causes.iter().map(|t| {
                let flows = count(t.connections, "connection");
                (false, format!("Lost over all: {} by {} in {flows}.", time(t.ns), t.kind))
            });
            out.extend(lost);
        }
        let skipped = c.skipped.words();
        if !skipped.is_empty() {
            let all = count(c.skipped.all(), "packet");
            out.push((false, format!("Left out {all}: {}.", skipped.join(", "))));
        }
        if c.segments == 0 {
            out.push((true, "No TCP segment was read.".to_owned()));
        }
        if c.reassembled.packets > 0 {
            let (whole, parts) = (c.reassembled.packets, c.reassembled.fragments);
            let whole = count(whole, "packet");
            out.push((false, format!("{whole} put together from {}.", count(parts, "fragment"))));
        }
        out.extend(tunnels::remarks(&c.tunnels));
        if let Some(dropped) = c.dropped.filter(|n| *n > 0) {
            let line = format!("{} lost by the capture itself.", count(dropped, "packet"));
            out.push((true, line));
        }
        if c.interfaces.len() > 1 {
            let named = c.interfaces.iter().take(8);
            let named = named.map(|i| format!("{} ({})", i.name, grouped(i.segments)));
            let more = if c.interfaces.len() > 8 { ", ..." } else { "" };
            let named = named.collect::<Vec<_>>().join("; ");
            out.push((false, format!("Segments by interface: {named}{more}.")));
        }
        if let Some(first) = self.absent_sockets.first() {
            let sockets = count(self.absent_sockets.len() as u64, "socket");
            out.push((false, format!("{sockets} of `ss` not in the capture, as {first}.")));
        }
        if c.late_stamps > 0 {
            let packets = count(c.late_stamps, "packet");
            let line = format!("{packets} more than nine years after the first; taken as of then.");
            out.push((false, line));
        }
        if c.truncated > 0 {
            let headers = match c.options_incomplete {
                _ if c.segments == 0 => String::new(),
                0 => "; no option of a TCP header is missing".to_owned(),
                n => format!("; options of {} are missing", count(n, "TCP header")),
            };
            let packets = count(c.truncated, "packet");
            let line = format!("{packets} captured without their last bytes{headers}.");
            out.push((false, line));
        }
        out
    }
}

pub(super) fn negotiated_ecn(c: &ConnectionReport) -> String {
    let text = match c.ecn {
        NegotiatedEcn::Unknown => "unknown, the SYN-ACK is not in the capture",
        NegotiatedEcn::Off => "not agreed",
        NegotiatedEcn::Rfc3168 => "agreed, RFC 3168",
        NegotiatedEcn::Accecn => "agreed, AccECN",
    };
    // The SYN-ACK reports the ECN field of the SYN (RFC 9768 §3.1.2, table 2).
    let field = match c.syn_ack_ace.filter(|_| c.ecn == NegotiatedEcn::Accecn) {
        Some(0b010) => "Not-ECT",
        Some(0b011) => "ECT(1)",
        Some(0b100) => "ECT(0)",
        Some(0b110) => "CE",
        _ => return text.to_owned(),
    };
    format!("{text}; the SYN arrived with {field}")
}

/// Formats the CE counts of ACE and of the AccECN option.
fn accurate_counts(d: &DirectionReport) -> String {
    let m = &d.marks;
    let by_ace = format!("{} with CE counted by ACE", count(m.ce_by_ace, "packet"));
    if m.accecn_option_acks == 0 {
        return format!("{by_ace}, no AccECN option");
    }
    let full = m.ce_bytes_by_option.div_ceil(d.full_segment());
    let verdict = match full {
        n if n == m.ce_by_ace => "as many full segments",
        n if n > m.ce_by_ace => "more full segments than ACE: ACE wrapped, or packets were larger",
        _ => {
            "fewer full segments than ACE: shorter packets or ones without payload, or last ACKs without the option"
        }
    };
    let (option, acks) = (grouped(m.accecn_option_acks), count(m.acks, "ACK"));
    format!(
        "{by_ace}, {} by the AccECN option, on {option} of {acks}: {verdict}",
        bytes(m.ce_bytes_by_option)
    )
}

fn opened(c: &ConnectionReport) -> String {
    let how = match c.opened {
        "handshake" => "opened here",
        "syn-only" => "no answer captured",
        "half-open" => "half open",
        "unknown" => "handshake not captured to its end",
        _ => "open before the capture began",
    };
    let end = match c.ended {
        "closed" => "closed",
        "half-closed" => "closed by one end",
        "reset" => "reset",
        _ => "open at the end of the capture",
    };
    let at = match c.capture_location {
        "client" => "captured at the client",
        "server" => "captured at the server",
        "between" => "captured between the two",
        _ => "location of the capture unknown",
    };
    format!("{how}, {end}; {at}")
}

/// Returns the facts of a connection as pairs of label and value, one per line.
pub(super) fn facts(c: &ConnectionReport) -> Vec<(&'static str, String)> {
    let mut out = vec![
        ("connection", opened(c)),
        (
            "time",
            format!(
                "{} to {}, {}",
                timestamp(c.start_ns),
                timestamp(c.end_ns),
                count(c.packets, "packet")
            ),
        ),
        ("ECN", negotiated_ecn(c)),
    ];
    let yes = |name: &str, on: Option<bool>| match on {
        Some(true) => format!("{name} on"),
        Some(false) => format!("{name} off"),
        None => format!("{name} unknown"),
    };
    let scale = match c.window_scale {
        Some([client, server]) => format!("window scale {client} and {server}"),
        None => yes("window scale", c.window_scaling),
    };
    let mss = |m: Option<u16>| m.map_or_else(|| "unknown".to_owned(), |m| m.to_string());
    out.push((
        "options",
        format!(
            "{}, {}, {scale}, MSS {} and {}",
            yes("timestamps", c.timestamps),
            yes("SACK", c.sack),
            mss(c.client_mss_bytes),
            mss(c.server_mss_bytes)
        ),
    ));
    let v = &c.visible;
    if v.interfaces.len() > 1 {
        let names: Vec<&str> =
            v.interfaces.iter().filter(|i| i.selected).map(|i| i.name.as_str()).collect();
        out.push(("interface", names.join("; ")));
    }
    let routers =
        |n: Option<u8>| n.map_or_else(|| "an unknown number".to_owned(), |n| n.to_string());
    if v.routers_to_client.is_some() || v.routers_to_server.is_some() {
        let (client, server) = (routers(v.routers_to_client), routers(v.routers_to_server));
        out.push(("routers", format!("{client} to the client, {server} to the server, by TTL")));
    }
    let unseen = v.cannot_tell.iter().enumerate();
    out.extend(unseen.map(|(i, line)| (if i == 0 { "not visible" } else { "" }, line.clone())));
    out
}

fn spread(s: Option<ValueSummary>, show: impl Fn(u64) -> String) -> String {
    let Some(s) = s else { return "\u{2013}".to_owned() };
    let mut parts = vec![format!("least {}", show(s.min))];
    parts.extend(s.p50.map(|v| format!("median {}", show(v))));
    parts.extend(s.p99.map(|v| format!("99 % {}", show(v))));
    parts.push(format!("most {}", show(s.max)));
    parts.join(", ")
}

/// Formats retransmissions, reordering and duplicate ACKs.
fn retransmissions(d: &DirectionReport) -> String {
    format!(
        "{} sent again ({}), {} out of order, {}, {}",
        count(d.retransmitted_segments, "segment"),
        percent(d.retransmitted_segments, d.segments),
        count(d.reordered, "packet"),
        count(d.duplicate_acks, "duplicate ACK"),
        count(d.timeouts.count, "timeout"),
    )
}

/// Returns the numbers of a direction as pairs of label and value, one per line.
pub(super) fn numbers(c: &ConnectionReport, d: &DirectionReport) -> Vec<(&'static str, String)> {
    let m = &d.marks;
    let sent = match (d.data_seen, d.acks_seen) {
        (true, false) => format!(
            "{} in {} ({}) in {}; ACKs are not in the capture",
            bytes(d.bytes),
            count(d.segments, "segment"),
            count(d.packets, "packet"),
            time(d.end_ns - d.start_ns),
        ),
        (false, _) => format!(
            "{} acknowledged in {}: {}; the data is not in the capture",
            bytes(d.acked_bytes),
            time(d.end_ns - d.start_ns),
            goodput(d)
        ),
        (true, true) => format!(
            "{} in {} ({}), {} acknowledged in {}: {}",
            bytes(d.bytes),
            count(d.segments, "segment"),
            count(d.packets, "packet"),
            bytes(d.acked_bytes),
            time(d.end_ns - d.start_ns),
            goodput(d)
        ),
    };
    let mut out = vec![("sent", sent), ("time", shares_text(&d.budget))];
    if let (Some(base), Some(mean)) = (d.base_rtt_ns, d.mean_rtt_ns) {
        let queue = format!(
            "{} base, {} on average while a window limits: {:.0} % of it queue",
            time(base),
            time(mean),
            d.queue_percent
        );
        out.push(("path", queue));
    }
    out.push((
        "again",
        if d.data_seen {
            retransmissions(d)
        } else {
            format!("not visible; {} with SACK blocks", count(d.sack_acks, "ACK"))
        },
    ));
    out.push((
        "round trip",
        match (d.rtt_ns, d.rtt_by_timestamps_ns) {
            (Some(_), _) => format!("from here: {}", spread(d.rtt_ns, time)),
            (None, stamps) => format!("from here, by timestamps: {}", spread(stamps, time)),
        },
    ));
    out.push((
        "in flight",
        match d.flight_bytes {
            Some(_) => format!("when ACKs came: {}", spread(d.flight_bytes, bytes)),
            None if d.data_seen && d.acks_seen => "not visible near the receiver".to_owned(),
            None => "not visible without data and ACKs".to_owned(),
        },
    ));
    let ce = if m.ce > 0 { format!("{} with CE, ", count(m.ce, "segment")) } else { String::new() };
    let capable = m.ect0 + m.ect1 + m.ce;
    let here = if m.ce == 0 && m.ece_acks + m.ce_by_ace > 0 {
        "; CE itself is set further on"
    } else {
        ""
    };
    let marks = match c.ecn {
        NegotiatedEcn::Accecn => {
            format!("{ce}{}", accurate_counts(d))
        }
        _ => format!(
            "{ce}{} with ECE of {}, {} with CWR",
            count(m.ece_acks, "ACK"),
            grouped(m.acks),
            count(m.cwr, "segment")
        ),
    };
    out.push((
        "marks",
        if d.data_seen {
            format!("{} of segments ECN-capable; {marks}{here}", percent(capable, d.segments))
        } else {
            format!("of the ACKs: {marks}")
        },
    ));
    if let Some(runs) = m.ece_run_acks {
        let longest = m.longest_ece_run.map_or(0, |r| r.to_ns - r.from_ns);
        out.push((
            "runs of ECE",
            format!(
                "{} of ACKs: {}; the longest {}",
                grouped(runs.count),
                spread(m.ece_run_acks, grouped),
                time(longest)
            ),
        ));
    }
    if let Some(fraction) = d.alpha.marked_fraction.filter(|_| d.alpha.marked_windows > 0) {
        out.push((
            "alpha",
            format!(
                "{} in the end, {:.3} of all bytes acknowledged with a mark, marks in {} of {} windows",
                d.alpha.last.map_or_else(|| "\u{2013}".to_owned(), |a| format!("{a:.3}")),
                fraction,
                grouped(d.alpha.marked_windows),
                grouped(d.alpha.windows)
            ),
        ));
    }
    if let Some(sender) = d.sender.as_ref().filter(|_| d.data_seen) {
        let (name, first) = (sender.control.name(), sender.why.first());
        out.push(("control", format!("{name}: {}", first.map_or("", String::as_str))));
        out.extend(sender.why.iter().skip(1).map(|why| ("", why.clone())));
    }
    let likely = if d.feedback.certain || d.feedback.kind.description() == "undecided" {
        ""
    } else {
        ", likely"
    };
    let socket = d.socket.iter().flat_map(|s| &s.lines).enumerate();
    out.extend(socket.map(|(i, line)| (if i == 0 { "ss" } else { "" }, line.clone())));
    out.push(("feedback", format!("{}{likely}", d.feedback.kind.description())));
    out.extend(d.feedback.why.iter().map(|why| ("", why.clone())));
    out
}

pub(super) const fn severity(w: Severity) -> &'static str {
    match w {
        Severity::Severe => "severe",
        Severity::Notable => "notable",
        Severity::Remark => "remark",
    }
}

fn connection(out: &mut String, c: &ConnectionReport) -> fmt::Result {
    writeln!(out, "flow {}: {} to {}", c.flow, c.client, c.server)?;
    wrapped(out, "answer", &c.answer.text)?;
    let both = c.directions.len() > 1;
    for f in &c.findings {
        let of = match &f.from {
            Some(from) if both => format!(" (data of {from})"),
            _ => String::new(),
        };
        wrapped(out, severity(f.severity), &format!("{}{of}", f.what))?;
        wrapped(out, "", &format!("{}.", f.means))?;
        wrapped(out, "", &format!("Wireshark: {}", f.filter))?;
    }
    facts(c).into_iter().try_for_each(|(label, value)| wrapped(out, label, &value))?;
    for d in &c.directions {
        writeln!(out, "  data from {} to {}", d.from, d.to)?;
        numbers(c, d).into_iter().try_for_each(|(label, value)| wrapped(out, label, &value))?;
    }
    Ok(())
}

/// Writes a labelled value, wrapped to the line width.
fn wrapped(out: &mut String, label: &str, value: &str) -> fmt::Result {
    let (first, rest) = (format!("  {label:LABEL$}"), " ".repeat(LABEL + 2));
    let options = textwrap::Options::new(100)
        .initial_indent(&first)
        .subsequent_indent(&rest)
        .break_words(false)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    writeln!(out, "{}", textwrap::fill(value, options).trim_end())
}
