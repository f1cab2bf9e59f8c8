//! Marking at dequeue is marking at enqueue, earlier by the time that a packet waits.

use lowtide_net::{Count, MarkSpec, NotEct, PortSpec, PortStats};
use lowtide_wire::Ecn;

use crate::rig::{OUT, Rig, funnel, packet, ps};

const IGNORE: NotEct = NotEct::Ignore;

fn at_dequeue(k: u64, not_ect: NotEct, count_in_service: bool) -> PortSpec {
    let mark = MarkSpec::StepDequeue { k: Count::Packets(k), not_ect };
    PortSpec { mark, count_in_service, ..PortSpec::NIC }
}

/// Twenty packets of 100 B come 100 ps apart and leave 100 ns apart.
fn burst(port: PortSpec, ecn: impl Fn(u32) -> Ecn) -> (Rig, PortStats) {
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
fn the_first_of_a_burst_learn_of_the_queue_that_they_leave_behind() {
    // Packet 0 goes at once and leaves nothing behind. Then 1 leaves 18 behind, 2 leaves 17, ...
    let (rig, stats) = burst(at_dequeue(5, IGNORE, false), |_| Ecn::Ect0);
    assert_eq!(rig.marked(), (1..=13).collect::<Vec<_>>());
    assert_eq!((stats.marks, stats.packets), (13, 20));
    // With the packet on the line 14 leaves five and itself.
    let (rig, _) = burst(at_dequeue(5, IGNORE, true), |_| Ecn::Ect0);
    assert_eq!(rig.marked(), (1..=14).collect::<Vec<_>>());
    // At enqueue it is the last ones that find more than five.
    let mark = MarkSpec::Step { k: Count::Packets(5), not_ect: IGNORE };
    let (rig, _) = burst(PortSpec { mark, ..PortSpec::NIC }, |_| Ecn::Ect0);
    assert_eq!(rig.marked(), (7..20).collect::<Vec<_>>());
}

#[test]
fn a_standing_queue_marks_earlier_by_its_length() {
    // Packets come as they leave, 100 ns apart, so that ten wait. From packet 60 on two come at a time:
    // the queue grows by one per 100 ns and passes eleven when the packets 64 and 65 have come. At
    // enqueue the mark is on one of those; at dequeue on the packet that goes on the line next, which
    // came as many packets earlier as wait.
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
    let k = Count::Packets(13);
    let (late, came, got_late) = first(MarkSpec::Step { k, not_ect: IGNORE });
    let (early, _, got_early) = first(MarkSpec::StepDequeue { k, not_ect: IGNORE });
    // The receiver learns of it earlier by the number of packets between them, 100 ns each.
    assert_eq!(got_late - got_early, u64::from(late - early) * 100_000);
    // What the early one leaves behind is the queue at its start: the packet that was marked late had
    // just come, and the rest of the difference is the time that it waited.
    let start_early = got_early - 100_000;
    assert!(start_early >= came && start_early - came < 100_000, "{start_early} {came}");
    let waited = got_late - 100_000 - came;
    assert_eq!(got_late - got_early, waited - (start_early - came));
}

#[test]
fn what_is_not_ecn_capable_passes_or_is_dropped_at_the_head() {
    let every_other = |i: u32| if i.is_multiple_of(2) { Ecn::Ect0 } else { Ecn::NotEct };
    let (rig, stats) = burst(at_dequeue(5, IGNORE, false), every_other);
    assert_eq!(rig.marked(), [2, 4, 6, 8, 10, 12]);
    assert_eq!((stats.marks, stats.aqm_drops, rig.delivered.len()), (6, 0, 20));
    let (rig, stats) = burst(at_dequeue(5, NotEct::Drop, false), every_other);
    // A drop takes no time on the line: 1, 3, ... 13 leave 18 to 6 behind and go.
    assert_eq!(rig.marked(), [2, 4, 6, 8, 10, 12]);
    assert_eq!((stats.marks, stats.aqm_drops, stats.packets), (6, 7, 13));
    assert_eq!(stats.levels.iter().map(|l| l.arrivals).sum::<u64>(), 20);
    assert_eq!(rig.times().last(), Some(&(100 + 13 * 100_000)));
}

#[test]
fn a_mark_shows_only_behind_the_port() {
    let (rig, stats) = burst(at_dequeue(17, IGNORE, false), |_| Ecn::Ce);
    assert_eq!(rig.marked().len(), 20, "CE stays");
    assert_eq!(stats.marks, 1, "and counts here where it would be set");
}
