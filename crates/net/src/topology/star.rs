//! Every host on one switch, `switch0`.

use super::HostLine;
use crate::registry::{Entry, Kind, Param};
use crate::{Blueprint, Framing, PortSpec};

/// Registration.
pub static ENTRY: Entry = Entry {
    name: "star",
    summary: "every host on one switch",
    spec: "lowtide",
    params: &[
        Param { name: "hosts", kind: Kind::Hosts, default: None, doc: "The hosts, in order." },
        Param {
            name: "rate",
            kind: Kind::Rate,
            default: None,
            doc: "Rate of a host's line in each direction.",
        },
        Param {
            name: "delay",
            kind: Kind::Duration,
            default: None,
            doc: "Propagation delay of a host's line in each direction.",
        },
        Param {
            name: "framing",
            kind: Kind::Choice(&["ethernet", "ip"]),
            default: Some("ethernet"),
            doc: "Bytes on the line beside the packet: 38 per packet, or none.",
        },
        Param { name: "port", kind: Kind::Port, default: None, doc: "The ports of the switch." },
    ],
};

/// What a star is made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Star {
    /// The hosts, in order.
    pub hosts: Vec<HostLine>,
    /// Framing on every line.
    pub framing: Framing,
    /// Every port of the switch.
    pub port: PortSpec,
}

/// The blueprint of `star`. Link `i` is host `i` and the switch, the host being end `a`.
pub fn star(star: &Star) -> Blueprint {
    let link = |(i, host): (usize, &HostLine)| host.link(i, 0, star.framing, star.port);
    Blueprint {
        hosts: star.hosts.iter().map(|host| host.name.clone()).collect(),
        switches: vec!["switch0".into()],
        links: star.hosts.iter().enumerate().map(link).collect(),
        ..Blueprint::default()
    }
}
