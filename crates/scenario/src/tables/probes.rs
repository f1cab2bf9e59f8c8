//! `[probes]`: samples and traces.

use lowtide_units::{Bytes, parse_bytes};

use super::read_context::ReadContext;
use crate::keys::key;
use crate::model::{ProbesTable, TrafficGroup};
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_writer::TomlWriter;
use crate::value::{KeyType, MAX_COUNT, NameSet};
use lowtide_schema::DefaultValue::{Is, Unset};

/// Default ends of the ranges of flow sizes, in bytes: those of DCTCP §4.3.
const SIZE_CLASSES: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];

/// `[probes]`.
pub(crate) static PROBES: TableSpec = TableSpec {
    path: &["probes"],
    doc: "Samples and traces. They never change the run.",
    keys: &[
        key("interval", KeyType::TimeOrOff, Is("1 ms"), "Time between samples."),
        key(
            "groups",
            KeyType::NameList(NameSet::Traffic),
            Unset("all of them"),
            "Traffic groups whose senders are sampled.",
        ),
        key(
            "flows-per-group",
            KeyType::Count { min: 0, max: MAX_COUNT },
            Is("2"),
            "Number of sampled flows of each group, the first ones.",
        ),
        key("queues", KeyType::Bool, Is("true"), "Sample also the queues of the switches."),
        key(
            "delays",
            KeyType::Bool,
            Is("false"),
            "Record each queueing delay that these flows compute from host timestamps with the true one (table `delays`).",
        ),
        key(
            "trace",
            KeyType::Flows,
            Unset("none"),
            "Traced flows: every segment, every change of the sender and every packet on the path is recorded.",
        ),
        key(
            "size-classes",
            KeyType::Sizes,
            Unset("10 kB, 100 kB, 1 MB and 10 MB (DCTCP §4.3)"),
            "Upper ends, inclusive, of the flow-size ranges in summary and report, for flows of unequal sizes; the last range has no end. An empty list shows none.",
        ),
    ],
    tables: &[],
    contents: TableContents::KeysOnly,
};

/// Reads `[probes]`.
pub(super) fn read(file: &mut ReadContext<'_, '_, '_>) -> ProbesTable {
    let known = file.known;
    let index = |name: &str| known.traffic.iter().position(|n| n == name).map(|i| i as u16);
    let mut r = file.table(&PROBES);
    let groups = match r.names("groups") {
        Some(names) => names.iter().filter_map(|(name, _)| index(name)).collect(),
        None => (0..known.traffic.len()).map(|i| i as u16).collect(),
    };
    ProbesTable {
        interval: r.time("interval"),
        groups,
        flows_per_group: r.count("flows-per-group") as u32,
        queues: r.bool("queues"),
        delays: r.bool("delays"),
        trace: r.names("trace").unwrap_or_default(),
        size_classes: match r.names("size-classes") {
            Some(sizes) => sizes.iter().filter_map(|(text, _)| parse_bytes(text).ok()).collect(),
            None => SIZE_CLASSES.map(Bytes::new).into(),
        },
    }
}

/// Writes `[probes]`.
pub(super) fn write(out: &mut TomlWriter, probes: &ProbesTable, traffic: &[TrafficGroup]) {
    out.table("probes");
    match probes.interval {
        Some(interval) => out.text("interval", interval),
        None => out.text("interval", "off"),
    }
    let name = |i: &u16| traffic.get(usize::from(*i)).map(|g| g.name.as_str());
    out.list("groups", probes.groups.iter().filter_map(name));
    out.bare("flows-per-group", probes.flows_per_group);
    out.bare("queues", probes.queues);
    out.bare("delays", probes.delays);
    let sizes: Vec<String> = probes.size_classes.iter().map(ToString::to_string).collect();
    out.list("size-classes", sizes.iter().map(String::as_str));
    out.list("trace", probes.trace.iter().map(|(text, _)| text.as_str()));
}
