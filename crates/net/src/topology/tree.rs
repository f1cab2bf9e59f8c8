//! Code shared by the trees: layers of links, names, and size limits.

use lowtide_schema::{ParamError, Values};
use lowtide_units::{Duration, Rate};

use crate::{Blueprint, BlueprintError, Framing, HostId, LinkSpec, NodeId, PortSpec};

/// Maximum links of a generated topology: about a million hosts.
pub const MOST_LINKS: u64 = 1 << 22;

/// The links of one layer of a tree, all equal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layer {
    /// Rate in each direction.
    pub rate: Rate,
    /// Propagation delay in each direction.
    pub delay: Duration,
    /// The port of each switch on such a link. A host has [`PortSpec::NIC`].
    pub port: PortSpec,
}

impl Layer {
    /// Name of the layer of the hosts' links: `link-rate`, `link-delay`.
    pub const HOST: &str = "link";

    /// Returns the layer `name` of a topology's complete values: the rate `name-rate`, the delay
    /// `name-delay`, and ports of switches that are [`PortSpec::NIC`].
    pub fn of(values: &Values, name: &str) -> Self {
        Self {
            rate: values.rate(&format!("{name}-rate")),
            delay: values.duration(&format!("{name}-delay")),
            port: PortSpec::NIC,
        }
    }

    /// Returns a link of this layer.
    pub fn link(&self, a: NodeId, b: NodeId, framing: Framing) -> LinkSpec {
        let port = |node| match node {
            NodeId::Host(_) => PortSpec::NIC,
            NodeId::Switch(_) => self.port.clone(),
        };
        LinkSpec::symmetric((a, port(a)), (b, port(b)), self.rate, self.delay, framing)
    }
}

/// Returns a blueprint with `racks` racks of `per_rack` hosts, rack `r` on switch `r`, and the
/// given number of switches per name. Host `i` is in rack `i / per_rack` and is named `rackR.I`;
/// link `i` is its link.
pub fn racks(
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

/// Parameter checks of one topology.
pub(super) struct Check(pub(super) &'static str);

impl Check {
    pub(super) fn error(&self, param: &'static str, value: u64, need: String) -> ParamError {
        ParamError::new(param, format!("there is no {} with {param} = {value}", self.0), need)
    }

    /// Checks that no parameter is zero.
    pub(super) fn positive(&self, params: &[(&'static str, u32)]) -> Result<(), ParamError> {
        match params.iter().find(|p| p.1 == 0) {
            Some(&(param, _)) => Err(self.error(param, 0, "it must be at least 1".to_owned())),
            None => Ok(()),
        }
    }

    /// Checks that `value` is a multiple of `of`, described by `what`.
    pub(super) fn multiple(
        &self,
        (param, value): (&'static str, u32),
        of: u32,
        what: &str,
    ) -> Result<(), ParamError> {
        if value.checked_rem(of) == Some(0) {
            return Ok(());
        }
        Err(self.error(param, value.into(), format!("it must be a multiple of {what} ({of})")))
    }

    /// Returns the sum of these products, if it is at most [`MOST_LINKS`].
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
