//! All hosts on one switch, `switch0`.

use super::{HostLine, params};
use crate::registry::{Param, ParamFormat, RegistryEntry};
use crate::{Blueprint, Framing, PortSpec};

/// Registration.
pub static ENTRY: RegistryEntry = RegistryEntry {
    name: "star",
    summary: "every host on one switch",
    spec: "lowtide",
    params: &[
        params::HOSTS,
        params::RATE,
        params::DELAY,
        params::FRAMING,
        Param {
            name: "port",
            kind: ParamFormat::Port,
            default: None,
            doc: "The ports of the switch.",
        },
    ],
};

/// The parameters of a star.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Star {
    /// The hosts, in order.
    pub hosts: Vec<HostLine>,
    /// Framing on every line.
    pub framing: Framing,
    /// Every port of the switch.
    pub port: PortSpec,
}

/// Returns the blueprint of `star`. Link `i` connects host `i` (end `a`) to the switch.
pub fn star(star: &Star) -> Blueprint {
    let link = |(i, host): (usize, &HostLine)| host.link(i, 0, star.framing, star.port.clone());
    Blueprint {
        hosts: star.hosts.iter().map(|host| host.name.clone()).collect(),
        switches: vec!["switch0".into()],
        links: star.hosts.iter().enumerate().map(link).collect(),
        ..Blueprint::default()
    }
}
