//! `[switch.class.NAME]`: several queues at each port of the switches.

use lowtide_net::{BufferSpec, Service};

use super::read_context::ReadContext;
use super::{buffer, mark};
use crate::keys::key;
use crate::model::{Class, SwitchPort};
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_writer::TomlWriter;
use crate::value::{KeyType, NameSet};
use lowtide_schema::DefaultValue::{Is, Unset};

/// Default quantum: a full packet, so that each turn sends at least one.
const QUANTUM: &str = "1500 B";

/// Number of classes of switches (eight traffic classes, IEEE 802.1Q).
const MAX_CLASSES: usize = 8;

/// `[switch.class.NAME]`.
pub(crate) static CLASS: TableSpec = TableSpec {
    path: &["switch", "class", "*"],
    doc: "A separate queue at every port of the switches, in the order of the file. `class` of a host group or of a traffic group selects it; the last one takes all other packets.",
    keys: &[
        key(
            "service",
            KeyType::Name(NameSet::Fixed(&["strict", "dwrr"])),
            Is("dwrr"),
            "`strict`: priority over all later classes and over all `dwrr`; `dwrr`: deficit weighted round robin.",
        ),
        key("quantum", KeyType::Size, Is(QUANTUM), "IP bytes per turn of `dwrr`, its weight."),
        key("buffer", KeyType::Buffer, Unset("as in `[switch]`"), "Limit of the queue."),
        key(
            "alpha",
            KeyType::Ratio,
            Unset("as in `[switch]`, or `1`"),
            "Factor of a dynamic buffer.",
        ),
        key(
            "reserved",
            KeyType::Size,
            Unset("as in `[switch]`, or nothing"),
            "Memory reserved for the queue besides a dynamic buffer.",
        ),
    ],
    tables: &[&MARK],
    contents: TableContents::KeysOnly,
};

/// `[switch.class.NAME.mark]`.
static MARK: TableSpec = TableSpec {
    path: &["switch", "class", "*", "mark"],
    doc: "Marker of the class, for its own queue; the default is that of `[switch]`.",
    keys: mark::KEYS,
    tables: &[],
    contents: TableContents::Markers,
};

/// Reads all classes; there may be none.
pub(super) fn read(file: &mut ReadContext<'_, '_, '_>, all: &SwitchPort) -> Vec<Class> {
    if file.root.get(&["switch", "class"]).is_none() {
        return Vec::new();
    }
    let mut out = Vec::new();
    for named in file.groups(&CLASS, "fast") {
        if out.len() == MAX_CLASSES {
            let message = format!("a switch has at most {MAX_CLASSES} classes");
            file.diagnostics.add(named.at, message, Some("merge some of them".to_owned()));
            break;
        }
        let mut r = file.reader(&CLASS, &[], named);
        let strict = r.text("service").as_deref() == Some("strict");
        if strict && r.has("quantum") {
            let help = "write `service = \"dwrr\"`, or remove it".to_owned();
            r.report("quantum", "a strict class has no quantum", Some(help));
        }
        let quantum = r.size("quantum").unwrap_or_default();
        let service = if strict { Service::Strict } else { Service::Dwrr { quantum } };
        let own = r.has("buffer").then(|| buffer::read(&mut r, all.buffer));
        let buffer_at = r.at("buffer");
        let dynamic = matches!(own, Some(BufferSpec::Dynamic { .. }));
        for name in ["alpha", "reserved"] {
            if !dynamic && r.has(name) {
                let help = "write `buffer = \"dynamic\"` beside it".to_owned();
                r.report(name, format!("`{name}` belongs to a dynamic buffer"), Some(help));
            }
        }
        if dynamic && all.memory.is_none() {
            let help = "write `memory = \"4 MiB\"` in [switch]".to_owned();
            r.report("buffer", "a dynamic buffer needs the memory that ports share", Some(help));
        }
        let mark = r.has("mark").then(|| mark::read(&mut r.subtable(&MARK)));
        let name = named.name.to_owned();
        let used = mark.as_ref().unwrap_or(&all.mark);
        if used.spec.config().needs_whole_line() {
            let help = "give the class another marker".to_owned();
            let message = format!(
                "`{}` needs the packets of a whole line, not only the class `{name}`",
                used.spec.name()
            );
            file.diagnostics.add(used.kind_at, message, Some(help));
        }
        if let Some(mark) = &mark {
            mark::report_no_ecn(file, all.profile, mark);
        }
        out.push(Class { name, service, buffer: own, mark, buffer_at });
    }
    out
}

/// Writes one class.
pub(super) fn write(out: &mut TomlWriter, class: &Class) {
    out.table(&format!("switch.class.{}", class.name));
    match class.service {
        Service::Strict => out.text("service", "strict"),
        Service::Dwrr { quantum } => {
            out.text("service", "dwrr");
            out.text("quantum", quantum);
        }
    }
    if let Some(buffer) = &class.buffer {
        buffer::write(out, buffer);
    }
    if let Some(mark) = &class.mark {
        out.table(&format!("switch.class.{}.mark", class.name));
        mark::write(out, mark);
    }
}
