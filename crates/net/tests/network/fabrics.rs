//! Topologies: structure, distances between all hosts, rejected parameters.

use lowtide_net::topology::fat_tree::{FatTree, fat_tree};
use lowtide_net::topology::leaf_spine::{LeafSpine, leaf_spine};
use lowtide_net::topology::multi_hop::{MultiHop, multi_hop};
use lowtide_net::topology::three_tier::{ThreeTier, three_tier};
use lowtide_net::topology::tree::Layer;
use lowtide_net::{Blueprint, BlueprintError, Framing, HostId, NodeId, PortSpec, Routing};
use lowtide_units::{Duration, Rate};

use crate::rig::{Rig, build, host, packet, ps, us};

pub(crate) fn layer(gbps: u64, us: u64) -> Layer {
    Layer { rate: Rate::from_gbps(gbps), delay: Duration::from_us(us), port: PortSpec::NIC }
}

pub(crate) fn leaves(leaves: u32, spines: u32, hosts_per_leaf: u32, parallel: u32) -> LeafSpine {
    let (host, fabric) = (layer(10, 1), layer(10, 1));
    LeafSpine { leaves, spines, hosts_per_leaf, parallel, host, fabric, framing: Framing::Ip }
}

pub(crate) fn fat(k: u32) -> FatTree {
    let all = layer(10, 1);
    FatTree { k, host: all.clone(), aggregation: all.clone(), core: all, framing: Framing::Ip }
}

/// Returns the tree of HULL and DX (§VI-C): 192 hosts and 56 switches of eight ports; a rack has
/// six hosts and two uplinks.
pub(crate) fn hull() -> ThreeTier {
    ThreeTier {
        pods: 8,
        tors_per_pod: 4,
        aggs_per_pod: 2,
        cores: 8,
        hosts_per_tor: 6,
        tor_uplinks: 2,
        agg_uplinks: 4,
        host: layer(10, 1),
        aggregation: layer(10, 1),
        core: layer(10, 1),
        framing: Framing::Ip,
    }
}

fn paper() -> Blueprint {
    let host = |name, i| host(&format!("{name}.{i}"), 1, Duration::from_us(5));
    let hosts = |name, n| (0..n).map(|i| host(name, i)).collect();
    multi_hop(&MultiHop {
        s1: hosts("s1", 10),
        s2: hosts("s2", 20),
        s3: hosts("s3", 10),
        r1: hosts("r1", 1),
        r2: hosts("r2", 20),
        trunk: layer(10, 2),
        framing: Framing::Ethernet,
        port: PortSpec::NIC,
    })
}

fn switches(plan: &Blueprint) -> Vec<&str> {
    plan.switches.iter().map(|s| s.name.as_str()).collect()
}

/// Returns the number of links at each switch.
fn degrees(plan: &Blueprint) -> Vec<usize> {
    let mut degrees = vec![0; plan.switches.len()];
    for node in plan.links.iter().flat_map(|l| [l.a, l.b]) {
        if let NodeId::Switch(switch) = node {
            degrees[switch as usize] += 1;
        }
    }
    degrees
}

/// Checks that link `i` is that of host `i`, which is end `a`.
fn hosts_first(plan: &Blueprint) {
    for (i, link) in plan.links.iter().enumerate() {
        let host = NodeId::Host(HostId(i as u32));
        assert_eq!(link.a == host, i < plan.hosts.len(), "link {i}");
        assert!(matches!(link.b, NodeId::Switch(_)), "link {i}");
    }
}

#[test]
fn the_tree_of_hull_has_56_switches_of_eight_ports() {
    let plan = three_tier(&hull()).unwrap();
    assert_eq!((plan.hosts.len(), plan.switches.len()), (192, 56));
    assert_eq!(hull().host_count(), 192);
    assert_eq!(degrees(&plan), vec![8; 56]);
    hosts_first(&plan);
    let racks = plan.racks();
    assert!((0..192).all(|i| racks[i] == i as u32 / 6), "{racks:?}");
    assert_eq!((plan.hosts[0].as_str(), plan.hosts[191].as_str()), ("rack0.0", "rack31.5"));
    let names = [0, 31, 32, 47, 48, 55].map(|i| plan.switches[i].name.as_str());
    assert_eq!(names, ["tor0", "tor31", "agg0", "agg15", "core0", "core7"]);
    assert!(plan.find_link("tor4", "agg3", 0).is_some());
    assert_eq!(plan.find_link("tor4", "agg4", 0), None, "another pod");
}

#[test]
fn switches_of_a_fat_tree_have_k_ports() {
    for k in [2, 4, 6, 16] {
        let plan = fat_tree(&fat(k)).unwrap();
        let half = k as usize / 2;
        let k = k as usize;
        assert_eq!(plan.hosts.len(), k * half * half);
        assert_eq!(fat(k as u32).host_count(), plan.hosts.len() as u64);
        assert_eq!(plan.links.len(), 3 * k * half * half);
        assert_eq!(degrees(&plan), vec![k; k * k + half * half]);
        hosts_first(&plan);
    }
}

#[test]
fn leaves_and_spines() {
    let plan = leaf_spine(&leaves(3, 2, 4, 2)).unwrap();
    assert_eq!(degrees(&plan), [8, 8, 8, 6, 6]);
    assert_eq!(switches(&plan), ["leaf0", "leaf1", "leaf2", "spine0", "spine1"]);
    assert_eq!(plan.racks(), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
    hosts_first(&plan);
    assert_eq!(plan.find_link("spine1", "leaf0", 1), Some(15));
    assert_eq!(plan.find_link("spine1", "leaf0", 2), None);
}

#[test]
fn the_multi_hop_network_of_the_dctcp_paper() {
    let plan = paper();
    assert_eq!(switches(&plan), ["triumph1", "scorpion", "triumph2"]);
    assert_eq!(degrees(&plan), [31, 2, 32]);
    assert_eq!(plan.hosts.len(), 61);
    assert_eq!(
        [0, 10, 30, 40, 41].map(|i| plan.hosts[i].as_str()),
        ["s1.0", "s2.0", "s3.0", "r1.0", "r2.0"]
    );
    hosts_first(&plan);
    assert_eq!(plan.find_link("triumph1", "scorpion", 0), Some(61));
    assert_eq!(plan.find_link("triumph2", "scorpion", 0), Some(62));
    // S1 to R1 over both trunks, S3 to R1 over none.
    let sends = [(ps(0), packet(0, 40, 1_500, 0)), (us(1_000), packet(30, 40, 1_500, 1))];
    let rig = Rig::quiet(&plan, &sends);
    // 1538 B take 12.304 us at 1 Gbit/s and 1.2304 us at 10 Gbit/s.
    let ends = 2 * (12_304_000 + 5_000_000);
    let trunks = 2 * (1_230_400 + 2_000_000);
    assert_eq!(rig.times(), [ends + trunks, 1_000_000_000 + ends]);
}

#[test]
fn each_hop_of_a_path_to_the_picosecond() {
    let tree = ThreeTier {
        host: layer(1, 1),
        aggregation: layer(10, 2),
        core: layer(40, 3),
        framing: Framing::Ethernet,
        ..hull()
    };
    let plan = three_tier(&tree).unwrap();
    let rig = Rig::quiet(&plan, &[(ps(7), packet(0, 191, 1_500, 0))]);
    // 1538 B: 12.304 us, 1.2304 us, 0.3076 us.
    let want =
        2 * (12_304_000 + 1_000_000) + 2 * (1_230_400 + 2_000_000) + 2 * (307_600 + 3_000_000);
    assert_eq!(rig.times(), [7 + want]);
}

/// Sends between all pairs, one packet at a time, and returns the hops of each packet.
fn hops(plan: &Blueprint, routing: Routing) -> impl Fn(usize, usize) -> u64 {
    let plan = Blueprint { routing, ..plan.clone() };
    let n = plan.hosts.len();
    // A packet of 1000 B takes 800 ns plus 1 us per link.
    let start = |i: u32| us(20 * u64::from(i));
    let pairs = (0..n * n).filter(|i| i / n != i % n).map(|i| {
        let i = i as u32;
        (start(i), packet(i / n as u32, i % n as u32, 1_000, i))
    });
    let sends: Vec<_> = pairs.collect();
    let rig = Rig::quiet(&plan, &sends);
    assert_eq!(rig.delivered.len(), n * (n - 1));
    let mut hops = vec![0; n * n];
    for &(at, host, packet) in &rig.delivered {
        assert_eq!(host, packet.dst);
        let i = packet.segment.seq.raw();
        let took = at.saturating_since(start(i)).as_ps();
        assert_eq!(took % 1_800_000, 0);
        hops[i as usize] = took / 1_800_000;
    }
    move |a, b| hops[a * n + b]
}

#[test]
fn everyone_reaches_everyone_over_the_links_there_should_be() {
    let trees = [
        (leaf_spine(&leaves(3, 2, 2, 2)).unwrap(), 2, 6),
        (leaf_spine(&leaves(1, 1, 3, 1)).unwrap(), 3, 3),
        (fat_tree(&fat(2)).unwrap(), 1, 1),
        (fat_tree(&fat(4)).unwrap(), 2, 4),
        (three_tier(&ThreeTier { pods: 3, hosts_per_tor: 2, ..hull() }).unwrap(), 2, 8),
    ];
    for (plan, per_rack, per_pod) in trees {
        for routing in [
            Routing::Single,
            Routing::Ecmp { polarised: false },
            Routing::Wcmp,
            Routing::Flowlet(Duration::from_us(1)),
            Routing::Spray,
        ] {
            let hops = hops(&plan, routing);
            let n = plan.hosts.len();
            for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).filter(|(a, b)| a != b) {
                let same = |per| a / per == b / per;
                let want = if same(per_rack) {
                    2
                } else if same(per_pod) {
                    4
                } else {
                    6
                };
                assert_eq!(hops(a, b), want, "{a} to {b}, {routing:?}");
            }
        }
    }
}

fn path_counts(plan: &Blueprint, routing: Routing) -> impl Fn(u32, u32) -> u64 + use<> {
    let net = build(&Blueprint { routing, ..plan.clone() });
    move |a, b| net.path_count(HostId(a), HostId(b))
}

#[test]
fn equal_paths_between_pods_are_the_cores() {
    let ecmp = Routing::Ecmp { polarised: false };
    for k in [2, 4, 8] {
        let (half, plan) = (k / 2, fat_tree(&fat(k)).unwrap());
        let of = path_counts(&plan, ecmp);
        let other_pod = half * half;
        assert_eq!(of(0, other_pod), u64::from(half * half), "k = {k}");
        if half > 1 {
            assert_eq!((of(0, 1), of(0, half)), (1, half.into()), "k = {k}");
        }
        assert_eq!(path_counts(&plan, Routing::Single)(0, other_pod), 1);
        assert_eq!(of(0, 0), 0);
    }
    let of = path_counts(&three_tier(&hull()).unwrap(), ecmp);
    assert_eq!([of(0, 1), of(0, 6), of(0, 24)], [1, 2, 8]);
    // Over each of three spines two links up and two down.
    assert_eq!(path_counts(&leaf_spine(&leaves(2, 3, 1, 2)).unwrap(), Routing::Spray)(0, 1), 12);
}

fn refused(plan: Result<Blueprint, BlueprintError>) -> String {
    plan.expect_err("there is no such tree").to_string()
}

#[test]
fn invalid_tree_parameters_are_rejected() {
    assert_eq!(
        refused(fat_tree(&fat(5))),
        "there is no fat-tree with k = 5: it must be an even number from 2 on"
    );
    assert!(refused(fat_tree(&fat(0))).contains("k = 0"));
    assert_eq!(
        refused(leaf_spine(&leaves(2, 2, 0, 1))),
        "there is no leaf-spine with hosts-per-leaf = 0: it must be at least 1"
    );
    assert!(refused(leaf_spine(&leaves(0, 2, 1, 1))).contains("leaves = 0"));
    assert!(refused(leaf_spine(&leaves(2, 0, 1, 1))).contains("spines = 0"));
    assert!(refused(leaf_spine(&leaves(2, 2, 1, 0))).contains("parallel = 0"));
    let no = |tree| refused(three_tier(&tree));
    assert!(no(ThreeTier { pods: 0, ..hull() }).contains("pods = 0"));
    assert_eq!(
        no(ThreeTier { cores: 7, ..hull() }),
        "there is no three-tier with cores = 7: it must be a multiple of aggs-per-pod (2)"
    );
    assert!(no(ThreeTier { tor_uplinks: 3, ..hull() }).contains("tor-uplinks = 3"));
    assert_eq!(
        no(ThreeTier { agg_uplinks: 6, ..hull() }),
        "there is no three-tier with agg-uplinks = 6: it must be a multiple of cores / aggs-per-pod (4)"
    );
}

#[test]
fn oversized_trees_are_rejected() {
    let most = 1 << 22;
    let tree = fat_tree(&fat(4_000_000_000)).unwrap_err();
    assert!(matches!(tree, BlueprintError::TooManyLinks { most: m, .. } if m == most), "{tree}");
    let huge = u32::MAX;
    let tree = leaf_spine(&leaves(huge, huge, huge, huge)).unwrap_err();
    assert!(matches!(tree, BlueprintError::TooManyLinks { .. }), "{tree}");
    let tree = three_tier(&ThreeTier { pods: huge, ..hull() }).unwrap_err();
    assert!(matches!(tree, BlueprintError::TooManyLinks { .. }), "{tree}");
}

#[test]
fn routes_of_8192_hosts_fit_in_three_megabytes() {
    let plan =
        Blueprint { routing: Routing::Ecmp { polarised: false }, ..fat_tree(&fat(32)).unwrap() };
    assert_eq!((plan.hosts.len(), plan.switches.len()), (8_192, 1_280));
    let net = build(&plan);
    // 512 racks per switch, four bytes each, are 2.6 MB; sets of links are few.
    assert!(net.route_memory() < 3_000_000, "{}", net.route_memory());
    assert_eq!(net.path_count(HostId(0), HostId(8_191)), 256);
    assert_eq!(net.next_ports(0, HostId(8_191)).len(), 16);
}
