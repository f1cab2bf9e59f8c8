//! What the trees share: layers of links, names, and the limits of size.

use lowtide_units::{Duration, Rate};

use crate::{Blueprint, BlueprintError, Framing, HostId, LinkSpec, NodeId, PortSpec};

/// The most links of a generated topology: about a million hosts.
pub const MOST_LINKS: u64 = 1 << 22;

/// The links of one layer of a tree, all alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layer {
    /// Rate in each direction.
    pub rate: Rate,
    /// Propagation delay in each direction.
    pub delay: Duration,
    /// The port of each switch on such a link. That of a host is [`PortSpec::NIC`].
    pub port: PortSpec,
}

impl Layer {
    /// A link of this layer.
    pub(super) fn link(&self, a: NodeId, b: NodeId, framing: Framing) -> LinkSpec {
        let port = |node| match node {
            NodeId::Host(_) => PortSpec::NIC,
            NodeId::Switch(_) => self.port,
        };
        LinkSpec::symmetric((a, port(a)), (b, port(b)), self.rate, self.delay, framing)
    }
}

/// A blueprint with `racks` racks of `per_rack` hosts, rack `r` on switch `r`, and these switches: so
/// many of each name. Host `i` is in rack `i / per_rack` and called `rackR.I`; link `i` is its.
pub(super) fn racks(
    (racks, per_rack): (u32, u32),
    host: &Layer,
    framing: Framing,
    switches: &[(&str, u32)],
) -> Blueprint {
    let mut plan = Blueprint::default();
    for &(name, count) in switches {
        plan.switches.extend((0..count).map(|i| format!("{name}{i}").into()));
    }
    for rack in 0..racks {
        for i in 0..per_rack {
            let id = NodeId::Host(HostId(rack * per_rack + i));
            plan.hosts.push(format!("rack{rack}.{i}"));
            plan.links.push(host.link(id, NodeId::Switch(rack), framing));
        }
    }
    plan
}

/// What must hold of the parameters of one topology.
pub(super) struct Check(pub(super) &'static str);

impl Check {
    pub(super) fn error(&self, param: &'static str, value: u64, need: String) -> BlueprintError {
        BlueprintError::Parameter { topology: self.0, param, value, need }
    }
    /// None may be zero.
    pub(super) fn positive(&self, params: &[(&'static str, u32)]) -> Result<(), BlueprintError> {
        match params.iter().find(|p| p.1 == 0) {
            Some(&(param, _)) => Err(self.error(param, 0, "it must be at least 1".to_owned())),
            None => Ok(()),
        }
    }
    /// `value` must be a multiple of `of`, which is what `what` says.
    pub(super) fn multiple(
        &self,
        (param, value): (&'static str, u32),
        of: u32,
        what: &str,
    ) -> Result<(), BlueprintError> {
        if value.checked_rem(of) == Some(0) {
            return Ok(());
        }
        Err(self.error(param, value.into(), format!("it must be a multiple of {what} ({of})")))
    }
    /// The sum of these products, if it is not more than [`MOST_LINKS`].
    pub(super) fn links(products: &[&[u32]]) -> Result<(), BlueprintError> {
        let product = |p: &&[u32]| p.iter().fold(1_u64, |all, n| all.saturating_mul((*n).into()));
        let links = products.iter().map(product).fold(0, u64::saturating_add);
        if links <= MOST_LINKS {
            return Ok(());
        }
        let (links, most) = (links as usize, MOST_LINKS as usize);
        Err(BlueprintError::TooManyLinks { links, most })
    }
}
