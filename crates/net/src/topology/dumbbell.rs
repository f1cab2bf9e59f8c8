//! Hosts on the left of `switch0`, hosts on the right of `switch1`, one link between the switches.

use lowtide_units::{Duration, Rate};

use super::{HostLine, params};
use crate::registry::{Param, ParamFormat, RegistryEntry};
use crate::{Blueprint, Framing, LinkSpec, NodeId, PortSpec};

/// Registration.
pub static ENTRY: RegistryEntry = RegistryEntry {
    name: "dumbbell",
    summary: "two switches with hosts on each, one link between them",
    spec: "lowtide",
    params: &[
        Param {
            name: "left",
            kind: ParamFormat::Hosts,
            default: None,
            doc: "The hosts on the left.",
        },
        Param {
            name: "right",
            kind: ParamFormat::Hosts,
            default: None,
            doc: "The hosts on the right.",
        },
        params::RATE,
        params::DELAY,
        Param {
            name: "bottleneck-rate",
            kind: ParamFormat::Rate,
            default: None,
            doc: "Rate of the link between the switches in each direction.",
        },
        Param {
            name: "bottleneck-delay",
            kind: ParamFormat::Duration,
            default: None,
            doc: "Propagation delay between the switches in each direction.",
        },
        params::FRAMING,
        params::PORT,
        Param {
            name: "bottleneck-port",
            kind: ParamFormat::Port,
            default: None,
            doc: "The two ports between the switches.",
        },
    ],
};

/// The parameters of a dumbbell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dumbbell {
    /// The hosts on `switch0`; they are numbered first.
    pub left: Vec<HostLine>,
    /// The hosts on `switch1`.
    pub right: Vec<HostLine>,
    /// Rate between the switches.
    pub bottleneck_rate: Rate,
    /// Propagation delay between the switches.
    pub bottleneck_delay: Duration,
    /// Framing on every line.
    pub framing: Framing,
    /// The ports of switches towards hosts.
    pub port: PortSpec,
    /// The port of each switch towards the other.
    pub bottleneck_port: PortSpec,
}

/// Returns the blueprint of `dumbbell`.
///
/// Link `i` connects host `i` (end `a`) to its switch; the last link connects `switch0` to
/// `switch1`.
pub fn dumbbell(dumbbell: &Dumbbell) -> Blueprint {
    let left = dumbbell.left.iter().map(|host| (host, 0));
    let right = dumbbell.right.iter().map(|host| (host, 1));
    let mut plan =
        Blueprint { switches: vec!["switch0".into(), "switch1".into()], ..Blueprint::default() };
    for (i, (host, switch)) in left.chain(right).enumerate() {
        plan.hosts.push(host.name.clone());
        plan.links.push(host.link(i, switch, dumbbell.framing, dumbbell.port.clone()));
    }
    plan.links.push(LinkSpec::symmetric(
        (NodeId::Switch(0), dumbbell.bottleneck_port.clone()),
        (NodeId::Switch(1), dumbbell.bottleneck_port.clone()),
        dumbbell.bottleneck_rate,
        dumbbell.bottleneck_delay,
        dumbbell.framing,
    ));
    plan
}
