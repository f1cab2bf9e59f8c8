//! Ports with one event per packet and ports with departure events behave identically where both
//! apply: digest, statistics, deliveries. A single class turns a FIFO port into one with departure
//! events. Likewise the fast path of a port and the complete one.

use lowtide_net::{
    Blueprint, BufferSpec, ClassSet, ClassSpec, MarkSpec, Network, Packet, PortSpec, QueueLength,
    Ratio, Service,
};
use lowtide_units::{Bytes, Duration, Fraction, Instant, Rate};
use lowtide_wire::Ecn;
use proptest::prelude::*;

use crate::model::step;
use crate::rig::{Rig, fan, marker, packet, ps};

/// Returns `plan` with the queue of each switch port as its only class.
pub(crate) fn with_one_class(plan: &Blueprint) -> Blueprint {
    let mut plan = plan.clone();
    for link in &mut plan.links {
        let PortSpec { buffer, mark, count_in_service, .. } = link.from_b.port.clone();
        let service = Service::Dwrr { quantum: Bytes::new(700) };
        let classes = Some(ClassSet(plan.class_sets.len() as u32));
        plan.class_sets.push(vec![ClassSpec { service, buffer, mark }]);
        link.from_b.port = PortSpec { count_in_service, classes, ..PortSpec::NIC };
    }
    plan
}

fn count(packets: u64) -> impl Strategy<Value = QueueLength> {
    prop_oneof![
        (0..packets).prop_map(QueueLength::Packets),
        (0..packets * 150).prop_map(|b| QueueLength::Bytes(Bytes::new(b))),
    ]
}

fn buffer() -> impl Strategy<Value = BufferSpec> {
    let alpha = (0..5_u32, 1..5_u32).prop_map(|(num, den)| Ratio::new(num, den).expect("a ratio"));
    prop_oneof![
        Just(BufferSpec::Unlimited),
        count(30).prop_map(BufferSpec::Static),
        (alpha, 0..300_u64).prop_map(|(alpha, reserved)| {
            BufferSpec::Dynamic { alpha, reserved: Bytes::new(reserved) }
        }),
    ]
}

fn red() -> impl Strategy<Value = MarkSpec> {
    let signal = prop_oneof![
        Just(("signal", "drop")),
        Just(("not-ect", "ignore")),
        Just(("not-ect", "drop"))
    ];
    (0..4_u64, 1..8_u64, 0..4_u8, any::<bool>(), signal).prop_map(
        |(min, more, weight, gentle, signal)| {
            let params = [
                ("min", &*format!("{min} pkt")),
                ("max", &format!("{} pkt", min + more)),
                ("max-p", "50 %"),
                ("weight", &weight.to_string()),
                ("gentle", &gentle.to_string()),
                ("mean-packet", "500 B"),
                signal,
            ];
            marker("red", &params)
        },
    )
}

fn mark() -> impl Strategy<Value = MarkSpec> {
    prop_oneof![
        Just(MarkSpec::NONE),
        step(),
        count(15).prop_map(|k| marker("step-dequeue", &[("k", &k.to_string())])),
        red(),
    ]
}

/// Gaps in ps, often a whole service time; receiver, size, codepoint.
pub(crate) fn traffic() -> impl Strategy<Value = Vec<(Instant, Packet)>> {
    let gap = prop_oneof![3 => 0..200_000_u64, 2 => Just(100_000_u64), 3 => 0..3_000_u64];
    let size = prop_oneof![5 => Just(100_u32), 5 => 40..1_500_u32, 1 => Just(70_000_u32)];
    let one = (gap, size, 1..4_u32, 0..4_u8);
    proptest::collection::vec(one, 1..120).prop_map(|traffic| {
        let mut now = 0;
        let send = |(i, (gap, size, to, ecn)): (u32, (u64, u32, u32, u8))| {
            now += gap;
            let mut packet = packet(0, to, size, i);
            packet.segment.ecn = Ecn::from_bits(ecn);
            (ps(now), packet)
        };
        (0..).zip(traffic).map(send).collect()
    })
}

proptest! {
    #[test]
    fn both_kinds_of_ports_are_equivalent(
        buffer in buffer(),
        mark in mark(),
        count_in_service in any::<bool>(),
        memory in 1_200..6_000_u64,
        traffic in traffic(),
        loss in prop_oneof![Just(Fraction::ZERO), Just(Fraction::from_percent(10))],
        jitter in prop_oneof![Just(0_u64), 0..200_u64],
        warmup in 0..4_000_000_u64,
        until in prop_oneof![Just(u64::MAX), 0..8_000_000_u64],
        uneven in any::<bool>(),
    ) {
        let port = PortSpec { buffer, mark, count_in_service, classes: None };
        let mut plan = fan(3, port, Some(memory));
        for link in &mut plan.links {
            link.from_b.loss = loss;
            if uneven {
                // A byte takes no whole number of picoseconds.
                link.from_b.rate = Rate::from_bps(7_777_777_777).expect("a rate");
            }
        }
        let run = |plan: &Blueprint| {
            let (jitter, warmup) = (Duration::from_ns(jitter), Duration::from_ps(warmup));
            let net = Network::build(plan, 7, jitter, warmup).unwrap();
            Rig::run(net, &traffic, ps(until))
        };
        let (one, two) = (run(&plan), run(&with_one_class(&plan)));
        prop_assert_eq!(one.net.digest(), two.net.digest());
        prop_assert_eq!(&one.delivered, &two.delivered);
        prop_assert_eq!(one.net.hops(), two.net.hops());
        for (mut a, mut b) in one.net.ports().zip(two.net.ports()) {
            if let Some(class) = b.classes.pop() {
                prop_assert_eq!(class.served, a.served);
                prop_assert_eq!(class.max_bytes, a.max_bytes);
                prop_assert_eq!(merged(&class.levels), merged(&a.levels));
            }
            a.classes.clear();
            prop_assert_eq!(a, b);
        }
        for (a, b) in one.net.buffer_pools().zip(two.net.buffer_pools()) {
            prop_assert!(a.peak_bytes <= a.size_bytes);
            prop_assert!(until != u64::MAX || a.held_bytes == 0);
            prop_assert_eq!(a, b);
        }
    }
}

proptest! {
    /// Tracing and measurement of queueing delays turn the fast paths of all ports off.
    #[test]
    fn the_fast_path_is_equivalent_to_the_complete_one(
        buffer in buffer(),
        mark in mark(),
        count_in_service in any::<bool>(),
        traffic in traffic(),
        jitter in prop_oneof![Just(0_u64), 0..200_u64],
        warmup in prop_oneof![Just(0), 0..2_000_000_u64],
        until in prop_oneof![Just(u64::MAX), 0..8_000_000_u64],
    ) {
        let port = PortSpec { buffer, mark, count_in_service, classes: None };
        let plan = fan(3, port, Some(5_000));
        let run = |complete: bool| {
            let (jitter, warmup) = (Duration::from_ns(jitter), Duration::from_ps(warmup));
            let mut net = Network::build(&plan, 7, jitter, warmup).unwrap();
            if complete {
                net.trace(&[]);
                net.measure_queueing();
            }
            Rig::run(net, &traffic, ps(until))
        };
        let (fast, complete) = (run(false), run(true));
        prop_assert_eq!(fast.net.digest(), complete.net.digest());
        prop_assert_eq!(&fast.delivered, &complete.delivered);
        prop_assert_eq!(&fast.left, &complete.left);
        prop_assert_eq!((fast.net.hops(), fast.events), (complete.net.hops(), complete.events));
        prop_assert!(fast.net.ports().eq(complete.net.ports()));
        prop_assert!(fast.net.buffer_pools().eq(complete.net.buffer_pools()));
    }
}

/// Removes levels without time and arrivals.
fn merged(levels: &[lowtide_rows::Level]) -> Vec<lowtide_rows::Level> {
    levels.iter().copied().filter(|l| l.time_ps > 0 || l.arrivals > 0).collect()
}

#[test]
fn a_class_costs_one_more_event_per_packet() {
    let plan = fan(1, PortSpec::NIC, None);
    let sends: Vec<_> = (0..10).map(|i| (ps(u64::from(i)), packet(0, 1, 100, i))).collect();
    let events =
        |plan: &Blueprint| Rig::run(crate::rig::build(plan), &sends, Instant::FAR_FUTURE).events;
    // Ten sends, ten arrivals at the switch, ten at the host. With the class also ten departures
    // from the switch, none of them at the time of an arrival, because there is a delay.
    assert_eq!(events(&plan), 30);
    assert_eq!(events(&with_one_class(&plan)), 40);
}
