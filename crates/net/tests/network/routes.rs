//! The paths of packets.

use lowtide_net::{Blueprint, HostId, Network, NodeId, Routing};
use lowtide_units::Duration;
use lowtide_wire::Ecn;

use crate::blueprint::link;
use crate::rig::{Rig, packet, ps};

fn host(i: u32) -> NodeId {
    NodeId::Host(HostId(i))
}

fn switch(i: u32) -> NodeId {
    NodeId::Switch(i)
}

fn plan(hosts: u32, switches: u32, links: &[(NodeId, NodeId)]) -> Blueprint {
    Blueprint {
        hosts: (0..hosts).map(|i| format!("h{i}")).collect(),
        switches: (0..switches).map(|i| format!("s{i}").into()).collect(),
        links: links.iter().map(|&(a, b)| link(a, b)).collect(),
        ..Blueprint::default()
    }
}

/// Returns the names of the ports on the path of one packet.
fn path(plan: &Blueprint, from: u32, to: u32) -> Vec<String> {
    let rig = Rig::quiet(plan, &[(ps(0), packet(from, to, 100, 0))]);
    assert_eq!(rig.delivered.len(), 1);
    assert_eq!(rig.delivered[0].1, HostId(to));
    assert_eq!(rig.delivered[0].2.segment.ecn, Ecn::Ect0);
    let used = rig.net.ports().filter(|p| p.served.packets > 0);
    used.map(|p| p.name.clone()).collect()
}

#[test]
fn the_shortest_path_even_over_later_links() {
    // h0 - s0 - s1 - s2 - s3 - h1, and a shortcut s0 - s3.
    let ring = plan(
        2,
        4,
        &[
            (host(0), switch(0)),
            (switch(0), switch(1)),
            (switch(1), switch(2)),
            (switch(2), switch(3)),
            (host(1), switch(3)),
            (switch(3), switch(0)),
        ],
    );
    assert_eq!(path(&ring, 0, 1), ["h0->s0", "s3->h1", "s0->s3"]);
    assert_eq!(path(&ring, 1, 0), ["s0->h0", "h1->s3", "s3->s0"]);
}

#[test]
fn of_equal_paths_the_lowest_link() {
    // Two spines; the links to s3 come first at s0, those to s2 first at s1.
    let spines = plan(
        2,
        4,
        &[
            (host(0), switch(0)),
            (host(1), switch(1)),
            (switch(3), switch(0)),
            (switch(2), switch(1)),
            (switch(2), switch(0)),
            (switch(3), switch(1)),
        ],
    );
    assert_eq!(path(&spines, 0, 1), ["h0->s0", "s1->h1", "s0->s3", "s3->s1"]);
    assert_eq!(path(&spines, 1, 0), ["s0->h0", "h1->s1", "s1->s2", "s2->s0"]);
}

#[test]
fn parallel_links_have_distinct_names() {
    let two = plan(
        2,
        2,
        &[
            (host(0), switch(0)),
            (host(1), switch(1)),
            (switch(0), switch(1)),
            (switch(1), switch(0)),
        ],
    );
    assert_eq!(path(&two, 0, 1), ["h0->s0", "s1->h1", "s0->s1"]);
    assert_eq!(path(&two, 1, 0), ["s0->h0", "h1->s1", "s1->s0"]);
    let rig = Rig::quiet(&two, &[]);
    let names: Vec<String> = rig.net.ports().map(|p| p.name.clone()).collect();
    assert_eq!(names[4..], ["s0->s1", "s1->s0", "s1->s0#1", "s0->s1#1"]);
}

#[test]
fn all_pairs_arrive() {
    // A tree of seven switches with two hosts on each leaf.
    let mut links = vec![];
    for child in 1..7 {
        links.push((switch(child), switch((child - 1) / 2)));
    }
    for h in 0..8 {
        links.push((host(h), switch(3 + h / 2)));
    }
    let tree = plan(8, 7, &links);
    for from in 0..8 {
        for to in (0..8).filter(|&to| to != from) {
            let (a, b) = (from / 2, to / 2);
            let hops = if a == b {
                2
            } else if a / 2 == b / 2 {
                4
            } else {
                6
            };
            assert_eq!(path(&tree, from, to).len(), hops, "{from} to {to}");
        }
    }
}

#[test]
fn the_paths_through_a_very_long_chain_are_counted() {
    // Two links in each of the first seventy gaps: the number of paths overflows.
    let n = 20_000;
    let ends = [(host(0), switch(0)), (host(1), switch(n - 1))];
    let chain = |double: u32| {
        let again = (0..double).map(|i| (switch(i), switch(i + 1)));
        let links: Vec<_> = ends
            .into_iter()
            .chain((1..n).map(|i| (switch(i - 1), switch(i))))
            .chain(again)
            .collect();
        let routing = Routing::Ecmp { polarised: false };
        let plan = Blueprint { routing, ..plan(2, n, &links) };
        let net = Network::build(&plan, 1, Duration::ZERO, Duration::ZERO).expect("a chain");
        (net.path_count(HostId(0), HostId(1)), net.path_count(HostId(1), HostId(0)))
    };
    assert_eq!(chain(0), (1, 1));
    assert_eq!(chain(3), (8, 8));
    assert_eq!(chain(70), (u64::MAX, u64::MAX));
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "sends to")]
fn a_packet_to_its_own_host_panics() {
    let two = plan(2, 1, &[(host(0), switch(0)), (host(1), switch(0))]);
    Rig::quiet(&two, &[(ps(0), packet(0, 0, 100, 0))]);
}

#[test]
#[cfg(not(debug_assertions))]
fn a_packet_for_an_unknown_host_is_dropped() {
    let two = plan(2, 1, &[(host(0), switch(0)), (host(1), switch(0))]);
    let sends = [
        (ps(0), packet(0, 0, 100, 0)),
        (ps(0), packet(0, 2, 100, 1)),
        (ps(0), packet(2, 0, 100, 2)),
    ];
    let rig = Rig::quiet(&two, &sends);
    assert_eq!(rig.left, [None, None, None]);
    assert_eq!(rig.net.hops(), 0);
}
