//! `[run]`: duration and repetitions of a run.

use lowtide_units::Duration;

use super::read_context::ReadContext;
use crate::keys::key;
use crate::model::{RunEnd, RunTable, TrafficGroup};
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_writer::TomlWriter;
use crate::value::{KeyType, NameSet};
use lowtide_schema::DefaultValue::{Is, Required, Unset};

/// `[run]`.
pub(crate) static RUN: TableSpec = TableSpec {
    path: &["run"],
    doc: "Duration and repetitions of a run.",
    keys: &[
        key(
            "duration",
            KeyType::Time { positive: true },
            Required,
            "Maximum duration of a run; with `end = \"counted-done\"`, end of counted arrivals.",
        ),
        key("warmup", KeyType::Time { positive: false }, Is("0 s"), "Start of the statistics."),
        key(
            "seeds",
            KeyType::Count { min: 1, max: 100_000 },
            Is("1"),
            "Runs of each point, with successive seeds.",
        ),
        key("first-seed", KeyType::Count { min: 0, max: 1_000_000_000 }, Is("1"), "First seed."),
        key(
            "end",
            KeyType::Name(NameSet::Fixed(&["done", "counted-done", "duration"])),
            Unset("`counted-done` with an open-loop workload, else `done`"),
            "`done`: when every flow with a size is delivered; `counted-done`: when every counted one is, and until then the load goes on; `duration`: only at `duration`.",
        ),
        key(
            "end-limit",
            KeyType::Time { positive: true },
            Unset("four times `duration`"),
            "Latest end with `end = \"counted-done\"`.",
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

/// Reads `[run]`. Without `end` the traffic decides.
pub(super) fn read(file: &mut ReadContext<'_, '_, '_>, traffic: &[TrafficGroup]) -> RunTable {
    let open_loop = traffic.iter().any(|of| of.workload.is_open_loop(&of.args.values));
    let mut r = file.table(&RUN);
    let stated = r.text("end").and_then(|name| RunEnd::named(&name));
    let by_traffic = if open_loop { RunEnd::CountedDone } else { RunEnd::Done };
    RunTable {
        duration: r.time("duration").unwrap_or(Duration::MAX),
        duration_at: r.at("duration"),
        warmup: r.time("warmup").unwrap_or_default(),
        warmup_at: r.at("warmup"),
        seeds: r.count("seeds"),
        first_seed: r.count("first-seed"),
        end: stated.unwrap_or(by_traffic),
        end_at: r.at("end"),
        end_limit: r.time("end-limit"),
        end_limit_at: r.at("end-limit"),
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
    out.text("end", run.end.name());
    out.optional("end-limit", (run.end == RunEnd::CountedDone).then(|| run.limit()));
    out.bare("allow-mismatch", run.allow_mismatch);
}
