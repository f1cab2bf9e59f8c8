//! Visibility: facts of a connection that the location of a capture shows or hides.
//!
//! Contract: absence alone proves nothing: a direction is missing only if the capture has no packet
//! of that end. `docs/howto/analyze.md` lists what each location shows.

use super::capture::{CapturePoint, Interface, Mirror};
use serde::Serialize;

use super::direction::DirectionReport;
use super::flow::{CaptureLocation, FlowState};
use super::format::{bytes, count};
use super::views::SelectedView;

/// Limit on the routers of a path.
const MAX_ROUTERS: u8 = 40;

/// Facts about the whole capture.
#[derive(Clone, Debug, Default)]
pub(super) struct CaptureFacts {
    /// Interfaces that the file describes.
    pub(super) interfaces: Vec<Interface>,
    /// End of the capture, nanoseconds.
    pub(super) end_ns: u64,
    /// Whether some connection has packets of both ends.
    pub(super) two_way: bool,
    /// Whether all segments have SYN, as after a capture filter on flags.
    pub(super) only_syns: bool,
}

/// Visibility of one connection.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Visibility {
    /// Ends whose packets are in the capture: `both`, `client` or `server`.
    pub(super) packets_of: &'static str,
    /// Whether the handshake, or a part of it, is in the capture.
    pub(super) from_handshake: bool,
    /// Routers between the capture and each end, if its packets began with a TTL or hop limit of
    /// 64, 128 or 255.
    pub(super) routers_to_client: Option<u8>,
    pub(super) routers_to_server: Option<u8>,
    /// Interfaces of the connection's packets.
    pub(super) interfaces: Vec<InterfacePackets>,
    /// No interface shows the whole connection: packets of several were merged.
    pub(super) merged: bool,
    /// Packets on interfaces that are not reported.
    pub(super) packets_elsewhere: u64,
    /// Unknown facts, as sentences.
    pub(super) cannot_tell: Vec<String>,
}

/// Packets on one interface.
#[derive(Clone, Debug, Serialize)]
pub(super) struct InterfacePackets {
    pub(super) name: String,
    pub(super) packets: u64,
    /// Whether the report is based on this interface.
    pub(super) selected: bool,
}

/// Returns the name of a point.
pub(super) fn point_name(point: CapturePoint, interfaces: &[Interface]) -> String {
    let known = interfaces.get(point.interface as usize).and_then(|i| i.name.clone());
    let several = interfaces.len() > 1;
    let mut parts: Vec<String> = known.into_iter().collect();
    match point.if_index {
        Some(index) => parts.push(format!("interface index {index}")),
        None if parts.is_empty() && several => parts.push(format!("interface {}", point.interface)),
        None => {}
    }
    let session = |m: Mirror| format!("ERSPAN session {} of {}", m.session, m.source);
    parts.extend(point.mirror.map(session));
    parts.extend(point.vlan.map(|id| format!("VLAN {id}")));
    parts.extend(point.outgoing.map(|out| if out { "sent" } else { "received" }.to_owned()));
    if parts.is_empty() { "the only interface".to_owned() } else { parts.join(", ") }
}

fn routers(hop_limit: u8) -> Option<u8> {
    let began = match hop_limit {
        0 => return None,
        1..=64 => 64,
        65..=128 => 128,
        129..=255 => 255,
    };
    Some(began - hop_limit).filter(|n| *n <= MAX_ROUTERS)
}

impl Visibility {
    /// Returns the visibility of connection `chosen`, whose client is end `client`.
    pub(super) fn of(
        chosen: &SelectedView<'_>,
        client: usize,
        directions: &[DirectionReport],
        facts: &CaptureFacts,
    ) -> Self {
        let flow = chosen.flow;
        let points = chosen.points();
        let merged = points.len() > 1 && chosen.point.is_none();
        let interfaces: Vec<InterfacePackets> = points
            .into_iter()
            .map(|(point, packets, selected)| {
                let name = point_name(point, &facts.interfaces);
                InterfacePackets { name, packets, selected }
            })
            .collect();
        let from_handshake = flow.handshake.syns + flow.handshake.syn_acks > 0;
        let mut cannot_tell = Vec::new();
        if !from_handshake {
            cannot_tell.push(
                "The capture begins after the handshake: ECN negotiation, window scale, SACK, timestamps and MSS \
                 of the two ends are unknown."
                    .to_owned(),
            );
        }
        if flow.options_lost > 0 {
            cannot_tell.push(format!(
                "The options of {} were cut off: SACK blocks, timestamps and the options of a SYN are incomplete.",
                count(flow.options_lost, "packet")
            ));
        }
        if merged {
            cannot_tell.push(
                "No interface shows the whole connection: packets of all were merged, and a copy that \
                 differs in length (GSO, GRO) looks like a retransmission."
                    .to_owned(),
            );
        }
        for d in directions {
            of_direction(d, flow, &mut cannot_tell);
        }
        Self {
            packets_of: match (flow.sent[client] > 0, flow.sent[1 - client] > 0) {
                (true, false) => "client",
                (false, true) => "server",
                _ => "both",
            },
            from_handshake,
            routers_to_client: routers(flow.hop_limits[client]),
            routers_to_server: routers(flow.hop_limits[1 - client]),
            interfaces,
            merged,
            packets_elsewhere: chosen.packets_elsewhere(),
            cannot_tell,
        }
    }
}

fn of_direction(d: &DirectionReport, flow: &FlowState, out: &mut Vec<String>) {
    let (from, to) = (&d.from, &d.to);
    let sender = usize::from(flow.endpoints[0].to_string() != *from);
    match (d.data_seen, d.acks_seen) {
        (true, false) => out.push(format!(
            "No ACK for the data of {from} is in the capture: delivery, round trips, bytes in flight, the receive \
             window and the ECN echo are unknown, and timeouts cannot be told from fast retransmits."
        )),
        (false, _) => out.push(format!(
            "The data of {from} is not in the capture: retransmissions, CE and CWR are unknown; only SACK blocks \
             hint at losses."
        )),
        (true, true) => match flow.capture_location() {
            CaptureLocation::At(end) if end == sender => out.push(format!(
                "Captured at the sender {from}: CE shows only as ECE or ACE of the ACKs, a loss only as its \
                 retransmission."
            )),
            CaptureLocation::At(_) => out.push(format!(
                "Captured at the receiver {to}: bytes in flight, and a timeout after the loss of a whole tail, are not \
                 visible."
            )),
            CaptureLocation::Between => out.push(format!(
                "Captured between the ends: bytes in flight and round trips of the data of {from} are those beyond \
                 the capture; CE that is set beyond it shows only as ECE or ACE."
            )),
            CaptureLocation::Unknown => out.push(format!(
                "The distance of the capture from {from} and {to} is unknown: bytes in flight are those seen here."
            )),
        },
    }
    if d.large_packets > 0 {
        out.push(format!(
            "Packets of {from} above the MSS were captured before segmentation or after aggregation (GSO, GRO): the \
             packets of the wire, their spacing and the marks of each are not visible."
        ));
    }
    if d.unseen_bytes > 0 && d.data_seen {
        out.push(format!(
            "{} of {from} were acknowledged and not captured: counts of segments, marks and retransmissions are lower \
             bounds.",
            bytes(d.unseen_bytes)
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routers_are_counted_from_the_usual_hop_limits() {
        assert_eq!(
            [64, 57, 128, 120, 255, 0, 80].map(routers),
            [Some(0), Some(7), Some(0), Some(8), Some(0), None, None]
        );
    }

    #[test]
    fn a_point_has_the_name_of_its_interface() {
        let named = |name: &str| Interface { name: Some(name.to_owned()), dropped: None };
        let both = [named("eth0"), named("eth1")];
        assert_eq!(
            point_name(CapturePoint { interface: 1, ..CapturePoint::default() }, &both),
            "eth1"
        );
        let cooked = CapturePoint { if_index: Some(3), ..CapturePoint::default() };
        assert_eq!(point_name(cooked, &[]), "interface index 3");
        let tagged = CapturePoint { vlan: Some(10), ..CapturePoint::default() };
        assert_eq!(point_name(tagged, &both[..1]), "eth0, VLAN 10");
        assert_eq!(point_name(CapturePoint::default(), &[]), "the only interface");
    }
}
