//! Explicit networks.

use lowtide_net::topology::GraphLink;
use lowtide_net::topology::graph::{Graph, graph};
use lowtide_net::{
    BlueprintError, BufferSpec, Framing, HostId, Network, NodeId, PortSpec, QueueLength,
};
use lowtide_units::Duration;

use crate::fabrics::layer;
use crate::rig::{Rig, packet, ps};

fn link(a: &str, b: &str) -> GraphLink {
    GraphLink { a: a.to_owned(), b: b.to_owned(), line: layer(10, 1) }
}

fn of(hosts: &[&str], switches: &[&str], links: Vec<GraphLink>) -> Graph {
    let own = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
    Graph { hosts: own(hosts), switches: own(switches), links, framing: Framing::Ip }
}

#[test]
fn links_of_hosts_come_first_and_ports_are_of_switches() {
    let buffer = BufferSpec::Static(QueueLength::Packets(7));
    let port = PortSpec { buffer, ..PortSpec::NIC };
    let mut links = vec![link("s0", "s1"), link("s1", "b"), link("a", "s0")];
    links[1].line = lowtide_net::topology::tree::Layer { port: port.clone(), ..layer(1, 3) };
    let plan = graph(&of(&["a", "b"], &["s0", "s1"], links)).unwrap();
    let ends: Vec<_> = plan.links.iter().map(|l| (plan.name(l.a), plan.name(l.b))).collect();
    assert_eq!(ends, [("a", "s0"), ("b", "s1"), ("s0", "s1")]);
    let of_b = &plan.links[1];
    assert_eq!((&of_b.from_a.port, &of_b.from_b.port), (&PortSpec::NIC, &port));
    assert_eq!(of_b.a, NodeId::Host(HostId(1)));
    // 100 B: twice 80 ns and 1 us at 10 Gbit/s, then 800 ns and 3 us.
    let rig = Rig::quiet(&plan, &[(ps(0), packet(0, 1, 100, 0))]);
    assert_eq!(rig.times(), [2 * 1_080_000 + 3_800_000]);
}

fn error(hosts: &[&str], links: Vec<GraphLink>) -> BlueprintError {
    let built = graph(&of(hosts, &["s0", "s1"], links))
        .and_then(|plan| Network::build(&plan, 0, Duration::ZERO, Duration::ZERO).map(|_| ()));
    built.expect_err("this is no network")
}

#[test]
fn invalid_graphs_are_rejected_by_name() {
    let cases = [
        (error(&["a", "s1"], vec![]), "s1 is the name of two nodes; each needs a unique name"),
        (
            error(&["a"], vec![link("a", "s0"), link("s0", "s2")]),
            "link 1 ends at s2, which is neither a host nor a switch",
        ),
        (error(&["a"], vec![link("s0", "s1"), link("s1", "s1")]), "link 1 connects s1 to itself"),
        (
            error(&["a", "b"], vec![link("s1", "s0"), link("a", "s0")]),
            "host b has no link; each host needs exactly one",
        ),
        (
            error(
                &["a", "b"],
                vec![link("s1", "s0"), link("a", "s0"), link("b", "s0"), link("s1", "a")],
            ),
            "host a has links 1 and 3; each host needs exactly one",
        ),
        (
            error(&["a", "b"], vec![link("a", "s0"), link("b", "s1")]),
            "there is no path from a to b",
        ),
    ];
    for (error, text) in cases {
        assert_eq!(error.to_string(), text);
    }
}
