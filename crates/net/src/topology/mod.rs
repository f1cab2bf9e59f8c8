//! Topologies: generators of a [`crate::Blueprint`] from several parameters. One file per topology,
//! found by name.
//!
//! Hosts are numbered in the given order, side by side, or rack by rack in a tree. Link `i` is that
//! of host `i` (end `a`); links between switches follow. Host ports are [`crate::PortSpec::NIC`];
//! switch ports are too if a topology is built from values, and the caller then sets them. Routes
//! are computed, so there are no loops.
//!
//! A topology of another crate is registered with `REGISTRY.register(&ENTRY)`.

// lowtide:registry begin (kept by `cargo xtask registry`)
pub mod dumbbell;
pub mod fat_tree;
pub mod graph;
pub mod leaf_spine;
pub mod multi_hop;
pub mod star;
pub mod three_tier;
// lowtide:registry end
mod entry;
mod params;
pub mod tree;

pub use entry::{GraphLink, HostLayout, NamedLink, Side, TopologyArgs, TopologyEntry};
pub use params::{
    AS_LINK_DELAY, AS_LINK_RATE, FRAMING, LINK_DELAY, LINK_RATE, count, delay, framing, number,
    rate,
};

use lowtide_schema::Registry;
use lowtide_units::{Duration, Rate};

use crate::{Framing, HostId, LinkSpec, NodeId, PortSpec};

/// The topologies of this crate.
// lowtide:registry list (kept by `cargo xtask registry`)
static BUILT_IN: &[&TopologyEntry] = &[
    &dumbbell::ENTRY,
    &fat_tree::ENTRY,
    &graph::ENTRY,
    &leaf_spine::ENTRY,
    &multi_hop::ENTRY,
    &star::ENTRY,
    &three_tier::ENTRY,
];
// lowtide:registry list end

/// All topologies, by name.
pub static REGISTRY: Registry<TopologyEntry> = Registry::new(BUILT_IN);

/// A host and its line to the switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostLine {
    /// The host's name.
    pub name: String,
    /// Rate of the line in each direction.
    pub rate: Rate,
    /// Propagation delay of the line in each direction.
    pub delay: Duration,
}

impl HostLine {
    /// Returns the link of this host, number `host`, to `switch`, whose port to it is `port`.
    pub fn link(&self, host: usize, switch: u32, framing: Framing, port: PortSpec) -> LinkSpec {
        let host = NodeId::Host(HostId(host as u32));
        let ends = ((host, PortSpec::NIC), (NodeId::Switch(switch), port));
        LinkSpec::symmetric(ends.0, ends.1, self.rate, self.delay, framing)
    }
}
