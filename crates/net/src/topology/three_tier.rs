//! Three layers: racks of hosts, aggregation switches in pods, core switches. The tree of HULL and
//! DX.

use lowtide_schema::DefaultValue::Is;
use lowtide_schema::{ParamError, Values};

use super::tree::{Check, Layer, racks};
use super::{HostLayout, TopologyEntry, count, framing, number};
use crate::{Blueprint, BlueprintError, Framing, NodeId, topology_params};

/// The paper with the defaults.
const SOURCE: &str = "DX §VI-C";

/// Registration.
pub static ENTRY: TopologyEntry = TopologyEntry {
    name: "three-tier",
    summary: "pods of top-of-rack and aggregation switches under a layer of core switches",
    spec: "DX §VI-C, after HULL (NSDI 2012): 192 hosts, 32 ToR, 16 aggregation, 8 core switches",
    params: topology_params!(
        SOURCE,
        [
            count("pods", Is("8"), "Pods.", SOURCE),
            count(
                "tors-per-pod",
                Is("4"),
                "Top-of-rack switches of a pod; `tor0` and so on, each is a rack.",
                SOURCE,
            ),
            count(
                "aggs-per-pod",
                Is("2"),
                "Aggregation switches of a pod; `agg0` and so on.",
                SOURCE,
            ),
            count(
                "cores",
                Is("8"),
                "Core switches, `core0` and so on; a multiple of `aggs-per-pod`.",
                SOURCE,
            ),
            count("hosts-per-tor", Is("6"), "Hosts of a rack.", SOURCE),
            count(
                "tor-uplinks",
                Is("2"),
                "Links from a top-of-rack switch to its pod's aggregation; a multiple of `aggs-per-pod`.",
                SOURCE,
            ),
            count(
                "agg-uplinks",
                Is("4"),
                "Links from an aggregation switch to the cores; a multiple of `cores / aggs-per-pod`.",
                SOURCE,
            ),
        ],
        layers: [
            "aggregation" => "links between top-of-rack and aggregation switches",
            "core" => "links between aggregation and core switches",
        ]
    ),
    hosts: HostLayout::Fixed(|values| ThreeTier::of(values).host_count()),
    named_links: &[],
    multipath: true,
    explicit_links: false,
    switch_links: |values| ThreeTier::of(values).switch_links(),
    check: |values| ThreeTier::of(values).check(),
    build: |args| three_tier(&ThreeTier::of(&args.values)),
};

/// The parameters of a three-tier tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreeTier {
    /// Pods, one or more.
    pub pods: u32,
    /// Top-of-rack switches per pod, one or more. They are switches `0..pods * tors_per_pod`, pod
    /// by pod, named `tor0` and so on.
    pub tors_per_pod: u32,
    /// Aggregation switches per pod, one or more. They come next, pod by pod, named `agg0` and so
    /// on.
    pub aggs_per_pod: u32,
    /// Core switches, a multiple of `aggs_per_pod`. They come last, named `core0` and so on.
    pub cores: u32,
    /// Hosts per rack, one or more.
    pub hosts_per_tor: u32,
    /// Links from a top-of-rack switch to the aggregation switches of its pod, equally divided: a
    /// multiple of `aggs_per_pod`.
    pub tor_uplinks: u32,
    /// Links from an aggregation switch to its cores, equally divided: a multiple of `cores /
    /// aggs_per_pod`. The aggregation switch `j` of each pod is connected to the cores from `j *
    /// cores / aggs_per_pod` on.
    pub agg_uplinks: u32,
    /// Links of the hosts.
    pub host: Layer,
    /// Links between top-of-rack and aggregation switches.
    pub aggregation: Layer,
    /// Links between aggregation and core switches.
    pub core: Layer,
    /// Framing on every line.
    pub framing: Framing,
}

impl ThreeTier {
    /// Returns the tree of the values of [`ENTRY`].
    fn of(values: &Values) -> Self {
        Self {
            pods: number(values, "pods"),
            tors_per_pod: number(values, "tors-per-pod"),
            aggs_per_pod: number(values, "aggs-per-pod"),
            cores: number(values, "cores"),
            hosts_per_tor: number(values, "hosts-per-tor"),
            tor_uplinks: number(values, "tor-uplinks"),
            agg_uplinks: number(values, "agg-uplinks"),
            host: Layer::of(values, Layer::HOST),
            aggregation: Layer::of(values, "aggregation"),
            core: Layer::of(values, "core"),
            framing: framing(values),
        }
    }

    /// Returns the number of hosts.
    pub fn host_count(&self) -> u64 {
        let racks = u64::from(self.pods) * u64::from(self.tors_per_pod);
        racks.saturating_mul(self.hosts_per_tor.into())
    }

    fn switch_links(&self) -> u64 {
        let pods = u64::from(self.pods);
        let of = |switches: u32, uplinks: u32| {
            (pods * u64::from(switches)).saturating_mul(uplinks.into())
        };
        of(self.tors_per_pod, self.tor_uplinks)
            .saturating_add(of(self.aggs_per_pod, self.agg_uplinks))
    }

    /// Checks that such a tree exists.
    ///
    /// # Errors
    /// A number is zero, or not a multiple of the number that divides its links.
    pub fn check(&self) -> Result<(), ParamError> {
        let check = Check(ENTRY.name);
        check.positive(&[
            ("pods", self.pods),
            ("tors-per-pod", self.tors_per_pod),
            ("aggs-per-pod", self.aggs_per_pod),
            ("cores", self.cores),
            ("hosts-per-tor", self.hosts_per_tor),
            ("tor-uplinks", self.tor_uplinks),
            ("agg-uplinks", self.agg_uplinks),
        ])?;
        check.multiple(("cores", self.cores), self.aggs_per_pod, "aggs-per-pod")?;
        check.multiple(("tor-uplinks", self.tor_uplinks), self.aggs_per_pod, "aggs-per-pod")?;
        let group = self.cores / self.aggs_per_pod;
        check.multiple(("agg-uplinks", self.agg_uplinks), group, "cores / aggs-per-pod")
    }
}

/// Returns the blueprint of `tree`.
///
/// Hosts are numbered pod by pod, rack by rack: host `i` is in rack `i / hosts_per_tor`, on the ToR
/// with that number, and is named `rackR.J`; rack `r` is in pod `r / tors_per_pod`. Link `i`
/// connects host `i` (end `a`) to its switch. The links from each ToR (end `a`) to its aggregation
/// switches follow, then those from each aggregation switch (end `a`) to its cores, parallel ones
/// together.
pub fn three_tier(tree: &ThreeTier) -> Result<Blueprint, BlueprintError> {
    tree.check()?;
    Check::links(&[
        &[tree.pods, tree.tors_per_pod, tree.hosts_per_tor],
        &[tree.pods, tree.tors_per_pod, tree.tor_uplinks],
        &[tree.pods, tree.aggs_per_pod, tree.agg_uplinks],
    ])?;
    Ok(build(tree))
}

/// Returns the blueprint of a validated tree.
pub(super) fn build(tree: &ThreeTier) -> Blueprint {
    let tors = tree.pods * tree.tors_per_pod;
    let aggs = tree.pods * tree.aggs_per_pod;
    let group = tree.cores / tree.aggs_per_pod;
    let switches = [("tor", tors), ("agg", aggs), ("core", tree.cores)];
    let mut plan = racks((tors, tree.hosts_per_tor), &tree.host, tree.framing, &switches);
    let mut connect = |layer: &Layer, low, high, parallel| {
        for _ in 0..parallel {
            let link = layer.link(NodeId::Switch(low), NodeId::Switch(high), tree.framing);
            plan.links.push(link);
        }
    };
    for tor in 0..tors {
        let first = tors + tor / tree.tors_per_pod * tree.aggs_per_pod;
        for agg in first..first + tree.aggs_per_pod {
            connect(&tree.aggregation, tor, agg, tree.tor_uplinks / tree.aggs_per_pod);
        }
    }
    for agg in 0..aggs {
        let first = tors + aggs + agg % tree.aggs_per_pod * group;
        for core in first..first + group {
            connect(&tree.core, tors + agg, core, tree.agg_uplinks / group);
        }
    }
    plan
}
