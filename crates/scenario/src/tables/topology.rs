//! `[topology]`: links and their arrangement.

use lowtide_net::topology::{self, TopologyEntry, star};
use lowtide_schema::DefaultValue::{Is, Required, Unset};
use lowtide_schema::{ParamError, Values};
use lowtide_units::Rate;

use super::read_context::ReadContext;
use super::{graph, param};
use crate::keys::{KeySpec, key};
use crate::model::{GraphTable, Topology};
use crate::reader::TableReader;
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_writer::TomlWriter;
use crate::topology_keys;
use crate::value::{KeyType, NameSet};

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
        KeySpec::of_param(&topology::LINK_RATE),
        KeySpec::of_param(&topology::LINK_DELAY),
        KeySpec::of_param(&topology::FRAMING),
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
    let found = r.text("kind").and_then(|kind| topology::REGISTRY.find(&kind));
    if let Some(entry) = found {
        let own = topology_keys::keys(entry);
        foreign(&mut r, entry, &own, &all);
        r.respecify(&own);
    }
    let entry = found.unwrap_or(&star::ENTRY);
    let values = values(&mut r, entry);
    let mtu = r.size("mtu").unwrap_or_default();
    let (at, places) = (r.at("kind"), entry.all_params().map(|p| (p.name, r.at(p.name))).collect());
    let host_count = values.as_ref().and_then(|values| entry.host_count(values));
    let values = values.unwrap_or_default();
    let graph = if entry.explicit_links {
        let rate = values.find_rate(topology::LINK_RATE.name).unwrap_or(Rate::from_gbps(1));
        let delay = values.find_duration(topology::LINK_DELAY.name).unwrap_or_default();
        graph::read(file, &TOPOLOGY, (rate, delay))
    } else {
        GraphTable::default()
    };
    Topology { entry, at, values, places, host_count, graph, mtu }
}

/// Reads the values of all parameters of a topology; `None` if any is missing or invalid.
fn values(r: &mut TableReader<'_, '_, '_>, entry: &TopologyEntry) -> Option<Values> {
    let (mut given, mut is_valid) = (Values::new(), true);
    for param in entry.all_params() {
        match r.single(param.name) {
            Some(value) => given.set(param.name, value),
            None => is_valid &= matches!(param.default, Unset(_)) && !r.has(param.name),
        }
    }
    if !is_valid {
        return None;
    }
    let values = entry.values(|param| given.get(param.name).cloned());
    let report =
        |error: ParamError| r.report(error.param.unwrap_or("kind"), error.message, error.help);
    values.map_err(report).ok()
}

/// Reports keys that belong to other topologies.
fn foreign(
    r: &mut TableReader<'_, '_, '_>,
    entry: &TopologyEntry,
    own: &[KeySpec],
    all: &[KeySpec],
) {
    let list = graph::LINKS.name();
    let others = all.iter().map(|key| key.name).chain([list]);
    for name in others.filter(|name| own.iter().all(|own| own.name != *name)) {
        if !r.has(name) || (name == list && entry.explicit_links) {
            continue;
        }
        let has = |e: &&TopologyEntry| {
            topology_keys::keys(e).iter().any(|key| key.name == name)
                || (name == list && e.explicit_links)
        };
        let kinds = topology::REGISTRY.all().filter(has);
        let kinds: Vec<String> = kinds.map(|e| format!("`kind = \"{}\"`", e.name)).collect();
        let help = format!("remove it, or write {}", kinds.join(" or "));
        r.report(name, format!("a {} has no `{name}`", entry.name), Some(help));
    }
}

/// Writes `[topology]`.
pub(super) fn write(out: &mut TomlWriter, topology: &Topology) {
    out.table("topology");
    out.text("kind", topology.entry.name);
    param::write(out, &topology.values);
    out.text("mtu", topology.mtu);
    if topology.entry.explicit_links {
        graph::write(out, &topology.graph);
    }
}
