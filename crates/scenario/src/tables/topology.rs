//! `[topology]`: links and their arrangement.

use lowtide_net::Framing;
use lowtide_net::topology::{self as fabrics, star};
use lowtide_units::Rate;

use super::graph;
use super::read_context::ReadContext;
use crate::keys::{KeySpec, key};
use crate::model::{Topology, TopologyKind};
use crate::reader::TableReader;
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_writer::TomlWriter;
use crate::topology_keys;
use crate::value::{KeyType, KeyValue, NameSet};
use lowtide_schema::DefaultValue::{Is, Required};

/// `[topology]`.
pub(crate) static TOPOLOGY: TableSpec = TableSpec {
    path: &["topology"],
    doc: "Links and their arrangement. The other keys depend on the kind.",
    keys: &[
        key(
            "kind",
            KeyType::Name(NameSet::Topologies),
            Required,
            "Arrangement of hosts and switches.",
        ),
        key(
            "link-rate",
            KeyType::Rate,
            Required,
            "Rate of every host's link, in each direction; default of other links.",
        ),
        key(
            "link-delay",
            KeyType::Time { positive: false },
            Required,
            "Propagation delay of every host's link, one way; default of other links.",
        ),
        key(
            "framing",
            KeyType::Name(NameSet::Fixed(&["ethernet", "ip"])),
            Is("ethernet"),
            "Overhead of a packet on the line: `ethernet` 38 B, `ip` none.",
        ),
        key("mtu", KeyType::Size, Is("9000 B"), "Largest IP packet that the links carry."),
    ],
    tables: &[&graph::LINKS],
    contents: TableContents::Topologies,
};

/// Reads `[topology]`.
pub(super) fn read(file: &mut ReadContext<'_, '_, '_>) -> Topology {
    // The reader knows the keys of all topologies, so that `foreign` can explain those of another
    // one.
    let all: Vec<KeySpec> = TOPOLOGY.keys_of_kinds();
    let mut r = file.table_with(&TOPOLOGY, &all);
    let entry = r.text("kind").and_then(|kind| fabrics::find(&kind)).unwrap_or(&star::ENTRY);
    let kind = TopologyKind::of(entry.name);
    let own = topology_keys::keys(entry);
    if r.has("kind") {
        foreign(&mut r, entry.name, &own, &all);
    }
    let rate = r.rate("link-rate").unwrap_or(Rate::from_gbps(1));
    let delay = r.time("link-delay").unwrap_or_default();
    let framing = match r.text("framing").as_deref() {
        Some("ip") => Framing::Ip,
        _ => Framing::Ethernet,
    };
    let mtu = r.size("mtu").unwrap_or_default();
    let at = r.at("kind");
    let mut values = Vec::new();
    for key in &own {
        if key.name == topology_keys::FILE || key.name == topology_keys::SWITCHES {
            continue;
        }
        let value = r.value(key.name).map(|(value, _)| value);
        let value = value.or(match key.ty {
            KeyType::Rate => Some(KeyValue::Rate(rate)),
            KeyType::Time { .. } => Some(KeyValue::Time(delay)),
            _ => None,
        });
        values.extend(value.map(|value| (key.name, value, r.at(key.name))));
    }
    let graph = (kind == TopologyKind::Graph).then(|| graph::read(file, &TOPOLOGY, (rate, delay)));
    let graph = graph.unwrap_or_default();
    Topology { kind, entry, at, rate, delay, values, graph, framing, mtu }
}

/// Reports keys that belong to other topologies.
fn foreign(r: &mut TableReader<'_, '_, '_>, kind: &str, own: &[KeySpec], all: &[KeySpec]) {
    let list = graph::LINKS.name();
    let others = all.iter().map(|key| key.name).chain([list]);
    for name in others.filter(|name| own.iter().all(|own| own.name != *name)) {
        if !r.has(name) || (name == list && kind == "graph") {
            continue;
        }
        let has = |e: &&&lowtide_net::registry::RegistryEntry| {
            topology_keys::keys(e).iter().any(|key| key.name == name)
                || (name == list && e.name == "graph")
        };
        let kinds =
            fabrics::REGISTRY.iter().filter(has).map(|e| format!("`kind = \"{}\"`", e.name));
        let kinds: Vec<String> = kinds.collect();
        let help = format!("remove it, or write {}", kinds.join(" or "));
        r.report(name, format!("a {kind} has no `{name}`"), Some(help));
    }
}

/// Writes `[topology]`.
pub(super) fn write(out: &mut TomlWriter, topology: &Topology) {
    out.table("topology");
    out.text("kind", topology.entry.name);
    out.text("link-rate", topology.rate);
    out.text("link-delay", topology.delay);
    for (name, value, _) in &topology.values {
        match value {
            KeyValue::Count(n) => out.bare(name, n),
            value => out.text(name, value),
        }
    }
    let ip = topology.framing == Framing::Ip;
    out.text("framing", if ip { "ip" } else { "ethernet" });
    out.text("mtu", topology.mtu);
    if topology.kind == TopologyKind::Graph {
        graph::write(out, &topology.graph);
    }
}
