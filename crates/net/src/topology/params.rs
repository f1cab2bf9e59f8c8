//! Parameters that several topologies share with the same meaning.

use crate::registry::{Param, ParamFormat};

/// For every topology.
pub(super) const FRAMING: Param = Param {
    name: "framing",
    kind: ParamFormat::Choice(&["ethernet", "ip"]),
    default: Some("ethernet"),
    doc: "Overhead per packet on the line: 38 bytes, or none.",
};

/// For topologies with named hosts.
pub(super) const HOSTS: Param =
    Param { name: "hosts", kind: ParamFormat::Hosts, default: None, doc: "The hosts, in order." };

/// For topologies with a line per host.
pub(super) const RATE: Param = Param {
    name: "rate",
    kind: ParamFormat::Rate,
    default: None,
    doc: "Rate of a host's line in each direction.",
};

/// With [`RATE`].
pub(super) const DELAY: Param = Param {
    name: "delay",
    kind: ParamFormat::Duration,
    default: None,
    doc: "Propagation delay of a host's line in each direction.",
};

/// For topologies with switch ports that do not lead to hosts.
pub(super) const PORT: Param =
    Param { name: "port", kind: ParamFormat::Port, default: None, doc: "Ports towards hosts." };

/// For trees, in which all hosts have equal lines.
pub(super) const HOST: Param =
    Param { name: "host", kind: ParamFormat::Layer, default: None, doc: "Links of the hosts." };

/// For trees of three layers.
pub(super) const AGGREGATION: Param = Param {
    name: "aggregation",
    kind: ParamFormat::Layer,
    default: None,
    doc: "Links between top-of-rack and aggregation switches.",
};

/// For trees of three layers.
pub(super) const CORE: Param = Param {
    name: "core",
    kind: ParamFormat::Layer,
    default: None,
    doc: "Links between aggregation and core switches.",
};
