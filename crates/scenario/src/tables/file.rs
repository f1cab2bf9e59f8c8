//! What the tables of one file share while they are read.

use crate::complaints::Complaints;
use crate::files::Library;
use crate::keys::Key;
use crate::known::Known;
use crate::reader::Reader;
use crate::section::Section;
use crate::tree::{At, Data, Node};

/// One file, at one point of its sweep.
pub(super) struct File<'a, 'c, 's> {
    pub(super) root: &'a Node,
    pub(super) known: &'a Known,
    pub(super) named: &'a Library<'a>,
    pub(super) complaints: &'c mut Complaints<'s>,
}

/// A table whose name people choose.
#[derive(Clone, Copy)]
pub(super) struct NamedTable<'a> {
    pub(super) name: &'a str,
    /// Where the name is written.
    pub(super) at: At,
    pub(super) node: &'a Node,
}

impl<'a, 's> File<'a, '_, 's> {
    /// A reader of a table that has no names that people choose.
    pub(super) fn table(&mut self, section: &'static Section) -> Reader<'a, '_, 's> {
        self.table_with(section, &[])
    }

    /// The same, with the keys `more` of its own.
    pub(super) fn table_with(
        &mut self,
        section: &'static Section,
        more: &[Key],
    ) -> Reader<'a, '_, 's> {
        let at = self.place(section.path);
        let path = section.path.join(".");
        let table = self.root.get(section.path);
        Reader::new(section, more, table, at, &path, self.known, &mut *self.complaints)
    }

    /// A reader of one of the tables that [`File::groups`] finds; it has the keys `more` of its own.
    pub(super) fn reader(
        &mut self,
        section: &'static Section,
        more: &[Key],
        named: NamedTable<'a>,
    ) -> Reader<'a, '_, 's> {
        let NamedTable { name, at, node } = named;
        let path = format!("{}.{name}", above(section).join("."));
        Reader::new(section, more, Some(node), at, &path, self.known, &mut *self.complaints)
    }

    /// Where the table at `path` is named, or the nearest one above it that is written.
    fn place(&self, path: &[&str]) -> At {
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
    pub(super) fn groups(&mut self, section: &Section, example: &str) -> Vec<NamedTable<'a>> {
        let path = above(section);
        let what = path.join(".");
        let Some(table) = self.root.get(path) else {
            let help = format!("begin one with a line [{what}.{example}]");
            self.complaints.add(self.root.at, format!("there is no [{what}] group"), Some(help));
            return Vec::new();
        };
        if !matches!(table.data, Data::Table(_)) {
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
fn above(section: &Section) -> &'static [&'static str] {
    section.path.split_last().map_or(&[], |(_, above)| above)
}
