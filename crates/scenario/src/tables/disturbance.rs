//! `[disturbance]`: randomness that depends on the seed.

use lowtide_host::Disturbance;

use super::read_context::ReadContext;
use crate::keys::key;
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_writer::TomlWriter;
use crate::value::KeyType;
use lowtide_schema::DefaultValue::Is;

/// `[disturbance]`.
pub(crate) static DISTURBANCE: TableSpec = TableSpec {
    path: &["disturbance"],
    doc: "Randomness that depends on the seed. Without it, identical hosts synchronise and all seeds give one result.",
    keys: &[
        key(
            "start-jitter",
            KeyType::Time { positive: false },
            Is("10 us"),
            "Start delay of each flow, uniform up to this; the default is about the time of a request in a host.",
        ),
        key(
            "host-jitter",
            KeyType::Time { positive: false },
            Is("1 us"),
            "Delay of each packet before a host processes it, uniform up to this; order is kept.",
        ),
        key(
            "ports",
            KeyType::Bool,
            Is("true"),
            "Draw initial sequence numbers and ephemeral ports.",
        ),
        key("ties", KeyType::Bool, Is("true"), "Draw the order of events at one picosecond."),
        key(
            "salts",
            KeyType::Bool,
            Is("true"),
            "Draw the hash salts of `ecmp` and the first path of `spray`.",
        ),
    ],
    tables: &[],
    contents: TableContents::KeysOnly,
};

/// Reads `[disturbance]`.
pub(super) fn read(file: &mut ReadContext<'_, '_, '_>) -> Disturbance {
    let mut r = file.table(&DISTURBANCE);
    Disturbance {
        start_jitter: r.time("start-jitter").unwrap_or_default(),
        host_jitter: r.time("host-jitter").unwrap_or_default(),
        ports: r.bool("ports"),
        ties: r.bool("ties"),
        salts: r.bool("salts"),
    }
}

/// Writes `[disturbance]`.
pub(super) fn write(out: &mut TomlWriter, disturbance: &Disturbance) {
    out.table("disturbance");
    out.text("start-jitter", disturbance.start_jitter);
    out.text("host-jitter", disturbance.host_jitter);
    out.bare("ports", disturbance.ports);
    out.bare("ties", disturbance.ties);
    out.bare("salts", disturbance.salts);
}
