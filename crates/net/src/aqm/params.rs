//! Parameters that several markers share with the same meaning.

use crate::registry::{Param, ParamFormat};

/// For markers with one threshold on the queue.
pub(super) const K: Param = Param {
    name: "k",
    kind: ParamFormat::Length,
    default: None,
    doc: "The threshold K, in packets or in bytes of IP packets.",
};

/// For markers with a threshold.
pub(super) const ABOVE_K: Param = Param {
    name: "not-ect",
    kind: ParamFormat::Choice(&["ignore", "drop"]),
    default: Some("ignore"),
    doc: "Packets above K that are not ECN-capable pass, or are dropped (RFC 8257 §5).",
};

/// For markers that choose packets.
pub(super) const SIGNAL: Param = Param {
    name: "signal",
    kind: ParamFormat::Choice(&["mark", "drop"]),
    default: Some("mark"),
    doc: "The treatment of chosen packets.",
};

/// Together with [`SIGNAL`].
pub(super) const CHOSEN: Param = Param {
    name: "not-ect",
    kind: ParamFormat::Choice(&["ignore", "drop"]),
    default: Some("ignore"),
    doc: "Chosen packets that are not ECN-capable pass, or are dropped.",
};
