//! Rejected blueprints and their error messages.

use lowtide_net::{
    Blueprint, BlueprintError, BufferSpec, ClassSet, ClassSpec, Framing, HostId, LinkSpec,
    MarkSpec, Network, NodeId, PortSpec, QueueLength, Ratio, Service, SwitchSpec,
};
use lowtide_units::{Bytes, Duration, Rate};

use crate::rig::marker;

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

/// Returns the error for two hosts `h0`, `h1` and two switches `s0`, `s1` with these links.
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
fn a_disconnected_network() {
    let e = error(&[(host(0), switch(0)), (host(1), switch(1))]);
    assert_eq!(e, BlueprintError::Disconnected { from: "h0".into(), to: "h1".into() });
    assert_eq!(e.to_string(), "there is no path from h0 to h1");
    let e = error(&[(host(0), switch(0)), (host(1), switch(0))]);
    assert_eq!(e, BlueprintError::Disconnected { from: "h0".into(), to: "s1".into() });
}

#[test]
fn an_empty_blueprint_is_valid() {
    let net = Network::build(&Blueprint::default(), 0, Duration::ZERO, Duration::ZERO).unwrap();
    assert_eq!((net.ports().count(), net.hops()), (0, 0));
}

const HALF: BufferSpec =
    BufferSpec::Dynamic { alpha: Ratio::new(1, 2).unwrap(), reserved: Bytes::new(400) };

/// Returns the error for a switch `s0` with 1000 B of shared memory and this port to host `h0`,
/// with these classes; empty if it is valid.
fn of_port(port: &PortSpec, classes: &[ClassSpec]) -> String {
    let mut plan = Blueprint {
        hosts: vec!["h0".into(), "h1".into()],
        switches: vec![SwitchSpec { memory: Some(Bytes::new(1_000)), ..SwitchSpec::from("s0") }],
        links: vec![link(host(0), switch(0)), link(host(1), switch(0))],
        class_sets: vec![classes.to_vec()],
        ..Blueprint::default()
    };
    plan.links[0].from_b.port = port.clone();
    let net = Network::build(&plan, 0, Duration::ZERO, Duration::ZERO);
    net.err().map(|e| e.to_string()).unwrap_or_default()
}

const CLASS: ClassSpec =
    ClassSpec { service: Service::Strict, buffer: BufferSpec::Unlimited, mark: MarkSpec::NONE };

#[test]
fn missing_or_insufficient_memory_is_rejected() {
    let half = PortSpec { buffer: HALF, ..PortSpec::NIC };
    assert_eq!(of_port(&half, &[]), "");
    // Two classes with 400 B each fit into 1000 B, three do not.
    let classes = PortSpec { classes: Some(ClassSet(0)), ..PortSpec::NIC };
    let class = ClassSpec { buffer: HALF, ..CLASS };
    assert_eq!(of_port(&classes, &[class.clone(), class.clone()]), "");
    assert_eq!(
        of_port(&classes, &[class.clone(), class.clone(), class]),
        "s0 has 1000 B of shared memory, of which its queues reserve 1200 B: raise the memory or lower \
         what is reserved"
    );
    let mut plan = Blueprint {
        hosts: vec!["h0".into()],
        switches: vec!["s0".into()],
        links: vec![link(host(0), switch(0))],
        ..Blueprint::default()
    };
    plan.links[0].from_b.port = half.clone();
    let error = |plan: &Blueprint| {
        Network::build(plan, 0, Duration::ZERO, Duration::ZERO).unwrap_err().to_string()
    };
    let want = "the port of link 0 at its second end has a dynamic threshold at a switch without shared \
                memory: give the switch `memory`";
    assert_eq!(error(&plan), want);
    plan.links[0].from_a.port = half;
    let want = "the port of link 0 at its first end is a host's own and shares no memory: make its buffer \
                static or unlimited";
    assert_eq!(error(&plan), want);
}

#[test]
fn host_ports_need_known_departures() {
    let mut plan = Blueprint {
        hosts: vec!["h0".into()],
        switches: vec!["s0".into()],
        links: vec![link(host(0), switch(0))],
        class_sets: vec![vec![CLASS]],
        ..Blueprint::default()
    };
    let mut error = |port: PortSpec| {
        plan.links[0].from_a.port = port;
        let net = Network::build(&plan, 0, Duration::ZERO, Duration::ZERO);
        net.err().map(|e| e.to_string()).unwrap_or_default()
    };
    let step = |not_ect| marker("step-dequeue", &[("k", "5 pkt"), ("not-ect", not_ect)]);
    assert_eq!(error(PortSpec { mark: step("ignore"), ..PortSpec::NIC }), "");
    for mark in [marker("codel", &[]), step("drop")] {
        assert!(
            error(PortSpec { mark, ..PortSpec::NIC }).contains("take one that decides at enqueue")
        );
    }
    let classes = error(PortSpec { classes: Some(ClassSet(0)), ..PortSpec::NIC });
    assert!(classes.contains("is a host's own and has classes"), "{classes}");
}

#[test]
fn invalid_classes_are_rejected() {
    let port = PortSpec { classes: Some(ClassSet(0)), ..PortSpec::NIC };
    let at = "the port of link 0 at its second end ";
    assert_eq!(of_port(&port, &vec![CLASS; 8]), "");
    assert_eq!(of_port(&port, &vec![CLASS; 9]), format!("{at}has 9 classes: give it 1 to 8"));
    assert_eq!(of_port(&port, &[]), format!("{at}has 0 classes: give it 1 to 8"));
    let other = of_port(&PortSpec { classes: Some(ClassSet(1)), ..port.clone() }, &[CLASS]);
    assert_eq!(other, format!("{at}has classes of list 1, of which there are only 1"));
    let own = of_port(
        &PortSpec { buffer: BufferSpec::Static(QueueLength::Packets(9)), ..port.clone() },
        &[CLASS],
    );
    assert!(own.contains("give those to the classes"), "{own}");
    let never = Service::Dwrr { quantum: Bytes::new(0) };
    let never = of_port(&port, &[ClassSpec { service: never, ..CLASS }]);
    assert!(never.contains("give it a full packet or more"), "{never}");
    let mark = marker("phantom", &[("k", "3 kB")]);
    let line = PortSpec { mark: mark.clone(), ..PortSpec::NIC };
    assert_eq!(of_port(&line, &[]), "", "valid for a whole line");
    let phantom = of_port(&port, &[ClassSpec { mark, ..CLASS }]);
    assert!(phantom.contains("take another marker, or one queue"), "{phantom}");
}

#[test]
fn markers_whose_values_do_not_fit_each_other_are_rejected() {
    let red = [("min", "20 pkt"), ("max", "60 pkt"), ("not-ect", "drop")];
    let error = |name,
                 own: &[(&'static str, &'static str)],
                 other: (&'static str, &'static str)| {
        assert!(MarkSpec::new(name, own).is_ok(), "{own:?}");
        let mut params: Vec<_> = own.iter().copied().filter(|(name, _)| *name != other.0).collect();
        params.push(other);
        MarkSpec::new(name, &params).unwrap_err()
    };
    let pi = [("q-ref", "50"), ("a", "18220 ppb"), ("b", "18160 ppb")];
    for (name, own, other, help) in [
        ("red", &red[..], ("max", "90 kB"), "write both in one unit"),
        ("red", &red, ("max", "20 pkt"), "raise `max`, or lower `min`"),
        ("red", &red, ("max-p", "0 %"), "give a share above 0 %"),
        ("red", &red, ("max-p", "101 %"), "0 % to 100 %"),
        ("red", &red, ("weight", "25"), "0 to 24"),
        ("red", &red, ("mean-packet", "0 B"), "a size, 1 B to"),
        ("pi", &pi, ("b", "18220 ppb"), "`a` must be above `b`"),
        ("pi", &pi, ("b", "-1 ppb"), "0 % to 100 %"),
        ("pi", &pi, ("period", "0 s"), "`period`"),
        ("pie", &[], ("period", "0 s"), "`period`"),
        ("codel", &[], ("interval", "0 s"), "`interval`"),
        ("phantom", &[("k", "3 kB")], ("k", "3 pkt"), "write it in bytes"),
    ] {
        let error = error(name, own, other);
        assert_eq!(error.param, Some(other.0));
        assert!(error.to_string().contains(help), "{error}");
    }
}
