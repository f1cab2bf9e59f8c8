//! Checks of ports and switches before a network is built.

use lowtide_units::Bytes;

use crate::buffer_pool::pool_layout;
use crate::{
    Blueprint, BlueprintError, BufferSpec, ClassSpec, MarkSpec, NodeId, PortSpec, Service,
};

/// Maximum number of classes (eight traffic classes, IEEE 802.1Q).
const MOST_CLASSES: usize = 8;

/// Checks all ports and the memory of all switches.
pub(crate) fn check(plan: &Blueprint) -> Result<(), BlueprintError> {
    for (link, spec) in plan.links.iter().enumerate() {
        for (back, node) in [(false, spec.a), (true, spec.b)] {
            let complain = |reason| BlueprintError::Port { link, back, reason };
            port(plan, node, &spec.line(back).port).map_err(complain)?;
        }
    }
    for (group, switch) in pool_layout(plan).specs {
        let Some(memory) = plan.switches.get(switch).and_then(|s| s.memory) else { continue };
        if group.reserved > memory.as_u64() {
            return Err(BlueprintError::Reserved {
                name: plan.switches[switch].name.clone(),
                memory: memory.as_u64(),
                reserved: group.reserved,
            });
        }
    }
    Ok(())
}

fn port(plan: &Blueprint, node: NodeId, spec: &PortSpec) -> Result<(), String> {
    let NodeId::Switch(switch) = node else { return host_port(spec) };
    let memory = plan.switches.get(switch as usize).and_then(|s| s.memory);
    let Some(set) = spec.classes else { return queue(&spec.buffer, memory) };
    let Some(classes) = plan.class_sets.get(set.0 as usize) else {
        let sets = plan.class_sets.len();
        return Err(format!("has classes of list {}, of which there are only {sets}", set.0));
    };
    if classes.is_empty() || classes.len() > MOST_CLASSES {
        return Err(format!("has {} classes: give it 1 to {MOST_CLASSES}", classes.len()));
    }
    if spec.buffer != BufferSpec::Unlimited || spec.mark != MarkSpec::NONE {
        return Err("has classes and its own buffer or marker: give those to the classes".into());
    }
    classes.iter().try_for_each(|class| one_class(class, memory))
}

/// A host port must know departures in advance: this requires a FIFO queue without later drops.
fn host_port(spec: &PortSpec) -> Result<(), String> {
    if spec.classes.is_some() {
        return Err("is a host's own and has classes: give those to ports of switches".into());
    }
    if let BufferSpec::Dynamic { .. } = spec.buffer {
        return Err(
            "is a host's own and shares no memory: make its buffer static or unlimited".into()
        );
    }
    if spec.mark.needs_departure_events() {
        return Err("is a host's own, where no marker can drop a queued packet: \
                    take one that decides at enqueue"
            .into());
    }
    queue(&spec.buffer, None)
}

fn one_class(class: &ClassSpec, memory: Option<Bytes>) -> Result<(), String> {
    if class.mark.config().needs_whole_line() {
        let name = class.mark.name();
        return Err(format!(
            "has a class with the marker `{name}`, which needs a whole line: take another marker, \
             or one queue"
        ));
    }
    if class.service == (Service::Dwrr { quantum: Bytes::new(0) }) {
        return Err("has a class with a quantum of 0 B, which is never served: \
                    give it a full packet or more"
            .into());
    }
    queue(&class.buffer, memory)
}

fn queue(buffer: &BufferSpec, memory: Option<Bytes>) -> Result<(), String> {
    if let (BufferSpec::Dynamic { .. }, None) = (buffer, memory) {
        return Err("has a dynamic threshold at a switch without shared memory: \
                    give the switch `memory`"
            .into());
    }
    Ok(())
}
