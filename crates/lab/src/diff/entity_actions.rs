//! The actions of an entity around the first difference, from a second execution of both runs with
//! packet recording.

use std::collections::BTreeMap;

use lowtide_host::{EntityName, RunError, SegmentEvent, Setup, SteppedRun, Trace};
use lowtide_net::{HopOutcome, HopRecord, HostId, Packet};
use lowtide_units::{Duration, Instant};
use lowtide_wire::{Ecn, Segment};
use serde::Serialize;

use super::search::{DivergencePoint, after};

/// An action of an entity.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct EntityAction {
    /// Arrival time of the packet, in virtual picoseconds.
    pub at_ps: u64,
    /// The action.
    pub what: &'static str,
    /// The packet as sent: `10.0.0.1:40000 > 10.0.0.9:5001 [.] seq 1448 ack 1 len 1448 ECT(0)`.
    pub packet: Option<String>,
    /// Queue length on arrival, in packets.
    pub queue_packets: Option<u32>,
}

/// Start of the recording before the instant of the difference; it ends up to [`LOOK_AHEAD`] after
/// it. A dequeue decision of a port concerns an earlier packet, which is recorded when it has left.
/// The last value covers the whole run.
const LOOK_BACK: [Duration; 4] =
    [Duration::ZERO, Duration::from_ms(1), Duration::from_ms(100), Duration::from_ps(u64::MAX)];

const LOOK_AHEAD: Duration = Duration::from_ms(100);

/// Number of changes that [`next_action`] examines before it gives up.
const MAX_CHANGES: u32 = 8;

/// The actions of the two runs at the entity that differs first. A run without an action at that
/// instant has its next one there.
pub(super) fn first_actions(
    a: &Setup,
    b: &Setup,
    instant: &DivergencePoint,
) -> Result<(Option<EntityAction>, Option<EntityAction>), RunError> {
    let place = (instant.entity_index, &instant.entity);
    let lost = LOOK_BACK.map(|back| (back, false)).into_iter().chain([(Duration::ZERO, true)]);
    for (back, lost) in lost {
        let from = Instant::from_ps(instant.at.as_ps().saturating_sub(back.as_ps()));
        let seen_a = actions_between(a, place, (from, instant.at), lost)?;
        let seen_b = actions_between(b, place, (from, instant.at), lost)?;
        let longest = seen_a.len().max(seen_b.len());
        let Some(i) = (0..longest).find(|i| seen_a.get(*i) != seen_b.get(*i)) else { continue };
        let or_next = |seen: &[EntityAction], setup| match seen.get(i) {
            Some(seen) => Ok(Some(seen.clone())),
            None => next_action(setup, place, instant.at),
        };
        return Ok((or_next(&seen_a, a)?, or_next(&seen_b, b)?));
    }
    Ok((None, None))
}

/// The first action of the entity after `at`.
fn next_action(
    setup: &Setup,
    place: (usize, &EntityName),
    at: Instant,
) -> Result<Option<EntityAction>, RunError> {
    let mut steps = SteppedRun::new(setup)?;
    steps.run_until(after(at));
    let mut before = steps.digest(place.0);
    let mut changes = 0;
    while changes < MAX_CHANGES && steps.step(Instant::FAR_FUTURE) {
        let digest = steps.digest(place.0);
        if digest != before {
            let now = steps.now();
            if let Some(seen) = actions_between(setup, place, (now, now), false)?.into_iter().next()
            {
                return Ok(Some(seen));
            }
            (before, changes) = (digest, changes + 1);
        }
    }
    Ok(None)
}

/// The actions of the entity from `from` to `at`; for hosts and switches only those at `at`. `lost`
/// selects the drops of earlier packets at a port whose link fails at `at`.
fn actions_between(
    setup: &Setup,
    (place, entity): (usize, &EntityName),
    (from, at): (Instant, Instant),
    lost: bool,
) -> Result<Vec<EntityAction>, RunError> {
    let mut steps = SteppedRun::new(setup)?;
    steps.run_until(from);
    let known = steps.record();
    steps.run_until(at);
    // Packets that were gone after an event at which the entity acted.
    let mut gone: Vec<Vec<(u64, Packet)>> = Vec::new();
    let mut there = steps.in_flight();
    let mut digest = steps.digest(place);
    while steps.step(after(at)) {
        let now = steps.in_flight();
        if steps.digest(place) != digest {
            let left = |(n, _): &(u64, Packet)| now.binary_search_by_key(n, |p| p.0).is_err();
            gone.push(there.into_iter().filter(left).collect());
        }
        (there, digest) = (now, steps.digest(place));
    }
    steps.run_until(at + at.saturating_since(from).min(LOOK_AHEAD));
    let names = PacketLabels::new(&known, steps.take_record());
    let at_ps = at.as_ps();
    let plain = |what, number| EntityAction {
        at_ps,
        what,
        packet: names.packet(number),
        queue_packets: None,
    };
    Ok(match entity {
        EntityName::Host(host, _) => {
            let of_event = |packets: Vec<(u64, Packet)>| -> Vec<EntityAction> {
                let came = packets.into_iter().filter(|(_, p)| p.dst == HostId(*host));
                let came: Vec<EntityAction> = came.map(|(n, _)| plain("receives", n)).collect();
                if came.is_empty() { vec![plain("retransmission timeout", 0)] } else { came }
            };
            gone.into_iter().flat_map(of_event).collect()
        }
        EntityName::Switch(_) => {
            gone.into_iter().flatten().map(|(n, _)| plain("has no route for", n)).collect()
        }
        EntityName::Port(..) if lost => {
            gone.into_iter().flatten().map(|(n, _)| plain("loses", n)).collect()
        }
        EntityName::Port(port, _) => {
            let passages = names.trace.hop_records.iter().filter(|p| p.port == *port && p.at <= at);
            let seen = |p: &HopRecord| EntityAction {
                at_ps: p.at.as_ps(),
                what: decision_text(p.decision),
                packet: names.packet(p.packet),
                queue_packets: Some(p.backlog.packets),
            };
            passages.map(seen).collect()
        }
    })
}

const fn decision_text(decision: HopOutcome) -> &'static str {
    match decision {
        HopOutcome::Queued => "enqueues",
        HopOutcome::Marked => "marks",
        HopOutcome::DroppedByBuffer => "drops (no room)",
        HopOutcome::DroppedByMarker => "drops (marker)",
        HopOutcome::Lost => "loses",
    }
}

/// Labels of packets.
struct PacketLabels {
    /// Connection and segment by packet number.
    segments: BTreeMap<u64, (u32, Segment)>,
    trace: Trace,
}

impl PacketLabels {
    fn new(known: &[(u64, Packet)], trace: Trace) -> Self {
        let mut segments: BTreeMap<u64, (u32, Segment)> =
            known.iter().map(|(n, p)| (*n, (p.src_conn, p.segment))).collect();
        for row in trace.segments.iter().filter(|r| r.event == SegmentEvent::Sent) {
            let conn = 2 * row.flow + u32::from(!row.from_client);
            segments.insert(row.packet, (conn, row.segment));
        }
        Self { segments, trace }
    }

    fn packet(&self, number: u64) -> Option<String> {
        let (conn, segment) = self.segments.get(&number)?;
        let flows = &self.trace.flows;
        let flow = flows.get(flows.binary_search_by_key(&(conn / 2), |f| f.id).ok()?)?;
        let (from, to) = (flow.client, flow.server);
        let (from, to) = if conn % 2 == 0 { (from, to) } else { (to, from) };
        let ecn = match segment.ecn {
            Ecn::NotEct => "",
            Ecn::Ect1 => " ECT(1)",
            Ecn::Ect0 => " ECT(0)",
            Ecn::Ce => " CE",
        };
        Some(format!(
            "{from}:{} > {to}:{} [{:?}] seq {} ack {} len {}{ecn}",
            segment.src_port,
            segment.dst_port,
            segment.flags,
            segment.seq.raw(),
            segment.ack.raw(),
            segment.payload_len,
        ))
    }
}
