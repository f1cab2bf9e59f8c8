//! `[files]`: embedded files, as in emitted runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use lowtide_traffic::workload::UserFile;

use super::read_context::ReadContext;
use crate::files::FILES;
use crate::model::TrafficGroup;
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_tree::TomlData;
use crate::toml_writer::TomlWriter;

/// `[files]`.
pub(crate) static TABLE: TableSpec = TableSpec {
    path: &[FILES],
    doc: "Embedded files, each a text under its quoted name. They take precedence over files in the scenario's directory.",
    keys: &[],
    tables: &[],
    contents: TableContents::Texts,
};

/// Reports entries that are not texts.
pub(super) fn read(file: &mut ReadContext<'_, '_, '_>) {
    let Some(table) = file.root.get(TABLE.path) else { return };
    if !matches!(table.data, TomlData::Table(_)) {
        let message = format!("`{FILES}` is {}, expected a table", table.kind());
        file.diagnostics.add(table.at, message, None);
    }
    for entry in table.entries() {
        if !matches!(entry.node.data, TomlData::Text(_)) {
            let message =
                format!("the file `{}` is {}, expected a text", entry.key, entry.node.kind());
            let help = format!("write `\"{}\" = \"\"\"`, its lines, and `\"\"\"`", entry.key);
            file.diagnostics.add(entry.node.at, message, Some(help));
        }
    }
}

/// Writes the files that traffic is generated from; a topology is written in its own table.
pub(super) fn write(out: &mut TomlWriter, traffic: &[TrafficGroup]) {
    let named: BTreeMap<&str, &Arc<UserFile>> =
        traffic.iter().flat_map(|g| &g.files).map(|f| (f.name.as_str(), f)).collect();
    if named.is_empty() {
        return;
    }
    out.table(FILES);
    for (name, file) in named {
        out.multiline(name, &file.text);
    }
}
