//! `[pipe.NAME]`: lines that differ from what `[topology]` and `[switch]` say of all, as dummynet has them.

use lowtide_net::BufferSpec;

use super::read_context::ReadContext;
use super::{buffer, mark};
use crate::keys::KeyDefault::{Is, Required, Unset};
use crate::keys::{SHARE, key};
use crate::model::{PipeTable, SpannedName};
use crate::reader::TableReader;
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_writer::TomlWriter;
use crate::value::{KeyType, NameSet};

/// `[pipe.NAME]`.
pub(crate) static PIPE: TableSpec = TableSpec {
    path: &["pipe", "*"],
    doc: "A line that differs from the others: what is written here replaces what `[topology]` and `[switch]` say.",
    keys: &[
        key(
            "on",
            KeyType::FreeNames("host groups, `bottleneck`, or links by their ends, `leaf0-spine1`"),
            Required,
            "Host groups, the line of each of their hosts; `bottleneck` of a dumbbell; links by their ends, `leaf0-spine1`.",
        ),
        key(
            "direction",
            KeyType::Name(NameSet::Fixed(&["both", "up", "down", "right", "left"])),
            Is("both"),
            "`up` from the hosts or `down` to them; on a link between its ends `right`, as it is named, or `left`; else `both`.",
        ),
        key("rate", KeyType::Rate, Unset("as the line"), "Rate."),
        key("delay", KeyType::Time { positive: false }, Unset("as the line"), "Propagation delay."),
        key(
            "buffer",
            KeyType::LengthOrUnlimited,
            Unset("as the port; that of a host has no limit"),
            "What the port may hold.",
        ),
        key(
            "count-in-service",
            KeyType::Bool,
            Unset("as the port"),
            "Whether the packet on the line counts as queued.",
        ),
        key(
            "loss",
            SHARE,
            Is("0 %"),
            "The share of packets that are lost at random, each on its own, before they meet the queue.",
        ),
    ],
    tables: &[&MARK],
    contents: TableContents::KeysOnly,
};

/// `[pipe.NAME.mark]`.
static MARK: TableSpec = TableSpec {
    path: &["pipe", "*", "mark"],
    doc: "The marker of the pipe; without this table that of the port, of which a host has none.",
    keys: mark::KEYS,
    tables: &[],
    contents: TableContents::KeysOnly,
};

/// Reads all pipes, of which there may be none.
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

/// Reads one pipe and complains of a direction that its lines do not have.
fn one(name: &str, r: &mut TableReader<'_, '_, '_>, groups: &[String]) -> PipeTable {
    let on = r.names("on").unwrap_or_default();
    let on: Vec<SpannedName> = on.into_iter().map(|(name, at)| SpannedName { name, at }).collect();
    let direction = r.text("direction").unwrap_or_else(|| "both".to_owned());
    let hosts = on.iter().any(|n| groups.contains(&n.name));
    let middle = on.iter().any(|n| !groups.contains(&n.name));
    let (odd, help) = match direction.as_str() {
        "up" | "down" => (middle, "a link between its ends goes `right` and `left`"),
        "right" | "left" => (hosts, "the line of a host goes `up` and `down`"),
        _ => (false, ""),
    };
    if odd {
        let message = format!("there is no `{direction}` on every line of this pipe");
        r.report("direction", message, Some(help.to_owned()));
    }
    let buffer = r.has("buffer").then(|| buffer::read(r, BufferSpec::Unlimited));
    let (mark, k_at) = if r.has("mark") {
        let (mark, at) = mark::read(&mut r.subtable(&MARK));
        (Some(mark), at)
    } else {
        (None, r.at("buffer"))
    };
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
        k_at,
    }
}

/// Writes one out.
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
