//! Errors of a blueprint.

use lowtide_schema::ParamError;
use lowtide_units::{Instant, Rate};

use crate::NodeId;

/// The reason why a [`crate::Blueprint`] is invalid. Links are counted from zero.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BlueprintError {
    /// A link ends at a node that does not exist.
    #[error("link {link} ends at {}, of which there are only {count}", describe(*.node))]
    UnknownNode {
        /// The link.
        link: usize,
        /// The node.
        node: NodeId,
        /// Number of nodes of that kind in the blueprint.
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
    /// No path from one node to another.
    #[error("there is no path from {from} to {to}")]
    Disconnected {
        /// The first node.
        from: String,
        /// The first node that is unreachable from it.
        to: String,
    },
    /// A port specification is invalid.
    #[error("the port of link {link} {} {reason}", at_end(*.back))]
    Port {
        /// The link.
        link: usize,
        /// True for end `b`, false for end `a`.
        back: bool,
        /// The fault and its remedy.
        reason: String,
    },
    /// The reserved memory exceeds the memory of the switch.
    #[error(
        "{name} has {memory} B of shared memory, of which its queues reserve {reserved} B: raise the \
         memory or lower what is reserved"
    )]
    Reserved {
        /// The switch's name.
        name: String,
        /// Its memory, or that of one group of its ports, in bytes.
        memory: u64,
        /// The reserved part in bytes.
        reserved: u64,
    },
    /// More links than event entities.
    #[error("{links} links are too many, the most is {most}")]
    TooManyLinks {
        /// Number of links.
        links: usize,
        /// Maximum number of links.
        most: usize,
    },
    /// The routing table would be too large.
    #[error(
        "{switches} switches with routes to {racks} racks are too many, the most is {most} routes"
    )]
    TooManyRoutes {
        /// Number of switches.
        switches: usize,
        /// Number of switches with hosts.
        racks: usize,
        /// Maximum number of routes: switches times racks.
        most: usize,
    },
    /// Two nodes have one name.
    #[error("{name} is the name of two nodes; each needs a unique name")]
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
    /// A parameter value for which the topology does not exist.
    #[error("{}{}", .0.message, help(.0))]
    Parameter(#[from] ParamError),
    /// A link fails that does not exist.
    #[error("failure {failure} is of link {link}, of which there are only {links}")]
    FailureOfNoLink {
        /// The failure, counted from zero.
        failure: usize,
        /// The link.
        link: usize,
        /// Number of links.
        links: usize,
    },
    /// A link comes back up at or before the time of its failure.
    #[error("failure {failure} ends at {up_at}, which is not after its start at {down_at}")]
    FailureEndsEarly {
        /// The failure, counted from zero.
        failure: usize,
        /// Time of the failure.
        down_at: Instant,
        /// Time of the repair.
        up_at: Instant,
    },
    /// A failure leaves a line at least its own rate.
    #[error("failure {failure} leaves {rate} of a line of {own}, which is no loss")]
    FailureOfNoRate {
        /// The failure, counted from zero.
        failure: usize,
        /// The rate that it leaves.
        rate: Rate,
        /// The rate of the line.
        own: Rate,
    },
    /// A link fails again before it is back up, or the routes would learn of it in the wrong order.
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

fn help(error: &ParamError) -> String {
    error.help.as_ref().map_or_else(String::new, |help| format!(": {help}"))
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
