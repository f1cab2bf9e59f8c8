//! Export of a traced flow as a capture file.
//!
//! Contract: packets have full IP and TCP headers, options and ECN bits as at that location. The
//! payload, which the simulator does not have, is truncated: the captured length is below the
//! original one. Timestamps are nanoseconds of virtual time. The comment of a packet tells its
//! later fate.

use std::collections::BTreeMap;

use lowtide_rows::{TraceHopRow, TraceSegmentRow};
use lowtide_units::Instant;
use lowtide_wire::checksum::Checksum;
use lowtide_wire::pcapng::PcapngWriter;

use super::FlowTrace;
use crate::error::LabError;

/// Location of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Vantage {
    /// Sending host: packets that its TCP sends and receives.
    #[default]
    Sender,
    /// At the receiving host.
    Receiver,
    /// Port at which the data waited longest, except the sending host's: data as it leaves the
    /// port, ACKs as they return over its link.
    Bottleneck,
}

/// A packet of the capture: time in nanoseconds, row, whether it has CE there.
type PcapPacket<'a> = (u64, &'a TraceSegmentRow, bool);

/// Returns the flow as a pcapng file.
///
/// # Errors
/// The trace has no packet at that location.
pub fn capture(traced: &FlowTrace, vantage: Vantage) -> Result<Vec<u8>, LabError> {
    let rows = &traced.tables.segments;
    let flow = &traced.flow;
    let mut seen: Vec<PcapPacket<'_>> = Vec::new();
    let place = match vantage {
        Vantage::Sender => "sender",
        Vantage::Receiver => "receiver",
        Vantage::Bottleneck => "",
    };
    let name = match vantage {
        Vantage::Sender => flow.src.clone(),
        Vantage::Receiver => flow.dst.clone(),
        Vantage::Bottleneck => {
            let queue = bottleneck(traced).ok_or_else(|| nothing(traced))?;
            at_queue(traced, queue.queue, &mut seen);
            queue.name.to_string()
        }
    };
    seen.extend(rows.iter().filter(|r| r.place == place).map(|r| (r.time_ps, r, false)));
    seen.sort_by_key(|(at, _, _)| *at);
    if seen.is_empty() {
        return Err(nothing(traced));
    }
    let fates: BTreeMap<u64, &TraceHopRow> = traced
        .tables
        .hops
        .iter()
        .filter(|h| h.verdict != "queued")
        .filter_map(|h| Some((h.packet?, h)))
        .collect();
    let mut writer = PcapngWriter::new(&format!("lowtide {}", crate::VERSION));
    let interface = writer.interface(&name);
    for (at, row, ce) in seen {
        let mut bytes = bytes(&row.header);
        if ce {
            set_ce(&mut bytes);
        }
        let whole = bytes.len() as u32 + row.len_bytes;
        let fate = fates.get(&row.packet).map(|h| format!("{} at {}", h.verdict, h.name));
        let again = row.retransmission.then(|| "retransmission".to_owned());
        let comment: Vec<String> = again.into_iter().chain(fate).collect();
        writer.packet(interface, Instant::from_ps(at), &bytes, whole, &comment.join(", "));
    }
    Ok(writer.take())
}

fn nothing(traced: &FlowTrace) -> LabError {
    let message = format!("flow {} sent nothing, so there is nothing to show", traced.flow.flow);
    LabError::NotFound { message, help: None }
}

/// Returns the port at which the flow's data waited longest, except the sending host's. Without any
/// wait it is the last port.
pub(super) fn bottleneck(traced: &FlowTrace) -> Option<&TraceHopRow> {
    let flow = traced.flow.flow;
    let data = || traced.tables.hops.iter().filter(|h| h.flow == flow && h.from_sender);
    let own = data().next()?.queue;
    let mut waits: BTreeMap<u32, (u64, &TraceHopRow)> = BTreeMap::new();
    for hop in data() {
        let dropped = hop.verdict.starts_with("dropped");
        // A drop outweighs any wait.
        let wait = if dropped { 1_000_000_000 } else { hop.start_ps - hop.time_ps };
        let of_own = hop.queue == own;
        let entry = waits.entry(hop.queue).or_insert((0, hop));
        entry.0 += if of_own { 0 } else { wait + 1 };
    }
    waits.into_values().max_by_key(|(wait, hop)| (*wait, hop.queue)).map(|(_, hop)| hop)
}

/// Collects the packets that pass the port: data that leaves it, ACKs that arrived over its link.
fn at_queue<'a>(traced: &'a FlowTrace, queue: u32, seen: &mut Vec<PcapPacket<'a>>) {
    let mut paths: BTreeMap<u64, Vec<&TraceHopRow>> = BTreeMap::new();
    for hop in &traced.tables.hops {
        if let Some(packet) = hop.packet {
            paths.entry(packet).or_default().push(hop);
        }
    }
    let rows = &traced.tables.segments;
    let arrived: BTreeMap<u64, u64> =
        rows.iter().filter(|r| r.event != "sent").map(|r| (r.packet, r.time_ps)).collect();
    for row in rows.iter().filter(|r| r.event == "sent") {
        let Some(path) = paths.get(&row.packet) else { continue };
        // The two directions of a link are the ports 2 i and 2 i + 1.
        let Some(at) = path.iter().position(|h| h.queue == queue || h.queue == queue ^ 1) else {
            continue;
        };
        if path[at].verdict.starts_with("dropped") {
            continue;
        }
        let ce = path[..=at].iter().any(|h| h.verdict == "marked");
        let leaves = path[at].queue == queue;
        let next = path.get(at + 1).map(|h| h.time_ps);
        let came = next.or_else(|| arrived.get(&row.packet).copied());
        if let Some(time) = if leaves { Some(path[at].departure_ps) } else { came } {
            seen.push((time, row, ce));
        }
    }
}

/// Decodes hexadecimal text up to the first other character.
fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        hex.chars().map_while(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Sets CE in an IPv4 header (and its checksum) or an IPv6 header.
fn set_ce(header: &mut [u8]) {
    match header.first().map(|first| (first >> 4, usize::from(first & 0xf) * 4)) {
        Some((4, len)) if header.len() >= len && len >= 20 => {
            header[1] |= 3;
            header[10..12].fill(0);
            let sum = Checksum::new().with(&header[..len]).finish();
            header[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        Some((6, _)) if header.len() > 1 => header[1] |= 0x30,
        _ => {}
    }
}
