//! Two layers: every leaf switch is connected to every spine switch, hosts are on the leaves.

use super::params;
use super::tree::{Check, Layer, racks};
use crate::registry::{Param, ParamFormat, RegistryEntry};
use crate::{Blueprint, BlueprintError, Framing, NodeId};

/// Registration.
pub static ENTRY: RegistryEntry = RegistryEntry {
    name: "leaf-spine",
    summary: "leaf switches with hosts, each connected to every spine switch",
    spec: "lowtide",
    params: &[
        Param {
            name: "leaves",
            kind: ParamFormat::Number,
            default: None,
            doc: "Leaf switches, `leaf0` and so on; each is a rack.",
        },
        Param {
            name: "spines",
            kind: ParamFormat::Number,
            default: None,
            doc: "Spine switches, `spine0` and so on.",
        },
        Param {
            name: "hosts-per-leaf",
            kind: ParamFormat::Number,
            default: None,
            doc: "Hosts on each leaf.",
        },
        Param {
            name: "parallel",
            kind: ParamFormat::Number,
            default: Some("1"),
            doc: "Links between each leaf and each spine.",
        },
        params::HOST,
        Param {
            name: "fabric",
            kind: ParamFormat::Layer,
            default: None,
            doc: "Links between leaves and spines.",
        },
        params::FRAMING,
    ],
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
    /// Returns the number of hosts.
    pub fn host_count(&self) -> u64 {
        u64::from(self.leaves) * u64::from(self.hosts_per_leaf)
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
