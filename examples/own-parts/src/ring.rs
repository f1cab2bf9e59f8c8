//! Switches in a ring, with hosts on each, and optionally a chord: two shortest paths between
//! opposite switches.

use lowtide_net::topology::tree::{Layer, racks};
use lowtide_net::topology::{HostLayout, NamedLink, TopologyEntry, count, framing, number};
use lowtide_net::{Blueprint, NodeId, topology_params};
use lowtide_schema::DefaultValue::{Is, Required};
use lowtide_schema::{Param, ParamError, ValueKind, Values};

/// Registration.
pub(crate) static ENTRY: TopologyEntry = TopologyEntry {
    name: "ring",
    summary: "switches in a ring, with hosts on each",
    spec: "lowtide",
    params: topology_params!(
        "lowtide",
        [
            count("nodes", Required, "Switches, `node0` and so on.", "lowtide"),
            count("hosts-per-node", Is("1"), "Hosts on each switch.", "lowtide"),
            Param {
                name: "chord",
                kind: ValueKind::Or { kind: &ValueKind::Count { min: 2, max: 9 }, word: "off" },
                default: Is("off"),
                doc: "Switch with a direct link to `node0`, or none.",
                source: "lowtide",
            },
        ],
        layers: ["ring" => "links between neighbours"]
    ),
    hosts: HostLayout::Fixed(|values| values.count("nodes") * values.count("hosts-per-node")),
    named_links: &[NamedLink {
        name: "first",
        doc: "the first link of the ring",
        ends: ["node0", "node1"],
    }],
    multipath: true,
    explicit_links: false,
    switch_links: |values| values.count("nodes") + u64::from(values.is_set("chord")),
    check,
    build: |args| Ok(ring(&args.values)),
};

fn check(values: &Values) -> Result<(), ParamError> {
    match values.count("nodes") {
        3.. => Ok(()),
        n => Err(ParamError::new(
            "nodes",
            format!("there is no ring with nodes = {n}"),
            "it must be at least 3",
        )),
    }
}

fn ring(values: &Values) -> Blueprint {
    let (nodes, per_node) = (number(values, "nodes"), number(values, "hosts-per-node"));
    let (host, layer) = (Layer::of(values, Layer::HOST), Layer::of(values, "ring"));
    let mut plan = racks((nodes, per_node), &host, framing(values), &[("node", nodes)]);
    for node in 0..nodes {
        let ends = (NodeId::Switch(node), NodeId::Switch((node + 1) % nodes));
        plan.links.push(layer.link(ends.0, ends.1, framing(values)));
    }
    if let Some(node) = values.find_count("chord") {
        let ends = (NodeId::Switch(0), NodeId::Switch(node as u32));
        plan.links.push(layer.link(ends.0, ends.1, framing(values)));
    }
    plan
}
