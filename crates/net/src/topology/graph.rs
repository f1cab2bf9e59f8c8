//! An arbitrary network: named nodes and the links between them.

use std::collections::BTreeMap;

use super::{GraphLink, HostLayout, TopologyEntry, framing};
use crate::{Blueprint, BlueprintError, Framing, HostId, NodeId};

/// Registration.
pub static ENTRY: TopologyEntry = TopologyEntry {
    name: "graph",
    summary: "explicit hosts, switches and links",
    spec: "lowtide",
    params: &[],
    hosts: HostLayout::Any,
    named_links: &[],
    multipath: true,
    explicit_links: true,
    switch_links: |_| 0,
    check: |_| Ok(()),
    build: |args| {
        graph(&Graph {
            hosts: args.hosts.concat(),
            switches: args.switches.clone(),
            links: args.links.clone(),
            framing: framing(&args.values),
        })
    },
};

/// An explicit network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Graph {
    /// Name per host, in order.
    pub hosts: Vec<String>,
    /// Name per switch, in order. Names are unique over all nodes.
    pub switches: Vec<String>,
    /// The links.
    pub links: Vec<GraphLink>,
    /// Framing on every line.
    pub framing: Framing,
}

/// Returns the blueprint of `graph`.
///
/// Nodes keep their order. Link `i` is the first one of host `i` (end `a`), as in every topology;
/// all others follow in their order. In errors links are numbered as in `graph`.
/// [`crate::Network::build`] checks the rest: connectivity, and one link per host.
pub fn graph(graph: &Graph) -> Result<Blueprint, BlueprintError> {
    let hosts = (0..).zip(&graph.hosts).map(|(i, name)| (name, NodeId::Host(HostId(i))));
    let switches = (0..).zip(&graph.switches).map(|(i, name)| (name, NodeId::Switch(i)));
    let mut nodes = BTreeMap::new();
    for (name, node) in hosts.chain(switches) {
        if nodes.insert(name, node).is_some() {
            return Err(BlueprintError::DuplicateName { name: name.clone() });
        }
    }
    let mut links = Vec::with_capacity(graph.links.len());
    for (link, GraphLink { a, b, line }) in graph.links.iter().enumerate() {
        let find = |name: &String| match nodes.get(name) {
            Some(node) => Ok(*node),
            None => Err(BlueprintError::UnknownName { link, name: name.clone() }),
        };
        let (mut near, mut far) = (find(a)?, find(b)?);
        if near == far {
            return Err(BlueprintError::SelfLink { link, name: a.clone() });
        }
        // Hosts sort before switches.
        if far < near {
            (near, far) = (far, near);
        }
        links.push((link, near, line.link(near, far, graph.framing)));
    }
    let mut at: Vec<Option<usize>> = vec![None; graph.hosts.len()];
    for (link, spec) in links.iter().map(|(link, _, spec)| (*link, spec)) {
        for end in [spec.a, spec.b] {
            let NodeId::Host(host) = end else { continue };
            match &mut at[host.0 as usize] {
                free @ None => *free = Some(link),
                Some(first) => {
                    let name = graph.hosts[host.0 as usize].clone();
                    return Err(BlueprintError::ManyLinks { name, first: *first, second: link });
                }
            }
        }
    }
    links.sort_by_key(|&(link, near, _)| match near {
        NodeId::Host(host) => (0, host.0 as usize),
        NodeId::Switch(_) => (1, link),
    });
    Ok(Blueprint {
        hosts: graph.hosts.clone(),
        switches: graph.switches.iter().map(|s| s.as_str().into()).collect(),
        links: links.into_iter().map(|(_, _, spec)| spec).collect(),
        ..Blueprint::default()
    })
}
