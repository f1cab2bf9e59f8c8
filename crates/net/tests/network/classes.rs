//! Several queues of one line: service order, and statistics per class.

use lowtide_net::{
    Blueprint, BufferSpec, ClassSet, ClassSpec, MarkSpec, Packet, PortSpec, QueueLength, Service,
};
use lowtide_rows::Level;
use lowtide_units::{Bytes, Instant};

use crate::rig::{OUT, Rig, build, funnel, marker, packet, ps};

fn class(service: Service) -> ClassSpec {
    ClassSpec { service, buffer: BufferSpec::Unlimited, mark: MarkSpec::NONE }
}

fn dwrr(quantum: u64) -> ClassSpec {
    class(Service::Dwrr { quantum: Bytes::new(quantum) })
}

/// Returns a [`funnel`] whose ports have these classes.
fn classes(classes: Vec<ClassSpec>) -> Blueprint {
    let port = PortSpec { classes: Some(ClassSet(0)), ..PortSpec::NIC };
    Blueprint { class_sets: vec![classes], ..funnel(port) }
}

fn of_class(class: u8, size: u32, seq: u32) -> Packet {
    Packet { class, ..packet(0, 1, size, seq) }
}

/// Returns class and time of each delivery, in order.
fn order(rig: &Rig) -> Vec<(u8, u64)> {
    rig.delivered.iter().map(|d| (d.2.class, d.0.as_ps())).collect()
}

#[test]
fn shares_follow_the_quanta_within_a_packet() {
    let quanta = [3_000, 1_000, 500];
    let sizes = [700, 1_000, 64];
    // Each class has more than its share of the line waiting from the start.
    let mut sends = Vec::new();
    for (class, size) in (0..).zip(sizes) {
        let packets = 400_000 / size;
        sends.extend((0..packets).map(|i| (ps(u64::from(i)), of_class(class, size, i))));
    }
    sends.sort_by_key(|s| s.0);
    // 450 kB: a hundred rounds of 4.5 kB.
    let end = ps(450_000_000);
    let rig = Rig::run(build(&classes(quanta.map(dwrr).to_vec())), &sends, end);
    let mut sent = [0_u64; 3];
    let mut rounds = 0;
    for (now, _, packet) in &rig.delivered {
        sent[usize::from(packet.class)] += u64::from(packet.size);
        rounds = now.as_ps() / 4_500_000;
        // At any time each class is within one quantum and one packet of its share of the rounds so
        // far.
        for ((sent, quantum), size) in sent.iter().zip(quanta).zip(sizes) {
            let due = rounds * quantum;
            let slack = 2 * quantum + 2 * u64::from(size);
            assert!(sent.abs_diff(due) <= slack, "{sent}, not {due} at {now}");
        }
    }
    assert!(rounds >= 98);
    // In total: except for the last round, the shares are exact to a packet.
    for ((sent, quantum), size) in sent.iter().zip(quanta).zip(sizes) {
        let due = 100 * quantum;
        assert!(sent.abs_diff(due) <= quantum + u64::from(size), "{sent}, not {due}");
    }
}

#[test]
fn a_deficit_is_kept_until_the_class_runs_empty() {
    let plan = classes(vec![dwrr(150), dwrr(100)]);
    let mut sends: Vec<_> = (0..6).map(|i| (ps(u64::from(i)), of_class(0, 100, i))).collect();
    sends.extend((0..4).map(|i| (ps(u64::from(6 + i)), of_class(1, 100, i))));
    let rig = Rig::quiet(&plan, &sends);
    let got: Vec<u8> = order(&rig).iter().map(|o| o.0).collect();
    // The first packet leaves its queue empty: the remaining deficit of 50 is lost. The next turn
    // keeps 50, with which the one after it sends two.
    assert_eq!(got, [0, 1, 0, 1, 0, 0, 1, 0, 1, 0]);
}

#[test]
fn a_strict_packet_waits_for_the_one_on_the_line_only() {
    let plan = classes(vec![class(Service::Strict), class(Service::Strict), dwrr(1_000)]);
    // A hundred packets of the last class at once, then one of the middle class, then several of
    // the first.
    let mut sends: Vec<_> = (0..100).map(|i| (ps(u64::from(i)), of_class(2, 100, i))).collect();
    sends.push((ps(20_000), of_class(1, 100, 0)));
    sends.extend([30_000, 450_000].map(|t| (ps(t), of_class(0, 50, 0))));
    let rig = Rig::quiet(&plan, &sends);
    let got = order(&rig);
    // The line is free at 100.1 ns; the first class goes, although it came later, then the middle
    // one.
    assert_eq!(got[..3], [(2, 100_100), (0, 150_100), (1, 250_100)]);
    // At 450.05 ns the line is sending a packet that ends at 550.1 ns.
    let second = got.iter().filter(|o| o.0 == 0).nth(1).unwrap();
    assert_eq!(second.1, 450_100 + 50_000);
    // No loss, and the line is never idle: 100 B x 101 and 50 B x 2.
    assert_eq!(got.last().unwrap().1, 100 + 10_200_000);
}

#[test]
fn at_equal_times_the_line_chooses_before_an_arrival() {
    let plan = classes(vec![class(Service::Strict), class(Service::Strict)]);
    let sends =
        [(0, 1, 0), (1, 1, 1), (100_000, 0, 2)].map(|(t, c, seq)| (ps(t), of_class(c, 100, seq)));
    // The strict packet reaches the switch at 100.1 ns, when the line becomes free.
    let rig = Rig::quiet(&plan, &sends);
    assert_eq!(order(&rig).iter().map(|o| o.0).collect::<Vec<_>>(), [1, 1, 0]);
}

#[test]
fn each_class_has_its_own_buffer_marker_and_statistics() {
    let step = MarkSpec::step(QueueLength::Packets(2));
    let plan = classes(vec![
        ClassSpec { buffer: BufferSpec::Static(QueueLength::Packets(3)), ..class(Service::Strict) },
        ClassSpec { mark: step, ..dwrr(1_000) },
    ]);
    // Six of each at once, the first class first: class number 7 maps to the last class, 1.
    let send = |i: u32| (ps(u64::from(i)), of_class(if i < 6 { 0 } else { 7 }, 100, i));
    let rig = Rig::quiet(&plan, &(0..12).map(send).collect::<Vec<_>>());
    let stats = rig.stats(OUT);
    let [first, second] = &stats.classes[..] else { panic!("two classes") };
    // One on the line and three waiting; the rest found the queue full.
    assert_eq!((first.served.packets, first.served.overflow_drops, first.served.marks), (4, 2, 0));
    assert_eq!(
        (second.served.packets, second.served.overflow_drops, second.served.marks),
        (6, 0, 3)
    );
    assert_eq!((stats.served.packets, stats.served.overflow_drops, stats.served.marks), (10, 2, 3));
    assert_eq!((first.max_bytes, second.max_bytes, stats.max_bytes), (300, 600, 900));
    assert_eq!(rig.marked(), [9, 10, 11]);
    // The times of each class add up to those of the port, and the second class is served after the
    // first.
    let sum = |levels: &[Level]| levels.iter().map(|l| l.time_ps).sum::<u64>();
    assert_eq!(sum(&first.levels), sum(&stats.levels));
    assert_eq!(sum(&second.levels), sum(&stats.levels));
    let six = second.levels.iter().find(|l| l.packets == 6).unwrap();
    // From the last arrival, at 600 + 1100 ps, to the end of the fourth packet of the first class.
    assert_eq!(six.time_ps, 100 + 400_000 - 1_200);
}

#[test]
fn a_head_drop_releases_the_next_packet_and_frees_memory() {
    let values = [("target", "500 ns"), ("interval", "1 us"), ("signal", "drop")];
    let port = PortSpec { mark: marker("codel", &values), ..PortSpec::NIC };
    let sends: Vec<_> = (0..40).map(|i| (ps(u64::from(i)), packet(0, 1, 100, i))).collect();
    let rig = Rig::quiet(&funnel(port), &sends);
    let stats = rig.stats(OUT);
    let got: Vec<u32> = rig.delivered.iter().map(|d| d.2.segment.seq.raw()).collect();
    // Packet i would start at 100 i ns after waiting 99.9 i ns. Packet 6 is the first above the
    // target; the interval ends with packet 16, which is dropped. The next drops are at the first
    // starts from 1000 ns / sqrt(1) and then 1000 ns / sqrt(2) later: at 2600 and 3400 ns.
    let dropped: Vec<u32> = (0..40).filter(|i| !got.contains(i)).collect();
    assert_eq!(dropped[0], 16);
    let starts: Vec<u64> =
        dropped[1..].iter().map(|d| got.iter().position(|g| g > d).unwrap() as u64).collect();
    // A transmission starts every 100 ns: the n-th delivered packet starts at 100 n ns.
    assert_eq!(starts, [26, 34]);
    assert_eq!((stats.served.aqm_drops, stats.served.packets), (3, 37));
    assert_eq!(rig.times().last(), Some(&(100 + 37 * 100_000)));
    assert!(stats.classes.is_empty(), "a single queue has no classes");
    assert_eq!(rig.net.in_flight(), 0);
}

#[test]
fn queueing_delays_match_the_queue() {
    let plan = classes(vec![class(Service::Strict), dwrr(1_000)]);
    let mut net = build(&plan);
    net.measure_queueing();
    let mut sched = lowtide_sim::Scheduler::new(lowtide_sim::Seed(1));
    for i in 0..3 {
        net.send(Instant::ZERO, &of_class(1, 100, i), &mut sched);
    }
    let mut waits = Vec::new();
    while let Some((now, entity)) = sched.pop() {
        waits.extend(
            net.on_port_event(now, entity.index(), &mut sched).map(|d| d.queueing_delay.as_ps()),
        );
    }
    // In whole nanoseconds: 0, 99.9, 199.8 ns.
    assert_eq!(waits, [0, 99_000, 199_000]);
}
