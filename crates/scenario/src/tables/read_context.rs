//! What the tables of one file share while they are read.

use crate::diagnostics::Diagnostics;
use crate::files::FileCache;
use crate::keys::KeySpec;
use crate::known_names::KnownNames;
use crate::reader::TableReader;
use crate::table_spec::TableSpec;
use crate::toml_tree::{SourceSpan, TomlData, TomlNode};

/// One file, at one point of its sweep.
pub(super) struct ReadContext<'a, 'c, 's> {
    pub(super) root: &'a TomlNode,
    pub(super) known: &'a KnownNames,
    pub(super) files: &'a FileCache<'a>,
    pub(super) complaints: &'c mut Diagnostics<'s>,
}

/// A table whose name people choose.
#[derive(Clone, Copy)]
pub(super) struct NamedTable<'a> {
    pub(super) name: &'a str,
    /// Where the name is written.
    pub(super) at: SourceSpan,
    pub(super) node: &'a TomlNode,
}

impl<'a, 's> ReadContext<'a, '_, 's> {
    /// A reader of a table that has no names that people choose.
    pub(super) fn table(&mut self, section: &'static TableSpec) -> TableReader<'a, '_, 's> {
        self.table_with(section, &[])
    }

    /// The same, with the keys `more` of its own.
    pub(super) fn table_with(
        &mut self,
        section: &'static TableSpec,
        more: &[KeySpec],
    ) -> TableReader<'a, '_, 's> {
        let at = self.nearest_span(section.path);
        let path = section.path.join(".");
        let table = self.root.get(section.path);
        TableReader::new(section, more, table, at, &path, self.known, &mut *self.complaints)
    }

    /// A reader of one of the tables that [`ReadContext::groups`] finds; it has the keys `more` of its own.
    pub(super) fn reader(
        &mut self,
        section: &'static TableSpec,
        more: &[KeySpec],
        named: NamedTable<'a>,
    ) -> TableReader<'a, '_, 's> {
        let NamedTable { name, at, node } = named;
        let path = format!("{}.{name}", parent_path(section).join("."));
        TableReader::new(section, more, Some(node), at, &path, self.known, &mut *self.complaints)
    }

    /// Where the table at `path` is named, or the nearest one above it that is written.
    fn nearest_span(&self, path: &[&str]) -> SourceSpan {
        let mut at = self.root.at;
        let mut node = self.root;
        for key in path {
            let Some(entry) = node.entry(key) else { break };
            at = entry.key_at;
            node = &entry.node;
        }
        at
    }

    /// The tables of a section with a name that people choose; complains when there are none or a name
    /// is no name.
    pub(super) fn groups(&mut self, section: &TableSpec, example: &str) -> Vec<NamedTable<'a>> {
        let path = parent_path(section);
        let what = path.join(".");
        let Some(table) = self.root.get(path) else {
            let help = format!("begin one with a line [{what}.{example}]");
            self.complaints.add(self.root.at, format!("there is no [{what}] group"), Some(help));
            return Vec::new();
        };
        if !matches!(table.data, TomlData::Table(_)) {
            let message = format!("`{what}` is {} where a table is wanted", table.kind());
            self.complaints.add(table.at, message, None);
        } else if table.entries().is_empty() {
            let help = format!("begin one with a line [{what}.{example}]");
            self.complaints.add(table.at, format!("there is no [{what}] group"), Some(help));
        }
        let mut out = Vec::new();
        for entry in table.entries() {
            let name = entry.key.as_str();
            let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
            if !plain || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
                let help = "a name is letters, digits, `-` and `_`, and starts with a letter";
                let message = format!("`{name}` cannot be the name of a group");
                self.complaints.add(entry.key_at, message, Some(help.to_owned()));
            }
            out.push(NamedTable { name, at: entry.key_at, node: &entry.node });
        }
        out
    }
}

/// The way to the tables of a section with a name that people choose.
fn parent_path(section: &TableSpec) -> &'static [&'static str] {
    section.path.split_last().map_or(&[], |(_, above)| above)
}
