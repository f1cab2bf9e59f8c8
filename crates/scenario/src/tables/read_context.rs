//! Context for reading the tables of one file.

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
    pub(super) diagnostics: &'c mut Diagnostics<'s>,
}

/// A table with a user-defined name.
#[derive(Clone, Copy)]
pub(super) struct NamedTable<'a> {
    pub(super) name: &'a str,
    /// Location of the name.
    pub(super) at: SourceSpan,
    pub(super) node: &'a TomlNode,
}

impl<'a, 's> ReadContext<'a, '_, 's> {
    /// Returns a reader of a table without user-defined names.
    pub(super) fn table(&mut self, section: &'static TableSpec) -> TableReader<'a, '_, 's> {
        self.table_with(section, &section.keys_of_kinds())
    }

    /// As [`ReadContext::table`], with the additional keys `more`.
    pub(super) fn table_with(
        &mut self,
        section: &'static TableSpec,
        more: &[KeySpec],
    ) -> TableReader<'a, '_, 's> {
        let at = self.nearest_span(section.path);
        let path = section.path.join(".");
        let table = self.root.get(section.path);
        TableReader::new(section, more, table, at, &path, self.known, &mut *self.diagnostics)
    }

    /// Returns a reader of a table from [`ReadContext::groups`], with the additional keys `more`.
    pub(super) fn reader(
        &mut self,
        section: &'static TableSpec,
        more: &[KeySpec],
        named: NamedTable<'a>,
    ) -> TableReader<'a, '_, 's> {
        let NamedTable { name, at, node } = named;
        let path = format!("{}.{name}", parent_path(section).join("."));
        TableReader::new(section, more, Some(node), at, &path, self.known, &mut *self.diagnostics)
    }

    /// Location of the name of the table at `path`, or of its nearest existing parent.
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

    /// Returns the tables of a section with user-defined names; reports an empty section and
    /// invalid names.
    pub(super) fn groups(&mut self, section: &TableSpec, example: &str) -> Vec<NamedTable<'a>> {
        let path = parent_path(section);
        let what = path.join(".");
        let Some(table) = self.root.get(path) else {
            let help = format!("start one with the line [{what}.{example}]");
            self.diagnostics.add(self.root.at, format!("there is no [{what}] group"), Some(help));
            return Vec::new();
        };
        if !matches!(table.data, TomlData::Table(_)) {
            let message = format!("`{what}` is {}, expected a table", table.kind());
            self.diagnostics.add(table.at, message, None);
        } else if table.entries().is_empty() {
            let help = format!("start one with the line [{what}.{example}]");
            self.diagnostics.add(table.at, format!("there is no [{what}] group"), Some(help));
        }
        let mut out = Vec::new();
        for entry in table.entries() {
            let name = entry.key.as_str();
            let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
            if !plain || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
                let help = "a name is letters, digits, `-` and `_`, and starts with a letter";
                let message = format!("`{name}` cannot be the name of a group");
                self.diagnostics.add(entry.key_at, message, Some(help.to_owned()));
            }
            out.push(NamedTable { name, at: entry.key_at, node: &entry.node });
        }
        out
    }
}

/// Returns the parent path of tables with user-defined names.
fn parent_path(section: &TableSpec) -> &'static [&'static str] {
    section.path.split_last().map_or(&[], |(_, above)| above)
}
