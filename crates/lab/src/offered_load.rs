//! Offered load and oversubscription of the tiers of a network, before anything runs.
//!
//! Contract: the load is that of [`demands`], over the lines of one direction.

use std::collections::{BTreeMap, BTreeSet};

use lowtide_host::Setup;
use lowtide_net::{Blueprint, LineSpec, NodeId};
use lowtide_record::RunTables;
use lowtide_rows::EndReason;

use crate::demands::{Demand, demands};

/// Share of a tier from which its load is high.
pub(crate) const HIGH_LOAD: f64 = 0.9;

/// Links between two levels of a network, or a link within a level.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TierLoad {
    /// Names of the nodes below and above: `hosts to leaf`, `leaf to spine`. Of a link within a
    /// level, the switches at its ends: `switch0 to switch1`.
    pub(crate) name: String,
    /// Offered load as a share of the lines of one direction; `None` without traffic that has a
    /// rate.
    pub(crate) load: Option<f64>,
    /// Lines of the lower switches towards hosts over those upwards; `None` at hosts and within a
    /// level.
    pub(crate) oversubscription: Option<f64>,
}

/// Returns the tiers of a network whose switches form levels above the hosts, the lowest first. A
/// network with links within a level has its lowest tier, and those of these links without which it
/// would be in two parts.
pub(crate) fn offered_load(setup: &Setup) -> Vec<TierLoad> {
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
    if flat {
        out.extend(only_paths(network, &demands, level));
    }
    out
}

/// Adds the largest offered load of a tier to a run that the limit of its open loop cut.
pub(crate) fn with_offered_load(mut tables: RunTables, setup: &Setup) -> RunTables {
    if setup.counting.open_loop.is_some() && tables.run.reason == EndReason::Time {
        let with_load = |tier: TierLoad| Some((tier.load?, tier.name));
        let tiers = offered_load(setup).into_iter().filter_map(with_load);
        if let Some((load, tier)) = tiers.max_by(|a, b| a.0.total_cmp(&b.0)) {
            tables.run.offered_load_ppm = Some((load * 1e6) as u32);
            tables.run.offered_load_tier = Some(tier);
        }
    }
    tables
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

/// Returns the loads of links within a level that are the only path between their two sides, as the
/// bottleneck of a dumbbell: each by the direction with the higher load.
fn only_paths(
    network: &Blueprint,
    demands: &[Demand],
    level: impl Fn(NodeId) -> usize,
) -> Vec<TierLoad> {
    let mut out = Vec::new();
    for (i, link) in network.links.iter().enumerate() {
        if level(link.a) != level(link.b) {
            continue;
        }
        let Some(near) = side_of(network, i) else { continue };
        let (mut from_a, mut from_b) = (0.0, 0.0);
        for demand in demands {
            match (near[demand.src], near[demand.dst]) {
                (true, false) => from_a += demand.rate,
                (false, true) => from_b += demand.rate,
                _ => {}
            }
        }
        let share = |crossing: f64, line: &LineSpec| crossing / line.rate.as_bps() as f64;
        let load = share(from_a, &link.from_a).max(share(from_b, &link.from_b));
        out.push(TierLoad {
            name: format!("{} to {}", network.name(link.a), network.name(link.b)),
            load: (load > 0.0).then_some(load),
            oversubscription: None,
        });
    }
    out
}

/// Returns whether each node is on the side of the link's end `a` if the link is removed; `None` if
/// the two ends are still connected.
fn side_of(network: &Blueprint, removed: usize) -> Option<Vec<bool>> {
    let count = network.hosts.len() + network.switches.len();
    let mut sets: Vec<usize> = (0..count).collect();
    for (i, link) in network.links.iter().enumerate() {
        if i != removed {
            let [a, b] = [link.a, link.b].map(|node| index(network, node));
            let (a, b) = (set_of(&mut sets, a), set_of(&mut sets, b));
            sets[a] = b;
        }
    }
    let link = network.links.get(removed)?;
    let [a, b] = [link.a, link.b].map(|node| set_of(&mut sets, index(network, node)));
    (a != b).then(|| (0..count).map(|node| set_of(&mut sets, node) == a).collect())
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
    fn a_dumbbell_has_a_bottleneck_and_long_flows_have_no_rate() {
        let tiers = tiers("dumbbell-10g", &[]);
        let names: Vec<&str> = tiers.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["hosts to switch", "switch0 to switch1"]);
        assert!(tiers.iter().all(|t| t.load.is_none() && t.oversubscription.is_none()));
    }

    const DUMBBELL: &str = r#"
schema = 1
title = "A test"
[run]
duration = "10 s"
[topology]
kind = "dumbbell"
link-rate = "10 Gbit/s"
link-delay = "10 us"
bottleneck-rate = "1 Gbit/s"
bottleneck-delay = "10 us"
[switch]
buffer = "100 pkt"
[transport]
profile = "linux"
[transport.sender]
nagle = false
[hosts.left]
count = 4
side = "left"
[hosts.right]
count = 2
side = "right"
"#;

    fn dumbbell(traffic: &str) -> Vec<Option<f64>> {
        let text = format!("{DUMBBELL}{traffic}");
        let plan = Scenario::parse(&text, "t.toml").and_then(|s| s.expand());
        let plan = plan.unwrap_or_else(|e| panic!("{e}"));
        let tiers = offered_load(&plan.runs[0].setup().expect("a setup"));
        tiers.iter().map(|t| t.load).collect()
    }

    /// Eleven transfers of 1 MB in 100 ms to the right: ten intervals of 8 Mbit each.
    const TO_THE_RIGHT: &str = "[traffic.a]\nfrom = \"left\"\nto = \"right\"\ncount = 11\n\
                                size = \"1 MB\"\nspacing = \"10 ms\"\n";

    fn near(found: Option<f64>, wanted: f64) {
        let found = found.expect("a load");
        assert!((found / wanted - 1.0).abs() < 1e-9, "{found} is not {wanted}");
    }

    #[test]
    fn the_bottleneck_carries_one_direction() {
        let [hosts, line] = dumbbell(TO_THE_RIGHT)[..] else { panic!("two rows") };
        near(line, 0.8);
        near(hosts, 0.8 / 20.0);
        // Transfers within a side do not cross it, and the other direction has its own line.
        let within = TO_THE_RIGHT.replace("traffic.a", "traffic.b");
        let within = within.replace("\"right\"", "\"left\"").replace("\"1 MB\"", "\"3 MB\"");
        near(dumbbell(&format!("{TO_THE_RIGHT}{within}"))[1], 0.8);
        let back = TO_THE_RIGHT.replace("traffic.a", "traffic.b").replace("\"left\"", "\"x\"");
        let back = back.replace("\"right\"", "\"left\"").replace("\"x\"", "\"right\"");
        near(dumbbell(&format!("{TO_THE_RIGHT}{back}"))[1], 0.8);
        near(dumbbell(&back)[1], 0.8);
    }

    #[test]
    fn open_loop_queries_offer_their_answers() {
        let queries = |more: &str| {
            format!(
                "[traffic.q]\nkind = \"partition-aggregate\"\nfrom = \"right.0\"\n\
                 to = \"left\"\nfan-out = 3\nanswer-each = \"10 kB\"\nqueries = 2000\n{more}"
            )
        };
        let open = queries("loop = \"poisson\"\nmean-gap = \"1 ms\"\n");
        // 30 kB in each millisecond, up to the draw of 2000 gaps.
        let load = dumbbell(&open)[1].expect("a load");
        assert!((load - 0.24).abs() < 0.24 * 0.1, "{load}");
        let both = dumbbell(&format!("{open}{TO_THE_RIGHT}"))[1].expect("a load");
        assert!((both - 0.8 - load).abs() < 1e-9, "{both}");
        assert_eq!(dumbbell(&queries("")), [None, None], "a closed loop waits");
        let few = open.replace("queries = 2000", "queries = 9");
        assert_eq!(dumbbell(&few), [None, None]);
    }
}
