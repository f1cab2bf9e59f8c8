//! Parameters that several markers share with the same meaning.

use lowtide_schema::DefaultValue::{Is, Required, Unset};
use lowtide_schema::{Param, ParamError, Value, ValueKind, Values};

use super::api::{CongestionSignal, NotEct};

/// `k`, for markers with one threshold on the queue.
pub const K: Param = Param {
    name: "k",
    kind: ValueKind::Length,
    default: Required,
    doc: "Threshold K, in packets or in bytes of IP packets.",
    source: "DCTCP §3.1",
};

/// `not-ect`, for markers that always mark. [`not_ect`] reads it.
pub const NOT_ECT: Param = Param {
    name: "not-ect",
    kind: ValueKind::Choice(&["ignore", "drop"]),
    default: Is("ignore"),
    doc: "Action for a packet to be marked that is not ECN-capable (RFC 8257 §5 warns of `drop`).",
    source: "RFC 8257 §5",
};

/// `signal`, for markers that mark or drop, together with [`SIGNAL_NOT_ECT`]. [`signal`] reads
/// both.
pub const SIGNAL: Param = Param {
    name: "signal",
    kind: ValueKind::Choice(&["mark", "drop"]),
    default: Is("mark"),
    doc: "Action for the selected packets.",
    source: "RFC 3168 §5",
};

/// `not-ect`, for markers with [`SIGNAL`].
pub const SIGNAL_NOT_ECT: Param =
    Param { default: Unset("`ignore` with `signal = \"mark\"`"), ..NOT_ECT };

/// `mean-packet`, for markers that convert between packets and bytes.
pub const MEAN_PACKET: Param = Param {
    name: "mean-packet",
    kind: ValueKind::SIZE,
    default: Is("1500 B"),
    doc: "IP bytes of a typical packet, for the decay of the average while the line is idle.",
    source: "Floyd and Jacobson §4",
};

/// Reads [`NOT_ECT`].
pub fn not_ect(values: &Values) -> NotEct {
    if values.name("not-ect") == "drop" { NotEct::Drop } else { NotEct::Ignore }
}

/// Reads [`SIGNAL`] and [`SIGNAL_NOT_ECT`], whose default it sets.
///
/// # Errors
/// `not-ect` is set although every selected packet is dropped.
pub fn signal(values: &mut Values) -> Result<CongestionSignal, ParamError> {
    let is_set = values.get("not-ect").is_some();
    if values.name("signal") == "drop" {
        if is_set {
            return Err(ParamError::new(
                "not-ect",
                "`not-ect` has no effect if every selected packet is dropped",
                "remove it, or write `signal = \"mark\"`",
            ));
        }
        return Ok(CongestionSignal::Drop);
    }
    if !is_set {
        values.set("not-ect", Value::Name("ignore"));
    }
    Ok(CongestionSignal::Mark(not_ect(values)))
}
