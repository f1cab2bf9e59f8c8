//! The k-ary fat tree: switches of `k` ports, full bisection bandwidth.

use lowtide_schema::DefaultValue::Required;
use lowtide_schema::{ParamError, Values};

use super::three_tier::{ThreeTier, build};
use super::tree::{Check, Layer};
use super::{HostLayout, TopologyEntry, count, framing, number};
use crate::{Blueprint, BlueprintError, Framing, topology_params};

/// The specification.
const SOURCE: &str = "Al-Fares, Loukissas, Vahdat, SIGCOMM 2008, §3";

/// Registration.
pub static ENTRY: TopologyEntry = TopologyEntry {
    name: "fat-tree",
    summary: "k pods of k/2 racks of k/2 hosts, (k/2)^2 core switches",
    spec: SOURCE,
    params: topology_params!(
        SOURCE,
        [count("k", Required, "Ports of every switch: an even number, k^3 / 4 hosts.", SOURCE)],
        layers: [
            "aggregation" => "links between top-of-rack and aggregation switches",
            "core" => "links between aggregation and core switches",
        ]
    ),
    hosts: HostLayout::Fixed(|values| FatTree::of(values).host_count()),
    named_links: &[],
    multipath: true,
    explicit_links: false,
    switch_links: |values| FatTree::of(values).switch_links(),
    check: |values| FatTree::of(values).check(),
    build: |args| fat_tree(&FatTree::of(&args.values)),
};

/// The parameters of a fat tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FatTree {
    /// Ports of every switch, even, two or more: `k` pods of `k / 2` racks of `k / 2` hosts.
    pub k: u32,
    /// Links of the hosts.
    pub host: Layer,
    /// Links between top-of-rack ("edge") and aggregation switches.
    pub aggregation: Layer,
    /// Links between aggregation and core switches.
    pub core: Layer,
    /// Framing on every line.
    pub framing: Framing,
}

impl FatTree {
    /// Returns the tree of the values of [`ENTRY`].
    fn of(values: &Values) -> Self {
        Self {
            k: number(values, "k"),
            host: Layer::of(values, Layer::HOST),
            aggregation: Layer::of(values, "aggregation"),
            core: Layer::of(values, "core"),
            framing: framing(values),
        }
    }

    /// Returns the number of hosts.
    pub fn host_count(&self) -> u64 {
        let half = u64::from(self.k / 2);
        u64::from(self.k).saturating_mul(half * half)
    }

    fn switch_links(&self) -> u64 {
        let k = u64::from(self.k);
        (k * k).saturating_mul(k) / 2
    }

    /// Checks that such a tree exists.
    ///
    /// # Errors
    /// `k` is odd or zero.
    pub fn check(&self) -> Result<(), ParamError> {
        if self.k > 0 && self.k.is_multiple_of(2) {
            return Ok(());
        }
        let need = "it must be an even number from 2 on".to_owned();
        Err(Check(ENTRY.name).error("k", self.k.into(), need))
    }
}

/// Returns the blueprint of `tree`, with nodes and links in the order and by the names of
/// [`super::three_tier::three_tier`].
pub fn fat_tree(tree: &FatTree) -> Result<Blueprint, BlueprintError> {
    let (k, half) = (tree.k, tree.k / 2);
    tree.check()?;
    Check::links(&[&[3, k, half, half]])?;
    Ok(build(&ThreeTier {
        pods: k,
        tors_per_pod: half,
        aggs_per_pod: half,
        cores: half * half,
        hosts_per_tor: half,
        tor_uplinks: half,
        agg_uplinks: half,
        host: tree.host.clone(),
        aggregation: tree.aggregation.clone(),
        core: tree.core.clone(),
        framing: tree.framing,
    }))
}
