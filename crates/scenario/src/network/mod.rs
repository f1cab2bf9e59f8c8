//! The network of a scenario.
//!
//! Contract: nodes and links are those of the topology, and hosts have the names of their groups.
//! Switches, pipes, routes and failures are then applied to them. Errors have their location in the
//! file. A new topology needs an arm in `fabric`, and one in [`host_count`] if its number of hosts
//! is fixed.

mod graph;
mod links;
mod pipes;

use std::sync::Arc;

use lowtide_net::topology::HostLine;
use lowtide_net::topology::dumbbell::{Dumbbell, dumbbell};
use lowtide_net::topology::fat_tree::{FatTree, fat_tree};
use lowtide_net::topology::leaf_spine::{LeafSpine, leaf_spine};
use lowtide_net::topology::multi_hop::{MultiHop, multi_hop};
use lowtide_net::topology::star::{Star, star};
use lowtide_net::topology::three_tier::{ThreeTier, three_tier};
use lowtide_net::topology::tree::Layer;
use lowtide_net::{
    Blueprint, BlueprintError, BufferSpec, ClassSet, ClassSpec, Failure, MarkSpec, NodeId, PortSpec,
};
use lowtide_traffic::workload::HostInfo;
use lowtide_units::Instant;

use crate::model::{ScenarioModel, SwitchPort, Topology, TopologyKind};
use crate::toml_tree::SourceSpan;
use crate::topology_keys;

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
    let mut plan = match model.topology.kind {
        TopologyKind::Graph => graph::graph(model)?,
        _ => fabric(model)?,
    };
    for (host, name) in plan.hosts.iter_mut().zip(names(model)) {
        *host = name;
    }
    apply_switch_table(model, &mut plan);
    plan.routing = model.routing;
    for failure in &model.failures {
        let link = links::find(&plan, model, &failure.link, failure.nth)?.0;
        let at = |time| Instant::ZERO + time;
        let (down_at, up_at) = (at(failure.down), failure.up.map(at));
        plan.failures.push(Failure { link, down_at, up_at, detect: failure.detect });
    }
    Ok(plan)
}

/// Returns the hosts as workloads see them.
pub(crate) fn host_infos(plan: &Blueprint) -> Arc<[HostInfo]> {
    let hosts = plan.hosts.iter().zip(plan.racks()).zip(&plan.links);
    // In every topology link `i` belongs to host `i`, and the host is its first end.
    hosts
        .map(|((name, rack), link)| HostInfo { name: name.clone(), rate: link.from_a.rate, rack })
        .collect()
}

/// Returns the number of hosts of a topology, if it is fixed.
pub(crate) fn host_count(topology: &Topology) -> Option<u64> {
    let port = PortSpec::NIC;
    match topology.kind {
        TopologyKind::Star
        | TopologyKind::Dumbbell
        | TopologyKind::MultiHop
        | TopologyKind::Graph => None,
        TopologyKind::LeafSpine => Some(of_leaf_spine(topology, port).host_count()),
        TopologyKind::FatTree => Some(of_fat_tree(topology, port).host_count()),
        TopologyKind::ThreeTier => Some(of_three_tier(topology, port).host_count()),
    }
}

/// Checks the numbers of a topology by themselves, before its hosts are counted.
pub(crate) fn dimension_error(topology: &Topology) -> Option<LocatedError> {
    match topology.kind {
        TopologyKind::FatTree => {
            of_fat_tree(topology, PortSpec::NIC).check().err().map(|e| locate(topology, &e))
        }
        _ => None,
    }
}

/// Most links of a network: more than a k-ary fat tree of 65,536 hosts has.
const MAX_LINKS: u64 = 500_000;

/// Counts the links between a topology's switches, if they depend on its numbers.
fn switch_link_count(t: &Topology) -> u64 {
    let product = |names: &[&str]| {
        names.iter().map(|name| u64::from(t.number(name))).fold(1, u64::saturating_mul)
    };
    match t.kind {
        TopologyKind::LeafSpine => product(&["leaves", "spines", "parallel"]),
        TopologyKind::FatTree => product(&["k", "k", "k"]) / 2,
        TopologyKind::ThreeTier => product(&["pods", "tors-per-pod", "tor-uplinks"])
            .saturating_add(product(&["pods", "aggs-per-pod", "agg-uplinks"])),
        _ => 0,
    }
}

/// Returns another layer of links.
fn host(topology: &Topology, port: PortSpec) -> Layer {
    Layer { rate: topology.rate, delay: topology.delay, port }
}

/// Returns another layer of links.
fn layer(topology: &Topology, name: &str, port: PortSpec) -> Layer {
    let (rate, delay) = topology_keys::layer(name).unwrap_or_default();
    let (rate, delay) = topology.rate_and_delay(rate, delay);
    Layer { rate, delay, port }
}

fn of_leaf_spine(t: &Topology, port: PortSpec) -> LeafSpine {
    LeafSpine {
        leaves: t.number("leaves"),
        spines: t.number("spines"),
        hosts_per_leaf: t.number("hosts-per-leaf"),
        parallel: t.number("parallel"),
        host: host(t, port.clone()),
        fabric: layer(t, "fabric", port),
        framing: t.framing,
    }
}

fn of_fat_tree(t: &Topology, port: PortSpec) -> FatTree {
    FatTree {
        k: t.number("k"),
        host: host(t, port.clone()),
        aggregation: layer(t, "aggregation", port.clone()),
        core: layer(t, "core", port),
        framing: t.framing,
    }
}

fn of_three_tier(t: &Topology, port: PortSpec) -> ThreeTier {
    ThreeTier {
        pods: t.number("pods"),
        tors_per_pod: t.number("tors-per-pod"),
        aggs_per_pod: t.number("aggs-per-pod"),
        cores: t.number("cores"),
        hosts_per_tor: t.number("hosts-per-tor"),
        tor_uplinks: t.number("tor-uplinks"),
        agg_uplinks: t.number("agg-uplinks"),
        host: host(t, port.clone()),
        aggregation: layer(t, "aggregation", port.clone()),
        core: layer(t, "core", port),
        framing: t.framing,
    }
}

/// Builds nodes and links of every topology except a graph.
fn fabric(model: &ScenarioModel) -> Result<Blueprint, LocatedError> {
    let t = &model.topology;
    // `apply_switch_table` sets the ports of switches.
    let (port, framing) = (PortSpec::NIC, t.framing);
    let links = switch_link_count(t).saturating_add(model.host_count().into());
    if links > MAX_LINKS {
        let message = format!("this {} has {links} links, more than {MAX_LINKS}", t.entry.name);
        return Err(LocatedError { at: t.at, message, help: Some("make it smaller".to_owned()) });
    }
    let plan = match t.kind {
        TopologyKind::Star | TopologyKind::Graph => {
            Ok(star(&Star { hosts: side(model, 0), framing, port }))
        }
        TopologyKind::Dumbbell => {
            let (bottleneck_rate, bottleneck_delay) =
                t.rate_and_delay("bottleneck-rate", "bottleneck-delay");
            Ok(dumbbell(&Dumbbell {
                left: side(model, 0),
                right: side(model, 1),
                bottleneck_rate,
                bottleneck_delay,
                framing,
                port: port.clone(),
                bottleneck_port: port,
            }))
        }
        TopologyKind::MultiHop => {
            let [s1, s2, s3, r1, r2] = [0, 1, 2, 3, 4].map(|i| side(model, i));
            let trunk = layer(t, "trunk", port.clone());
            Ok(multi_hop(&MultiHop { s1, s2, s3, r1, r2, trunk, framing, port }))
        }
        TopologyKind::LeafSpine => leaf_spine(&of_leaf_spine(t, port)),
        TopologyKind::FatTree => fat_tree(&of_fat_tree(t, port)),
        TopologyKind::ThreeTier => three_tier(&of_three_tier(t, port)),
    };
    plan.map_err(|error| locate(t, &error))
}

/// Locates an error about a topology at its key.
pub(crate) fn locate(topology: &Topology, error: &BlueprintError) -> LocatedError {
    match error {
        BlueprintError::Parameter { topology: name, param, value, need } => LocatedError {
            at: topology.span_of(param),
            message: format!("there is no {name} with {param} = {value}"),
            help: Some(need.clone()),
        },
        other => LocatedError { at: topology.at, message: other.to_string(), help: None },
    }
}

/// Returns the names of all hosts, by number.
fn names(model: &ScenarioModel) -> Vec<String> {
    let mut groups: Vec<_> = model.hosts.iter().collect();
    groups.sort_by_key(|g| g.range.first);
    let names = |g: &crate::model::HostGroup| {
        let name = g.name.clone();
        (0..g.range.count).map(move |i| format!("{name}.{i}"))
    };
    groups.into_iter().flat_map(names).collect()
}

/// Returns the hosts of one side, in the order of the file.
fn side(model: &ScenarioModel, side: usize) -> Vec<HostLine> {
    let groups = model.hosts.iter().filter(|g| g.side == side);
    let line =
        |name: String| HostLine { name, rate: model.topology.rate, delay: model.topology.delay };
    groups.flat_map(|g| (0..g.range.count).map(|i| line(format!("{}.{i}", g.name)))).collect()
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
