//! Networks with explicit links.

use lowtide_net::topology::GraphLink;
use lowtide_net::topology::tree::Layer;
use lowtide_net::{BlueprintError, PortSpec};

use super::{LocatedError, MAX_LINKS, names};
use crate::error::suggest;
use crate::hosts::{NamedHostRange, resolve_one};
use crate::model::{ParallelLinks, ScenarioModel, SpannedName};

/// The listed links of a topology, each between two nodes.
pub(super) struct ListedLinks<'a> {
    pub(super) links: Vec<GraphLink>,
    /// The table of each link.
    tables: Vec<&'a ParallelLinks>,
}

/// Returns the listed links of a topology; none if it has no list.
pub(super) fn listed_links(model: &ScenarioModel) -> Result<ListedLinks<'_>, LocatedError> {
    let graph = &model.topology.graph;
    let groups: Vec<NamedHostRange<'_>> =
        model.hosts.iter().map(|g| (g.name.as_str(), g.range)).collect();
    for switch in &graph.switches {
        if groups.iter().any(|(name, _)| *name == switch.name) {
            let message = format!("`{}` is the name of a host group", switch.name);
            let help = Some("choose another name for the switch".to_owned());
            return Err(LocatedError { at: switch.at, message, help });
        }
    }
    let mut listed = ListedLinks { links: Vec::new(), tables: Vec::new() };
    if graph.links.is_empty() {
        return Ok(listed);
    }
    let hosts = names(model, None);
    for table in &graph.links {
        let ends = [&table.ends[0], &table.ends[1]].map(|end| nodes(end, model, &groups, &hosts));
        let [a, b] = ends;
        let (a, b) = (a?, b?);
        if a.len().saturating_mul(b.len()).saturating_mul(table.count as usize)
            > MAX_LINKS as usize - listed.links.len()
        {
            let message = format!("more than {MAX_LINKS} links");
            return Err(LocatedError { at: table.ends[0].at, message, help: None });
        }
        for a in &a {
            for b in &b {
                for _ in 0..table.count {
                    let line = Layer { rate: table.rate, delay: table.delay, port: PortSpec::NIC };
                    listed.links.push(GraphLink { a: a.clone(), b: b.clone(), line });
                    listed.tables.push(table);
                }
            }
        }
    }
    Ok(listed)
}

impl ListedLinks<'_> {
    /// Locates an error about a listed link.
    pub(super) fn locate(&self, error: &BlueprintError) -> Option<LocatedError> {
        let at = |link: usize, end: usize| self.tables.get(link).map(|table| table.ends[end].at);
        match error {
            BlueprintError::SelfLink { link, name } => Some(LocatedError {
                at: at(*link, 1)?,
                message: format!("a link from `{name}` to itself"),
                help: Some("name another end".to_owned()),
            }),
            BlueprintError::ManyLinks { name, second, .. } => Some(LocatedError {
                at: at(*second, 0)?,
                message: format!("`{name}` has a link already, and a host can have only one"),
                help: Some("remove one of them, or give one more bandwidth".to_owned()),
            }),
            _ => None,
        }
    }
}

/// Returns the names of the nodes that an end of a link refers to.
fn nodes(
    end: &SpannedName,
    model: &ScenarioModel,
    groups: &[NamedHostRange<'_>],
    hosts: &[String],
) -> Result<Vec<String>, LocatedError> {
    let name = end.name.as_str();
    if model.topology.graph.switches.iter().any(|s| s.name == name) {
        return Ok(vec![name.to_owned()]);
    }
    let group = name.split(['.', '[']).next().unwrap_or_default();
    if !groups.iter().any(|(known, _)| *known == group) {
        let switches = model.topology.graph.switches.iter().map(|s| s.name.as_str());
        let known: Vec<&str> = switches.chain(groups.iter().map(|(name, _)| *name)).collect();
        let message = format!("`{name}` is neither a switch nor a host group");
        return Err(LocatedError { at: end.at, message, help: suggest(name, &known) });
    }
    let range = resolve_one(name, groups).map_err(|(message, help)| LocatedError {
        at: end.at,
        message,
        help,
    })?;
    let range = range.first as usize..range.end() as usize;
    Ok(hosts.get(range).unwrap_or_default().to_vec())
}
