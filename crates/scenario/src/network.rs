//! The network of a scenario.

use lowtide_net::{Blueprint, HostId, LinkSpec, NodeId, PortSpec};

use crate::model::{Model, TopologyKind};

/// Nodes and links; hosts are called `group.index`.
pub(crate) fn blueprint(model: &Model) -> Blueprint {
    let topology = &model.topology;
    let mut out = Blueprint::default();
    let switches: &[&str] = match topology.kind {
        TopologyKind::Star => &["switch0"],
        TopologyKind::Dumbbell => &["switch0", "switch1"],
    };
    out.switches = switches.iter().map(|s| (*s).to_owned()).collect();
    // Hosts of the left side are numbered first.
    let mut groups: Vec<_> = model.hosts.iter().collect();
    groups.sort_by_key(|g| g.range.first);
    for group in groups {
        for index in 0..group.range.count {
            out.hosts.push(format!("{}.{index}", group.name));
            out.links.push(LinkSpec {
                a: NodeId::Host(HostId(group.range.first + index)),
                b: NodeId::Switch(u32::from(group.right)),
                rate: topology.rate,
                delay: topology.delay,
                framing: topology.framing,
                port_a: PortSpec::NIC,
                port_b: model.switch.port,
            });
        }
    }
    if topology.kind == TopologyKind::Dumbbell {
        out.links.push(LinkSpec {
            a: NodeId::Switch(0),
            b: NodeId::Switch(1),
            rate: topology.bottleneck_rate,
            delay: topology.bottleneck_delay,
            framing: topology.framing,
            port_a: model.switch.port,
            port_b: model.switch.port,
        });
    }
    out
}
