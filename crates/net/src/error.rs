//! What can be wrong with a blueprint.

use crate::NodeId;

/// Why a [`crate::Blueprint`] is not a network. Links are counted from zero.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BlueprintError {
    /// A link ends at a node that does not exist.
    #[error("link {link} ends at {}, of which there are only {count}", describe(*.node))]
    UnknownNode {
        /// The link.
        link: usize,
        /// The node.
        node: NodeId,
        /// How many nodes of that kind the blueprint names.
        count: usize,
    },
    /// A link has both ends at one node.
    #[error("link {link} connects {name} to itself")]
    SelfLink {
        /// The link.
        link: usize,
        /// The node's name.
        name: String,
    },
    /// A host has no link.
    #[error("host {name} has no link; each host needs exactly one")]
    NoLink {
        /// The host's name.
        name: String,
    },
    /// A host has more than one link.
    #[error("host {name} has links {first} and {second}; each host needs exactly one")]
    ManyLinks {
        /// The host's name.
        name: String,
        /// Its first link.
        first: usize,
        /// Its second link.
        second: usize,
    },
    /// There is no way from one node to another.
    #[error("there is no way from {from} to {to}")]
    Disconnected {
        /// The first node.
        from: String,
        /// The first node that it cannot reach.
        to: String,
    },
    /// What a port is made of cannot be.
    #[error("the port of link {link} {} {reason}", at_end(*.back))]
    Port {
        /// The link.
        link: usize,
        /// At its end `b`, else at `a`.
        back: bool,
        /// What is wrong, and what would be right.
        reason: String,
    },
    /// More memory is reserved than a switch has.
    #[error(
        "{name} has {memory} B of shared memory, of which its queues reserve {reserved} B: raise the \
         memory or lower what is reserved"
    )]
    Reserved {
        /// The switch's name.
        name: String,
        /// Its memory, or that of one group of its ports.
        memory: u64,
        /// What is reserved of it.
        reserved: u64,
    },
    /// More links than an event can name.
    #[error("{links} links are too many, the most is {most}")]
    TooManyLinks {
        /// How many there are.
        links: usize,
        /// How many there may be.
        most: usize,
    },
}

fn describe(node: NodeId) -> String {
    match node {
        NodeId::Host(host) => format!("host {}", host.0),
        NodeId::Switch(switch) => format!("switch {switch}"),
    }
}

fn at_end(back: bool) -> &'static str {
    if back { "at its second end" } else { "at its first end" }
}
