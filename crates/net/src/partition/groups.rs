//! Switches that must stay together, and what is between them.

use crate::{Blueprint, LinkSpec, NodeId};

/// Groups of switches that no cut parts.
#[derive(Debug)]
pub(super) struct SwitchGroups {
    /// Of each switch, the number of its group.
    pub(super) of: Vec<usize>,
    /// Of each group, what it has to do.
    pub(super) work: Vec<u64>,
    /// Groups with hosts, in the order of their first hosts.
    pub(super) homes: Vec<usize>,
    /// Of each group, the groups to which it has links, once for each link.
    pub(super) near: Vec<Vec<usize>>,
}

impl SwitchGroups {
    /// Switches between which there is a link that `may_cut` does not let be cut are one group.
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

    /// What the part with the most has to do, and what all have.
    pub(super) fn balance(&self, places: &[u16], parts: usize) -> (u64, u64) {
        let mut loads = vec![0; parts];
        for (place, work) in places.iter().zip(&self.work) {
            loads[usize::from(*place)] += work;
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
