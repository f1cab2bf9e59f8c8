//! Checks of ports and switches before a network is built.

use lowtide_units::{Bytes, Duration, Fraction};

use crate::buffer_pool::pool_layout;
use crate::{
    Blueprint, BlueprintError, BufferSpec, ClassSpec, MarkSpec, NodeId, PortSpec, QueueLength,
    Service,
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
    let Some(set) = spec.classes else { return queue(&spec.buffer, &spec.mark, memory) };
    let Some(classes) = plan.class_sets.get(set.0 as usize) else {
        let sets = plan.class_sets.len();
        return Err(format!("has classes of list {}, of which there are only {sets}", set.0));
    };
    if classes.is_empty() || classes.len() > MOST_CLASSES {
        return Err(format!("has {} classes: give it 1 to {MOST_CLASSES}", classes.len()));
    }
    if spec.buffer != BufferSpec::Unlimited || spec.mark != MarkSpec::None {
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
    queue(&spec.buffer, &spec.mark, None)
}

fn one_class(class: &ClassSpec, memory: Option<Bytes>) -> Result<(), String> {
    if let MarkSpec::Phantom { .. } = class.mark {
        return Err("has a class with a phantom queue, which needs a whole line: \
                    take another marker, or one queue"
            .into());
    }
    if class.service == (Service::Dwrr { quantum: Bytes::new(0) }) {
        return Err("has a class with a quantum of 0 B, which is never served: \
                    give it a full packet or more"
            .into());
    }
    queue(&class.buffer, &class.mark, memory)
}

fn queue(buffer: &BufferSpec, mark: &MarkSpec, memory: Option<Bytes>) -> Result<(), String> {
    if let (BufferSpec::Dynamic { .. }, None) = (buffer, memory) {
        return Err("has a dynamic threshold at a switch without shared memory: \
                    give the switch `memory`"
            .into());
    }
    match mark {
        MarkSpec::Red(red) => {
            let ordered = match (red.min, red.max) {
                (QueueLength::Packets(min), QueueLength::Packets(max)) => min < max,
                (QueueLength::Bytes(min), QueueLength::Bytes(max)) => min < max,
                _ => return Err("has RED with min and max in two units: write both in one".into()),
            };
            if !ordered {
                return Err("has RED with min not below max: raise max".into());
            }
            if red.max_p <= Fraction::ZERO || red.max_p > Fraction::ONE {
                return Err(format!(
                    "has RED with max_p of {}: above 0 %, at most 100 %",
                    red.max_p
                ));
            }
            if red.weight > 24 || red.mean_packet == Bytes::new(0) {
                return Err("has RED with a weight beyond 24 or a mean packet of 0 B".into());
            }
        }
        MarkSpec::CoDel(codel) if codel.interval == Duration::ZERO => {
            return Err("has CoDel with an interval of zero: RFC 8289 says 100 ms".into());
        }
        MarkSpec::Pi(pi) if pi.period == Duration::ZERO => {
            return Err(
                "has PI with a period of zero: the authors update 160 times a second".into()
            );
        }
        MarkSpec::Pie(pie) if pie.period == Duration::ZERO => {
            return Err("has PIE with a period of zero: RFC 8033 says 15 ms".into());
        }
        MarkSpec::Pi(pi) if pi.b < Fraction::ZERO || pi.a <= pi.b => {
            return Err("has PI with gains that do not settle: a above b, b not negative".into());
        }
        _ => {}
    }
    Ok(())
}
