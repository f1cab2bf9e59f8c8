//! Marking and loss at the exact threshold.

use lowtide_net::{BufferSpec, MarkSpec, PortSpec, QueueLength};
use lowtide_units::{Bytes, Instant};
use lowtide_wire::Ecn;

use crate::rig::{OUT, Rig, funnel, marker, packet, ps};

/// Twenty packets of 100 B that arrive at the slow port 100 ps apart: packet `n` finds `n` before
/// it, of which the first is on the line.
fn burst(ecn: impl Fn(u32) -> Ecn) -> Vec<(Instant, lowtide_net::Packet)> {
    let send = |i: u32| {
        let mut packet = packet(0, 1, 100, i);
        packet.segment.ecn = ecn(i);
        (ps(u64::from(i) * 100), packet)
    };
    (0..20).map(send).collect()
}

fn marks(k: QueueLength, count_in_service: bool) -> Vec<u32> {
    let mark = MarkSpec::step(k);
    let plan =
        funnel(PortSpec { buffer: BufferSpec::Unlimited, mark, count_in_service, classes: None });
    let rig = Rig::quiet(&plan, &burst(|_| Ecn::Ect0));
    let marked = rig.marked();
    assert_eq!(rig.stats(OUT).served.marks, marked.len() as u64);
    assert_eq!(rig.delivered.len(), 20);
    marked
}

#[test]
fn marks_begin_above_k() {
    let bytes = |n| QueueLength::Bytes(Bytes::new(n));
    let from = |n: u32| (n..20).collect::<Vec<_>>();
    // Packet 7 is the first that finds more than five waiting; packet 6 with the one on the line.
    assert_eq!(marks(QueueLength::Packets(5), false), from(7));
    assert_eq!(marks(QueueLength::Packets(5), true), from(6));
    assert_eq!(marks(bytes(500), false), from(7));
    assert_eq!(marks(bytes(500), true), from(6));
    assert_eq!(marks(bytes(499), false), from(6));
    assert_eq!(marks(bytes(499), true), from(5));
    assert_eq!(marks(QueueLength::Packets(18), false), from(20));
    assert_eq!(marks(QueueLength::Packets(18), true), from(19));
}

/// Returns the number of admitted packets, and the maximum queue in bytes.
fn room(size: QueueLength, count_in_service: bool) -> (usize, u64) {
    let buffer = BufferSpec::Static(size);
    let plan = funnel(PortSpec { buffer, mark: MarkSpec::NONE, count_in_service, classes: None });
    let rig = Rig::quiet(&plan, &burst(|_| Ecn::Ect0));
    let stats = rig.stats(OUT);
    assert_eq!(stats.served.overflow_drops + stats.served.packets, 20);
    assert_eq!(stats.served.packets, rig.delivered.len() as u64);
    assert_eq!((stats.served.marks, stats.served.aqm_drops), (0, 0));
    // Tail drop: the first packets are admitted.
    let first =
        |(i, d): (usize, &(Instant, _, lowtide_net::Packet))| d.2.segment.seq.raw() as usize == i;
    assert!(rig.delivered.iter().enumerate().all(first));
    (rig.delivered.len(), stats.max_bytes)
}

#[test]
fn loss_begins_at_the_first_packet_that_does_not_fit() {
    let bytes = |n| QueueLength::Bytes(Bytes::new(n));
    assert_eq!(room(QueueLength::Packets(5), false), (6, 500));
    assert_eq!(room(QueueLength::Packets(5), true), (5, 500));
    assert_eq!(room(bytes(500), false), (6, 500));
    assert_eq!(room(bytes(500), true), (5, 500));
    assert_eq!(room(bytes(599), true), (5, 500));
    assert_eq!(room(bytes(499), true), (4, 400));
    assert_eq!(room(bytes(99), true), (0, 0));
    assert_eq!(room(QueueLength::Packets(0), false), (0, 0));
}

#[test]
fn packets_that_are_not_ecn_capable_pass_or_are_dropped() {
    // Every other packet is ECN-capable; K = 5 in service, as above.
    let sends = burst(|i| if i % 2 == 0 { Ecn::Ect0 } else { Ecn::NotEct });
    for not_ect in ["ignore", "drop"] {
        let mark = marker("step", &[("k", "5 pkt"), ("not-ect", not_ect)]);
        let buffer = BufferSpec::Unlimited;
        let plan = funnel(PortSpec { buffer, mark, count_in_service: true, classes: None });
        let rig = Rig::quiet(&plan, &sends);
        let stats = rig.stats(OUT);
        assert_eq!(rig.marked(), [6, 8, 10, 12, 14, 16, 18]);
        assert_eq!((stats.served.marks, stats.served.overflow_drops), (7, 0));
        let dropped = if not_ect == "drop" { 7 } else { 0 };
        assert_eq!(stats.served.aqm_drops, dropped);
        assert_eq!(rig.delivered.len() as u64, 20 - dropped);
    }
}

#[test]
fn ce_is_kept_and_counts_as_a_mark() {
    let mark = MarkSpec::step(QueueLength::Packets(17));
    let plan = funnel(PortSpec {
        buffer: BufferSpec::Unlimited,
        mark,
        count_in_service: true,
        classes: None,
    });
    let rig = Rig::quiet(&plan, &burst(|_| Ecn::Ce));
    assert_eq!(rig.marked().len(), 20);
    assert_eq!(rig.stats(OUT).served.marks, 2);
}

#[test]
fn admission_precedes_the_marker() {
    // Both would act from packet 6 on: a packet without room is dropped by the buffer.
    let mark = marker("step", &[("k", "5 pkt"), ("not-ect", "drop")]);
    let buffer = BufferSpec::Static(QueueLength::Packets(6));
    let plan = funnel(PortSpec { buffer, mark, count_in_service: true, classes: None });
    for ecn in [Ecn::NotEct, Ecn::Ect0] {
        let rig = Rig::quiet(&plan, &burst(|_| ecn));
        let stats = rig.stats(OUT);
        assert_eq!(
            (
                stats.served.packets,
                stats.served.marks,
                stats.served.aqm_drops,
                stats.served.overflow_drops
            ),
            (6, 0, 0, 14)
        );
        assert!(rig.left.iter().all(Option::is_some), "the host's own port drops nothing");
    }
}

#[test]
fn send_reports_a_drop_at_the_host_port() {
    let mut plan = funnel(PortSpec::NIC);
    plan.links[0].from_a.port.buffer = BufferSpec::Static(QueueLength::Packets(1));
    let sends: Vec<_> = (0..3).map(|i| (ps(u64::from(i)), packet(0, 1, 100, i))).collect();
    let rig = Rig::quiet(&plan, &sends);
    assert_eq!(rig.left, [Some(ps(100)), Some(ps(200)), None]);
    assert_eq!(rig.stats(0).served.overflow_drops, 1);
}
