//! `[switch]`: memory, queues and markers of all switches; `[switch.at.NAME]`: of some switches.

use std::num::NonZeroU32;

use lowtide_net::profiles;
use lowtide_net::{BufferSpec, MarkSpec};

use super::read_context::ReadContext;
use super::{buffer, class, mark};
use crate::keys::{KeySpec, key};
use crate::model::{MarkTable, Switch, SwitchPort};
use crate::reader::TableReader;
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_writer::TomlWriter;
use crate::value::{KeyType, NameSet};
use lowtide_schema::DefaultValue::{Is, Unset};

/// The keys of `[switch]`.
const KEYS: [KeySpec; 7] = [
    key(
        "profile",
        KeyType::Name(NameSet::Switches),
        Unset("none"),
        "A real switch model, which provides defaults for memory and buffer.",
    ),
    key(
        "buffer",
        KeyType::Buffer,
        Unset("`dynamic` with a profile; required without one"),
        "Limit of each port: a fixed one (in bytes of IP packets), or `dynamic`, `alpha` times the free shared memory of the switch.",
    ),
    key("alpha", KeyType::Ratio, Unset("as the profile, or `1`"), "Factor of a dynamic buffer."),
    key(
        "reserved",
        KeyType::Size,
        Unset("as the profile, or nothing"),
        "Memory reserved for each port besides the dynamic buffer, taken from `memory`.",
    ),
    key(
        "memory",
        KeyType::Size,
        Unset("as the profile; required for `dynamic` without one"),
        "Packet memory shared by the ports of a switch.",
    ),
    key(
        "ports-per-memory",
        KeyType::Count { min: 1, max: 100_000 },
        Unset("as the profile, or all ports"),
        "Number of ports that share one memory of that size, in the order of the links.",
    ),
    key(
        "count-in-service",
        KeyType::Bool,
        Is("false"),
        "Count the packet in service as queued, for K and for a static buffer.",
    ),
];

/// `[switch]`.
pub(crate) static SWITCH: TableSpec = TableSpec {
    path: &["switch"],
    doc: "Switches: their memory and the queues at their output ports.",
    keys: &KEYS,
    tables: &[&MARK, &class::CLASS, &AT],
    contents: TableContents::KeysOnly,
};

/// `[switch.mark]`.
pub(crate) static MARK: TableSpec = TableSpec {
    path: &["switch", "mark"],
    doc: "Marker (AQM) at the output ports of the switches.",
    keys: mark::KEYS,
    tables: &[],
    contents: TableContents::Markers,
};

/// The keys of `[switch.at.NAME]`: those of `[switch]`, whose values are the defaults.
const AT_KEYS: [KeySpec; 7] = {
    let (mut keys, mut i) = (KEYS, 0);
    while i < keys.len() {
        keys[i].doc = "As in `[switch]`.";
        keys[i].default = match i {
            0 => Unset("none"),
            6 => Unset("as in `[switch]`"),
            _ => Unset("as the profile, or as in `[switch]`"),
        };
        i += 1;
    }
    keys
};

/// `[switch.at.NAME]`.
static AT: TableSpec = TableSpec {
    path: &["switch", "at", "*"],
    doc: "Settings of one switch, `triumph1`, or of all of a kind, `leaf`: the switches with that name and a number. Other keys are as in `[switch]`; a profile replaces memory and buffer of `[switch]`.",
    keys: &AT_KEYS,
    tables: &[&AT_MARK],
    contents: TableContents::KeysOnly,
};

/// `[switch.at.NAME.mark]`.
static AT_MARK: TableSpec = TableSpec {
    path: &["switch", "at", "*", "mark"],
    doc: "Marker of these switches; the default is that of `[switch]`.",
    keys: mark::KEYS,
    tables: &[],
    contents: TableContents::Markers,
};

/// Reads `[switch]` and its subtables.
pub(super) fn read(file: &mut ReadContext<'_, '_, '_>) -> Switch {
    let has_classes = file.root.get(&["switch", "class"]).is_some();
    let mut r = file.table(&SWITCH);
    let name = String::new();
    let at = r.table_span();
    let mut all = SwitchPort {
        name,
        at,
        buffer: BufferSpec::Unlimited,
        mark: MarkTable { spec: MarkSpec::NONE, kind_at: at, keys: Vec::new() },
        count_in_service: r.bool("count-in-service"),
        memory: None,
        ports_per_memory: None,
        profile: None,
        buffer_at: at,
    };
    queues(&mut r, &mut all, true, has_classes);
    all.mark = mark::read(&mut file.table(&MARK));
    mark::report_no_ecn(file, all.profile, &all.mark);
    let mut some = Vec::new();
    if file.root.get(&["switch", "at"]).is_some() {
        for named in file.groups(&AT, "leaf") {
            let mut r = file.reader(&AT, &[], named);
            let mut one = all.clone();
            named.name.clone_into(&mut one.name);
            one.at = named.at;
            if r.has("count-in-service") {
                one.count_in_service = r.bool("count-in-service");
            }
            queues(&mut r, &mut one, false, has_classes);
            if r.has("mark") {
                one.mark = mark::read(&mut r.subtable(&AT_MARK));
            }
            mark::report_no_ecn(file, one.profile, &one.mark);
            some.push(one);
        }
    }
    let classes = class::read(file, &all);
    Switch { all, overrides: some, classes }
}

/// Reads buffer and memory; unset keys keep the values of `out`.
fn queues(r: &mut TableReader<'_, '_, '_>, out: &mut SwitchPort, first: bool, has_classes: bool) {
    if let Some(profile) = r.text("profile").and_then(|name| profiles::REGISTRY.find(&name)) {
        out.profile = Some(profile);
        out.buffer = profile.buffer();
        out.memory = Some(profile.memory);
        out.ports_per_memory = profile.ports_per_memory.and_then(NonZeroU32::new);
        out.buffer_at = r.at("profile");
    }
    if r.has("buffer") {
        out.buffer = buffer::read(r, out.buffer);
        out.buffer_at = r.at("buffer");
    } else if first && !r.has("profile") {
        let help = "write `buffer = \"100 pkt\"`, or a profile: `profile = \"triumph\"`".to_owned();
        r.report("buffer", "`buffer` is missing in [switch]", Some(help));
    } else if matches!(out.buffer, BufferSpec::Dynamic { .. }) {
        out.buffer = buffer::dynamic(r, out.buffer);
    }
    let memory = r.size("memory");
    let ports = r.has("ports-per-memory").then(|| r.count("ports-per-memory") as u32);
    out.memory = memory.or(out.memory);
    out.ports_per_memory = ports.and_then(NonZeroU32::new).or(out.ports_per_memory);
    let dynamic = matches!(out.buffer, BufferSpec::Dynamic { .. });
    if dynamic && out.memory.is_none() {
        let help = "write `memory = \"4 MiB\"`, or a profile: `profile = \"triumph\"`".to_owned();
        r.report("buffer", "a dynamic buffer needs the memory that ports share", Some(help));
    }
    for name in ["alpha", "reserved", "memory", "ports-per-memory"] {
        let own = matches!(name, "alpha" | "reserved");
        if !dynamic && r.has(name) && (own || !has_classes) {
            let help = "write `buffer = \"dynamic\"`, or remove it".to_owned();
            r.report(name, format!("`{name}` belongs to a dynamic buffer"), Some(help));
        }
    }
    if !dynamic && !has_classes {
        (out.memory, out.ports_per_memory) = (None, None);
    }
}

/// Writes `[switch]` and its subtables.
pub(super) fn write(out: &mut TomlWriter, switch: &Switch) {
    out.table("switch");
    port(out, &switch.all);
    out.table("switch.mark");
    mark::write(out, &switch.all.mark);
    switch.classes.iter().for_each(|class| class::write(out, class));
    for some in &switch.overrides {
        out.table(&format!("switch.at.{}", some.name));
        port(out, some);
        out.table(&format!("switch.at.{}.mark", some.name));
        mark::write(out, &some.mark);
    }
}

fn port(out: &mut TomlWriter, port: &SwitchPort) {
    buffer::write(out, &port.buffer);
    out.optional("memory", port.memory);
    if let Some(ports) = port.ports_per_memory {
        out.bare("ports-per-memory", ports);
    }
    out.bare("count-in-service", port.count_in_service);
}
