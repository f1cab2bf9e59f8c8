//! Routes: a shortest way from each switch to each host, fixed when the network is built.
//!
//! Breadth first from the switch of each destination; every link counts one. Of equally short ways
//! the one over the link with the lowest index is taken, for all packets (no ECMP yet).

use crate::{Blueprint, BlueprintError, HostId, NodeId};

/// Far from everything.
const UNREACHED: u32 = u32::MAX;

/// The output port of each host and, for each switch, the one towards each host.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    hosts: usize,
    /// Row by row: switch, then host.
    table: Vec<u32>,
    nic: Vec<u32>,
}

impl Routes {
    /// The port of `switch` towards `host`.
    #[inline]
    pub(crate) fn port(&self, switch: u32, host: HostId) -> u32 {
        self.table[switch as usize * self.hosts + host.0 as usize]
    }
    /// The host's own port.
    pub(crate) fn nic(&self, host: HostId) -> Option<u32> {
        self.nic.get(host.0 as usize).copied()
    }
    /// Checks the links of `plan` and finds the ways.
    pub(crate) fn build(plan: &Blueprint) -> Result<Self, BlueprintError> {
        let edges = Edges::build(plan)?;
        let hosts = plan.hosts.len();
        let mut nic = Vec::with_capacity(hosts);
        for (host, out) in edges.out.iter().take(hosts).enumerate() {
            let name = || plan.hosts[host].clone();
            match out[..] {
                [(port, _)] => nic.push(port),
                [] => return Err(BlueprintError::NoLink { name: name() }),
                [(first, _), (second, _), ..] => {
                    let (first, second) = (first as usize / 2, second as usize / 2);
                    return Err(BlueprintError::ManyLinks { name: name(), first, second });
                }
            }
        }
        edges.connected(plan)?;
        let mut table = vec![0; plan.switches.len() * hosts];
        let mut known: Vec<Option<Vec<u32>>> = vec![None; edges.out.len()];
        for host in 0..hosts {
            let Some(&(port, next)) = edges.out[host].first() else { continue };
            if next < hosts {
                continue;
            }
            let distance = known[next].get_or_insert_with(|| edges.distances(next));
            for switch in hosts..edges.out.len() {
                let way = if switch == next {
                    Some(port ^ 1)
                } else {
                    let closer = |&&(_, to): &&(u32, usize)| distance[to] + 1 == distance[switch];
                    edges.out[switch].iter().find(closer).map(|&(port, _)| port)
                };
                if let Some(port) = way {
                    table[(switch - hosts) * hosts + host] = port;
                }
            }
        }
        Ok(Self { hosts, table, nic })
    }
}

/// The graph: hosts first, then switches; per node its output ports in order and where they lead.
/// Port `2 i` leads from end `a` of link `i` to end `b`, port `2 i + 1` back.
struct Edges {
    out: Vec<Vec<(u32, usize)>>,
}

impl Edges {
    fn build(plan: &Blueprint) -> Result<Self, BlueprintError> {
        let hosts = plan.hosts.len();
        let mut out = vec![Vec::new(); hosts + plan.switches.len()];
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
                return Err(BlueprintError::SelfLink { link, name: name(plan, a) });
            }
            out[a].push((2 * link as u32, b));
            out[b].push((2 * link as u32 + 1, a));
        }
        Ok(Self { out })
    }
    /// Every node must be reached from the first.
    fn connected(&self, plan: &Blueprint) -> Result<(), BlueprintError> {
        if self.out.is_empty() {
            return Ok(());
        }
        match self.distances(0).iter().position(|&d| d == UNREACHED) {
            None => Ok(()),
            Some(to) => {
                Err(BlueprintError::Disconnected { from: name(plan, 0), to: name(plan, to) })
            }
        }
    }
    /// Links from `from` to each node. Hosts, with their one link, are on the way to nothing.
    fn distances(&self, from: usize) -> Vec<u32> {
        let mut distance = vec![UNREACHED; self.out.len()];
        distance[from] = 0;
        let mut frontier = std::collections::VecDeque::from([from]);
        while let Some(node) = frontier.pop_front() {
            for &(_, to) in &self.out[node] {
                if distance[to] == UNREACHED {
                    distance[to] = distance[node] + 1;
                    frontier.push_back(to);
                }
            }
        }
        distance
    }
}

/// The name of a node by its place in the graph.
fn name(plan: &Blueprint, node: usize) -> String {
    let hosts = plan.hosts.len();
    let name = if node < hosts {
        plan.hosts.get(node)
    } else {
        plan.switches.get(node - hosts).map(|s| &s.name)
    };
    name.cloned().unwrap_or_default()
}
