//! Traces of flows: they change nothing and are consistent.

use std::collections::BTreeMap;

use crate::common::{config, flow, outcome, port, star_setup};
use lowtide_host::{
    Disturbance, ProbePlan, SegmentEvent, SenderEvents, SenderPhase, Setup, Trace, Trigger,
};
use lowtide_net::HopOutcome;
use lowtide_units::Duration;
use lowtide_wire::{Ecn, Flags};

/// Returns three flows on a port with room for `buffer` packets that marks above five.
fn crowded(scheme: &str, buffer: u64) -> Setup {
    let mut setup = star_setup(3, &config(scheme), port(buffer, 5));
    setup.flows = (0..3).map(|i| flow(&setup, i, 400_000, Duration::ZERO)).collect();
    setup.disturbance = Disturbance {
        start_jitter: Duration::from_us(50),
        host_jitter: Duration::from_us(1),
        ports: true,
        ties: true,
        salts: true,
    };
    setup
}

fn traced(setup: &Setup, flows: &[u32]) -> Trace {
    let mut setup = setup.clone();
    setup.probes = ProbePlan { trace: flows.to_vec(), ..ProbePlan::default() };
    outcome(&setup).trace.expect("a trace")
}

#[test]
fn a_trace_does_not_perturb_the_run() {
    for (scheme, buffer) in [("dctcp", 100), ("sack", 12)] {
        let setup = crowded(scheme, buffer);
        let plain = outcome(&setup);
        assert!(plain.trace.is_none());
        let mut with = setup.clone();
        with.probes.trace = vec![2, 0, 0, 99];
        let with = outcome(&with);
        assert_eq!((plain.digest, &plain.flows), (with.digest, &with.flows), "{scheme}");
        assert_eq!((plain.queues, plain.counts), (with.queues, with.counts), "{scheme}");
        let ids: Vec<u32> = with.trace.unwrap().flows.iter().map(|f| f.id).collect();
        assert_eq!(ids, [0, 2], "existing flows, once each");
    }
}

#[test]
fn every_packet_is_followed_from_end_to_end() {
    let trace = traced(&crowded("sack", 12), &[1]);
    let mut sent = BTreeMap::new();
    let mut arrived = BTreeMap::new();
    for row in &trace.segments {
        assert_eq!(row.flow, 1);
        let seen = if row.event == SegmentEvent::Sent { &mut sent } else { &mut arrived };
        assert!(seen.insert(row.packet, row).is_none(), "packet {} twice", row.packet);
    }
    let mut dropped = 0;
    let end = trace.segments.last().unwrap().at;
    for (number, row) in &sent {
        let path: Vec<_> = trace.hop_records.iter().filter(|p| p.packet == *number).collect();
        assert_eq!(path[0].at, row.at, "its own port takes it at once");
        assert!(path.iter().all(|p| p.at <= p.start && p.start <= p.departure));
        assert!(path.windows(2).all(|w| w[0].departure <= w[1].at));
        let lost = path.last().unwrap().decision == HopOutcome::DroppedByBuffer;
        dropped += u32::from(lost);
        match arrived.get(number) {
            Some(end) => {
                assert!(!lost && path.len() == 2 && path[1].departure < end.at);
                assert_eq!((end.stream, end.acked), (row.stream, row.acked));
            }
            // The run ends when the last byte is delivered; its ACK is in flight then.
            None => assert!(lost || row.at + Duration::from_us(200) > end, "{number} vanished"),
        }
    }
    assert!(dropped > 0, "the port must be too small");
    assert!(arrived.keys().all(|n| sent.contains_key(n)));
    let again: Vec<_> = sent.values().filter(|r| r.retransmission).collect();
    assert!(!again.is_empty());
    // A segment caused by another was sent at the arrival of that one.
    for row in sent.values().filter(|r| r.trigger == Trigger::Segment) {
        assert_eq!(arrived[&row.cause].at, row.at);
    }
    let server_timer = |t: Trigger| t == Trigger::DelayedAck;
    assert!(
        sent.values()
            .filter(|r| !r.from_client)
            .all(|r| { r.trigger == Trigger::Segment || server_timer(r.trigger) })
    );
}

#[test]
fn offsets_count_the_bytes_of_the_flow() {
    let trace = traced(&crowded("dctcp", 100), &[0]);
    let data: Vec<_> =
        trace.segments.iter().filter(|r| r.from_client && r.segment.payload_len > 0).collect();
    assert_eq!(data[0].stream, 0);
    let end = data.iter().map(|r| r.stream + u64::from(r.segment.payload_len)).max();
    assert_eq!(end, Some(400_000));
    let acks = trace.segments.iter().filter(|r| !r.from_client);
    assert_eq!(acks.map(|r| r.acked).max(), Some(400_001), "with the FIN");
    let syn = &trace.segments[0];
    assert!(syn.segment.flags.contains(Flags::SYN) && syn.trigger == Trigger::Open);
}

#[test]
fn marks_echoes_and_cuts_are_there() {
    let trace = traced(&crowded("dctcp", 100), &[0]);
    let marked: Vec<u64> = trace
        .hop_records
        .iter()
        .filter(|p| p.packet > 0 && p.decision == HopOutcome::Marked)
        .map(|p| p.packet)
        .collect();
    assert!(!marked.is_empty());
    assert!(
        trace
            .hop_records
            .iter()
            .filter(|p| p.decision == HopOutcome::Marked)
            .all(|p| { p.backlog.packets > 5 })
    );
    let with_ce = |n: &u64| {
        let row = trace.segments.iter().find(|r| r.packet == *n && r.event != SegmentEvent::Sent);
        row.is_none_or(|r| r.segment.ecn == Ecn::Ce)
    };
    assert!(marked.iter().all(with_ce));
    let cut = trace.senders.iter().position(|r| r.events.names().any(|n| n == "cut")).unwrap();
    let (before, after) = (&trace.senders[cut - 1], &trace.senders[cut]);
    assert!(after.cwnd < before.cwnd && after.trigger == Trigger::Segment);
    let ack = trace
        .segments
        .iter()
        .find(|r| r.packet == after.cause && r.event == SegmentEvent::Received);
    assert!(ack.unwrap().segment.flags.contains(Flags::ECE));
    let established = trace.senders.iter().find(|r| r.events == SenderEvents::ESTABLISHED).unwrap();
    assert_eq!(established.phase, SenderPhase::SlowStart);
    assert_eq!(trace.senders[0].phase, SenderPhase::Handshake);
}
