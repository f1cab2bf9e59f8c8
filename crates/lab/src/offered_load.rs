//! Offered load and oversubscription of the tiers of a network, before anything runs.
//!
//! Contract: the load is the payload of the transfers over the time between the first and the last
//! start of their group, as drawn for one seed. Groups of fewer than [`MIN_FLOWS`] transfers,
//! groups that start at once, endless flows and queries have no rate and are not counted.

use std::collections::{BTreeMap, BTreeSet};

use lowtide_host::Setup;
use lowtide_net::{Blueprint, NodeId};

/// Fewest transfers of a group from which a rate is computed.
const MIN_FLOWS: usize = 10;
/// Share of a tier from which its load is high.
pub const HIGH_LOAD: f64 = 0.9;

/// Links between two levels of a network.
#[derive(Clone, PartialEq, Debug)]
pub struct TierLoad {
    /// Names of the nodes below and above: `hosts to leaf`, `leaf to spine`.
    pub name: String,
    /// Offered load as a share of the lines of one direction; `None` without transfers that have a
    /// rate.
    pub load: Option<f64>,
    /// Lines of the lower switches towards hosts over those upwards; `None` at hosts.
    pub oversubscription: Option<f64>,
}

/// A transfer rate between two hosts, bit/s.
struct Demand {
    src: usize,
    dst: usize,
    rate: f64,
}

/// Returns the tiers of a network whose switches form levels above the hosts, the lowest first. A
/// network with links within a level has its lowest tier only.
pub fn offered_load(setup: &Setup) -> Vec<TierLoad> {
    let network = &setup.network;
    let levels = levels(network);
    let level = |node: NodeId| match node {
        NodeId::Host(_) => 0,
        NodeId::Switch(switch) => levels[switch as usize],
    };
    let demands = demands(setup);
    let mut tiers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut flat = false;
    for (i, link) in network.links.iter().enumerate() {
        let (a, b) = (level(link.a), level(link.b));
        flat |= a.abs_diff(b) != 1;
        tiers.entry(a.min(b)).or_default().push(i);
    }
    // Nodes that links below the tier connect: hosts first, then switches.
    let count = network.hosts.len() + network.switches.len();
    let mut below: Vec<usize> = (0..count).collect();
    let mut out = Vec::new();
    for (low, links) in tiers.into_iter().take(if flat { 1 } else { usize::MAX }) {
        let mut crossing = 0.0;
        for demand in &demands {
            if set_of(&mut below, demand.src) != set_of(&mut below, demand.dst) {
                crossing += demand.rate;
            }
        }
        let rate = |link: &usize| network.links[*link].from_a.rate.as_bps() as f64;
        let all: f64 = links.iter().map(rate).sum();
        let lines = if low == 0 { host_lines(network, &demands) } else { all };
        let down: f64 = (0..network.links.len())
            .filter(|i| {
                let link = &network.links[*i];
                low > 0 && level(link.a).max(level(link.b)) == low
            })
            .map(|i| rate(&i))
            .sum();
        let ends = links.first().map(|i| (network.links[*i].a, network.links[*i].b));
        out.push(TierLoad {
            name: ends.map_or_else(String::new, |(a, b)| tier_name(network, (a, b), level)),
            load: (crossing > 0.0).then(|| crossing / lines),
            oversubscription: (low > 0).then(|| down / all),
        });
        for link in links {
            let [a, b] = [network.links[link].a, network.links[link].b].map(|n| index(network, n));
            let (a, b) = (set_of(&mut below, a), set_of(&mut below, b));
            below[a] = b;
        }
    }
    out
}

/// Returns the representative of the set of `node`.
fn set_of(sets: &mut [usize], mut node: usize) -> usize {
    while sets[node] != node {
        sets[node] = sets[sets[node]];
        node = sets[node];
    }
    node
}

const fn index(network: &Blueprint, node: NodeId) -> usize {
    match node {
        NodeId::Host(host) => host.0 as usize,
        NodeId::Switch(switch) => network.hosts.len() + switch as usize,
    }
}

/// Returns the lines of the hosts that send, or of those that receive if they are fewer.
fn host_lines(network: &Blueprint, demands: &[Demand]) -> f64 {
    let of = |hosts: BTreeSet<usize>| -> f64 {
        let at = |node| matches!(node, NodeId::Host(h) if hosts.contains(&(h.0 as usize)));
        let links = network.links.iter().filter(|link| at(link.a) || at(link.b));
        links.map(|link| link.from_a.rate.as_bps() as f64).sum()
    };
    let senders = of(demands.iter().map(|d| d.src).collect());
    senders.min(of(demands.iter().map(|d| d.dst).collect()))
}

/// Returns the level of each switch: its distance from the nearest host.
fn levels(network: &Blueprint) -> Vec<usize> {
    let mut levels = vec![usize::MAX; network.switches.len()];
    let hosts = network.hosts.len();
    let mut reached: BTreeSet<usize> = (0..hosts).collect();
    let mut distance = 0;
    while !reached.is_empty() {
        distance += 1;
        let mut next = BTreeSet::new();
        for link in &network.links {
            let [a, b] = [link.a, link.b].map(|node| index(network, node));
            for (from, to) in [(a, b), (b, a)] {
                if to >= hosts && reached.contains(&from) && levels[to - hosts] == usize::MAX {
                    levels[to - hosts] = distance;
                    next.insert(to);
                }
            }
        }
        reached = next;
    }
    levels
}

fn tier_name(
    network: &Blueprint,
    (a, b): (NodeId, NodeId),
    level: impl Fn(NodeId) -> usize,
) -> String {
    let kind = |node: NodeId| match node {
        NodeId::Host(_) => "hosts",
        NodeId::Switch(_) => {
            let name = network.name(node);
            name.split(|c: char| c.is_ascii_digit()).next().unwrap_or(name)
        }
    };
    let (low, high) = if level(a) <= level(b) { (a, b) } else { (b, a) };
    format!("{} to {}", kind(low), kind(high))
}

fn demands(setup: &Setup) -> Vec<Demand> {
    let mut groups: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
    for (i, flow) in setup.flows.iter().enumerate().filter(|(_, flow)| flow.size.is_some()) {
        groups.entry(flow.group).or_default().push(i);
    }
    let mut out = Vec::new();
    for flows in groups.into_values().filter(|flows| flows.len() >= MIN_FLOWS) {
        let starts = || flows.iter().map(|i| setup.flows[*i].start);
        let (Some(first), Some(last)) = (starts().min(), starts().max()) else { continue };
        let span = last.saturating_since(first).as_secs_f64();
        if span == 0.0 {
            continue;
        }
        // The span has one interval less than flows.
        let share = (flows.len() - 1) as f64 / flows.len() as f64;
        out.extend(flows.iter().map(|i| {
            let flow = &setup.flows[*i];
            let bits = flow.size.map_or(0, lowtide_units::Bytes::as_u64) as f64 * 8.0;
            let (src, dst) = (flow.src as usize, flow.dst as usize);
            Demand { src, dst, rate: bits * share / span }
        }));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowtide_scenario::Scenario;

    fn tiers(name: &str, set: &[(&str, &str)]) -> Vec<TierLoad> {
        let scenario = Scenario::load(name).expect("an embedded scenario");
        let scenario = set.iter().fold(scenario, |s, (k, v)| s.with_override(k, v).expect("a key"));
        let plan = scenario.expand().expect("a right scenario");
        offered_load(&plan.runs[0].setup().expect("a setup"))
    }

    #[test]
    fn the_load_of_a_fabric_follows_the_declared_one() {
        let at = |load| tiers("leaf-spine", &[("traffic.background.load", load)]);
        let (low, high) = (at("30 %"), at("60 %"));
        let names: Vec<&str> = low.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["hosts to leaf", "leaf to spine"]);
        assert_eq!(low[0].oversubscription, None);
        assert!(low[1].oversubscription.is_some());
        for (low, high) in low.iter().zip(&high) {
            let factor = high.load.expect("it has a rate") / low.load.expect("it has a rate");
            assert!((factor - 2.0).abs() < 0.01, "{}: {factor}", low.name);
        }
    }

    #[test]
    fn a_dumbbell_has_no_levels_and_long_flows_have_no_rate() {
        let tiers = tiers("dumbbell-10g", &[]);
        assert_eq!(tiers.len(), 1);
        assert_eq!((tiers[0].load, tiers[0].oversubscription), (None, None));
    }
}
