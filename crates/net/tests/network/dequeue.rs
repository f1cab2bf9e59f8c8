//! Marking at dequeue equals marking at enqueue, earlier by the queueing delay.

use lowtide_net::{MarkSpec, PortSpec, QueueLength};
use lowtide_rows::Queue;
use lowtide_wire::Ecn;

use crate::rig::{OUT, Rig, funnel, marker, packet, ps};

const IGNORE: &str = "ignore";

fn at_dequeue(k: &str, not_ect: &str, count_in_service: bool) -> PortSpec {
    let mark = marker("step-dequeue", &[("k", k), ("not-ect", not_ect)]);
    PortSpec { mark, count_in_service, ..PortSpec::NIC }
}

/// Twenty packets of 100 B arrive 100 ps apart and leave 100 ns apart.
fn burst(port: PortSpec, ecn: impl Fn(u32) -> Ecn) -> (Rig, Queue) {
    let send = |i: u32| {
        let mut packet = packet(0, 1, 100, i);
        packet.segment.ecn = ecn(i);
        (ps(u64::from(i) * 100), packet)
    };
    let rig = Rig::quiet(&funnel(port), &(0..20).map(send).collect::<Vec<_>>());
    let stats = rig.stats(OUT);
    (rig, stats)
}

#[test]
fn the_first_packets_of_a_burst_are_marked() {
    // Packet 0 goes at once and leaves none behind. Then 1 leaves 18 behind, 2 leaves 17, ...
    let (rig, stats) = burst(at_dequeue("5 pkt", IGNORE, false), |_| Ecn::Ect0);
    assert_eq!(rig.marked(), (1..=13).collect::<Vec<_>>());
    assert_eq!((stats.served.marks, stats.served.packets), (13, 20));
    // Including the packet on the line, 14 leaves five and itself.
    let (rig, _) = burst(at_dequeue("5 pkt", IGNORE, true), |_| Ecn::Ect0);
    assert_eq!(rig.marked(), (1..=14).collect::<Vec<_>>());
    // At enqueue the last packets find more than five.
    let mark = MarkSpec::step(QueueLength::Packets(5));
    let (rig, _) = burst(PortSpec { mark, ..PortSpec::NIC }, |_| Ecn::Ect0);
    assert_eq!(rig.marked(), (7..20).collect::<Vec<_>>());
}

#[test]
fn a_standing_queue_marks_earlier_by_its_length() {
    // Packets arrive as they leave, 100 ns apart, so that ten wait. From packet 60 on two arrive at
    // a time: the queue grows by one per 100 ns and passes eleven at the packets 64 and 65. At
    // enqueue one of those is marked. At dequeue the next packet on the line is marked, which
    // arrived earlier by the queue length.
    let times = |i: u64| match i {
        0..12 => i * 10,
        12..60 => (i - 11) * 100_000 + 50_000,
        _ => (49 + (i - 60) / 2) * 100_000 + 50_000 + i % 2,
    };
    let sends: Vec<_> = (0..80).map(|i| (ps(times(i)), packet(0, 1, 100, i as u32))).collect();
    let first = |mark| {
        let rig = Rig::quiet(&funnel(PortSpec { mark, ..PortSpec::NIC }), &sends);
        let first = rig.marked()[0];
        let sent = |seq: u32| times(u64::from(seq)) + 100;
        let got = rig.delivered.iter().find(|d| d.2.segment.seq.raw() == first).unwrap().0;
        (first, sent(first), got.as_ps())
    };
    let (late, came, got_late) = first(marker("step", &[("k", "13 pkt")]));
    let (early, _, got_early) = first(marker("step-dequeue", &[("k", "13 pkt")]));
    // The receiver learns of it earlier by the number of packets in between, 100 ns each.
    assert_eq!(got_late - got_early, u64::from(late - early) * 100_000);
    // The early mark sees the queue at the start of its transmission: the packet with the late mark
    // had just arrived. The rest of the difference is its queueing delay.
    let start_early = got_early - 100_000;
    assert!(start_early >= came && start_early - came < 100_000, "{start_early} {came}");
    let waited = got_late - 100_000 - came;
    assert_eq!(got_late - got_early, waited - (start_early - came));
}

#[test]
fn not_ect_packets_pass_or_are_dropped_at_the_head() {
    let every_other = |i: u32| if i.is_multiple_of(2) { Ecn::Ect0 } else { Ecn::NotEct };
    let (rig, stats) = burst(at_dequeue("5 pkt", IGNORE, false), every_other);
    assert_eq!(rig.marked(), [2, 4, 6, 8, 10, 12]);
    assert_eq!((stats.served.marks, stats.served.aqm_drops, rig.delivered.len()), (6, 0, 20));
    let (rig, stats) = burst(at_dequeue("5 pkt", "drop", false), every_other);
    // A drop takes no time on the line: 1, 3, ... 13 leave 18 to 6 behind and are dropped.
    assert_eq!(rig.marked(), [2, 4, 6, 8, 10, 12]);
    assert_eq!((stats.served.marks, stats.served.aqm_drops, stats.served.packets), (6, 7, 13));
    assert_eq!(stats.levels.iter().map(|l| l.arrivals).sum::<u64>(), 20);
    assert_eq!(rig.times().last(), Some(&(100 + 13 * 100_000)));
}

#[test]
fn a_mark_is_visible_only_after_the_port() {
    let (rig, stats) = burst(at_dequeue("17 pkt", IGNORE, false), |_| Ecn::Ce);
    assert_eq!(rig.marked().len(), 20, "CE is kept");
    assert_eq!(stats.served.marks, 1, "it counts as a mark if it would be set here");
}
