//! What is refused, and how it is said.

use lowtide_net::{
    Blueprint, BlueprintError, Framing, HostId, LinkSpec, Network, NodeId, PortSpec,
};
use lowtide_units::{Duration, Rate};

fn host(i: u32) -> NodeId {
    NodeId::Host(HostId(i))
}

fn switch(i: u32) -> NodeId {
    NodeId::Switch(i)
}

pub(crate) fn link(a: NodeId, b: NodeId) -> LinkSpec {
    let (rate, delay) = (Rate::from_gbps(10), Duration::from_us(1));
    LinkSpec::symmetric((a, PortSpec::NIC), (b, PortSpec::NIC), rate, delay, Framing::Ethernet)
}

/// Two hosts `h0`, `h1` and two switches `s0`, `s1` with these links.
fn error(links: &[(NodeId, NodeId)]) -> BlueprintError {
    let plan = Blueprint {
        hosts: vec!["h0".into(), "h1".into()],
        switches: vec!["s0".into(), "s1".into()],
        links: links.iter().map(|&(a, b)| link(a, b)).collect(),
        ..Blueprint::default()
    };
    Network::build(&plan, 0, Duration::ZERO, Duration::ZERO).expect_err("this is no network")
}

#[test]
fn a_link_to_nowhere() {
    let e = error(&[(host(0), switch(0)), (host(2), switch(0))]);
    assert_eq!(e, BlueprintError::UnknownNode { link: 1, node: host(2), count: 2 });
    assert_eq!(e.to_string(), "link 1 ends at host 2, of which there are only 2");
    let e = error(&[(host(0), switch(2))]);
    assert_eq!(e, BlueprintError::UnknownNode { link: 0, node: switch(2), count: 2 });
}

#[test]
fn a_link_to_itself() {
    let e = error(&[(host(0), switch(0)), (switch(1), switch(1))]);
    assert_eq!(e, BlueprintError::SelfLink { link: 1, name: "s1".into() });
    assert_eq!(e.to_string(), "link 1 connects s1 to itself");
}

#[test]
fn a_host_without_a_link() {
    let e = error(&[(host(0), switch(0)), (switch(0), switch(1))]);
    assert_eq!(e, BlueprintError::NoLink { name: "h1".into() });
    assert_eq!(e.to_string(), "host h1 has no link; each host needs exactly one");
}

#[test]
fn a_host_with_two_links() {
    let e = error(&[
        (host(0), switch(0)),
        (switch(0), switch(1)),
        (switch(1), host(1)),
        (switch(0), host(1)),
    ]);
    assert_eq!(e, BlueprintError::ManyLinks { name: "h1".into(), first: 2, second: 3 });
    assert_eq!(e.to_string(), "host h1 has links 2 and 3; each host needs exactly one");
}

#[test]
fn two_islands() {
    let e = error(&[(host(0), switch(0)), (host(1), switch(1))]);
    assert_eq!(e, BlueprintError::Disconnected { from: "h0".into(), to: "h1".into() });
    assert_eq!(e.to_string(), "there is no way from h0 to h1");
    let e = error(&[(host(0), switch(0)), (host(1), switch(0))]);
    assert_eq!(e, BlueprintError::Disconnected { from: "h0".into(), to: "s1".into() });
}

#[test]
fn nothing_at_all_is_a_network() {
    let net = Network::build(&Blueprint::default(), 0, Duration::ZERO, Duration::ZERO).unwrap();
    assert_eq!((net.ports().count(), net.hops()), (0, 0));
}
