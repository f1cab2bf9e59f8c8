//! Rejected blueprints and their error messages.

use lowtide_net::{
    Blueprint, BlueprintError, BufferSpec, ClassSet, ClassSpec, CoDelSpec, CongestionSignal,
    Framing, HostId, LinkSpec, MarkSpec, Network, NodeId, NotEct, PiSpec, PieSpec, PortSpec,
    QueueLength, Ratio, RedSpec, Service, SwitchSpec,
};
use lowtide_units::{Bytes, Duration, Fraction, Rate};

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
fn of_port(port: PortSpec, classes: &[ClassSpec]) -> String {
    let mut plan = Blueprint {
        hosts: vec!["h0".into(), "h1".into()],
        switches: vec![SwitchSpec { memory: Some(Bytes::new(1_000)), ..SwitchSpec::from("s0") }],
        links: vec![link(host(0), switch(0)), link(host(1), switch(0))],
        class_sets: vec![classes.to_vec()],
        ..Blueprint::default()
    };
    plan.links[0].from_b.port = port;
    let net = Network::build(&plan, 0, Duration::ZERO, Duration::ZERO);
    net.err().map(|e| e.to_string()).unwrap_or_default()
}

fn marked(mark: MarkSpec) -> String {
    of_port(PortSpec { mark, ..PortSpec::NIC }, &[])
}

const CLASS: ClassSpec =
    ClassSpec { service: Service::Strict, buffer: BufferSpec::Unlimited, mark: MarkSpec::None };

#[test]
fn missing_or_insufficient_memory_is_rejected() {
    let half = PortSpec { buffer: HALF, ..PortSpec::NIC };
    assert_eq!(of_port(half, &[]), "");
    // Two classes with 400 B each fit into 1000 B, three do not.
    let classes = PortSpec { classes: Some(ClassSet(0)), ..PortSpec::NIC };
    let class = ClassSpec { buffer: HALF, ..CLASS };
    assert_eq!(of_port(classes, &[class; 2]), "");
    assert_eq!(
        of_port(classes, &[class; 3]),
        "s0 has 1000 B of shared memory, of which its queues reserve 1200 B: raise the memory or lower \
         what is reserved"
    );
    let mut plan = Blueprint {
        hosts: vec!["h0".into()],
        switches: vec!["s0".into()],
        links: vec![link(host(0), switch(0))],
        ..Blueprint::default()
    };
    plan.links[0].from_b.port = half;
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
    let codel = CoDelSpec {
        target: Duration::from_ms(5),
        interval: Duration::from_ms(100),
        signal: CongestionSignal::Drop,
    };
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
    let step = |not_ect| MarkSpec::StepDequeue { k: QueueLength::Packets(5), not_ect };
    assert_eq!(error(PortSpec { mark: step(NotEct::Ignore), ..PortSpec::NIC }), "");
    for mark in [MarkSpec::CoDel(codel), step(NotEct::Drop)] {
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
    assert_eq!(of_port(port, &[CLASS; 8]), "");
    assert_eq!(of_port(port, &[CLASS; 9]), format!("{at}has 9 classes: give it 1 to 8"));
    assert_eq!(of_port(port, &[]), format!("{at}has 0 classes: give it 1 to 8"));
    let other = of_port(PortSpec { classes: Some(ClassSet(1)), ..port }, &[CLASS]);
    assert_eq!(other, format!("{at}has classes of list 1, of which there are only 1"));
    let own =
        of_port(PortSpec { buffer: BufferSpec::Static(QueueLength::Packets(9)), ..port }, &[CLASS]);
    assert!(own.contains("give those to the classes"), "{own}");
    let never = Service::Dwrr { quantum: Bytes::new(0) };
    let never = of_port(port, &[ClassSpec { service: never, ..CLASS }]);
    assert!(never.contains("give it a full packet or more"), "{never}");
    let (k, gamma) = (Bytes::new(3_000), Fraction::from_percent(95));
    let phantom = MarkSpec::Phantom { k, gamma, not_ect: NotEct::Ignore };
    assert_eq!(marked(phantom), "", "valid for a whole line");
    let phantom = of_port(port, &[ClassSpec { mark: phantom, ..CLASS }]);
    assert!(phantom.contains("take another marker, or one queue"), "{phantom}");
}

#[test]
fn invalid_markers_are_rejected() {
    let red = RedSpec {
        min: QueueLength::Packets(20),
        max: QueueLength::Packets(60),
        max_p: Fraction::from_percent(10),
        weight: 9,
        gentle: false,
        mean_packet: Bytes::new(1_500),
        signal: CongestionSignal::Mark(NotEct::Drop),
    };
    assert_eq!(marked(MarkSpec::Red(red)), "");
    let (kb, zero) = (QueueLength::Bytes(Bytes::new(90_000)), Fraction::ZERO);
    for (bad, help) in [
        (RedSpec { max: kb, ..red }, "write both in one"),
        (RedSpec { max: red.min, ..red }, "raise max"),
        (RedSpec { max_p: zero, ..red }, "above 0 %, at most 100 %"),
        (RedSpec { max_p: Fraction::from_percent(101), ..red }, "above 0 %, at most 100 %"),
        (RedSpec { weight: 25, ..red }, "a weight beyond 24"),
        (RedSpec { mean_packet: Bytes::new(0), ..red }, "a mean packet of 0 B"),
    ] {
        assert!(marked(MarkSpec::Red(bad)).contains(help), "{}", marked(MarkSpec::Red(bad)));
    }
    let (a, b) = (Fraction::from_ppb(18_220), Fraction::from_ppb(18_160));
    let pi = PiSpec {
        a,
        b,
        q_ref: 50,
        period: Duration::from_us(6_250),
        signal: CongestionSignal::Drop,
    };
    assert_eq!(marked(MarkSpec::Pi(pi)), "");
    assert!(marked(MarkSpec::Pi(PiSpec { b: a, ..pi })).contains("a above b"));
    assert!(
        marked(MarkSpec::Pi(PiSpec { b: Fraction::from_ppb(-1), ..pi })).contains("b not negative")
    );
    assert!(
        marked(MarkSpec::Pi(PiSpec { period: Duration::ZERO, ..pi })).contains("period of zero")
    );
    let pie = PieSpec {
        target: Duration::from_ms(15),
        period: Duration::from_ms(15),
        alpha: Ratio::new(1, 8).unwrap(),
        beta: Ratio::new(5, 4).unwrap(),
        burst: Duration::from_ms(150),
        mark_limit: Fraction::from_percent(10),
        mean_packet: Bytes::new(1_500),
        signal: CongestionSignal::Drop,
    };
    assert_eq!(marked(MarkSpec::Pie(pie)), "");
    let still = PieSpec { period: Duration::ZERO, ..pie };
    assert!(marked(MarkSpec::Pie(still)).contains("PIE with a period of zero"));
    let (target, interval) = (Duration::from_ms(5), Duration::ZERO);
    let codel = CoDelSpec { target, interval, signal: CongestionSignal::Drop };
    assert!(marked(MarkSpec::CoDel(codel)).contains("interval of zero"));
}
