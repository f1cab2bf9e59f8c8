//! Switches in a ring, with hosts on each: two shortest paths between opposite switches.

use lowtide_net::topology::tree::{Layer, racks};
use lowtide_net::topology::{HostLayout, TopologyEntry, count, framing, number};
use lowtide_net::{Blueprint, NodeId, topology_params};
use lowtide_schema::DefaultValue::{Is, Required};
use lowtide_schema::{ParamError, Values};

/// Registration.
pub(crate) static ENTRY: TopologyEntry = TopologyEntry {
    name: "ring",
    summary: "switches in a ring, with hosts on each",
    spec: "lowtide",
    params: topology_params!(
        "lowtide",
        [
            count("nodes", Required, "Switches of the ring, `node0` and so on.", "lowtide"),
            count("hosts-per-node", Is("1"), "Hosts on each switch.", "lowtide"),
        ],
        layers: ["ring" => "links between neighbours"]
    ),
    hosts: HostLayout::Fixed(|values| values.count("nodes") * values.count("hosts-per-node")),
    named_links: &[],
    multipath: true,
    explicit_links: false,
    switch_links: |values| values.count("nodes"),
    check,
    build: |args| Ok(ring(&args.values)),
};

fn check(values: &Values) -> Result<(), ParamError> {
    match values.count("nodes") {
        3.. => Ok(()),
        nodes => Err(ParamError::new(
            "nodes",
            format!("there is no ring with nodes = {nodes}"),
            "it must be at least 3",
        )),
    }
}

fn ring(values: &Values) -> Blueprint {
    let (nodes, per_node) = (number(values, "nodes"), number(values, "hosts-per-node"));
    let (host, layer) = (Layer::of(values, Layer::HOST), Layer::of(values, "ring"));
    let mut plan = racks((nodes, per_node), &host, framing(values), &[("node", nodes)]);
    for node in 0..nodes {
        let (a, b) = (NodeId::Switch(node), NodeId::Switch((node + 1) % nodes));
        plan.links.push(layer.link(a, b, framing(values)));
    }
    plan
}
