//! Switches and links of a graph: in `[topology]`, or in a file with these keys.

use lowtide_units::{Duration, Rate};

use super::read_context::ReadContext;
use crate::keys::key;
use crate::model::{GraphTable, ParallelLinks, SpannedName};
use crate::reader::TableReader;
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_tree::{self, SourceSpan, SourceText, TomlData, TomlNode};
use crate::toml_writer::TomlWriter;
use crate::topology_keys::{FILE, SWITCHES};
use crate::value::KeyType;
use lowtide_schema::DefaultValue::{Is, Required, Unset};

/// `[[topology.links]]`.
pub(crate) static LINKS: TableSpec = TableSpec {
    path: &["topology", "links"],
    doc: "Links of a graph, one table for each.",
    keys: &[
        key(
            "ends",
            KeyType::FreeNames("two ends, `[\"senders.0\", \"tor0\"]`"),
            Required,
            "Two ends: switches, or a host. A host group, or a range of one, makes a link for each of its hosts.",
        ),
        key("rate", KeyType::Rate, Unset("as `link-rate`"), "Rate, in each direction."),
        key(
            "delay",
            KeyType::Time { positive: false },
            Unset("as `link-delay`"),
            "Propagation delay, one way.",
        ),
        key(
            "count",
            KeyType::Count { min: 1, max: 1_000 },
            Is("1"),
            "Number of such links between these ends; a host has one.",
        ),
    ],
    tables: &[],
    contents: TableContents::List,
};

/// Top level of a topology file.
static TOP: TableSpec = TableSpec {
    path: &[],
    doc: "A graph in a separate file.",
    keys: &[key(
        SWITCHES,
        KeyType::FreeNames("names of switches, `[\"tor0\", \"tor1\"]`"),
        Required,
        "Names of the switches, in order.",
    )],
    tables: &[&FILE_LINKS],
    contents: TableContents::KeysOnly,
};

/// `[[links]]` of a topology file.
static FILE_LINKS: TableSpec = TableSpec {
    path: &["links"],
    doc: LINKS.doc,
    keys: LINKS.keys,
    tables: &[],
    contents: TableContents::List,
};

/// Reads a graph from `topology`, or from the file that it names; `line` is the default rate and
/// delay.
pub(super) fn read(
    file: &mut ReadContext<'_, '_, '_>,
    topology: &'static TableSpec,
    line: (Rate, Duration),
) -> GraphTable {
    let Some(table) = file.root.get(topology.path) else { return GraphTable::default() };
    let Some(named) = table.entry(FILE) else {
        return GraphSource { table, top: topology, links: &LINKS }.read(file, line);
    };
    for name in [SWITCHES, LINKS.name()] {
        if let Some(entry) = table.entry(name) {
            let message = format!("`{name}` together with `{FILE}`");
            let help = "define the switches and links either here or in the file".to_owned();
            file.diagnostics.add(entry.key_at, message, Some(help));
        }
    }
    let at = named.node.at;
    let TomlData::Text(name) = &named.node.data else { return GraphTable::default() };
    let source = match file.files.get(name) {
        Ok(file) => SourceText::of(&file),
        Err(why) => {
            file.diagnostics.add(at, format!("cannot read `{name}`: {why}"), None);
            return GraphTable::default();
        }
    };
    let index = file.diagnostics.add_source(source.clone());
    match toml_tree::parse_file(index, &source) {
        Ok(table) => GraphSource { table: &table, top: &TOP, links: &FILE_LINKS }.read(file, line),
        Err(found) => {
            for error in found {
                file.diagnostics.push(error);
            }
            GraphTable::default()
        }
    }
}

/// Table that a graph is read from.
struct GraphSource<'a> {
    table: &'a TomlNode,
    top: &'static TableSpec,
    links: &'static TableSpec,
}

impl GraphSource<'_> {
    fn read(&self, file: &mut ReadContext<'_, '_, '_>, line: (Rate, Duration)) -> GraphTable {
        let mut graph = GraphTable::default();
        let at = self.table.entry(SWITCHES).map_or(self.table.at, |e| e.node.at);
        let (more, path) = (self.top.keys_of_kinds(), self.top.name());
        let (known, diagnostics) = (file.known, &mut *file.diagnostics);
        let mut r =
            TableReader::new(self.top, &more, Some(self.table), at, path, known, diagnostics);
        match r.names(SWITCHES) {
            Some(names) => {
                graph.switches =
                    names.into_iter().map(|(name, at)| SpannedName { name, at }).collect();
            }
            None if !path.is_empty() && !r.has(SWITCHES) => {
                let help = "write `switches = [\"tor0\", \"tor1\"]`, or name a file: \
                            `file = \"topology.toml\"`";
                r.report("kind", "a graph needs its `switches`", Some(help.to_owned()));
            }
            None => {}
        }
        let Some(entry) = self.table.entry(self.links.name()) else {
            let message = "a graph needs its links";
            let help = format!(
                "start one with the line [[{}]] and write `ends = [\"senders\", \"tor0\"]`",
                self.links.path.join(".")
            );
            file.diagnostics.add(at, message, Some(help));
            return graph;
        };
        let TomlData::List(items) = &entry.node.data else {
            let message = format!("`links` is {}, expected a list of tables", entry.node.kind());
            let help = format!("start each with the line [[{}]]", self.links.path.join("."));
            file.diagnostics.add(entry.node.at, message, Some(help));
            return graph;
        };
        for node in items {
            graph.links.extend(self.link(file, node, line));
        }
        graph
    }

    fn link(
        &self,
        file: &mut ReadContext<'_, '_, '_>,
        node: &TomlNode,
        (rate, delay): (Rate, Duration),
    ) -> Option<ParallelLinks> {
        let path = self.links.path.join(".");
        let place = first(node);
        let mut r = TableReader::new(
            self.links,
            &[],
            Some(node),
            place,
            &path,
            file.known,
            file.diagnostics,
        );
        let ends = r.names("ends");
        let (rate, delay) = (r.rate("rate").unwrap_or(rate), r.time("delay").unwrap_or(delay));
        let count = r.count("count") as u32;
        let ends: Vec<SpannedName> =
            ends?.into_iter().map(|(name, at)| SpannedName { name, at }).collect();
        match <[SpannedName; 2]>::try_from(ends) {
            Ok(ends) => Some(ParallelLinks { ends, rate, delay, count }),
            Err(ends) => {
                let message = format!("a link has two ends, not {}", ends.len());
                let help = "write `ends = [\"senders.0\", \"tor0\"]`".to_owned();
                r.report("ends", message, Some(help));
                None
            }
        }
    }
}

/// Location of the first entry in a table, as an element of an array may have none itself.
fn first(node: &TomlNode) -> SourceSpan {
    node.entries().first().map_or(node.at, |e| e.key_at)
}

/// Writes switches and links.
pub(super) fn write(out: &mut TomlWriter, graph: &GraphTable) {
    out.list(SWITCHES, graph.switches.iter().map(|s| s.name.as_str()));
    for link in &graph.links {
        out.line("\n[[topology.links]]");
        out.list("ends", link.ends.iter().map(|end| end.name.as_str()));
        out.text("rate", link.rate);
        out.text("delay", link.delay);
        out.bare("count", link.count);
    }
}
