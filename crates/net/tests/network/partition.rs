//! Partitioning of networks.

use lowtide_net::topology::fat_tree::fat_tree;
use lowtide_net::topology::leaf_spine::leaf_spine;
use lowtide_net::topology::star::{Star, star};
use lowtide_net::{Blueprint, Framing, HostId, NodeId, Partition, PartitionError, PortSpec};
use lowtide_units::{Duration, Rate};

use crate::fabrics::{fat, leaves};
use crate::rig::{host, marker};

fn between_switches(plan: &Blueprint) -> impl Iterator<Item = usize> {
    let inner = |i: &usize| {
        matches!((plan.links[*i].a, plan.links[*i].b), (NodeId::Switch(_), NodeId::Switch(_)))
    };
    (0..plan.links.len()).filter(inner)
}

/// Partitions the network and checks the invariants. Returns the cut links, and the number of hosts
/// per shard.
fn find_partition(plan: &Blueprint, shards: usize) -> (Partition, Vec<usize>, Vec<usize>) {
    let partition = Partition::find(plan, shards, &vec![4; plan.hosts.len()]).expect("a cut");
    assert_eq!(partition.shards(), shards);
    let through: Vec<usize> =
        (0..plan.links.len()).filter(|i| partition.crosses_shards(&plan.links[*i])).collect();
    let inner: Vec<usize> = between_switches(plan).collect();
    assert!(through.iter().all(|i| inner.contains(i)), "a host goes with its switch");
    for link in through.iter().map(|i| &plan.links[*i]) {
        for line in [&link.from_a, &link.from_b] {
            let least = line.delay + Duration::from_ns(32);
            assert!(line.delay > Duration::ZERO && least >= partition.lookahead());
        }
    }
    let hosts = (0..shards).map(|shard| partition.hosts_of(shard).count()).collect();
    (partition, through, hosts)
}

#[test]
fn trees_are_partitioned_into_equal_shards() {
    for (plan, shards, links, hosts) in [
        // Pods stay whole; half of their uplinks lead to the other shard.
        (fat_tree(&fat(8)).unwrap(), 2, 64, vec![64; 2]),
        (fat_tree(&fat(8)).unwrap(), 4, 96, vec![32; 4]),
        (fat_tree(&fat(4)).unwrap(), 8, 20, vec![2; 8]),
        (leaf_spine(&leaves(4, 2, 6, 1)).unwrap(), 2, 4, vec![12; 2]),
        (leaf_spine(&leaves(8, 4, 6, 2)).unwrap(), 4, 48, vec![12; 4]),
    ] {
        let (partition, through, found) = find_partition(&plan, shards);
        assert_eq!((through.len(), &found), (links, &hosts), "{shards}");
        // 40 bytes at 10 Gbit/s, without framing, and 1 us.
        assert_eq!(partition.lookahead(), Duration::from_ns(1_032));
        let shard = |host| partition.shard_of(NodeId::Host(HostId(host)));
        assert_eq!(
            partition.hosts().iter().zip(0..).find(|(p, h)| usize::from(**p) != shard(*h)),
            None
        );
    }
    let (_, _, hosts) = find_partition(&fat_tree(&fat(8)).unwrap(), 3);
    assert!(hosts.iter().all(|n| (36..=52).contains(n)), "{hosts:?}");
}

#[test]
fn the_balanced_partition_with_the_longest_lookahead_is_chosen() {
    // Leaves 0 and 1 are near spine 0, the others near spine 1; the two halves are far apart.
    let mut plan = leaf_spine(&leaves(4, 2, 6, 1)).unwrap();
    for link in &mut plan.links {
        if let (NodeId::Switch(leaf), NodeId::Switch(spine)) = (link.a, link.b)
            && leaf / 2 != spine - 4
        {
            link.from_a.delay = Duration::from_us(9);
            link.from_b.delay = Duration::from_us(9);
        }
    }
    let (far, through, hosts) = find_partition(&plan, 2);
    assert_eq!((through.len(), hosts), (4, vec![12; 2]));
    assert_eq!(far.lookahead(), Duration::from_ns(9_032));
    // Four shards need links of 1 us.
    let (near, ..) = find_partition(&plan, 4);
    assert_eq!(near.lookahead(), Duration::from_ns(1_032));
}

#[test]
fn some_links_are_never_cut() {
    let mut plan = leaf_spine(&leaves(4, 2, 6, 1)).unwrap();
    let inner: Vec<usize> = between_switches(&plan).collect();
    // One direction without delay is enough to keep both ends together.
    for i in &inner[..2] {
        plan.links[*i].from_a.delay = Duration::ZERO;
    }
    let (_, through, _) = find_partition(&plan, 2);
    assert!(through.iter().all(|i| !inner[..2].contains(i)));
    for i in &inner {
        plan.links[*i].from_b.delay = Duration::ZERO;
    }
    assert_eq!(Partition::find(&plan, 2, &[]), Err(PartitionError::NoLookahead));

    let codel = marker("codel", &[("target", "5 us"), ("interval", "100 us")]);
    let mut late = leaf_spine(&leaves(4, 2, 6, 1)).unwrap();
    for i in &inner {
        late.links[*i].from_a.port = PortSpec { mark: codel.clone(), ..PortSpec::NIC };
    }
    assert_eq!(Partition::find(&late, 2, &[]), Err(PartitionError::NoLookahead));
}

#[test]
fn networks_that_cannot_be_partitioned_say_why() {
    let one = star(&Star {
        hosts: (0..4).map(|i| host(&format!("h{i}"), 10, Duration::from_us(1))).collect(),
        framing: Framing::Ip,
        port: PortSpec::NIC,
    });
    assert_eq!(Partition::find(&one, 2, &[]), Err(PartitionError::TooFewSwitches));
    let mut uneven = leaf_spine(&leaves(2, 1, 2, 1)).unwrap();
    assert!(Partition::find(&uneven, 2, &[4; 4]).is_ok());
    // All the work is on one leaf.
    assert_eq!(Partition::find(&uneven, 2, &[400, 400, 0, 0]), Err(PartitionError::Unbalanced));
    assert_eq!(Partition::find(&uneven, 4, &[]), Err(PartitionError::TooFewSwitches));
    for link in &mut uneven.links {
        link.from_a.rate = Rate::from_gbps(1);
    }
    assert_eq!(Partition::find(&uneven, 1, &[]), Err(PartitionError::TooFewSwitches));
}
