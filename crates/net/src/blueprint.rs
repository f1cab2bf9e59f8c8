//! The description of a network before it is built: nodes, links, and the queue at each end of a
//! link.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use lowtide_units::{Bytes, Duration, Fraction, Rate};

use crate::{ClassSpec, Failure, Framing, NodeId, PortSpec, Routing};

/// One direction of a link: the output port and the line behind it. Also called a pipe.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineSpec {
    /// The port.
    pub port: PortSpec,
    /// Its rate.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// Fraction of packets lost at random, independently, before they enter the port.
    pub loss: Fraction,
}

/// Two nodes with a line in each direction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkSpec {
    /// One end.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// Framing.
    pub framing: Framing,
    /// From `a` to `b`.
    pub from_a: LineSpec,
    /// From `b` to `a`.
    pub from_b: LineSpec,
}

impl LinkSpec {
    /// Returns a lossless link with equal lines in both directions and these ports at `a` and `b`.
    pub fn symmetric(
        (a, port_a): (NodeId, PortSpec),
        (b, port_b): (NodeId, PortSpec),
        rate: Rate,
        delay: Duration,
        framing: Framing,
    ) -> Self {
        let loss = Fraction::ZERO;
        Self {
            a,
            b,
            framing,
            from_a: LineSpec { port: port_a, rate, delay, loss },
            from_b: LineSpec { port: port_b, rate, delay, loss },
        }
    }

    /// Returns the line from `a`, or from `b` if `back`.
    pub const fn line(&self, back: bool) -> &LineSpec {
        if back { &self.from_b } else { &self.from_a }
    }
}

/// A switch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SwitchSpec {
    /// Its name.
    pub name: String,
    /// Memory shared by the queues with [`crate::BufferSpec::Dynamic`]. Other queues have their own
    /// memory in addition.
    pub memory: Option<Bytes>,
    /// Number of ports, in link order, that share one memory of this size; the next ones share
    /// another. `None`: all ports share one.
    pub ports_per_memory: Option<NonZeroU32>,
}

impl From<&str> for SwitchSpec {
    /// Returns a switch with that name and no shared memory.
    fn from(name: &str) -> Self {
        name.to_owned().into()
    }
}

impl From<String> for SwitchSpec {
    /// Returns a switch with that name and no shared memory.
    fn from(name: String) -> Self {
        Self { name, ..Self::default() }
    }
}

/// A whole network.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Blueprint {
    /// Host names.
    pub hosts: Vec<String>,
    /// The switches.
    pub switches: Vec<SwitchSpec>,
    /// The links. Each host has exactly one.
    pub links: Vec<LinkSpec>,
    /// Class lists for [`PortSpec::classes`]. A packet belongs to the class of its number, or to
    /// the last one if the list is shorter.
    pub class_sets: Vec<Vec<ClassSpec>>,
    /// The choice among several shortest paths.
    pub routing: Routing,
    /// Link failures.
    pub failures: Vec<Failure>,
}

impl Blueprint {
    /// Returns the name of `node`; empty if it does not exist.
    pub fn name(&self, node: NodeId) -> &str {
        let name = match node {
            NodeId::Host(host) => self.hosts.get(host.0 as usize).map(String::as_str),
            NodeId::Switch(switch) => self.switches.get(switch as usize).map(|s| s.name.as_str()),
        };
        name.unwrap_or_default()
    }

    /// Returns the names of all output ports by number: `from->to`, parallel ones with `#1`, `#2`,
    /// ...
    pub fn port_names(&self) -> Vec<String> {
        let mut names = Vec::with_capacity(self.links.len() * 2);
        let mut between: BTreeMap<_, u32> = BTreeMap::new();
        for &LinkSpec { a, b, .. } in &self.links {
            let before = between.entry((a.min(b), a.max(b))).or_default();
            let suffix = if *before == 0 { String::new() } else { format!("#{before}") };
            *before += 1;
            let name = |from, to| format!("{}->{}{suffix}", self.name(from), self.name(to));
            names.extend([name(a, b), name(b, a)]);
        }
        names
    }

    /// Returns the rack of each host. Hosts on the same switch are in one rack. Racks are numbered
    /// from zero in the order of their first hosts. A host without a switch is its own rack.
    pub fn racks(&self) -> Vec<u32> {
        let mut first = vec![None; self.hosts.len()];
        for link in &self.links {
            for (near, far) in [(link.a, link.b), (link.b, link.a)] {
                if let (NodeId::Host(host), NodeId::Switch(switch)) = (near, far)
                    && let Some(first) = first.get_mut(host.0 as usize)
                {
                    first.get_or_insert(switch);
                }
            }
        }
        let mut racks = BTreeMap::new();
        let mut count = 0;
        let mut next = || {
            count += 1;
            count - 1
        };
        let rack = |switch: Option<u32>| match switch {
            Some(switch) => *racks.entry(switch).or_insert_with(&mut next),
            None => next(),
        };
        first.into_iter().map(rack).collect()
    }

    /// Returns the rates of all lines by port, in bit/s.
    pub(crate) fn line_rates(&self) -> Vec<u64> {
        let lines = self.links.iter().flat_map(|link| [&link.from_a, &link.from_b]);
        lines.map(|line| line.rate.as_bps()).collect()
    }

    /// Returns the link between the nodes `a` and `b`, in either direction; of parallel links the
    /// `nth`, counted from zero.
    pub fn find_link(&self, a: &str, b: &str, nth: usize) -> Option<usize> {
        let between = |link: &LinkSpec| {
            let ends = (self.name(link.a), self.name(link.b));
            ends == (a, b) || ends == (b, a)
        };
        let mut found = self.links.iter().enumerate().filter(|(_, link)| between(link));
        found.nth(nth).map(|(i, _)| i)
    }
}
