//! The tables of a scenario file, one file each: keys, reader and writer.
//!
//! Contract: [`ROOT`] and its subtables are the only list of keys. A new key goes into the file of
//! its table. A new table is a file with its `TableSpec`, `read` and `write`, a field of
//! [`ScenarioModel`], and three lines here: in [`ROOT`], in [`read`] and in [`write`]. Nothing else
//! lists tables.

mod buffer;
mod class;
mod clock;
mod compare;
mod deployment;
mod disturbance;
mod files;
mod graph;
mod hosts;
mod mark;
mod nic;
mod param;
mod pipe;
mod probes;
mod question;
mod read_context;
mod routing;
mod run;
mod switch;
mod topology;
mod traffic;
mod transport;

use crate::diagnostics::Diagnostics;
use crate::files::FileCache;
use crate::keys::key;
use crate::known_names::KnownNames;
use crate::model::ScenarioModel;
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_tree::TomlNode;
use crate::toml_writer::TomlWriter;
use crate::transport_config::HostConfigs;
use crate::value::KeyType;
use lowtide_schema::DefaultValue::{Required, Unset};
use read_context::ReadContext;

/// The root of the file with all tables, in the order in which they are emitted.
pub(crate) static ROOT: TableSpec = TableSpec {
    path: &[],
    doc: "Head of the file.",
    keys: &[
        key("schema", KeyType::Count { min: 1, max: 1 }, Required, "Version of this format: 1."),
        key("title", KeyType::Text, Required, "Title, one line."),
        key("description", KeyType::Text, Unset("nothing"), "Description, one line."),
    ],
    tables: &[
        &run::RUN,
        &topology::TOPOLOGY,
        &routing::ROUTING,
        &routing::FAILURE,
        &switch::SWITCH,
        &pipe::PIPE,
        &transport::TRANSPORT,
        &hosts::HOSTS,
        &deployment::DEPLOYMENT,
        &traffic::TRAFFIC,
        &disturbance::DISTURBANCE,
        &probes::PROBES,
        &compare::COMPARE,
        &question::QUESTION,
        &files::TABLE,
    ],
    contents: TableContents::KeysOnly,
};

/// Returns all tables, each before its subtables.
pub(crate) fn sections() -> Vec<&'static TableSpec> {
    fn add(section: &'static TableSpec, out: &mut Vec<&'static TableSpec>) {
        out.push(section);
        section.tables.iter().for_each(|table| add(table, out));
    }
    let mut out = Vec::new();
    add(&ROOT, &mut out);
    out
}

/// Reads a whole tree. Invalid values are replaced by placeholders, so that later tables and checks
/// find all errors at once. Returns `None` if there are any.
pub(crate) fn read(
    root: &TomlNode,
    known: &KnownNames,
    file_cache: &FileCache<'_>,
    diagnostics: &mut Diagnostics<'_>,
) -> Option<ScenarioModel> {
    let file = &mut ReadContext { root, known, files: file_cache, diagnostics };
    files::read(file);
    let (title, description) = head(file);
    let topology = topology::read(file);
    let routing = routing::read(file, topology.entry.multipath);
    let failures = routing::failures(file, routing);
    let switch = switch::read(file);
    let pipes = pipe::read(file);
    let transport = transport::read(file);
    let hosts = hosts::read(file, &topology, &transport);
    let deployment = deployment::read(file, &hosts);
    let traffic = traffic::read(file, &hosts);
    let run = run::read(file, &traffic);
    let disturbance = disturbance::read(file);
    let probes = probes::read(file);
    let compare = compare::read(file);
    let bundles = compare::bundles(file);
    let question = question::read(file);
    file.diagnostics.is_empty().then_some(ScenarioModel {
        title,
        description,
        run,
        topology,
        routing,
        failures,
        switch,
        pipes,
        transport,
        hosts,
        deployment,
        traffic,
        disturbance,
        probes,
        compare,
        bundles,
        question,
    })
}

fn head(file: &mut ReadContext<'_, '_, '_>) -> (String, Option<String>) {
    let mut r = file.table(&ROOT);
    r.count("schema");
    (r.text("title").unwrap_or_default(), r.text("description"))
}

/// Writes the head of the file.
pub(crate) fn write_head(out: &mut TomlWriter, model: &ScenarioModel) {
    out.bare("schema", 1);
    out.text("title", &model.title);
    out.optional("description", model.description.as_ref());
}

/// Writes all tables, for one seed and one scheme; `configs` are those of the hosts.
pub(crate) fn write(
    out: &mut TomlWriter,
    model: &ScenarioModel,
    configs: &HostConfigs,
    scheme: &str,
    seed: u64,
) {
    run::write(out, &model.run, seed);
    topology::write(out, &model.topology);
    routing::write(out, model.routing);
    model.failures.iter().for_each(|failure| routing::write_failure(out, failure));
    switch::write(out, &model.switch);
    model.pipes.iter().for_each(|pipe| pipe::write(out, pipe));
    let compared = !model.compare.is_empty() || model.transport.scheme.is_some();
    transport::write(out, &model.transport, compared.then_some(scheme));
    for (i, group) in model.hosts.iter().enumerate() {
        hosts::write(out, group, [configs.groups.get(i), configs.moved.get(i)], model);
    }
    if let Some(table) = &model.deployment {
        deployment::write(out, table, &configs.deployed);
    }
    // The bundle that names this run must be defined.
    let used = |name: &str| {
        let deployed = model.deployment.iter().filter_map(|d| d.to.as_ref());
        let mut own = model.hosts.iter().filter_map(|g| g.stack.scheme.as_ref()).chain(deployed);
        name == scheme || own.any(|s| s.name == name)
    };
    model.bundles.iter().filter(|b| used(&b.name)).for_each(|b| compare::write(out, b));
    model.traffic.iter().for_each(|group| traffic::write(out, group, model));
    disturbance::write(out, &model.disturbance);
    probes::write(out, &model.probes, &model.traffic);
    files::write(out, &model.traffic);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toml_tree;
    use crate::value::NameSet;
    use lowtide_schema::DefaultValue::Is;
    use lowtide_traffic::workload;

    #[test]
    fn every_default_is_a_value_of_its_key() {
        let known = |names: NameSet| KnownNames::default().list(names);
        let mut seen = 0;
        for section in sections() {
            for key in section.all_keys() {
                if let Is(text) = key.default {
                    let node = toml_tree::parse_value(0, 0, text);
                    let value = key.ty.read(&node, &known);
                    assert!(value.is_ok(), "{:?} {}: {value:?}", section.path, key.name);
                    seen += 1;
                }
            }
        }
        assert!(seen > 10);
    }

    #[test]
    fn keys_are_unique_and_documented() {
        for section in sections() {
            let mut names: Vec<_> = section.all_keys().iter().map(|k| k.name).collect();
            names.extend(section.children());
            names.sort_unstable();
            let all = names.len();
            names.dedup();
            assert_eq!(all, names.len(), "{:?}", section.path);
            assert!(section.doc.ends_with('.'));
            assert!(section.all_keys().iter().all(|k| k.doc.ends_with('.')), "{:?}", section.path);
        }
    }

    #[test]
    fn a_key_means_the_same_in_every_workload() {
        let params = || workload::REGISTRY.all().flat_map(|e| e.params);
        for one in params() {
            for other in params().filter(|p| p.name == one.name) {
                assert_eq!(format!("{one:?}"), format!("{other:?}"));
            }
        }
    }

    #[test]
    fn tables_within_tables_are_found() {
        assert_eq!(switch::SWITCH.children(), ["mark", "class", "at"]);
        assert_eq!(compare::COMPARE.children(), ["bundles"]);
        assert!(ROOT.children().contains(&"sweep"));
    }
}
