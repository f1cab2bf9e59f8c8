//! The validated graph of a blueprint.

use crate::{Blueprint, BlueprintError, NodeId};

/// Distance of an unreachable node.
pub(super) const UNREACHED: u32 = u32::MAX;

/// The graph: hosts first, then switches; per node its output ports in order and their far ends.
/// Port `2 i` leads from end `a` of link `i` to end `b`, port `2 i + 1` back.
#[derive(Clone, Debug)]
pub(crate) struct Edges {
    pub(super) hosts: usize,
    /// Start of each node's ports in `out`, and the end of the last.
    first: Vec<usize>,
    /// Port, and the node at its far end.
    out: Vec<(u32, u32)>,
}

impl Edges {
    /// Checks that links end at nodes, that each host has one link, and that the graph is
    /// connected.
    pub(crate) fn build(plan: &Blueprint) -> Result<Self, BlueprintError> {
        let hosts = plan.hosts.len();
        let nodes = hosts + plan.switches.len();
        let mut ends = Vec::with_capacity(plan.links.len());
        let mut first = vec![0; nodes + 1];
        for (link, spec) in plan.links.iter().enumerate() {
            let index = |node: NodeId| {
                let (count, first, number) = match node {
                    NodeId::Host(host) => (hosts, 0, host.0 as usize),
                    NodeId::Switch(switch) => (plan.switches.len(), hosts, switch as usize),
                };
                if number < count {
                    Ok(first + number)
                } else {
                    Err(BlueprintError::UnknownNode { link, node, count })
                }
            };
            let (a, b) = (index(spec.a)?, index(spec.b)?);
            if a == b {
                return Err(BlueprintError::SelfLink { link, name: plan.name(spec.a).to_owned() });
            }
            ends.push((a, b));
            first[a + 1] += 1;
            first[b + 1] += 1;
        }
        for node in 0..nodes {
            first[node + 1] += first[node];
        }
        let mut out = vec![(0, 0); ends.len() * 2];
        let mut next = first.clone();
        let mut add = |from: usize, port: usize, to: usize| {
            out[next[from]] = (port as u32, to as u32);
            next[from] += 1;
        };
        for (link, (a, b)) in ends.into_iter().enumerate() {
            add(a, 2 * link, b);
            add(b, 2 * link + 1, a);
        }
        let edges = Self { hosts, first, out };
        edges.one_link_each(plan)?;
        edges.connected(plan)?;
        Ok(edges)
    }

    pub(super) fn switches(&self) -> usize {
        self.first.len() - 1 - self.hosts
    }

    /// Returns the ports of `node`, by ascending number, with their far ends.
    pub(super) fn out(&self, node: usize) -> &[(u32, u32)] {
        &self.out[self.first[node]..self.first[node + 1]]
    }

    /// Returns the switch of each port; meaningless for host ports.
    pub(super) fn owners(&self) -> Vec<u64> {
        let mut owners = vec![0; self.out.len()];
        for switch in 0..self.switches() {
            for &(port, _) in self.out(self.hosts + switch) {
                owners[port as usize] = switch as u64;
            }
        }
        owners
    }

    /// Returns the hops from `from` to each node over ports that `passes` allows. Hosts are never
    /// transit nodes.
    pub(super) fn distances(&self, from: usize, passes: impl Fn(u32, usize) -> bool) -> Vec<u32> {
        let mut distance = vec![UNREACHED; self.first.len() - 1];
        distance[from] = 0;
        let mut reached = Vec::with_capacity(self.switches());
        reached.push(from);
        let mut done = 0;
        while let Some(&node) = reached.get(done) {
            done += 1;
            for &(port, to) in self.out(node) {
                let to = to as usize;
                if distance[to] == UNREACHED && passes(port, to) {
                    distance[to] = distance[node] + 1;
                    reached.push(to);
                }
            }
        }
        distance
    }

    fn one_link_each(&self, plan: &Blueprint) -> Result<(), BlueprintError> {
        for (host, name) in plan.hosts.iter().enumerate() {
            match self.out(host) {
                [_] => {}
                [] => return Err(BlueprintError::NoLink { name: name.clone() }),
                [(first, _), (second, _), ..] => {
                    let (name, first, second) =
                        (name.clone(), *first as usize / 2, *second as usize / 2);
                    return Err(BlueprintError::ManyLinks { name, first, second });
                }
            }
        }
        Ok(())
    }

    /// Checks that every node is reachable from the first.
    fn connected(&self, plan: &Blueprint) -> Result<(), BlueprintError> {
        if self.first.len() == 1 {
            return Ok(());
        }
        let distances = self.distances(0, |_, _| true);
        let Some(to) = distances.iter().position(|&d| d == UNREACHED) else { return Ok(()) };
        let name = |node: usize| {
            let of_switch = || plan.switches.get(node - self.hosts).map(|s| &s.name);
            plan.hosts.get(node).or_else(of_switch).cloned().unwrap_or_default()
        };
        Err(BlueprintError::Disconnected { from: name(0), to: name(to) })
    }
}
