//! Load balancing over equal-cost paths.

use std::collections::BTreeMap;

use lowtide_net::topology::fat_tree::fat_tree;
use lowtide_net::topology::leaf_spine::leaf_spine;
use lowtide_net::topology::three_tier::{ThreeTier, three_tier};
use lowtide_net::{Blueprint, Framing, Network, Packet, Routing};
use lowtide_units::{Duration, Instant};

use crate::fabrics::{fat, hull, leaves};
use crate::rig::{Rig, packet, us};

const ECMP: Routing = Routing::Ecmp { polarised: false };
const POLARISED: Routing = Routing::Ecmp { polarised: true };

/// Returns packet number `seq` of flow number `flow`.
fn of_flow(flow: u32, src: u32, dst: u32, size: u32, seq: u32) -> Packet {
    let mut packet = packet(src, dst, size, seq);
    packet.segment.src_port = 32_768 + flow as u16;
    packet.segment.dst_port = 5_001;
    packet
}

fn run(plan: &Blueprint, routing: Routing, seed: u64, sends: &[(Instant, Packet)]) -> Rig {
    let plan = Blueprint { routing, ..plan.clone() };
    let net = Network::build(&plan, seed, Duration::ZERO, Duration::ZERO).expect("plan is sound");
    Rig::run(net, sends, Instant::FAR_FUTURE)
}

/// Returns one packet for each of `flows` flows from host `src` to host `dst`.
fn one_each(flows: u32, src: u32, dst: u32) -> Vec<(Instant, Packet)> {
    (0..flows).map(|i| (us(u64::from(i)), of_flow(i, src, dst, 100, i))).collect()
}

/// Returns the packets of the ports with these prefixes of both ends, ports in order.
fn packets(rig: &Rig, from: &str, to: &str) -> Vec<u64> {
    let of =
        |name: &str| name.split_once("->").is_some_and(|(a, b)| a == from && b.starts_with(to));
    rig.net.ports().filter(|p| of(&p.name)).map(|p| p.served.packets).collect()
}

/// Checks that each of `n` equally likely links has its share of `flows` within five standard
/// deviations.
fn binomial(counts: &[u64], flows: u32, n: u32) {
    let p = 1.0 / f64::from(n);
    let (mean, deviation) = (f64::from(flows) * p, (f64::from(flows) * p * (1.0 - p)).sqrt());
    for &count in counts {
        assert!((count as f64 - mean).abs() < 5.0 * deviation, "{counts:?}, not {mean}");
    }
}

#[test]
fn flows_spread_randomly() {
    let plan = leaf_spine(&leaves(2, 8, 1, 1)).unwrap();
    let mut seen = Vec::new();
    for seed in 0..5 {
        let rig = run(&plan, ECMP, seed, &one_each(8_000, 0, 1));
        let counts = packets(&rig, "leaf0", "spine");
        assert_eq!((counts.len(), counts.iter().sum::<u64>()), (8, 8_000));
        binomial(&counts, 8_000, 8);
        // Not a pattern either: random choice spreads the counts by several deviations (29.6).
        let spread = counts.iter().max().unwrap() - counts.iter().min().unwrap();
        assert!(spread > 20, "{counts:?}");
        assert!(!seen.contains(&counts), "the seed changes nothing");
        seen.push(counts);
    }
}

#[test]
fn parallel_links_share_too() {
    let plan = leaf_spine(&leaves(2, 1, 1, 3)).unwrap();
    let rig = run(&plan, ECMP, 1, &one_each(3_000, 0, 1));
    for (from, to) in [("leaf0", "spine0"), ("spine0", "leaf1")] {
        let counts = packets(&rig, from, to);
        assert_eq!(counts.len(), 3);
        binomial(&counts, 3_000, 3);
    }
}

#[test]
fn the_second_stage_chooses_independently_of_the_first() {
    // Four aggregation switches, then four cores each.
    let plan = fat_tree(&fat(8)).unwrap();
    for seed in 0..3 {
        let rig = run(&plan, ECMP, seed, &one_each(8_000, 0, 16));
        let counts: Vec<u64> =
            (0..4).flat_map(|agg| packets(&rig, &format!("agg{agg}"), "core")).collect();
        assert_eq!((counts.len(), counts.iter().sum::<u64>()), (16, 8_000));
        binomial(&counts, 8_000, 16);
    }
}

#[test]
fn polarised_switches_use_one_link_of_the_second_stage() {
    let plan = fat_tree(&fat(8)).unwrap();
    let rig = run(&plan, POLARISED, 3, &one_each(8_000, 0, 16));
    binomial(&packets(&rig, "tor0", "agg"), 8_000, 4);
    for agg in 0..4 {
        let counts = packets(&rig, &format!("agg{agg}"), "core");
        let used: Vec<usize> = (0..4).filter(|i| counts[*i] > 0).collect();
        assert_eq!(used, [agg], "{counts:?}");
    }
}

#[test]
fn polarised_switches_of_other_widths_use_a_part() {
    // Two aggregation switches, then four cores each: each sees half of the hashes.
    let plan = three_tier(&ThreeTier { framing: Framing::Ethernet, ..hull() }).unwrap();
    let rig = run(&plan, POLARISED, 4, &one_each(8_000, 0, 24));
    for (agg, want) in [("agg0", [true, true, false, false]), ("agg1", [false, false, true, true])]
    {
        let used: Vec<bool> = packets(&rig, agg, "core").iter().map(|n| *n > 0).collect();
        assert_eq!(used, want, "{agg}");
    }
}

#[test]
fn a_flow_keeps_its_path_and_its_order() {
    let plan = leaf_spine(&leaves(2, 4, 2, 1)).unwrap();
    // Hosts 0 and 1 to host 2, bursts of different sizes, so that queues differ.
    let burst = |i: u32| us(u64::from(i / 40)) + Duration::from_ns(u64::from(i % 40));
    let flow = |i: u32| i / 10 % 20;
    let send = |i| (burst(i), of_flow(flow(i), flow(i) % 2, 2, 60 + i * 577 % 1_400, i));
    let sends: Vec<_> = (0..4_000).map(send).collect();
    let in_order = |rig: &Rig| {
        let mut last: BTreeMap<(u32, u16), u32> = BTreeMap::new();
        rig.delivered.iter().all(|(_, _, p)| {
            let key = (p.src.0, p.segment.src_port);
            let seq = p.segment.seq.raw();
            last.insert(key, seq).is_none_or(|before| before < seq)
        })
    };
    let rig = run(&plan, ECMP, 5, &sends);
    assert_eq!(rig.delivered.len(), 4_000);
    assert!(in_order(&rig));
    assert!(packets(&rig, "leaf0", "spine").iter().all(|n| *n > 0 && *n % 200 == 0));
    assert!(!in_order(&run(&plan, Routing::Spray, 5, &sends)), "spraying must reorder here");
}

#[test]
fn both_directions_of_a_connection_choose_for_themselves() {
    let plan = leaf_spine(&leaves(2, 2, 1, 1)).unwrap();
    let mut alike = 0;
    for flow in 0..200 {
        let there = of_flow(flow, 0, 1, 100, 0);
        let mut back = packet(1, 0, 100, 1);
        back.segment.src_port = there.segment.dst_port;
        back.segment.dst_port = there.segment.src_port;
        let sends = [(Instant::ZERO, there), (Instant::ZERO, back)];
        let rig = run(&plan, ECMP, 6, &sends);
        alike += u32::from(packets(&rig, "leaf0", "spine") == packets(&rig, "leaf1", "spine"));
    }
    // Binomial: 100 and 7.1.
    assert!((65..135).contains(&alike), "{alike}");
}

#[test]
fn sprayed_packets_spread_evenly() {
    let plan = leaf_spine(&leaves(2, 3, 1, 1)).unwrap();
    let rig = run(&plan, Routing::Spray, 7, &one_each(3_001, 0, 1));
    let counts = packets(&rig, "leaf0", "spine");
    assert_eq!(counts.iter().sum::<u64>(), 3_001);
    assert!(counts.iter().all(|n| (1_000..=1_001).contains(n)), "{counts:?}");
    let others = run(&plan, Routing::Spray, 8, &one_each(3_001, 0, 1));
    assert_ne!(rig.net.digest(), others.net.digest(), "the seed changes nothing");
}

#[test]
fn alternating_packets_do_not_stick_to_links() {
    // Large and small alternate over two links: with round robin one link would carry all large
    // ones.
    let plan = leaf_spine(&leaves(2, 2, 1, 1)).unwrap();
    let size = |i| if i % 2 == 0 { 1_500 } else { 60 };
    let send = |i| (us(u64::from(i)), of_flow(0, 0, 1, size(i), i));
    let rig = run(&plan, Routing::Spray, 9, &(0..4_000).map(send).collect::<Vec<_>>());
    let large = (rig.port("leaf0->spine0").served.bytes - 2_000 * 60) / 1_440;
    // Two thousand rounds, each with its large packet on either link: 1000 and 22.4.
    assert!((888..=1_112).contains(&large), "{large}");
}

/// Packets of one flow, `gap` apart.
fn one_flow(n: u32, gap: Duration) -> Vec<(Instant, Packet)> {
    let send = |i: u32| (us(0) + gap.saturating_mul(u64::from(i)), of_flow(0, 0, 1, 100, i));
    (0..n).map(send).collect()
}

#[test]
fn weighted_links_have_flows_in_proportion_to_the_capacity_behind_them() {
    let mut plan = leaf_spine(&leaves(2, 3, 1, 1)).unwrap();
    let gbps = lowtide_units::Rate::from_gbps;
    // Up 10, 40 and 40 Gbit/s; down from the third spine only 10: shares of 1, 4 and 1 of 6.
    for (leaf, spine, rate) in
        [(0, 0, 10), (0, 1, 40), (0, 2, 40), (1, 0, 10), (1, 1, 40), (1, 2, 10)]
    {
        let link = plan.find_link(&format!("leaf{leaf}"), &format!("spine{spine}"), 0).unwrap();
        let link = &mut plan.links[link];
        (link.from_a.rate, link.from_b.rate) = (gbps(rate), gbps(rate));
    }
    let rig = run(&plan, Routing::Wcmp, 1, &one_each(6_000, 0, 1));
    let counts = packets(&rig, "leaf0", "spine");
    assert_eq!(counts.iter().sum::<u64>(), 6_000);
    // Binomial: 1000 and 28.9, 4000 and 36.5.
    for (count, mean, deviation) in [(0, 1_000.0, 28.9), (1, 4_000.0, 36.5), (2, 1_000.0, 28.9)] {
        assert!((counts[count] as f64 - mean).abs() < 5.0 * deviation, "{counts:?}");
    }
    let ecmp = packets(&run(&plan, ECMP, 1, &one_each(6_000, 0, 1)), "leaf0", "spine");
    binomial(&ecmp, 6_000, 3);
}

#[test]
fn weights_of_equal_capacities_choose_as_ecmp() {
    let plan = fat_tree(&fat(4)).unwrap();
    let sends = one_each(500, 0, 8);
    let digests = [ECMP, Routing::Wcmp].map(|routing| run(&plan, routing, 2, &sends).net.digest());
    assert_eq!(digests[0], digests[1]);
}

#[test]
fn a_flow_draws_a_path_anew_after_a_gap_and_only_then() {
    let plan = leaf_spine(&leaves(2, 4, 1, 1)).unwrap();
    let flowlet = Routing::Flowlet(Duration::from_us(50));
    let counts = |gap: u64| {
        let sends = one_flow(4_000, Duration::from_us(gap));
        packets(&run(&plan, flowlet, 3, &sends), "leaf0", "spine")
    };
    binomial(&counts(51), 4_000, 4);
    let kept = counts(50);
    assert_eq!(kept.iter().filter(|n| **n > 0).count(), 1, "{kept:?}");
    // Each flow has its own.
    let sends: Vec<_> = one_each(4_000, 0, 1);
    binomial(&packets(&run(&plan, flowlet, 4, &sends), "leaf0", "spine"), 4_000, 4);
}
