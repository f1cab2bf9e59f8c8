//! `[run]`: how long a run lasts and how often it is repeated.

use lowtide_units::Duration;

use super::read_context::ReadContext;
use crate::keys::KeyDefault::{Is, Required};
use crate::keys::key;
use crate::model::RunTable;
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_writer::TomlWriter;
use crate::value::{KeyType, NameSet};

/// `[run]`.
pub(crate) static RUN: TableSpec = TableSpec {
    path: &["run"],
    doc: "How long a run lasts and how often it is repeated.",
    keys: &[
        key(
            "duration",
            KeyType::Time { positive: true },
            Required,
            "A run ends at the latest then.",
        ),
        key(
            "warmup",
            KeyType::Time { positive: false },
            Is("0 s"),
            "Statistics of queues and goodput start then.",
        ),
        key(
            "seeds",
            KeyType::Count { min: 1, max: 100_000 },
            Is("1"),
            "How many times each point is run, each time with the next seed.",
        ),
        key(
            "first-seed",
            KeyType::Count { min: 0, max: 1_000_000_000 },
            Is("1"),
            "The first of these seeds.",
        ),
        key(
            "end",
            KeyType::Name(NameSet::Fixed(&["done", "duration"])),
            Is("done"),
            "`done`: already when every flow with a size is delivered; `duration`: only when the time is up.",
        ),
        key(
            "allow-mismatch",
            KeyType::Bool,
            Is("false"),
            "Run even where sender and receiver do not understand each other's ECN, to show what then happens.",
        ),
    ],
    tables: &[],
    contents: TableContents::KeysOnly,
};

/// Reads it.
pub(super) fn read(file: &mut ReadContext<'_, '_, '_>) -> RunTable {
    let mut r = file.table(&RUN);
    RunTable {
        duration: r.time("duration").unwrap_or(Duration::MAX),
        warmup: r.time("warmup").unwrap_or_default(),
        warmup_at: r.at("warmup"),
        seeds: r.count("seeds"),
        first_seed: r.count("first-seed"),
        end_when_done: r.text("end").as_deref() != Some("duration"),
        end_at: r.at("end"),
        allow_mismatch: r.bool("allow-mismatch"),
    }
}

/// Writes it out for one seed.
pub(super) fn write(out: &mut TomlWriter, run: &RunTable, seed: u64) {
    out.table("run");
    out.text("duration", run.duration);
    out.text("warmup", run.warmup);
    out.bare("seeds", 1);
    out.bare("first-seed", seed);
    out.text("end", if run.end_when_done { "done" } else { "duration" });
    out.bare("allow-mismatch", run.allow_mismatch);
}
