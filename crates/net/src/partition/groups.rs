//! Groups of switches that must stay in one shard, and the links between groups.

use crate::{Blueprint, LinkSpec, NodeId};

/// Groups of switches that are never divided.
#[derive(Debug)]
pub(super) struct SwitchGroups {
    /// The group of each switch.
    pub(super) of: Vec<usize>,
    /// The work of each group.
    pub(super) work: Vec<u64>,
    /// Groups with hosts, in the order of their first hosts.
    pub(super) homes: Vec<usize>,
    /// The neighbour groups of each group, once per link.
    pub(super) near: Vec<Vec<usize>>,
}

impl SwitchGroups {
    /// Groups switches: links for which `may_cut` is false stay within a group.
    pub(super) fn new(plan: &Blueprint, work: &[u64], may_cut: impl Fn(&LinkSpec) -> bool) -> Self {
        let mut roots: Vec<usize> = (0..plan.switches.len()).collect();
        let between = plan.links.iter().filter_map(|link| match (link.a, link.b) {
            (NodeId::Switch(a), NodeId::Switch(b)) => Some((a as usize, b as usize, link)),
            _ => None,
        });
        for (a, b, _) in between.clone().filter(|(_, _, link)| !may_cut(link)) {
            let (a, b) = (root(&mut roots, a), root(&mut roots, b));
            roots[a.max(b)] = a.min(b);
        }
        let mut of = vec![0; roots.len()];
        let mut count = 0;
        for switch in 0..roots.len() {
            let first = root(&mut roots, switch);
            of[switch] = if first == switch { count } else { of[first] };
            count += usize::from(first == switch);
        }
        let mut groups =
            Self { of, work: vec![0; count], homes: Vec::new(), near: vec![Vec::new(); count] };
        for (a, b, _) in between {
            let (a, b) = (groups.of[a], groups.of[b]);
            groups.work[a] += 1;
            groups.work[b] += 1;
            if a != b {
                groups.near[a].push(b);
                groups.near[b].push(a);
            }
        }
        groups.add_hosts(plan, work);
        groups
    }

    fn add_hosts(&mut self, plan: &Blueprint, work: &[u64]) {
        let mut home = vec![None; plan.hosts.len()];
        for link in &plan.links {
            if let (NodeId::Host(host), NodeId::Switch(switch))
            | (NodeId::Switch(switch), NodeId::Host(host)) = (link.a, link.b)
            {
                home[host.0 as usize] = Some(self.of[switch as usize]);
            }
        }
        let mut known = vec![false; self.work.len()];
        for (host, group) in home.into_iter().enumerate() {
            let Some(group) = group else { continue };
            self.work[group] += 2 + work.get(host).copied().unwrap_or_default();
            if !known[group] {
                known[group] = true;
                self.homes.push(group);
            }
        }
    }

    /// Returns the maximum work of a shard and the total work.
    pub(super) fn balance(&self, assignment: &[u16], shards: usize) -> (u64, u64) {
        let mut loads = vec![0; shards];
        for (shard, work) in assignment.iter().zip(&self.work) {
            loads[usize::from(*shard)] += work;
        }
        (loads.iter().copied().max().unwrap_or_default(), loads.iter().sum())
    }
}

fn root(roots: &mut [usize], mut of: usize) -> usize {
    while roots[of] != of {
        roots[of] = roots[roots[of]];
        of = roots[of];
    }
    of
}
