//! Parameters of every topology, and constructors of those that many topologies have.

use lowtide_schema::{DefaultValue, Param, ValueKind, Values};

use crate::Framing;

/// Default of a rate that is that of the hosts' links unless users set it.
pub const AS_LINK_RATE: DefaultValue = DefaultValue::Unset("as `link-rate`");

/// Default of a delay that is that of the hosts' links unless users set it.
pub const AS_LINK_DELAY: DefaultValue = DefaultValue::Unset("as `link-delay`");

/// Rate of the hosts' links; every topology has it.
pub const LINK_RATE: Param = Param {
    name: "link-rate",
    kind: ValueKind::Rate,
    default: DefaultValue::Required,
    doc: "Rate of every host's link, in each direction; default of other links.",
    source: "lowtide",
};

/// Delay of the hosts' links; every topology has it.
pub const LINK_DELAY: Param = Param {
    name: "link-delay",
    kind: ValueKind::TIME,
    default: DefaultValue::Required,
    doc: "Propagation delay of every host's link, one way; default of other links.",
    source: "lowtide",
};

/// Framing of all links; every topology has it.
pub const FRAMING: Param = Param {
    name: "framing",
    kind: ValueKind::Choice(&["ethernet", "ip"]),
    default: DefaultValue::Is("ethernet"),
    doc: "Overhead of a packet on the line: `ethernet` 38 B, `ip` none.",
    source: "IEEE 802.3",
};

/// Largest number of a topology: of its switches, hosts or links of one kind.
const MAX_COUNT: u64 = 100_000;

/// A number of switches, hosts or links: 1 to 100,000.
pub const fn count(
    name: &'static str,
    default: DefaultValue,
    doc: &'static str,
    source: &'static str,
) -> Param {
    Param { name, kind: ValueKind::Count { min: 1, max: MAX_COUNT }, default, doc, source }
}

/// The rate of links, by default that of the hosts' links.
pub const fn rate(name: &'static str, doc: &'static str, source: &'static str) -> Param {
    Param { name, kind: ValueKind::Rate, default: AS_LINK_RATE, doc, source }
}

/// The propagation delay of links, by default that of the hosts' links.
pub const fn delay(name: &'static str, doc: &'static str, source: &'static str) -> Param {
    Param { name, kind: ValueKind::TIME, default: AS_LINK_DELAY, doc, source }
}

/// A list of parameters: the given ones, then rate and delay of each layer of links.
///
/// A layer has a name and a description of its links. `"fabric" => "links between leaves and
/// spines"` declares `fabric-rate` and `fabric-delay`, which [`Layer::of`] reads. The source of
/// these is the first argument.
///
/// [`Layer::of`]: crate::topology::tree::Layer::of
#[macro_export]
macro_rules! topology_params {
    (
        $source:expr, [$($param:expr),* $(,)?],
        layers: [$($layer:literal => $links:literal),* $(,)?]
    ) => {
        &[
            $($param,)*
            $(
                $crate::topology::rate(
                    concat!($layer, "-rate"),
                    concat!("Rate of the ", $links, ", in each direction."),
                    $source,
                ),
                $crate::topology::delay(
                    concat!($layer, "-delay"),
                    concat!("Propagation delay of the ", $links, ", one way."),
                    $source,
                ),
            )*
        ]
    };
}

/// Returns the value of a [`count`].
pub fn number(values: &Values, name: &str) -> u32 {
    u32::try_from(values.count(name)).unwrap_or(u32::MAX)
}

/// Returns the framing of all links.
pub fn framing(values: &Values) -> Framing {
    match values.name(FRAMING.name) {
        "ip" => Framing::Ip,
        _ => Framing::Ethernet,
    }
}
