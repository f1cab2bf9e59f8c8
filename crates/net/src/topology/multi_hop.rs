//! Three switches in a row, the topology of figure 17 of the DCTCP paper.

use super::tree::Layer;
use super::{HostLayout, HostLine, Side, TopologyEntry, framing};
use crate::{Blueprint, Framing, NodeId, PortSpec, SwitchSpec, topology_params};

/// Registration.
pub static ENTRY: TopologyEntry = TopologyEntry {
    name: "multi-hop",
    summary: "three switches in a row, senders before the first trunk and behind the second",
    spec: "DCTCP §4.1, figure 17: S1 10, S2 20, S3 10, R1 1, R2 20 hosts at 1 Gbit/s, trunks 10 Gbit/s",
    params: topology_params!("DCTCP §4.1, figure 17", [], layers: [
        "trunk" => "links between `triumph1`, `scorpion` and `triumph2`",
    ]),
    hosts: HostLayout::Sides(&[
        Side { name: "s1", doc: "Hosts on `triumph1`, before the first trunk.", required: false },
        Side { name: "s2", doc: "Hosts on `triumph1`, before the first trunk.", required: false },
        Side { name: "s3", doc: "Hosts on `triumph2`, after the second trunk.", required: false },
        Side { name: "r1", doc: "Hosts on `triumph2`, after the second trunk.", required: false },
        Side { name: "r2", doc: "Hosts on `triumph2`, after the second trunk.", required: false },
    ]),
    named_links: &[],
    multipath: false,
    explicit_links: false,
    switch_links: |_| 2,
    check: |_| Ok(()),
    build: |args| {
        let [s1, s2, s3, r1, r2] = [0, 1, 2, 3, 4].map(|side| args.host_lines(side));
        let (trunk, framing) = (Layer::of(&args.values, "trunk"), framing(&args.values));
        Ok(multi_hop(&MultiHop { s1, s2, s3, r1, r2, trunk, framing, port: PortSpec::NIC }))
    },
};

/// The parameters of a multi-hop network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MultiHop {
    /// Hosts on `triumph1`: in the paper ten, which send to `r1` over both bottlenecks.
    pub s1: Vec<HostLine>,
    /// Hosts on `triumph1`: in the paper twenty, which send one to one to `r2`.
    pub s2: Vec<HostLine>,
    /// Hosts on `triumph2`: in the paper ten, which send to `r1`.
    pub s3: Vec<HostLine>,
    /// Hosts on `triumph2`: in the paper one, the second bottleneck.
    pub r1: Vec<HostLine>,
    /// Hosts on `triumph2`: in the paper twenty.
    pub r2: Vec<HostLine>,
    /// The two links between the switches; the first is the first bottleneck.
    pub trunk: Layer,
    /// Framing on every line.
    pub framing: Framing,
    /// Every port of a switch towards a host.
    pub port: PortSpec,
}

/// Returns the blueprint of `net`.
///
/// Switches are `triumph1`, `scorpion` and `triumph2`. Hosts are numbered `s1`, `s2`, `s3`, `r1`,
/// `r2`. Link `i` connects host `i` (end `a`) to its switch; the last two links are `triumph1` to
/// `scorpion` and `scorpion` to `triumph2`.
pub fn multi_hop(net: &MultiHop) -> Blueprint {
    let mut plan = Blueprint {
        switches: ["triumph1", "scorpion", "triumph2"].map(SwitchSpec::from).to_vec(),
        ..Blueprint::default()
    };
    for (hosts, switch) in [(&net.s1, 0), (&net.s2, 0), (&net.s3, 2), (&net.r1, 2), (&net.r2, 2)] {
        for host in hosts {
            plan.links.push(host.link(plan.hosts.len(), switch, net.framing, net.port.clone()));
            plan.hosts.push(host.name.clone());
        }
    }
    for (a, b) in [(0, 1), (1, 2)] {
        plan.links.push(net.trunk.link(NodeId::Switch(a), NodeId::Switch(b), net.framing));
    }
    plan
}
