//! What can be wrong with a blueprint.

use lowtide_units::Instant;

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
    /// More routes than there is memory for.
    #[error(
        "{switches} switches with routes to {racks} racks are too many, the most is {most} routes"
    )]
    TooManyRoutes {
        /// How many switches there are.
        switches: usize,
        /// How many of them have hosts.
        racks: usize,
        /// How many routes there may be: switches times racks.
        most: usize,
    },
    /// Two nodes have one name.
    #[error("{name} is the name of two nodes; each needs one of its own")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A link of a graph ends at a name that no node has.
    #[error("link {link} ends at {name}, which is neither a host nor a switch")]
    UnknownName {
        /// The link.
        link: usize,
        /// The name.
        name: String,
    },
    /// A parameter with which there is no such topology.
    #[error("there is no {topology} with {param} = {value}: {need}")]
    Parameter {
        /// The topology's name.
        topology: &'static str,
        /// The parameter's name in kebab case.
        param: &'static str,
        /// Its value.
        value: u64,
        /// What would be right.
        need: String,
    },
    /// A link fails that does not exist.
    #[error("failure {failure} is of link {link}, of which there are only {links}")]
    FailureOfNoLink {
        /// The failure, counted from zero.
        failure: usize,
        /// The link.
        link: usize,
        /// How many there are.
        links: usize,
    },
    /// A link comes back before it fails, or at that very time.
    #[error("failure {failure} ends at {up_at}, which is not after its start at {down_at}")]
    FailureEndsEarly {
        /// The failure, counted from zero.
        failure: usize,
        /// When the link fails.
        down_at: Instant,
        /// When it is said to come back.
        up_at: Instant,
    },
    /// A link fails again before it is back, or the routes would hear of it in the wrong order.
    #[error(
        "failures {first} and {second} are of one link and overlap: the first must be over, and \
         detected, before the second starts and is detected"
    )]
    FailuresOverlap {
        /// The earlier one, counted from zero.
        first: usize,
        /// The later one.
        second: usize,
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
