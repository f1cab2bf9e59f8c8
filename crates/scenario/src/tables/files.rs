//! `[files]`: files that a scenario carries itself, as one that is written out does.

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
    doc: "Files that the scenario carries itself, each a text under its quoted name. Whatever names a file finds it here first, and else beside the scenario.",
    keys: &[],
    tables: &[],
    contents: TableContents::Texts,
};

/// Complains of what is no text.
pub(super) fn read(file: &mut ReadContext<'_, '_, '_>) {
    let Some(table) = file.root.get(TABLE.path) else { return };
    if !matches!(table.data, TomlData::Table(_)) {
        let message = format!("`{FILES}` is {} where a table is wanted", table.kind());
        file.complaints.add(table.at, message, None);
    }
    for entry in table.entries() {
        if !matches!(entry.node.data, TomlData::Text(_)) {
            let message =
                format!("the file `{}` is {} where a text is wanted", entry.key, entry.node.kind());
            let help = format!("write `\"{}\" = \"\"\"`, its lines, and `\"\"\"`", entry.key);
            file.complaints.add(entry.node.at, message, Some(help));
        }
    }
}

/// Writes out the files that traffic is made of; a topology is written out where it belongs.
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
