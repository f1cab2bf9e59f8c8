//! Shortest paths through a network as packets take them, for analysis of a blueprint without a
//! run.

use crate::route::{Edges, Routes};
use crate::{Blueprint, BlueprintError, HostId, LineSpec, LinkSpec, NodeId};

/// All shortest paths of a blueprint with all links up.
#[derive(Clone, Debug)]
pub struct ShortestPaths<'a> {
    plan: &'a Blueprint,
    routes: Routes,
}

impl<'a> ShortestPaths<'a> {
    /// Finds the paths that [`crate::Network`] takes.
    ///
    /// # Errors
    /// Those of an invalid blueprint.
    pub fn find(plan: &'a Blueprint) -> Result<Self, BlueprintError> {
        let edges = Edges::build(plan)?;
        Ok(Self { plan, routes: Routes::find(&edges, plan.routing, 0, &[], &plan.line_rates())? })
    }

    /// Returns the port of the host.
    pub fn nic(&self, host: HostId) -> Option<u32> {
        self.routes.nic(host)
    }

    /// Returns the ports of `switch` on shortest paths to `host`, by number: one with
    /// [`crate::Routing::Single`], none if there is no path.
    pub fn next_ports(&self, switch: u32, host: HostId) -> Vec<u32> {
        self.routes.ports(switch, host)
    }

    /// Returns the link of a port, and true if the port is at its end `b`.
    pub fn link(&self, port: u32) -> Option<(&'a LinkSpec, bool)> {
        Some((self.plan.links.get(port as usize / 2)?, port % 2 == 1))
    }

    /// Returns the line of a port.
    pub fn line(&self, port: u32) -> Option<&'a LineSpec> {
        self.link(port).map(|(link, back)| link.line(back))
    }

    /// Returns the node at the far end of a port.
    pub fn far_end(&self, port: u32) -> Option<NodeId> {
        self.link(port).map(|(link, back)| if back { link.a } else { link.b })
    }
}
