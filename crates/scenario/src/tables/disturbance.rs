//! `[disturbance]`: what the seed moves.

use lowtide_host::Disturbance;

use super::read_context::ReadContext;
use crate::keys::KeyDefault::Is;
use crate::keys::key;
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_writer::TomlWriter;
use crate::value::KeyType;

/// `[disturbance]`.
pub(crate) static DISTURBANCE: TableSpec = TableSpec {
    path: &["disturbance"],
    doc: "What the seed moves. Without any of it identical hosts lock in phase and all seeds agree.",
    keys: &[
        key(
            "start-jitter",
            KeyType::Time { positive: false },
            Is("10 us"),
            "Each flow starts up to this much later, uniformly; about as long as a request takes in a host.",
        ),
        key(
            "host-jitter",
            KeyType::Time { positive: false },
            Is("1 us"),
            "Each packet waits up to this much before a host handles it, uniformly; order is kept.",
        ),
        key(
            "ports",
            KeyType::Bool,
            Is("true"),
            "Initial sequence numbers and ephemeral ports are drawn.",
        ),
        key(
            "ties",
            KeyType::Bool,
            Is("true"),
            "The order of events at the same picosecond is drawn.",
        ),
        key(
            "salts",
            KeyType::Bool,
            Is("true"),
            "Which of several equal ways a flow takes (`ecmp`), and where `spray` begins, is drawn.",
        ),
    ],
    tables: &[],
    contents: TableContents::KeysOnly,
};

/// Reads it.
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

/// Writes it out.
pub(super) fn write(out: &mut TomlWriter, disturbance: &Disturbance) {
    out.table("disturbance");
    out.text("start-jitter", disturbance.start_jitter);
    out.text("host-jitter", disturbance.host_jitter);
    out.bare("ports", disturbance.ports);
    out.bare("ties", disturbance.ties);
    out.bare("salts", disturbance.salts);
}
