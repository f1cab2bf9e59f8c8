//! Converts the trace of a run to tables.

use std::net::IpAddr;
use std::sync::Arc;

use lowtide_host::{Outcome, SegmentEvent, SegmentRow, SenderRow, Trace, TracedFlow};
use lowtide_net::{HopOutcome, HopRecord};
use lowtide_rows::{TraceHopRow, TraceSegmentRow, TraceSenderRow};
use lowtide_units::Duration;
use lowtide_wire::{Addresses, Ecn, Flags, SeqNum, packet};

use super::TraceTables;

impl TraceTables {
    /// The rows of a trace; empty if nothing was traced.
    pub fn new(outcome: &Outcome) -> Self {
        let Some(trace) = &outcome.trace else { return Self::default() };
        let names: Vec<Arc<str>> = outcome.queues.iter().map(|q| q.name.as_str().into()).collect();
        Self::of(trace, &names)
    }

    /// The rows of a trace, or of a part of one, at ports with these names.
    pub fn of(trace: &Trace, names: &[Arc<str>]) -> Self {
        let name = |queue: u32| names.get(queue as usize).cloned().unwrap_or_default();
        let flow = |id: u32| trace.flows.iter().find(|f| f.id == id);
        Self {
            segments: trace.segments.iter().map(|s| segment_row(s, flow(s.flow), trace)).collect(),
            hops: trace.hop_records.iter().map(|p| hop_row(p, name(p.port), trace)).collect(),
            senders: trace.senders.iter().map(sender_row).collect(),
        }
    }
}

fn segment_row(row: &SegmentRow, flow: Option<&TracedFlow>, trace: &Trace) -> TraceSegmentRow {
    let s = &row.segment;
    let sent = row.event == SegmentEvent::Sent;
    let from_sender = row.from_client != trace.server_sends(row.flow);
    let acks = s.flags.contains(Flags::ACK);
    // A SACK block is near the acknowledgement of its segment.
    let near = |at: SeqNum| row.acked.saturating_add_signed(i64::from(at.diff(s.ack)));
    let blocks = s.options.sack.as_slice().iter();
    let blocks: Vec<String> = blocks.map(|(a, b)| format!("{}-{}", near(*a), near(*b))).collect();
    TraceSegmentRow {
        time_ps: row.at.as_ps(),
        flow: row.flow,
        packet: row.packet,
        place: if from_sender == sent { "sender" } else { "receiver" }.to_owned(),
        event: match row.event {
            SegmentEvent::Sent => "sent",
            SegmentEvent::Received => "received",
            SegmentEvent::Rejected => "refused",
        }
        .to_owned(),
        trigger: row.trigger.name().to_owned(),
        cause: (row.cause > 0).then_some(row.cause),
        seq_bytes: row.stream,
        len_bytes: s.payload_len,
        ack_bytes: acks.then_some(row.acked),
        flags: format!("{:?}", s.flags),
        ecn: match s.ecn {
            Ecn::NotEct => "not-ect",
            Ecn::Ect0 => "ect0",
            Ecn::Ect1 => "ect1",
            Ecn::Ce => "ce",
        }
        .to_owned(),
        window: s.window,
        sack: (!blocks.is_empty()).then(|| blocks.join(" ")),
        tsval: s.options.timestamps.map(|t| t.value),
        tsecr: s.options.timestamps.map(|t| t.echo),
        retransmission: row.retransmission,
        header: flow.map_or_else(String::new, |flow| header(row, flow)),
    }
}

/// The headers as on the wire; empty if they do not fit, which connections never produce.
fn header(row: &SegmentRow, flow: &TracedFlow) -> String {
    let (src, dst) =
        if row.from_client { (flow.client, flow.server) } else { (flow.server, flow.client) };
    let addresses = match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => Addresses::V4 { src, dst },
        (IpAddr::V6(src), IpAddr::V6(dst)) => Addresses::V6 { src, dst },
        _ => return String::new(),
    };
    let mut bytes = [0; packet::MAX_HEADERS_LEN];
    let len = packet::emit_headers(&addresses, &row.segment, &mut bytes).unwrap_or(0);
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or_default();
    bytes[..len].iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
}

fn hop_row(p: &HopRecord, name: Arc<str>, trace: &Trace) -> TraceHopRow {
    let flow = p.src_conn / 2;
    TraceHopRow {
        time_ps: p.at.as_ps(),
        queue: p.port,
        name,
        flow,
        from_sender: p.src_conn.is_multiple_of(2) != trace.server_sends(flow),
        packet: (p.packet > 0).then_some(p.packet),
        size_bytes: p.size,
        verdict: match p.decision {
            HopOutcome::Queued => "queued",
            HopOutcome::Marked => "marked",
            HopOutcome::DroppedByBuffer => "dropped-by-buffer",
            HopOutcome::DroppedByMarker => "dropped-by-marker",
            HopOutcome::Lost => "lost",
        }
        .to_owned(),
        queue_packets: p.backlog.packets,
        queue_bytes: p.backlog.bytes,
        start_ps: p.start.as_ps(),
        departure_ps: p.departure.as_ps(),
    }
}

fn sender_row(row: &SenderRow) -> TraceSenderRow {
    let events: Vec<&str> = row.events.names().collect();
    TraceSenderRow {
        time_ps: row.at.as_ps(),
        flow: row.flow,
        trigger: row.trigger.name().to_owned(),
        cause: (row.cause > 0).then_some(row.cause),
        events: (!events.is_empty()).then(|| events.join(" ")),
        state: row.state.name().to_owned(),
        phase: row.phase.name().to_owned(),
        cwnd_bytes: row.cwnd,
        ssthresh_bytes: row.ssthresh,
        srtt_ns: row.srtt.map(Duration::as_ns),
        rttvar_ns: row.rttvar.as_ns(),
        rto_ns: row.rto.as_ns(),
        in_flight_bytes: row.in_flight,
        dctcp_alpha_q20: row.alpha_q20,
        bytes_acked: row.acked,
        snd_wnd_bytes: row.snd_wnd,
        mss_bytes: row.mss,
        limited_by: row.limited_by.name().to_owned(),
    }
}
