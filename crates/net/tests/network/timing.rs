//! Serialisation, propagation, jitter: to the picosecond.

use lowtide_net::topology::dumbbell::{Dumbbell, dumbbell};
use lowtide_net::topology::star::{Star, star};
use lowtide_net::{
    Blueprint, BufferSpec, Framing, HostId, LinkSpec, Network, NodeId, PortSpec, QueueLength,
};
use lowtide_sim::{Scheduler, Seed};
use lowtide_units::{Duration, Instant, Rate};

use crate::rig::{OUT, Rig, build, funnel, host, packet, ps};

fn two_hosts(framing: Framing) -> Blueprint {
    let hosts = vec![host("a", 10, Duration::from_us(1)), host("b", 10, Duration::from_us(2))];
    star(&Star { hosts, framing, port: PortSpec::NIC })
}

#[test]
fn two_hops() {
    let sends = [(ps(7), packet(0, 1, 1_500, 0)), (ps(7), packet(0, 1, 40, 1))];
    let rig = Rig::quiet(&two_hosts(Framing::Ethernet), &sends[..1]);
    // 1538 B at 0.8 ns per byte, twice; 1 us and 2 us of propagation.
    assert_eq!(rig.times(), [7 + 1_230_400 + 1_000_000 + 1_230_400 + 2_000_000]);
    assert_eq!(rig.left, [Some(ps(7 + 1_230_400))]);
    assert_eq!(rig.delivered[0].1, HostId(1));
    assert_eq!(rig.delivered[0].2, packet(0, 1, 1_500, 0), "unchanged but for the marks");
    assert_eq!(rig.net.hops(), 2);

    let rig = Rig::quiet(&two_hosts(Framing::Ip), &sends[..1]);
    assert_eq!(rig.times(), [7 + 1_200_000 + 1_000_000 + 1_200_000 + 2_000_000]);
}

#[test]
fn a_small_packet_waits_behind_a_large_one() {
    // Sent in this order at different times, so there is no tie.
    let sends = [(ps(0), packet(0, 1, 1_500, 0)), (ps(1), packet(0, 1, 40, 1))];
    let rig = Rig::quiet(&two_hosts(Framing::Ethernet), &sends);
    let first = 1_230_400 + 1_000_000 + 1_230_400 + 2_000_000;
    // 78 B take 62.4 ns. At the switch the large packet is still on the line when the small one
    // arrives.
    assert_eq!(rig.times(), [first, first + 62_400]);
    assert_eq!(rig.left[1], Some(ps(1_230_400 + 62_400)));
}

#[test]
fn a_line_that_was_idle_starts_at_once() {
    let sends = [(ps(0), packet(0, 1, 1_500, 0)), (ps(5_000_000), packet(0, 1, 1_500, 1))];
    let rig = Rig::quiet(&two_hosts(Framing::Ethernet), &sends);
    let times = rig.times();
    assert_eq!(times[1] - times[0], 5_000_000);
}

#[test]
fn an_uneven_rate_rounds_up_each_packet() {
    let hosts = vec![host("a", 3, Duration::ZERO), host("b", 3, Duration::ZERO)];
    let plan = star(&Star { hosts, framing: Framing::Ethernet, port: PortSpec::NIC });
    let rig = Rig::quiet(&plan, &[(ps(0), packet(0, 1, 1_500, 0))]);
    // 1538 x 8000 / 3 = 4101333.3 ps.
    assert_eq!(rig.times(), [2 * 4_101_334]);
}

#[test]
fn three_hops_and_back_over_a_dumbbell() {
    let plan = dumbbell(&Dumbbell {
        left: vec![host("left0", 10, Duration::from_us(1)), host("left1", 1, Duration::ZERO)],
        right: vec![host("right0", 10, Duration::from_us(3))],
        bottleneck_rate: Rate::from_gbps(1),
        bottleneck_delay: Duration::from_us(2),
        framing: Framing::Ethernet,
        port: PortSpec::NIC,
        bottleneck_port: PortSpec::NIC,
    });
    let there = [(ps(0), packet(0, 2, 1_500, 0))];
    let rig = Rig::quiet(&plan, &there);
    let time = 1_230_400 + 1_000_000 + 12_304_000 + 2_000_000 + 1_230_400 + 3_000_000;
    assert_eq!(rig.times(), [time]);
    let rig = Rig::quiet(&plan, &[(ps(0), packet(2, 0, 1_500, 0))]);
    assert_eq!(rig.times(), [time]);
    assert_eq!(rig.delivered[0].1, HostId(0));
    // Left to left stays on the first switch.
    let rig = Rig::quiet(&plan, &[(ps(0), packet(0, 1, 1_500, 0))]);
    assert_eq!(rig.times(), [1_230_400 + 1_000_000 + 12_304_000]);
    let names: Vec<String> = rig.net.ports().map(|p| p.name.clone()).collect();
    let want = [
        "left0->switch0",
        "switch0->left0",
        "left1->switch0",
        "switch0->left1",
        "right0->switch1",
        "switch1->right0",
        "switch0->switch1",
        "switch1->switch0",
    ];
    assert_eq!(names, want);
    let at_switch: Vec<bool> = rig.net.ports().map(|p| p.at_switch).collect();
    assert_eq!(at_switch, [false, true, false, true, false, true, true, true]);
    assert_eq!(rig.net.ports().last().unwrap().rate_bps, Rate::from_gbps(1).as_bps());
}

#[test]
fn two_hosts_on_one_cable() {
    let plan = Blueprint {
        hosts: vec!["a".into(), "b".into()],
        switches: vec![],
        links: vec![LinkSpec::symmetric(
            (NodeId::Host(HostId(1)), PortSpec::NIC),
            (NodeId::Host(HostId(0)), PortSpec::NIC),
            Rate::from_gbps(10),
            Duration::from_ns(5),
            Framing::Ip,
        )],
        ..Blueprint::default()
    };
    let sends = [(ps(0), packet(0, 1, 100, 0)), (ps(1), packet(1, 0, 100, 1))];
    let rig = Rig::quiet(&plan, &sends);
    let got: Vec<_> = rig.delivered.iter().map(|d| (d.0, d.1)).collect();
    assert_eq!(got, [(ps(85_000), HostId(1)), (ps(85_001), HostId(0))]);
}

#[test]
fn at_equal_times_a_departure_precedes_an_arrival() {
    let buffer = BufferSpec::Static(QueueLength::Packets(1));
    let plan = funnel(PortSpec { buffer, count_in_service: true, ..PortSpec::NIC });
    // 100 B are on the slow line for 100 ns.
    for (second, delivered) in [(100_000, 2), (99_999, 1)] {
        let sends = [(ps(0), packet(0, 1, 100, 0)), (ps(second), packet(0, 1, 100, 1))];
        let rig = Rig::quiet(&plan, &sends);
        assert_eq!(rig.delivered.len(), delivered, "second packet at {second}");
        assert_eq!(rig.stats(OUT).served.overflow_drops, 2 - delivered as u64);
        // Their memory does not overlap either: the queue was never longer than one packet.
        assert_eq!(rig.stats(OUT).max_bytes, 100);
    }
}

#[test]
fn a_sampled_queue_is_that_of_its_instant() {
    let mut net = build(&funnel(PortSpec { count_in_service: true, ..PortSpec::NIC }));
    let mut sched = Scheduler::new(Seed(0));
    for i in 0..3 {
        net.send(ps(0), &packet(0, 1, 100, i), &mut sched);
    }
    while let Some((now, entity)) = sched.pop_before(ps(1_000)) {
        net.on_port_event(now, entity.index(), &mut sched);
    }
    // Into the slow port at 100, 200 and 300 ps; out of it at 100.1, 200.1 and 300.1 ns.
    let out = OUT as u32;
    assert_eq!(net.queue_now(ps(1_000), out), (3, 300));
    assert_eq!(net.queue_now(ps(100_099), out), (3, 300));
    assert_eq!(net.queue_now(ps(100_100), out), (2, 200));
    assert_eq!(net.queue_now(ps(300_099), out), (1, 100));
    assert_eq!(net.queue_now(ps(300_100), out), (0, 0));
    assert_eq!(net.queue_now(ps(300_100), 99), (0, 0), "no such port");
}

#[test]
fn jitter_is_bounded_keeps_order_and_depends_on_the_seed() {
    let jitter = Duration::from_us(2);
    let sends: Vec<_> =
        (0..2_000_u32).map(|i| (ps(u64::from(i) * 300_000), packet(0, 1, 100, i))).collect();
    let plan = two_hosts(Framing::Ip);
    let nominal = Rig::quiet(&plan, &sends).times();
    let with_seed = |seed| {
        let net = Network::build(&plan, seed, jitter, Duration::ZERO).unwrap();
        let rig = Rig::run(net, &sends, Instant::FAR_FUTURE);
        let order: Vec<u32> = rig.delivered.iter().map(|d| d.2.segment.seq.raw()).collect();
        assert!(order.iter().copied().eq(0..2_000), "reordered");
        rig.times()
    };
    let times = with_seed(1);
    let late: Vec<u64> = times.iter().zip(&nominal).map(|(t, n)| t - n).collect();
    assert!(late.iter().all(|&l| l <= jitter.as_ps()));
    // Packets arrive every 300 ns with a jitter up to 2 us: often one waits for the one before it.
    let held = times.windows(2).filter(|w| w[0] == w[1]).count();
    assert!((400..1_900).contains(&held), "{held} held back");
    assert!(late.iter().any(|&l| l > 1_900_000));
    assert_eq!(times, with_seed(1));
    assert_ne!(times, with_seed(2));
}

#[test]
fn jitter_of_rare_packets_is_uniform() {
    let jitter = Duration::from_ns(1_000);
    let sends: Vec<_> =
        (0..4_000_u32).map(|i| (ps(u64::from(i) * 10_000_000), packet(0, 1, 100, i))).collect();
    let plan = two_hosts(Framing::Ip);
    let nominal = Rig::quiet(&plan, &sends).times();
    let net = Network::build(&plan, 5, jitter, Duration::ZERO).unwrap();
    let times = Rig::run(net, &sends, Instant::FAR_FUTURE).times();
    let sum: u64 = times.iter().zip(&nominal).map(|(t, n)| t - n).sum();
    // Mean 500 ns, standard error 1000 / sqrt(12 x 4000) = 4.56 ns; five of them.
    assert!((477_000..523_000).contains(&(sum / 4_000)), "{}", sum / 4_000);
}
