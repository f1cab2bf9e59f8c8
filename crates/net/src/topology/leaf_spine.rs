//! Two layers: every leaf switch is connected to every spine switch, hosts are on the leaves.

use lowtide_schema::DefaultValue::{Is, Required};
use lowtide_schema::Values;

use super::tree::{Check, Layer, racks};
use super::{HostLayout, TopologyEntry, count, framing, number};
use crate::{Blueprint, BlueprintError, Framing, NodeId, topology_params};

/// Registration.
pub static ENTRY: TopologyEntry = TopologyEntry {
    name: "leaf-spine",
    summary: "leaf switches with hosts, each connected to every spine switch",
    spec: "lowtide",
    params: topology_params!(
        "lowtide",
        [
            count("leaves", Required, "Leaf switches, `leaf0` and so on; each is a rack.", "lowtide"),
            count("spines", Required, "Spine switches, `spine0` and so on.", "lowtide"),
            count("hosts-per-leaf", Required, "Hosts on each leaf.", "lowtide"),
            count("parallel", Is("1"), "Links between each leaf and each spine.", "lowtide"),
        ],
        layers: ["fabric" => "links between leaves and spines"]
    ),
    hosts: HostLayout::Fixed(|values| LeafSpine::of(values).host_count()),
    named_links: &[],
    multipath: true,
    explicit_links: false,
    switch_links: |values| LeafSpine::of(values).switch_links(),
    check: |_| Ok(()),
    build: |args| leaf_spine(&LeafSpine::of(&args.values)),
};

/// The parameters of a leaf-spine network.
///
/// A leaf is oversubscribed by `hosts_per_leaf` times the host rate to `spines` times `parallel`
/// times the fabric rate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeafSpine {
    /// Leaf switches, one or more: switches `0..leaves`, called `leaf0` and so on.
    pub leaves: u32,
    /// Spine switches, one or more: the rest, called `spine0` and so on.
    pub spines: u32,
    /// Hosts on each leaf, one or more.
    pub hosts_per_leaf: u32,
    /// Links between each leaf and each spine, one or more.
    pub parallel: u32,
    /// Links of the hosts.
    pub host: Layer,
    /// Links between leaves and spines.
    pub fabric: Layer,
    /// Framing on every line.
    pub framing: Framing,
}

impl LeafSpine {
    /// Returns the network of the values of [`ENTRY`].
    fn of(values: &Values) -> Self {
        Self {
            leaves: number(values, "leaves"),
            spines: number(values, "spines"),
            hosts_per_leaf: number(values, "hosts-per-leaf"),
            parallel: number(values, "parallel"),
            host: Layer::of(values, Layer::HOST),
            fabric: Layer::of(values, "fabric"),
            framing: framing(values),
        }
    }

    /// Returns the number of hosts.
    pub fn host_count(&self) -> u64 {
        u64::from(self.leaves) * u64::from(self.hosts_per_leaf)
    }

    fn switch_links(&self) -> u64 {
        let pairs = u64::from(self.leaves) * u64::from(self.spines);
        pairs.saturating_mul(self.parallel.into())
    }
}

/// Returns the blueprint of `net`.
///
/// Hosts are numbered leaf by leaf: host `i` is on leaf `i / hosts_per_leaf` and is named
/// `rackL.J`. Link `i` connects host `i` (end `a`) to its leaf. The links from each leaf (end `a`)
/// to each spine follow, leaf by leaf, spine by spine, parallel ones together.
pub fn leaf_spine(net: &LeafSpine) -> Result<Blueprint, BlueprintError> {
    let &LeafSpine { leaves, spines, hosts_per_leaf, parallel, framing, .. } = net;
    Check(ENTRY.name).positive(&[
        ("leaves", leaves),
        ("spines", spines),
        ("hosts-per-leaf", hosts_per_leaf),
        ("parallel", parallel),
    ])?;
    Check::links(&[&[leaves, hosts_per_leaf], &[leaves, spines, parallel]])?;
    let switches = [("leaf", leaves), ("spine", spines)];
    let mut plan = racks((leaves, hosts_per_leaf), &net.host, framing, &switches);
    for leaf in 0..leaves {
        for spine in 0..spines {
            let ends = (NodeId::Switch(leaf), NodeId::Switch(leaves + spine));
            for _ in 0..parallel {
                plan.links.push(net.fabric.link(ends.0, ends.1, framing));
            }
        }
    }
    Ok(plan)
}
