//! `[switch]`: the output ports of the switches.

use lowtide_net::PortSpec;

use super::file::File;
use super::{buffer, mark};
use crate::keys::Fallback::{Is, Required};
use crate::keys::{Section, key};
use crate::model::SwitchPort;
use crate::text::Text;
use crate::value::Ty;

/// `[switch]`.
pub(crate) static SWITCH: Section = Section {
    path: &["switch"],
    doc: "The output ports of the switches.",
    keys: &[
        key(
            "buffer",
            Ty::LengthOrUnlimited,
            Required,
            "What each port may hold, for itself; bytes are those of IP packets.",
        ),
        key(
            "count-in-service",
            Ty::Bool,
            Is("false"),
            "Whether the packet on the line counts as queued, for K and for the buffer.",
        ),
    ],
    tables: &[&MARK],
    switches: false,
};

/// `[switch.mark]`.
pub(crate) static MARK: Section = Section {
    path: &["switch", "mark"],
    doc: "Marking (AQM) at the output ports of the switches.",
    keys: mark::KEYS,
    tables: &[],
    switches: false,
};

/// Reads both.
pub(super) fn read(file: &mut File<'_, '_, '_>) -> SwitchPort {
    let mut r = file.table(&SWITCH);
    let buffer = buffer::read(&mut r);
    let (buffer_at, count_in_service) = (r.at("buffer"), r.bool("count-in-service"));
    let (mark, k_at) = mark::read(&mut file.table(&MARK));
    SwitchPort { port: PortSpec { buffer, mark, count_in_service, classes: None }, buffer_at, k_at }
}

/// Writes both out.
pub(super) fn write(out: &mut Text, port: &PortSpec) {
    out.table("switch");
    buffer::write(out, &port.buffer);
    out.bare("count-in-service", port.count_in_service);
    out.table("switch.mark");
    mark::write(out, &port.mark);
}
