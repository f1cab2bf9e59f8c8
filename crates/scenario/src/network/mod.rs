//! The network of a scenario.
//!
//! Contract: nodes and links are those of the topology, and hosts have the names of their groups.
//! Switches, pipes, routes and failures are then applied to them. Errors have their location in the
//! file.

mod graph;
mod links;
mod pipes;

use std::sync::Arc;

use lowtide_net::topology::TopologyArgs;
use lowtide_net::{
    Blueprint, BlueprintError, BufferSpec, ClassSet, ClassSpec, Failure, MarkSpec, NodeId, PortSpec,
};
use lowtide_traffic::workload::{HostInfo, WorkloadContext};
use lowtide_units::Instant;

use crate::model::{HostGroup, LinkFailure, ScenarioModel, SwitchPort, Topology};
use crate::toml_tree::SourceSpan;

pub(crate) use pipes::{LinkDirection, lines};

/// An error with its location and help.
#[derive(Debug)]
pub(crate) struct LocatedError {
    pub(crate) at: SourceSpan,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

/// Builds the whole blueprint: nodes, links, switches, pipes, routes and failures.
pub(crate) fn blueprint(model: &ScenarioModel) -> Result<Blueprint, LocatedError> {
    let mut plan = blueprint_without_pipes(model)?;
    for pipe in &model.pipes {
        pipes::apply_pipe(pipe, model, &mut plan)?;
    }
    Ok(plan)
}

/// As [`blueprint`], but without pipes.
pub(crate) fn blueprint_without_pipes(model: &ScenarioModel) -> Result<Blueprint, LocatedError> {
    let mut plan = nodes_and_links(model)?;
    for (host, name) in plan.hosts.iter_mut().zip(names(model, None)) {
        *host = name;
    }
    apply_switch_table(model, &mut plan);
    plan.routing = model.routing;
    for failure in &model.failures {
        let (link, reversed) = links::find(&plan, model, &failure.link, failure.nth)?;
        let only_back = match failure.direction.as_str() {
            "right" => Some(reversed),
            "left" => Some(!reversed),
            _ => None,
        };
        let at = |time| Instant::ZERO + time;
        let (down_at, up_at) = (at(failure.down), failure.up.map(at));
        let &LinkFailure { detect, rate, reweight, .. } = failure;
        plan.failures.push(Failure { link, down_at, up_at, detect, only_back, rate, reweight });
    }
    Ok(plan)
}

/// Returns the context of the workloads of a run in the network `plan`.
pub(crate) fn workload_context(
    model: &ScenarioModel,
    plan: &Blueprint,
    seed: u64,
) -> WorkloadContext {
    let at = |time| Instant::ZERO + time;
    let (end, load_end) = (at(model.run.duration), at(model.run.limit()));
    WorkloadContext { seed, end, load_end, hosts: host_infos(plan) }
}

/// Returns the hosts as workloads see them.
fn host_infos(plan: &Blueprint) -> Arc<[HostInfo]> {
    let hosts = plan.hosts.iter().zip(plan.racks()).zip(&plan.links);
    // In every topology link `i` belongs to host `i`, and the host is its first end.
    hosts
        .map(|((name, rack), link)| HostInfo { name: name.clone(), rate: link.from_a.rate, rack })
        .collect()
}

/// Most links of a network: more than a k-ary fat tree of 65,536 hosts has.
const MAX_LINKS: u64 = 500_000;

/// Builds nodes and links.
fn nodes_and_links(model: &ScenarioModel) -> Result<Blueprint, LocatedError> {
    let t = &model.topology;
    let switch_links = (t.entry.switch_links)(&t.values);
    let links = switch_links.saturating_add(model.host_count().into());
    if links > MAX_LINKS {
        let message = format!("this {} has {links} links, more than {MAX_LINKS}", t.entry.name);
        return Err(LocatedError { at: t.at, message, help: Some("make it smaller".to_owned()) });
    }
    let mut listed = graph::listed_links(model)?;
    let args = TopologyArgs {
        values: t.values.clone(),
        hosts: (0..t.entry.sides().len().max(1)).map(|side| names(model, Some(side))).collect(),
        switches: t.graph.switches.iter().map(|s| s.name.clone()).collect(),
        links: std::mem::take(&mut listed.links),
    };
    t.entry
        .blueprint(&args)
        .map_err(|error| listed.locate(&error).unwrap_or_else(|| locate(t, &error)))
}

/// Locates an error about a topology at its key.
pub(crate) fn locate(topology: &Topology, error: &BlueprintError) -> LocatedError {
    match error {
        BlueprintError::Parameter(error) => LocatedError {
            at: error.param.map_or(topology.at, |param| topology.span_of(param)),
            message: error.message.clone(),
            help: error.help.clone(),
        },
        other => LocatedError { at: topology.at, message: other.to_string(), help: None },
    }
}

/// Returns the names of all hosts, or of those of one side, by number.
fn names(model: &ScenarioModel, side: Option<usize>) -> Vec<String> {
    let of_side = |g: &&HostGroup| side.is_none_or(|side| g.side == side);
    let mut groups: Vec<_> = model.hosts.iter().filter(of_side).collect();
    groups.sort_by_key(|g| g.range.first);
    let names = |g: &HostGroup| {
        let name = g.name.clone();
        (0..g.range.count).map(move |i| format!("{name}.{i}"))
    };
    groups.into_iter().flat_map(names).collect()
}

/// Sets the memory of every switch, and the queues of its ports.
fn apply_switch_table(model: &ScenarioModel, plan: &mut Blueprint) {
    let switch = &model.switch;
    let places: Vec<&SwitchPort> = switch.each().collect();
    let of = |name: &str| {
        let spec = switch.for_switch(name);
        places.iter().position(|p| std::ptr::eq(*p, spec)).unwrap_or_default()
    };
    let chosen: Vec<usize> = plan.switches.iter().map(|s| of(&s.name)).collect();
    for (spec, place) in plan.switches.iter_mut().zip(&chosen) {
        spec.memory = places[*place].memory;
        spec.ports_per_memory = places[*place].ports_per_memory;
    }
    let ports: Vec<PortSpec> = (0_u32..).zip(&places).map(|(i, p)| port(p, i, model)).collect();
    if !switch.classes.is_empty() {
        plan.class_sets = places.iter().map(|p| classes(p, model)).collect();
    }
    for link in &mut plan.links {
        for (node, line) in [(link.a, &mut link.from_a), (link.b, &mut link.from_b)] {
            let NodeId::Switch(switch) = node else { continue };
            let place = chosen.get(switch as usize).copied().unwrap_or_default();
            line.port = ports[place].clone();
        }
    }
}

/// Returns the port of a switch with the settings `spec`, the entry number `place`.
fn port(spec: &SwitchPort, place: u32, model: &ScenarioModel) -> PortSpec {
    let count_in_service = spec.count_in_service;
    if model.switch.classes.is_empty() {
        let (buffer, mark) = (spec.buffer, spec.mark.spec.clone());
        return PortSpec { buffer, mark, count_in_service, classes: None };
    }
    let (buffer, mark) = (BufferSpec::Unlimited, MarkSpec::NONE);
    PortSpec { buffer, mark, count_in_service, classes: Some(ClassSet(place)) }
}

/// Returns the queues of a port with classes.
fn classes(spec: &SwitchPort, model: &ScenarioModel) -> Vec<ClassSpec> {
    let class = |c: &crate::model::Class| ClassSpec {
        service: c.service,
        buffer: c.buffer.unwrap_or(spec.buffer),
        mark: c.mark.as_ref().unwrap_or(&spec.mark).spec.clone(),
    };
    model.switch.classes.iter().map(class).collect()
}
