//! All hosts on one switch, `switch0`.

use super::{HostLayout, HostLine, TopologyEntry, framing};
use crate::{Blueprint, Framing, PortSpec};

/// Registration.
pub static ENTRY: TopologyEntry = TopologyEntry {
    name: "star",
    summary: "every host on one switch",
    spec: "lowtide",
    params: &[],
    hosts: HostLayout::Any,
    named_links: &[],
    multipath: false,
    explicit_links: false,
    switch_links: |_| 0,
    check: |_| Ok(()),
    build: |args| {
        Ok(star(&Star {
            hosts: args.host_lines(0),
            framing: framing(&args.values),
            port: PortSpec::NIC,
        }))
    },
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
