//! Declaration of a topology, and the arguments that it is built from.

use lowtide_schema::{Param, ParamError, Part, Value, Values};

use super::HostLine;
use super::params::{AS_LINK_DELAY, AS_LINK_RATE, FRAMING, LINK_DELAY, LINK_RATE};
use super::tree::Layer;
use crate::{Blueprint, BlueprintError, HostId, LinkSpec, NodeId};

/// A registered topology.
///
/// The functions take complete values, as [`TopologyEntry::values`] returns them.
#[derive(Clone, Copy, Debug)]
pub struct TopologyEntry {
    /// Name in kebab case, as users write it.
    pub name: &'static str,
    /// A one-line summary.
    pub summary: &'static str,
    /// Its specification; `lowtide` if there is none.
    pub spec: &'static str,
    /// Its own parameters, in order. [`TopologyEntry::all_params`] adds those of every topology.
    /// A parameter that another topology has too must be of the same kind.
    pub params: &'static [Param],
    /// Its hosts.
    pub hosts: HostLayout,
    /// Links that have a name. Users call all other links by their ends.
    pub named_links: &'static [NamedLink],
    /// Whether there may be several shortest paths between two hosts.
    pub multipath: bool,
    /// Whether users list its switches and links one by one
    /// ([`TopologyArgs::switches`], [`TopologyArgs::links`]).
    pub explicit_links: bool,
    /// Number of links between switches; 0 if users list them.
    pub switch_links: fn(&Values) -> u64,
    /// Checks the values in combination; each is already in its range.
    pub check: fn(&Values) -> Result<(), ParamError>,
    /// Builds nodes and links; [`TopologyEntry::blueprint`] calls it. Link `i` is that of host `i`,
    /// its end `a`. Ports of switches are [`crate::PortSpec::NIC`]; the caller sets them.
    pub build: fn(&TopologyArgs) -> Result<Blueprint, BlueprintError>,
}

/// The hosts of a topology.
#[derive(Clone, Copy, Debug)]
pub enum HostLayout {
    /// Any number, all alike, in the order of the user.
    Any,
    /// Any number on each side. They are numbered side by side.
    Sides(&'static [Side]),
    /// This number, which follows from the parameters. They are numbered rack by rack.
    Fixed(fn(&Values) -> u64),
}

/// A group of hosts with a common location.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    /// Name in kebab case, as users write it.
    pub name: &'static str,
    /// Its location, one sentence.
    pub doc: &'static str,
    /// Whether it needs a host.
    pub required: bool,
}

/// A link with a name.
#[derive(Clone, Copy, Debug)]
pub struct NamedLink {
    /// Name in kebab case, as users write it.
    pub name: &'static str,
    /// Its description in messages: `the line between the switches`.
    pub doc: &'static str,
    /// Names of its ends. The direction from the first to the second is `right`.
    pub ends: [&'static str; 2],
}

/// A link that users list by the names of its ends ([`TopologyEntry::explicit_links`]).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphLink {
    /// The name of one end.
    pub a: String,
    /// The name of the other end.
    pub b: String,
    /// Rate and delay in each direction, and the port of each end that is a switch.
    pub line: Layer,
}

/// The arguments of [`TopologyEntry::blueprint`].
#[derive(Clone, Debug, Default)]
pub struct TopologyArgs {
    /// The values of all parameters.
    pub values: Values,
    /// Host names per side of [`HostLayout::Sides`], or of the only side of [`HostLayout::Any`].
    /// Unused if the number of hosts is fixed.
    pub hosts: Vec<Vec<String>>,
    /// Names of switches, in order, if users list them.
    pub switches: Vec<String>,
    /// Links, in order, if users list them.
    pub links: Vec<GraphLink>,
}

impl Part for TopologyEntry {
    const WHAT: &'static str = "topology";

    fn name(&self) -> &'static str {
        self.name
    }
}

impl TopologyEntry {
    /// Returns all parameters: rate and delay of the hosts' links, its own, and the framing.
    pub fn all_params(&self) -> impl Iterator<Item = &'static Param> + use<> {
        const FIRST: &[Param] = &[LINK_RATE, LINK_DELAY];
        const LAST: &[Param] = &[FRAMING];
        FIRST.iter().chain(self.params).chain(LAST)
    }

    /// Returns the values that `given` returns, completed by defaults and checked.
    ///
    /// # Errors
    /// A value is out of range, a required one is missing, or the values do not fit together.
    pub fn values(
        &self,
        mut given: impl FnMut(&'static Param) -> Option<Value>,
    ) -> Result<Values, ParamError> {
        let (mut link_rate, mut link_delay) = (None, None);
        let values = Values::complete(self.all_params(), |param| {
            let value = given(param).or_else(|| match param.default {
                AS_LINK_RATE => link_rate.clone(),
                AS_LINK_DELAY => link_delay.clone(),
                _ => None,
            });
            if param.name == LINK_RATE.name {
                link_rate.clone_from(&value);
            } else if param.name == LINK_DELAY.name {
                link_delay.clone_from(&value);
            }
            value
        })?;
        (self.check)(&values)?;
        Ok(values)
    }

    /// Builds nodes and links.
    ///
    /// # Errors
    /// The topology does not exist with these arguments.
    ///
    /// # Panics
    /// `build` has a bug: a host has no link, another number, or its number of hosts is not that of
    /// the entry. Listed links are checked later, as they are of the user.
    pub fn blueprint(&self, args: &TopologyArgs) -> Result<Blueprint, BlueprintError> {
        let plan = (self.build)(args)?;
        if self.explicit_links {
            return Ok(plan);
        }
        let own = |(host, link): (u32, &LinkSpec)| link.a == NodeId::Host(HostId(host));
        let linked = (0..).zip(&plan.links).take(plan.hosts.len()).filter(|l| own(*l)).count();
        let hosts = plan.hosts.len() as u64;
        assert!(
            linked as u64 == hosts && self.host_count(&args.values).is_none_or(|n| n == hosts),
            "the topology `{}` has {hosts} hosts, of which {linked} have the link of their number",
            self.name
        );
        Ok(plan)
    }

    /// Returns the number of hosts, if the parameters determine it.
    pub fn host_count(&self, values: &Values) -> Option<u64> {
        match self.hosts {
            HostLayout::Fixed(count) => Some(count(values)),
            HostLayout::Any | HostLayout::Sides(_) => None,
        }
    }

    /// Returns the sides that a host may be on; empty if all hosts are alike.
    pub const fn sides(&self) -> &'static [Side] {
        match self.hosts {
            HostLayout::Sides(sides) => sides,
            HostLayout::Any | HostLayout::Fixed(_) => &[],
        }
    }

    /// Returns the link of that name.
    pub fn named_link(&self, name: &str) -> Option<&'static NamedLink> {
        self.named_links.iter().find(|link| link.name == name)
    }
}

impl TopologyArgs {
    /// Returns the hosts of a side with their lines, in order.
    pub fn host_lines(&self, side: usize) -> Vec<HostLine> {
        let Layer { rate, delay, .. } = Layer::of(&self.values, Layer::HOST);
        let names = self.hosts.get(side).into_iter().flatten();
        names.map(|name| HostLine { name: name.clone(), rate, delay }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::REGISTRY;

    #[test]
    fn entries_are_complete_and_their_defaults_are_values() {
        assert!(REGISTRY.all().count() >= 7);
        for entry in REGISTRY.all() {
            assert!(!entry.summary.is_empty() && !entry.spec.is_empty(), "{}", entry.name);
            for param in entry.all_params() {
                let name = format!("{}.{}", entry.name, param.name);
                assert!(param.doc.ends_with('.') && !param.source.is_empty(), "{name}");
                if let Some(text) = param.default.text() {
                    assert_eq!(param.kind.parse(text).map(|v| v.to_string()), Ok(text.to_owned()));
                }
            }
            for side in entry.sides() {
                assert!(side.doc.ends_with('.'), "{}.{}", entry.name, side.name);
            }
        }
    }

    #[test]
    #[should_panic(expected = "the topology `star` has 1 hosts, of which 0 have the link")]
    fn a_host_without_its_link_is_a_bug() {
        let build = |_: &TopologyArgs| {
            Ok(Blueprint { hosts: vec!["a".to_owned()], ..Blueprint::default() })
        };
        let entry = TopologyEntry { build, ..*REGISTRY.find("star").unwrap() };
        let _ = entry.blueprint(&TopologyArgs::default());
    }

    #[test]
    fn unset_layers_are_as_the_links_of_the_hosts() {
        let entry = REGISTRY.find("dumbbell").unwrap();
        let given =
            [("link-rate", "10 Gbit/s"), ("link-delay", "5 us"), ("bottleneck-delay", "20 us")];
        let of = |given: &[(&str, &str)]| {
            entry.values(|param| {
                let (_, text) = given.iter().find(|(name, _)| *name == param.name)?;
                Some(param.kind.parse(text).unwrap())
            })
        };
        let values = of(&given).unwrap();
        assert_eq!(values.rate("bottleneck-rate"), values.rate("link-rate"));
        assert_eq!(values.duration("bottleneck-delay").as_us(), 20);
        assert_eq!(values.name("framing"), "ethernet");
        assert_eq!(of(&given[1..]).unwrap_err().param, Some("link-rate"));
    }
}
