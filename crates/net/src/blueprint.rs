//! What a network is made of, before it is built: nodes, links, and the queue at each end of a link.

use std::collections::BTreeMap;

use lowtide_units::{Bytes, Duration, Parts, Rate};

use crate::{Failure, Routing};

/// A host, numbered from zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HostId(pub u32);

/// A host or a switch, each numbered from zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NodeId {
    /// An end host.
    Host(HostId),
    /// A switch.
    Switch(u32),
}

/// Bytes that a packet takes on the line beside its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Framing {
    /// Preamble, header, checksum and gap of Ethernet: 38 B per packet.
    #[default]
    Ethernet,
    /// None, to compare with simulators that have none.
    Ip,
}

impl Framing {
    /// Bytes per packet.
    pub const fn overhead(self) -> u64 {
        match self {
            Self::Ethernet => 38,
            Self::Ip => 0,
        }
    }
}

/// A length of queue, in the unit in which a threshold was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    /// Packets, whatever their size.
    Packets(u64),
    /// Bytes of IP packets, framing not counted.
    Bytes(Bytes),
}

/// How much a port may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferSpec {
    /// As much as comes.
    Unlimited,
    /// A fixed share of its own.
    Static(Count),
}

/// What a marker does with a packet that is not ECN-capable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NotEct {
    /// Let it pass.
    #[default]
    Ignore,
    /// Drop it (what RFC 8257 §5 warns of).
    Drop,
}

/// The marker (AQM) of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkSpec {
    /// None: drop-tail.
    None,
    /// Mark an arriving packet when the queue it finds is longer than `k` (DCTCP §3.1).
    Step {
        /// The threshold K.
        k: Count,
        /// What happens to packets that are not ECN-capable.
        not_ect: NotEct,
    },
    /// Mark by a virtual queue that is slower than the line (HULL).
    Phantom {
        /// Its threshold.
        k: Bytes,
        /// The share of the line's rate at which it drains.
        gamma: Parts,
        /// What happens to packets that are not ECN-capable.
        not_ect: NotEct,
    },
}

/// One output port: the queue in front of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortSpec {
    /// Admission.
    pub buffer: BufferSpec,
    /// Marking.
    pub mark: MarkSpec,
    /// Whether "queue", for K and for admission, counts the packet on the line.
    pub count_in_service: bool,
}

impl PortSpec {
    /// A host's own port: unlimited, unmarked.
    pub const NIC: Self =
        Self { buffer: BufferSpec::Unlimited, mark: MarkSpec::None, count_in_service: false };
}

/// One direction of a link: the port and the line behind it. It is what others call a pipe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineSpec {
    /// The port.
    pub port: PortSpec,
    /// The rate at which it sends.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// The share of packets that are lost at random, each on its own, before they meet the port.
    pub loss: Parts,
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
    /// A link with the same line in both directions, without loss, and these ports at `a` and `b`.
    pub const fn symmetric(
        (a, port_a): (NodeId, PortSpec),
        (b, port_b): (NodeId, PortSpec),
        rate: Rate,
        delay: Duration,
        framing: Framing,
    ) -> Self {
        let loss = Parts::ZERO;
        Self {
            a,
            b,
            framing,
            from_a: LineSpec { port: port_a, rate, delay, loss },
            from_b: LineSpec { port: port_b, rate, delay, loss },
        }
    }

    /// The line from `a`, or the one `back` to it.
    pub const fn line(&self, back: bool) -> &LineSpec {
        if back { &self.from_b } else { &self.from_a }
    }
}

/// A whole network.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Blueprint {
    /// Name per host.
    pub hosts: Vec<String>,
    /// Name per switch.
    pub switches: Vec<String>,
    /// The links. Each host has exactly one.
    pub links: Vec<LinkSpec>,
    /// Which of several equally short ways a packet takes.
    pub routing: Routing,
    /// Links that fail, and when.
    pub failures: Vec<Failure>,
}

impl Blueprint {
    /// The name of `node`; empty for one that does not exist.
    pub fn name(&self, node: NodeId) -> &str {
        let name = match node {
            NodeId::Host(host) => self.hosts.get(host.0 as usize),
            NodeId::Switch(switch) => self.switches.get(switch as usize),
        };
        name.map_or("", String::as_str)
    }

    /// The rack of each host: hosts on the same switch are in one rack. Racks are numbered from zero
    /// in the order of their first hosts. A host without a switch is a rack of its own.
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

    /// The link between the nodes called `a` and `b`, whichever its end `a` is; of several the one
    /// number `nth`, counted from zero.
    pub fn find_link(&self, a: &str, b: &str, nth: usize) -> Option<usize> {
        let between = |link: &LinkSpec| {
            let ends = (self.name(link.a), self.name(link.b));
            ends == (a, b) || ends == (b, a)
        };
        let mut found = self.links.iter().enumerate().filter(|(_, link)| between(link));
        found.nth(nth).map(|(i, _)| i)
    }
}
