//! Parameters that several topologies have: they mean the same in each.

use crate::registry::{Param, ParamFormat};

/// Every topology.
pub(super) const FRAMING: Param = Param {
    name: "framing",
    kind: ParamFormat::Choice(&["ethernet", "ip"]),
    default: Some("ethernet"),
    doc: "Bytes on the line beside the packet: 38 per packet, or none.",
};

/// Where each host is named.
pub(super) const HOSTS: Param =
    Param { name: "hosts", kind: ParamFormat::Hosts, default: None, doc: "The hosts, in order." };

/// Where each host has its own line.
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

/// Where not all ports of switches lead to hosts.
pub(super) const PORT: Param =
    Param { name: "port", kind: ParamFormat::Port, default: None, doc: "Ports towards hosts." };

/// Trees: all hosts have the same line.
pub(super) const HOST: Param =
    Param { name: "host", kind: ParamFormat::Layer, default: None, doc: "Links of the hosts." };

/// Trees of three layers.
pub(super) const AGGREGATION: Param = Param {
    name: "aggregation",
    kind: ParamFormat::Layer,
    default: None,
    doc: "Links between top-of-rack and aggregation switches.",
};

/// Trees of three layers.
pub(super) const CORE: Param = Param {
    name: "core",
    kind: ParamFormat::Layer,
    default: None,
    doc: "Links between aggregation and core switches.",
};
