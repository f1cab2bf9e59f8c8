//! The shortest ways through a network as packets take them, for whoever reckons with a blueprint and
//! runs nothing.

use crate::route::{Edges, Routes};
use crate::{Blueprint, BlueprintError, HostId, LineSpec, LinkSpec, NodeId};

/// All shortest ways of a blueprint, every link whole.
#[derive(Clone, Debug)]
pub struct ShortestPaths<'a> {
    plan: &'a Blueprint,
    routes: Routes,
}

impl<'a> ShortestPaths<'a> {
    /// Finds them; the same ones that [`crate::Network`] takes.
    ///
    /// # Errors
    /// Those of a blueprint that is no network.
    pub fn find(plan: &'a Blueprint) -> Result<Self, BlueprintError> {
        let edges = Edges::build(plan)?;
        Ok(Self { plan, routes: Routes::find(&edges, plan.routing, 0, &[])? })
    }

    /// The host's own port.
    pub fn nic(&self, host: HostId) -> Option<u32> {
        self.routes.nic(host)
    }

    /// The ports of `switch` on shortest ways to `host`, by number: with [`crate::Routing::Single`] one,
    /// none if there is no way.
    pub fn next_ports(&self, switch: u32, host: HostId) -> Vec<u32> {
        self.routes.ports(switch, host)
    }

    /// The link of a port, and whether the port is at its end `b`.
    pub fn link(&self, port: u32) -> Option<(&'a LinkSpec, bool)> {
        Some((self.plan.links.get(port as usize / 2)?, port % 2 == 1))
    }

    /// The line of a port.
    pub fn line(&self, port: u32) -> Option<&'a LineSpec> {
        self.link(port).map(|(link, back)| link.line(back))
    }

    /// Where a port leads.
    pub fn far_end(&self, port: u32) -> Option<NodeId> {
        self.link(port).map(|(link, back)| if back { link.a } else { link.b })
    }
}
