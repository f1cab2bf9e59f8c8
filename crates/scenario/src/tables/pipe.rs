//! `[pipe.NAME]`: lines with their own properties, as in dummynet.

use lowtide_net::BufferSpec;

use super::read_context::ReadContext;
use super::{buffer, mark};
use crate::keys::{SHARE, key};
use crate::model::{PipeTable, SpannedName};
use crate::reader::TableReader;
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_writer::TomlWriter;
use crate::value::{KeyType, NameSet};
use lowtide_schema::DefaultValue::{Is, Required, Unset};

/// `[pipe.NAME]`.
pub(crate) static PIPE: TableSpec = TableSpec {
    path: &["pipe", "*"],
    doc: "Properties of some lines, which replace those of `[topology]` and `[switch]`.",
    keys: &[
        key(
            "on",
            KeyType::FreeNames(
                "host groups, `bottleneck`, or links by their ends, `leaf0-spine1` or `leaf-spine`",
            ),
            Required,
            "Lines: a host group for the lines of its hosts; `bottleneck` of a dumbbell; links by their ends, `leaf0-spine1`, or `leaf-spine` for all links between switches of these kinds.",
        ),
        key(
            "direction",
            KeyType::Name(NameSet::Fixed(&["both", "up", "down", "right", "left"])),
            Is("both"),
            "`up` from the hosts or `down` to them; `right` from the first named end of a link or `left`; or `both`.",
        ),
        key("rate", KeyType::Rate, Unset("as the line"), "Rate."),
        key("delay", KeyType::Time { positive: false }, Unset("as the line"), "Propagation delay."),
        key(
            "buffer",
            KeyType::LengthOrUnlimited,
            Unset("as the port; a host's port has no limit"),
            "Limit of the port's queue.",
        ),
        key(
            "count-in-service",
            KeyType::Bool,
            Unset("as the port"),
            "Count the packet in service as queued.",
        ),
        key(
            "loss",
            SHARE,
            Is("0 %"),
            "Share of packets lost at random, independently, before the queue.",
        ),
    ],
    tables: &[&MARK],
    contents: TableContents::KeysOnly,
};

/// `[pipe.NAME.mark]`.
static MARK: TableSpec = TableSpec {
    path: &["pipe", "*", "mark"],
    doc: "Marker of the pipe; the default is that of the port, which is none at a host.",
    keys: mark::KEYS,
    tables: &[],
    contents: TableContents::Markers,
};

/// Reads all pipes; there may be none.
pub(super) fn read(file: &mut ReadContext<'_, '_, '_>) -> Vec<PipeTable> {
    if file.root.get(&["pipe"]).is_none() {
        return Vec::new();
    }
    let mut out = Vec::new();
    for named in file.groups(&PIPE, "forth") {
        let hosts = &file.known.hosts;
        out.push(one(named.name, &mut file.reader(&PIPE, &[], named), hosts));
    }
    out
}

/// Reads one pipe; reports a direction that its lines do not have.
fn one(name: &str, r: &mut TableReader<'_, '_, '_>, groups: &[String]) -> PipeTable {
    let on = r.names("on").unwrap_or_default();
    let on: Vec<SpannedName> = on.into_iter().map(|(name, at)| SpannedName { name, at }).collect();
    let direction = r.text("direction").unwrap_or_else(|| "both".to_owned());
    let hosts = on.iter().any(|n| groups.contains(&n.name));
    let middle = on.iter().any(|n| !groups.contains(&n.name));
    let (invalid, help) = match direction.as_str() {
        "up" | "down" => (middle, "a link named by its ends has `right` and `left`"),
        "right" | "left" => (hosts, "the line of a host has `up` and `down`"),
        _ => (false, ""),
    };
    if invalid {
        let message = format!("there is no `{direction}` on every line of this pipe");
        r.report("direction", message, Some(help.to_owned()));
    }
    let buffer = r.has("buffer").then(|| buffer::read(r, BufferSpec::Unlimited));
    let mark = r.has("mark").then(|| mark::read(&mut r.subtable(&MARK)));
    PipeTable {
        name: name.to_owned(),
        on,
        direction,
        rate: r.rate("rate"),
        delay: r.time("delay"),
        buffer,
        count_in_service: r.has("count-in-service").then(|| r.bool("count-in-service")),
        loss: r.parts("loss").unwrap_or_default(),
        mark,
        on_at: r.at("on"),
        buffer_at: r.at("buffer"),
    }
}

/// Writes one pipe.
pub(super) fn write(out: &mut TomlWriter, pipe: &PipeTable) {
    out.table(&format!("pipe.{}", pipe.name));
    out.list("on", pipe.on.iter().map(|n| n.name.as_str()));
    out.text("direction", &pipe.direction);
    out.optional("rate", pipe.rate);
    out.optional("delay", pipe.delay);
    if let Some(buffer) = &pipe.buffer {
        buffer::write(out, buffer);
    }
    if let Some(counts) = pipe.count_in_service {
        out.bare("count-in-service", counts);
    }
    out.text("loss", pipe.loss);
    if let Some(mark) = &pipe.mark {
        out.table(&format!("pipe.{}.mark", pipe.name));
        mark::write(out, mark);
    }
}
