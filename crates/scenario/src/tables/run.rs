//! `[run]`: duration and repetitions of a run.

use lowtide_units::Duration;

use super::read_context::ReadContext;
use crate::keys::key;
use crate::model::RunTable;
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_writer::TomlWriter;
use crate::value::{KeyType, NameSet};
use lowtide_schema::DefaultValue::{Is, Required};

/// `[run]`.
pub(crate) static RUN: TableSpec = TableSpec {
    path: &["run"],
    doc: "Duration and repetitions of a run.",
    keys: &[
        key("duration", KeyType::Time { positive: true }, Required, "Maximum duration of a run."),
        key(
            "warmup",
            KeyType::Time { positive: false },
            Is("0 s"),
            "Start of the statistics of queues and goodput.",
        ),
        key(
            "seeds",
            KeyType::Count { min: 1, max: 100_000 },
            Is("1"),
            "Runs of each point, with successive seeds.",
        ),
        key("first-seed", KeyType::Count { min: 0, max: 1_000_000_000 }, Is("1"), "First seed."),
        key(
            "end",
            KeyType::Name(NameSet::Fixed(&["done", "duration"])),
            Is("done"),
            "`done`: when every flow with a size is delivered; `duration`: only at `duration`.",
        ),
        key(
            "allow-mismatch",
            KeyType::Bool,
            Is("false"),
            "Allow a sender and a receiver with incompatible ECN, to show the effect.",
        ),
    ],
    tables: &[],
    contents: TableContents::KeysOnly,
};

/// Reads `[run]`.
pub(super) fn read(file: &mut ReadContext<'_, '_, '_>) -> RunTable {
    let mut r = file.table(&RUN);
    RunTable {
        duration: r.time("duration").unwrap_or(Duration::MAX),
        duration_at: r.at("duration"),
        warmup: r.time("warmup").unwrap_or_default(),
        warmup_at: r.at("warmup"),
        seeds: r.count("seeds"),
        first_seed: r.count("first-seed"),
        end_when_done: r.text("end").as_deref() != Some("duration"),
        end_at: r.at("end"),
        allow_mismatch: r.bool("allow-mismatch"),
    }
}

/// Writes `[run]` for one seed.
pub(super) fn write(out: &mut TomlWriter, run: &RunTable, seed: u64) {
    out.table("run");
    out.text("duration", run.duration);
    out.text("warmup", run.warmup);
    out.bare("seeds", 1);
    out.bare("first-seed", seed);
    out.text("end", if run.end_when_done { "done" } else { "duration" });
    out.bare("allow-mismatch", run.allow_mismatch);
}
