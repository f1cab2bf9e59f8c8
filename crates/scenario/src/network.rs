//! The network of a scenario.

use lowtide_net::Blueprint;
use lowtide_net::topology::HostLine;
use lowtide_net::topology::dumbbell::{Dumbbell, dumbbell};
use lowtide_net::topology::star::{Star, star};

use crate::model::{Model, TopologyKind};

/// Nodes and links; hosts are called `group.index`, those of the left side first.
pub(crate) fn blueprint(model: &Model) -> Blueprint {
    let topology = &model.topology;
    let port = model.switch.port;
    let mut plan = match topology.kind {
        TopologyKind::Star => {
            star(&Star { hosts: side(model, false), framing: topology.framing, port })
        }
        TopologyKind::Dumbbell => dumbbell(&Dumbbell {
            left: side(model, false),
            right: side(model, true),
            bottleneck_rate: topology.bottleneck_rate,
            bottleneck_delay: topology.bottleneck_delay,
            framing: topology.framing,
            port,
            bottleneck_port: port,
        }),
    };
    for pipe in &model.pipes {
        pipe.lay(&mut plan, &model.hosts);
    }
    plan
}

/// The hosts of one side, in the order of the file.
fn side(model: &Model, right: bool) -> Vec<HostLine> {
    let groups = model.hosts.iter().filter(|g| g.right == right);
    let line =
        |name: String| HostLine { name, rate: model.topology.rate, delay: model.topology.delay };
    groups.flat_map(|g| (0..g.range.count).map(|i| line(format!("{}.{i}", g.name)))).collect()
}
