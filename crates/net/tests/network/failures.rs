//! Link failures and repairs: losses, rerouting, and packet conservation.

use lowtide_net::topology::leaf_spine::leaf_spine;
use lowtide_net::{
    Blueprint, BlueprintError, BufferSpec, ClassSet, ClassSpec, Failure, Framing, HostId, LinkSpec,
    MarkSpec, Network, NodeId, Packet, PortSpec, QueueLength, Ratio, Routing, Service,
};
use lowtide_units::{Bytes, Duration, Instant, Rate};
use lowtide_wire::Ecn;
use proptest::prelude::*;

use crate::fabrics::leaves;
use crate::rig::{Rig, build, marker, packet, us};

/// `h0 - s0 - s1 - h1`, 8 Gbit/s (one byte per ns), 1 us each, no framing.
fn chain() -> Blueprint {
    let host = |i| NodeId::Host(HostId(i));
    let link = |a, b| {
        let (nic, rate) = (PortSpec::NIC, Rate::from_gbps(8));
        LinkSpec::symmetric((a, nic.clone()), (b, nic), rate, Duration::from_us(1), Framing::Ip)
    };
    Blueprint {
        hosts: vec!["h0".into(), "h1".into()],
        switches: vec!["s0".into(), "s1".into()],
        links: vec![
            link(host(0), NodeId::Switch(0)),
            link(host(1), NodeId::Switch(1)),
            link(NodeId::Switch(0), NodeId::Switch(1)),
        ],
        ..Blueprint::default()
    }
}

const MIDDLE: usize = 2;

fn ns(ns: u64) -> Instant {
    Instant::from_ps(ns * 1_000)
}

/// From `down` until `up` (both ns), detected after `detect` ns.
fn failure(link: usize, down: u64, up: Option<u64>, detect: u64) -> Failure {
    Failure {
        link,
        down_at: ns(down),
        up_at: up.map(ns),
        detect: Duration::from_ns(detect),
        ..Failure::default()
    }
}

fn with(plan: Blueprint, failures: &[Failure]) -> Blueprint {
    Blueprint { failures: failures.to_vec(), ..plan }
}

/// Numbered packets of 500 B at these times (ns).
fn sends(times: &[u64]) -> Vec<(Instant, Packet)> {
    times.iter().zip(0..).map(|(at, i)| (ns(*at), packet(0, 1, 500, i))).collect()
}

fn link_down_drops(rig: &Rig) -> u64 {
    rig.net.ports().map(|p| p.losses.link_down_drops).sum()
}

#[test]
fn only_packets_that_have_left_the_line_arrive() {
    // Packet i leaves h0 at 500 (i + 1), reaches the middle at 1500 + 500 i, leaves it 500 later
    // and leaves its line at 3000 + 500 i; it is at h1 1500 later.
    let burst = sends(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    for (down, arrive) in [(4_000, 3), (3_999, 2), (2_999, 0), (3_000, 1)] {
        let plan = with(chain(), &[failure(MIDDLE, down, None, 1_000_000)]);
        let rig = Rig::quiet(&plan, &burst);
        assert_eq!(rig.seqs(), (0..arrive).collect::<Vec<_>>(), "down at {down}");
        assert_eq!(rig.port("s0->s1").losses.link_down_drops, u64::from(12 - arrive));
        assert_eq!(link_down_drops(&rig), u64::from(12 - arrive));
        let want: Vec<u64> = (0..u64::from(arrive)).map(|i| 1_000 * (4_500 + 500 * i)).collect();
        assert_eq!(rig.times(), want);
    }
}

#[test]
fn the_queue_is_lost_and_the_line_finishes_its_transmission() {
    // The middle is slower: 500 B take 1 us. It starts packet i at 1500 + 1000 i.
    let mut plan = chain();
    plan.links[MIDDLE].from_a.rate = Rate::from_gbps(4);
    let plan = with(plan, &[failure(MIDDLE, 3_100, Some(3_200), 10_000)]);
    // At 3100: 0 in flight (since 2500), 1 on the line until 3500, 2 and 3 behind it.
    let mut burst = sends(&[0, 1, 2, 3]);
    // The next reaches the middle at 3300, after the repair: it waits for the line until 3500.
    burst.push((ns(2_200), packet(0, 1, 100, 4)));
    let rig = Rig::quiet(&plan, &burst);
    assert_eq!(rig.seqs(), [4]);
    // 200 ns on the slow line, then 100 ns, and 1 us each.
    assert_eq!(rig.times(), [1_000 * (3_500 + 200 + 1_000 + 100 + 1_000)]);
    let middle = rig.port("s0->s1");
    // Packets 0 and 1 were transmitted, but lost.
    assert_eq!(
        (middle.losses.link_down_drops, middle.served.packets, middle.served.bytes),
        (4, 3, 1_100)
    );
    assert_eq!(middle.busy_ps, 2_200_000);
    assert_eq!(rig.left[4], Some(ns(2_300)));
}

#[test]
fn packets_that_arrive_at_a_down_link_are_lost() {
    let plan = with(chain(), &[failure(MIDDLE, 10_000, Some(20_000), 1_000_000)]);
    // They reach the middle 1500 later.
    let rig = Rig::quiet(&plan, &sends(&[8_000, 8_499, 9_000, 15_000, 18_499, 18_501, 20_000]));
    // The first is in flight on the middle at 10000, the second on the line.
    assert_eq!(rig.seqs(), [5, 6]);
    assert_eq!((link_down_drops(&rig), rig.net.no_route_drops()), (5, 0));
}

#[test]
fn without_a_route_packets_are_dropped_and_counted() {
    let plan = with(chain(), &[failure(MIDDLE, 10_000, Some(20_000), 3_000)]);
    // At s0 1500 later: down from 10000, no route from 13000, up from 20000, route from 23000.
    let rig = Rig::quiet(&plan, &sends(&[5_000, 9_000, 11_499, 11_501, 18_499, 21_499, 21_501]));
    assert_eq!(rig.seqs(), [0, 6]);
    assert_eq!((link_down_drops(&rig), rig.net.no_route_drops()), (2, 3));
    let never = Rig::quiet(&chain(), &sends(&[5_000]));
    assert_eq!(never.net.no_route_drops(), 0);
}

#[test]
fn the_link_of_a_host_can_fail_too() {
    // The receiver's: until 7000 packets are lost at s1, then s0 has no route.
    let plan = with(chain(), &[failure(1, 5_000, None, 2_000)]);
    let rig = Rig::quiet(&plan, &sends(&[0, 1_900, 2_500, 5_600, 20_000]));
    assert_eq!(rig.seqs(), [0]);
    assert_eq!((rig.port("s1->h1").losses.link_down_drops, rig.net.no_route_drops()), (2, 2));
    // The sender's: no packet leaves.
    let plan = with(chain(), &[failure(0, 5_000, Some(9_000), 2_000)]);
    let rig = Rig::quiet(&plan, &sends(&[0, 4_700, 6_000, 9_001]));
    assert_eq!(rig.seqs(), [0, 3]);
    assert_eq!(rig.left, [Some(ns(500)), Some(ns(5_200)), None, Some(ns(9_501))]);
    assert_eq!((rig.port("h0->s0").losses.link_down_drops, rig.net.no_route_drops()), (2, 0));
}

#[test]
fn traffic_takes_the_other_path_and_returns() {
    for routing in
        [Routing::Single, Routing::Ecmp { polarised: false }, Routing::Wcmp, Routing::Spray]
    {
        let plan = leaf_spine(&leaves(2, 2, 1, 1)).unwrap();
        let plan = Blueprint { routing, ..plan };
        let link = plan.find_link("leaf0", "spine0", 0).unwrap();
        let phase = |from: u64| -> Vec<(Instant, Packet)> {
            let one = |i: u64| {
                let mut packet = packet(0, 1, 1_000, i as u32);
                packet.segment.src_port = i as u16;
                (us(from + i), packet)
            };
            (0..200).map(one).collect()
        };
        let at = |us: u64| us * 1_000;
        let fails = failure(link, at(1_000), Some(at(3_000)), at(100));
        let used = |sends: &[(Instant, Packet)]| {
            let rig = Rig::quiet(&with(plan.clone(), &[fails]), sends);
            let sent = |name| rig.port(name).served.packets;
            (
                rig.delivered.len(),
                sent("leaf0->spine0"),
                sent("leaf0->spine1"),
                link_down_drops(&rig),
            )
        };
        let (all, by_0, by_1, lost) = used(&phase(0));
        assert_eq!((all, by_0 + by_1, lost), (200, 200, 0));
        assert_eq!(by_1 == 0, routing == Routing::Single);
        // Detected: all over spine 1.
        assert_eq!(used(&phase(1_200)), (200, 0, 200, 0), "{routing:?}");
        // Up and detected: as before.
        assert_eq!(used(&phase(3_200)), (200, by_0, by_1, 0), "{routing:?}");
        // Up, not yet detected.
        assert_eq!(used(&phase(2_890)), (200, 0, 200, 0), "{routing:?}");
        // Down, not yet detected: packets sent there are lost.
        let (all, by_0, by_1, lost) = used(&phase(950));
        assert!(lost > 0 && all as u64 + lost == 200 && by_1 > 0, "{by_0} {by_1} {lost}");
    }
}

/// When packets of these arrivals (ps) and sizes have left a line that sends a byte in `pace` ps,
/// in `slow` ps if it starts between `down` and `up`.
fn departures(packets: &[(u64, u64)], pace: u64, (slow, down, up): (u64, u64, u64)) -> Vec<u64> {
    let mut free = 0;
    let one = |&(arrival, size): &(u64, u64)| {
        let start = arrival.max(free);
        free = start + size * if (down..up).contains(&start) { slow } else { pace };
        free
    };
    packets.iter().map(one).collect()
}

#[test]
fn a_line_with_a_reduced_rate_sends_as_a_short_model_says() {
    let slow = |only_back, rate| Failure {
        only_back,
        rate: Some(Rate::from_gbps(rate)),
        ..failure(MIDDLE, 20_001, Some(90_001), 0)
    };
    let sends: Vec<(Instant, Packet)> = (0..400)
        .map(|i| (ns(u64::from(i) * 293), packet(0, 1, 100 + i * 631 % 1_400, i)))
        .collect();
    let never = (1_000, 0, 0);
    // At 2 Gbit/s a byte takes 4 ns instead of 1 ns: the queue grows, and is sent after the repair.
    let behind = |rate: (u64, u64, u64)| {
        let mut packets: Vec<(u64, u64)> =
            sends.iter().map(|(at, p)| (at.as_ps(), u64::from(p.size))).collect();
        for (pace, rate) in [(1_000, never), (1_000, rate), (1_000, never)] {
            let left = departures(&packets, pace, rate);
            packets.iter_mut().zip(left).for_each(|(packet, left)| packet.0 = left + 1_000_000);
        }
        packets.iter().map(|packet| packet.0).collect::<Vec<u64>>()
    };
    let reduced = behind((4_000, 20_001_000, 90_001_000));
    assert_ne!(reduced, behind(never));
    let class =
        ClassSpec { service: Service::Strict, buffer: BufferSpec::Unlimited, mark: MarkSpec::NONE };
    for (kind, only_back, want) in [
        ("plain", None, &reduced),
        ("marks at dequeue", Some(false), &reduced),
        ("classes", None, &reduced),
        ("the other direction", Some(true), &behind(never)),
    ] {
        let mut plan = with(chain(), &[slow(only_back, 2)]);
        plan.class_sets = vec![vec![class.clone()]];
        let port = &mut plan.links[MIDDLE].from_a.port;
        match kind {
            "classes" => port.classes = Some(ClassSet(0)),
            "marks at dequeue" => port.mark = marker("step-dequeue", &[("k", "3 pkt")]),
            _ => {}
        }
        let rig = Rig::quiet(&plan, &sends);
        assert_eq!(&rig.times(), want, "{kind}");
        let middle = rig.port("s0->s1");
        let bytes: u64 = sends.iter().map(|s| u64::from(s.1.size)).sum();
        assert_eq!((middle.served.bytes, middle.rate_bps), (bytes, 8_000_000_000));
        // Each packet takes one or four nanoseconds per byte.
        assert_eq!(middle.busy_ps > bytes * 1_000, kind != "the other direction", "{kind}");
        assert_eq!(rig.seqs(), (0..400).collect::<Vec<_>>());
        // With jitter packets stay in order, at each change of the rate too.
        let net = Network::build(&plan, 1, Duration::from_us(30), Duration::from_us(25)).unwrap();
        assert_eq!(Rig::run(net, &sends, Instant::FAR_FUTURE).seqs(), rig.seqs());
    }
    let refused = with(chain(), &[slow(None, 8)]);
    let error = Network::build(&refused, 0, Duration::ZERO, Duration::ZERO).unwrap_err();
    assert!(error.to_string().contains("no loss"), "{error}");
}

#[test]
fn one_direction_fails_and_routes_leave_both() {
    // Towards h1 packets are lost from 10000 and have no route from 13000; back only the latter.
    let one = Failure { only_back: Some(false), ..failure(MIDDLE, 10_000, None, 3_000) };
    let times = [9_000, 11_000, 12_000, 14_000];
    for (from, to, arrive) in [(0, 1, 0), (1, 0, 2)] {
        let sends: Vec<_> =
            times.iter().zip(0..).map(|(at, i)| (ns(*at), packet(from, to, 500, i))).collect();
        let rig = Rig::quiet(&with(chain(), &[one]), &sends);
        assert_eq!(rig.seqs().len(), arrive, "{from}");
    }
}

#[test]
fn equal_cost_paths_keep_a_slow_link_unless_the_weights_follow() {
    let mut plan = leaf_spine(&leaves(2, 2, 1, 1)).unwrap();
    let link = plan.find_link("leaf0", "spine0", 0).unwrap();
    let share = |plan: &Blueprint| {
        let one = |i: u64| {
            let mut packet = packet(0, 1, 1_000, i as u32);
            packet.segment.src_port = i as u16;
            (us(1_200 + 50 * i), packet)
        };
        let rig = Rig::quiet(plan, &(0..4_000).map(one).collect::<Vec<_>>());
        rig.port("leaf0->spine0").served.packets
    };
    let quarter = Rate::from_bps(plan.links[link].from_a.rate.as_bps() / 4).unwrap();
    let slow = |reweight| Failure {
        rate: Some(quarter),
        reweight,
        ..failure(link, 1_000_000, None, if reweight { 100_000 } else { 0 })
    };
    for routing in [Routing::Ecmp { polarised: false }, Routing::Wcmp] {
        plan.routing = routing;
        assert_eq!(share(&with(plan.clone(), &[slow(false)])), share(&plan), "{routing:?}");
    }
    // One in five of 4000 flows, four standard deviations of a binomial.
    let followed = share(&with(plan.clone(), &[slow(true)]));
    assert!((700..=900).contains(&followed), "{followed}");
}

#[test]
fn a_flap_that_is_over_before_it_is_detected_still_moves_the_routes() {
    let plan = with(chain(), &[failure(MIDDLE, 10_000, Some(11_000), 5_000)]);
    // At s0 1500 later: routes avoid the link at 15000 and use it again at 16000.
    let rig = Rig::quiet(&plan, &sends(&[11_000, 13_499, 14_000, 14_501]));
    assert_eq!(rig.seqs(), [0, 1, 3]);
    assert_eq!((link_down_drops(&rig), rig.net.no_route_drops()), (0, 1));
}

#[test]
fn statistics_start_after_the_warm_up() {
    let plan = with(chain(), &[failure(MIDDLE, 10_000, None, 5_000)]);
    let all = sends(&[9_000, 10_000, 12_000, 30_000, 40_000]);
    for (warmup, want) in [(0, (3, 2)), (12_000, (1, 2)), (35_000, (0, 1))] {
        let net = Network::build(&plan, 0, Duration::ZERO, Duration::from_ns(warmup)).unwrap();
        let rig = Rig::run(net, &all, Instant::FAR_FUTURE);
        assert_eq!((link_down_drops(&rig), rig.net.no_route_drops()), want, "{warmup}");
        assert_eq!(rig.net.in_flight(), 0);
    }
}

#[test]
fn losses_are_in_the_digest() {
    let digest = |down| {
        let plan = with(chain(), &[failure(MIDDLE, down, None, 100_000)]);
        Rig::quiet(&plan, &sends(&[0])).net.digest()
    };
    // Lost in flight on the middle (2000 to 3000) at either time, or not at all.
    assert_eq!(digest(50_000), digest(60_000));
    assert_ne!(digest(2_100), digest(2_200));
    assert_ne!(digest(2_100), digest(50_000));
}

#[test]
fn invalid_failures_are_rejected() {
    let error = |failures: &[Failure]| {
        let plan = with(chain(), failures);
        let built = Network::build(&plan, 0, Duration::ZERO, Duration::ZERO);
        built.expect_err("the failures are invalid")
    };
    let e = error(&[failure(0, 0, None, 0), failure(3, 0, None, 0)]);
    assert_eq!(e, BlueprintError::FailureOfNoLink { failure: 1, link: 3, links: 3 });
    assert_eq!(e.to_string(), "failure 1 is of link 3, of which there are only 3");
    let e = error(&[failure(0, 5, Some(5), 0)]);
    assert!(matches!(e, BlueprintError::FailureEndsEarly { failure: 0, .. }), "{e}");
    let overlap = BlueprintError::FailuresOverlap { first: 1, second: 0 };
    assert_eq!(error(&[failure(0, 8, None, 0), failure(0, 5, Some(9), 0)]), overlap);
    assert_eq!(error(&[failure(0, 8, None, 0), failure(0, 5, None, 0)]), overlap);
    assert_eq!(error(&[failure(0, 8, None, 0), failure(0, 5, Some(8), 0)]), overlap);
    // Detected in the wrong order.
    assert_eq!(error(&[failure(0, 8, None, 0), failure(0, 5, Some(6), 7)]), overlap);
    build(&with(chain(), &[failure(0, 8, None, 7), failure(0, 5, Some(6), 7)]));
    build(&with(chain(), &[failure(1, 8, None, 0), failure(0, 5, None, 0)]));
}

/// Kinds of ports: plain, in shared memory, with marks and with drops at dequeue, with classes, and
/// the first again with departure events.
const KINDS: usize = 6;

/// Returns three leaves of two hosts, two spines, and ports of that kind.
fn fabric(kind: usize) -> Blueprint {
    let mut fabric = leaves(3, 2, 2, 1);
    let buffer = BufferSpec::Static(QueueLength::Packets(4));
    let step = |not_ect| marker("step-dequeue", &[("k", "1 pkt"), ("not-ect", not_ect)]);
    let plain = PortSpec { buffer, ..PortSpec::NIC };
    let class = |service| ClassSpec { service, buffer, mark: MarkSpec::NONE };
    let quantum = Bytes::new(1_500);
    let mut sets = vec![vec![class(Service::Strict), class(Service::Dwrr { quantum })]];
    let shared =
        BufferSpec::Dynamic { alpha: Ratio::new(1, 1).expect("a ratio"), reserved: Bytes::new(0) };
    let port = match kind {
        1 => PortSpec { buffer: shared, ..plain },
        2 => PortSpec { mark: step("ignore"), ..plain },
        3 => PortSpec { mark: step("drop"), ..plain },
        4 => PortSpec { classes: Some(ClassSet(0)), ..PortSpec::NIC },
        5 => {
            sets = vec![vec![class(Service::Strict)]];
            PortSpec { classes: Some(ClassSet(0)), ..PortSpec::NIC }
        }
        _ => plain,
    };
    (fabric.host.port, fabric.fabric.port) = (port.clone(), port);
    let mut plan = leaf_spine(&fabric).expect("a fabric");
    plan.class_sets = sets;
    plan.switches.iter_mut().for_each(|s| s.memory = Some(Bytes::new(8_000)));
    plan
}

#[test]
fn both_kinds_of_ports_lose_the_same() {
    let link = fabric(0).find_link("leaf0", "spine0", 0).unwrap();
    let slow = Failure {
        rate: Rate::from_bps(300_000_000),
        only_back: Some(true),
        ..failure(2, 30_000, Some(60_000), 0)
    };
    let failures = [failure(1, 40_000, None, 0), failure(link, 20_000, Some(50_000), 10_000), slow];
    let send = |i: u32| {
        let mut packet = packet(i % 6, (i % 6 + 1 + i % 5) % 6, 100 + i * 37 % 1_400, i);
        packet.segment.ecn = Ecn::NotEct;
        (ns(u64::from(i) * 97), packet)
    };
    let sends: Vec<_> = (0..1_000).map(send).collect();
    let run = |kind| {
        let rig = Rig::quiet(&with(fabric(kind), &failures), &sends);
        (rig.net.digest(), link_down_drops(&rig), rig.seqs().len())
    };
    let plain = run(0);
    assert!(plain.1 > 10 && plain.2 > 500, "{plain:?}");
    assert_eq!(run(5), plain);
}

type Part = (Option<bool>, Option<u64>);

/// Random non-overlapping failures of links of a small fabric.
fn some_failures() -> impl Strategy<Value = Vec<Failure>> {
    let part = (any::<Option<bool>>(), proptest::option::of(1_000_000..500_000_000_u64));
    let one = (0..10_usize, 0..60_000_u64, 1..40_000_u64, 0..20_000_u64, any::<bool>(), part);
    let make = |(link, down, last, detect, ends, part): (usize, u64, u64, u64, bool, Part)| {
        let (only_back, rate) = part;
        let whole = failure(link, down, bool::then_some(ends, down + last), detect);
        Failure { only_back, rate: rate.and_then(Rate::from_bps), reweight: down % 2 == 0, ..whole }
    };
    proptest::collection::vec(one.prop_map(make), 0..8).prop_map(|mut all| {
        all.sort_by_key(|f| f.link);
        all.dedup_by_key(|f| f.link);
        all
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Sent = delivered + dropped + lost + without a route + in flight, at any time; and runs are
    /// reproducible.
    #[test]
    fn no_packet_is_forgotten(
        failures in some_failures(),
        routing in prop_oneof![
            Just(Routing::Single), Just(Routing::Ecmp { polarised: false }), Just(Routing::Spray),
            Just(Routing::Wcmp), Just(Routing::Flowlet(Duration::from_us(1)))
        ],
        times in proptest::collection::vec((0..100_000_u64, 0..6_u32, 0..5_u32, 40..1_500_u32), 1..300),
        stop in 1_000..200_000_u64,
        jitter in prop_oneof![Just(0_u64), Just(3_000)],
        kind in 0..KINDS,
    ) {
        let plan = Blueprint { routing, ..with(fabric(kind), &failures) };
        let mut sends: Vec<_> = times.iter().zip(0..).map(|(&(at, src, step, size), i)| {
            let mut packet = packet(src, (src + 1 + step) % 6, size, i);
            packet.class = (i % 2) as u8;
            if i % 3 == 0 {
                packet.segment.ecn = Ecn::NotEct;
            }
            (ns(at), packet)
        }).collect();
        sends.sort_by_key(|s| s.0);
        let run = || {
            let jitter = Duration::from_ns(jitter);
            let net = Network::build(&plan, 1, jitter, Duration::ZERO).unwrap();
            Rig::run(net, &sends, ns(stop))
        };
        let rig = run();
        let entered = sends.iter().filter(|s| s.0 < ns(stop)).count() as u64;
        let gone: u64 = rig.net.ports().map(|p| p.losses.link_down_drops + p.served.overflow_drops + p.served.aqm_drops).sum();
        let left = rig.net.in_flight() as u64;
        prop_assert_eq!(entered, rig.delivered.len() as u64 + gone + rig.net.no_route_drops() + left);
        prop_assert!(failures.is_empty() || rig.net.digest() == run().net.digest());
    }
}

#[test]
fn a_network_without_failures_schedules_no_events() {
    let net = build(&chain());
    let mut sched = lowtide_sim::Scheduler::new(lowtide_sim::Seed(1));
    net.prime(&mut sched);
    assert!(sched.is_empty());
    assert_eq!(net.path_count(HostId(0), HostId(1)), 1);
}
