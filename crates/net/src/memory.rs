//! The memory that the queues of a switch share.

use crate::{Blueprint, BufferSpec, NodeId, PortSpec};

/// One shared memory, as a blueprint says it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupSpec {
    /// What its queues reserve, all together, in bytes.
    pub(crate) reserved: u64,
}

/// The shared memories of a blueprint, each with its switch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    pub(crate) specs: Vec<(GroupSpec, usize)>,
    /// The memory of each port, by number; `None` at hosts and at switches that share none.
    pub(crate) of_port: Vec<Option<u32>>,
}

/// Which ports share which memory: of each switch so many, in the order of the links.
pub(crate) fn groups(plan: &Blueprint) -> Groups {
    let mut out = Groups::default();
    // Per switch: ports so far, and the memory of the last one.
    let mut last: Vec<(u32, u32)> = vec![(0, 0); plan.switches.len()];
    for link in &plan.links {
        for (back, node) in [(false, link.a), (true, link.b)] {
            let switch = match node {
                NodeId::Switch(switch) => switch as usize,
                NodeId::Host(_) => usize::MAX,
            };
            let Some(spec) = plan.switches.get(switch).filter(|s| s.memory.is_some()) else {
                out.of_port.push(None);
                continue;
            };
            let (ports, group) = &mut last[switch];
            let most = spec.ports_per_memory.map_or(u32::MAX, std::num::NonZeroU32::get);
            if ports.is_multiple_of(most) {
                *group = out.specs.len() as u32;
                out.specs.push((GroupSpec { reserved: 0 }, switch));
            }
            *ports += 1;
            out.specs[*group as usize].0.reserved += reserved(plan, &link.line(back).port);
            out.of_port.push(Some(*group));
        }
    }
    out
}

/// What the queues of a port reserve.
fn reserved(plan: &Blueprint, port: &PortSpec) -> u64 {
    let of = |buffer: &BufferSpec| match buffer {
        BufferSpec::Dynamic { reserved, .. } => reserved.as_u64(),
        BufferSpec::Unlimited | BufferSpec::Static(_) => 0,
    };
    let classes = port.classes.and_then(|set| plan.class_sets.get(set.0 as usize));
    of(&port.buffer) + classes.into_iter().flatten().map(|class| of(&class.buffer)).sum::<u64>()
}
