//! Hosts on the left of `switch0`, hosts on the right of `switch1`, one link between the switches.

use lowtide_units::{Duration, Rate};

use super::tree::Layer;
use super::{HostLayout, HostLine, NamedLink, Side, TopologyEntry, framing};
use crate::{Blueprint, Framing, LinkSpec, NodeId, PortSpec, topology_params};

/// Registration.
pub static ENTRY: TopologyEntry = TopologyEntry {
    name: "dumbbell",
    summary: "two switches with hosts on each, one link between them",
    spec: "lowtide",
    params: topology_params!("lowtide", [], layers: [
        "bottleneck" => "line between the switches",
    ]),
    hosts: HostLayout::Sides(&[
        Side { name: "left", doc: "The hosts on `switch0`.", required: true },
        Side { name: "right", doc: "The hosts on `switch1`.", required: true },
    ]),
    named_links: &[NamedLink {
        name: "bottleneck",
        doc: "the line between the switches",
        ends: ["switch0", "switch1"],
    }],
    multipath: false,
    explicit_links: false,
    switch_links: |_| 1,
    check: |_| Ok(()),
    build: |args| {
        let Layer { rate, delay, port } = Layer::of(&args.values, "bottleneck");
        Ok(dumbbell(&Dumbbell {
            left: args.host_lines(0),
            right: args.host_lines(1),
            bottleneck_rate: rate,
            bottleneck_delay: delay,
            framing: framing(&args.values),
            port: PortSpec::NIC,
            bottleneck_port: port,
        }))
    },
};

/// The parameters of a dumbbell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dumbbell {
    /// The hosts on `switch0`; they are numbered first.
    pub left: Vec<HostLine>,
    /// The hosts on `switch1`.
    pub right: Vec<HostLine>,
    /// Rate between the switches.
    pub bottleneck_rate: Rate,
    /// Propagation delay between the switches.
    pub bottleneck_delay: Duration,
    /// Framing on every line.
    pub framing: Framing,
    /// The ports of switches towards hosts.
    pub port: PortSpec,
    /// The port of each switch towards the other.
    pub bottleneck_port: PortSpec,
}

/// Returns the blueprint of `dumbbell`.
///
/// Link `i` connects host `i` (end `a`) to its switch; the last link connects `switch0` to
/// `switch1`.
pub fn dumbbell(dumbbell: &Dumbbell) -> Blueprint {
    let left = dumbbell.left.iter().map(|host| (host, 0));
    let right = dumbbell.right.iter().map(|host| (host, 1));
    let mut plan =
        Blueprint { switches: vec!["switch0".into(), "switch1".into()], ..Blueprint::default() };
    for (i, (host, switch)) in left.chain(right).enumerate() {
        plan.hosts.push(host.name.clone());
        plan.links.push(host.link(i, switch, dumbbell.framing, dumbbell.port.clone()));
    }
    plan.links.push(LinkSpec::symmetric(
        (NodeId::Switch(0), dumbbell.bottleneck_port.clone()),
        (NodeId::Switch(1), dumbbell.bottleneck_port.clone()),
        dumbbell.bottleneck_rate,
        dumbbell.bottleneck_delay,
        dumbbell.framing,
    ));
    plan
}
