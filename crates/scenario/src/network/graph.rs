//! Networks with explicit links.

use lowtide_net::topology::graph::{Graph, GraphLink, graph as build};
use lowtide_net::topology::tree::Layer;
use lowtide_net::{Blueprint, BlueprintError, PortSpec};

use super::{LocatedError, MAX_LINKS, locate, names};
use crate::error::suggest;
use crate::hosts::{NamedHostRange, resolve_one};
use crate::model::{ParallelLinks, ScenarioModel, SpannedName};

/// Builds nodes and links of a graph.
pub(super) fn graph(model: &ScenarioModel) -> Result<Blueprint, LocatedError> {
    let t = &model.topology;
    let groups: Vec<NamedHostRange<'_>> =
        model.hosts.iter().map(|g| (g.name.as_str(), g.range)).collect();
    for switch in &t.graph.switches {
        if groups.iter().any(|(name, _)| *name == switch.name) {
            let message = format!("`{}` is the name of a host group", switch.name);
            let help = Some("choose another name for the switch".to_owned());
            return Err(LocatedError { at: switch.at, message, help });
        }
    }
    let hosts = names(model);
    let (mut links, mut lines) = (Vec::new(), Vec::new());
    for line in &t.graph.links {
        let ends = [&line.ends[0], &line.ends[1]].map(|end| nodes(end, model, &groups, &hosts));
        let [a, b] = ends;
        let (a, b) = (a?, b?);
        if a.len().saturating_mul(b.len()).saturating_mul(line.count as usize)
            > MAX_LINKS as usize - links.len()
        {
            let message = format!("more than {MAX_LINKS} links");
            return Err(LocatedError { at: line.ends[0].at, message, help: None });
        }
        for a in &a {
            for b in &b {
                for _ in 0..line.count {
                    let layer = Layer { rate: line.rate, delay: line.delay, port: PortSpec::NIC };
                    links.push(GraphLink { a: a.clone(), b: b.clone(), line: layer });
                    lines.push(line);
                }
            }
        }
    }
    let switches = t.graph.switches.iter().map(|s| s.name.clone()).collect();
    let plan = build(&Graph { hosts, switches, links, framing: t.framing });
    plan.map_err(|error| link_error(&error, &lines).unwrap_or_else(|| locate(t, &error)))
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

/// Locates an error about a link.
fn link_error(error: &BlueprintError, lines: &[&ParallelLinks]) -> Option<LocatedError> {
    let at = |link: usize, end: usize| lines.get(link).map(|line| line.ends[end].at);
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
