//! Reads one table of the file: typed values, defaults, and every complaint in one list.

use lowtide_net::Count;
use lowtide_units::{Bytes, Duration, Parts, Rate};

use crate::complaints::Complaints;
use crate::error::suggest;
use crate::keys::{Fallback, Key};
use crate::known::Known;
use crate::section::Section;
use crate::settings::{self, SIDES, Setting};
use crate::tree::{At, Data, Node, Source};
use crate::value::Val;

/// A table being read.
pub(crate) struct Reader<'a, 'c, 's> {
    keys: Vec<Key>,
    table: Option<&'a Node>,
    /// Where an error about a missing key points: the name of the table.
    at: At,
    path: String,
    known: &'a Known,
    complaints: &'c mut Complaints<'s>,
}

impl<'a, 'c, 's> Reader<'a, 'c, 's> {
    /// Reads `table`, which is written at `at` under the dotted `path`; keys beyond those of `section`
    /// are `more`. Complains of unknown keys at once.
    pub(crate) fn new(
        section: &'static Section,
        more: &[Key],
        table: Option<&'a Node>,
        at: At,
        path: &str,
        known: &'a Known,
        complaints: &'c mut Complaints<'s>,
    ) -> Self {
        let mut keys = section.keys.to_vec();
        keys.extend_from_slice(more);
        let reader = Self { keys, table, at, path: path.to_owned(), known, complaints };
        reader.refuse_unknown(section)
    }

    fn refuse_unknown(self, section: &Section) -> Self {
        let Some(table) = self.table else { return self };
        if !matches!(table.data, Data::Table(_)) {
            let message = format!("`{}` is {} where a table is wanted", self.path, table.kind());
            self.complaints.add(table.at, message, None);
            return self;
        }
        let mut names: Vec<&str> = self.keys.iter().map(|k| k.name).collect();
        names.extend(section.children());
        if section.has_switches() {
            names.extend(SIDES);
        }
        for entry in table.entries().iter().filter(|e| !names.contains(&e.key.as_str())) {
            let place = if self.path.is_empty() {
                "at the top of a scenario".to_owned()
            } else {
                format!("in [{}]", self.path)
            };
            let help = if section.has_switches() {
                settings::switch_help(&self.path, &entry.key)
            } else {
                None
            };
            let help = help.or_else(|| suggest(&entry.key, &names));
            self.complaints.add(entry.key_at, format!("no key `{}` {place}", entry.key), help);
        }
        self
    }

    /// The table of `section` within this one.
    pub(crate) fn below(&mut self, section: &'static Section) -> Reader<'a, '_, 's> {
        let name = section.name();
        let entry = self.table.and_then(|t| t.entry(name));
        let path = format!("{}.{name}", self.path);
        let at = entry.map_or(self.at, |e| e.key_at);
        let table = entry.map(|e| &e.node);
        Reader::new(section, &[], table, at, &path, self.known, self.complaints)
    }

    /// The value of a key, or its default; `None` when there is neither or it was refused.
    pub(crate) fn value(&mut self, name: &str) -> Option<(Val, At)> {
        let key = *self.keys.iter().find(|k| k.name == name)?;
        let known = |names| self.known.list(names);
        if let Some(entry) = self.table.and_then(|t| t.entry(name)) {
            return match key.ty.read(&entry.node, &known) {
                Ok(value) => Some((value, entry.node.at)),
                Err(refused) => {
                    let message = format!("`{name}`: {}", refused.message);
                    self.complaints.add(refused.at, message, refused.help);
                    None
                }
            };
        }
        match key.default {
            Fallback::Is(text) => {
                let node = Node { data: Data::Text(text.to_owned()), at: self.at, pinned: false };
                key.ty.read(&node, &known).ok().map(|value| (value, self.at))
            }
            Fallback::Unset(_) => None,
            // Of something that is no table nothing is missing: the complaint about it is enough.
            Fallback::Required if self.table.is_some_and(|t| !matches!(t.data, Data::Table(_))) => {
                None
            }
            Fallback::Required => {
                self.missing(name);
                None
            }
        }
    }

    /// Complains that a key is not written.
    pub(crate) fn missing(&mut self, name: &str) {
        let Some(key) = self.keys.iter().find(|k| k.name == name) else { return };
        let known = |names| self.known.list(names);
        let message = if self.path.is_empty() {
            format!("`{name}` is missing at the top of the scenario")
        } else {
            format!("`{name}` is missing in [{}]", self.path)
        };
        let help = format!("{} Give {}", key.doc, key.ty.describe(&known));
        self.complaints.add(self.at, message, Some(help));
    }

    /// Where the value of a key is written, or else the table.
    pub(crate) fn at(&self, name: &str) -> At {
        self.table.and_then(|t| t.entry(name)).map_or(self.at, |e| e.node.at)
    }

    /// Takes in a file that the table names, and gives its number.
    pub(crate) fn source(&mut self, source: Source) -> usize {
        self.complaints.source(source)
    }

    /// What is wrong, anywhere.
    pub(crate) fn complain_at(&mut self, at: At, message: String, help: Option<String>) {
        self.complaints.add(at, message, help);
    }

    /// Where the table is named.
    pub(crate) fn place(&self) -> At {
        self.at
    }

    /// Whether a key is written.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.table.is_some_and(|t| t.entry(name).is_some())
    }

    /// What is wrong, at a key or else the table.
    pub(crate) fn complain(
        &mut self,
        name: &str,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        let at = self.at(name);
        self.complaints.add(at, message, help);
    }

    /// A text or a name.
    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        match self.value(name)?.0 {
            Val::Text(text) => Some(text),
            _ => None,
        }
    }

    /// `true` or `false`; false when it was refused.
    pub(crate) fn bool(&mut self, name: &str) -> bool {
        matches!(self.value(name), Some((Val::Bool(true), _)))
    }

    /// A number; one when it was refused.
    pub(crate) fn count(&mut self, name: &str) -> u64 {
        match self.value(name) {
            Some((Val::Count(n), _)) => n,
            _ => 1,
        }
    }

    /// A time; `None` also for `off`.
    pub(crate) fn time(&mut self, name: &str) -> Option<Duration> {
        match self.value(name)?.0 {
            Val::Time(time) => Some(time),
            _ => None,
        }
    }

    /// A rate; `None` also for `off`.
    pub(crate) fn rate(&mut self, name: &str) -> Option<Rate> {
        match self.value(name)?.0 {
            Val::Rate(rate) => Some(rate),
            _ => None,
        }
    }

    /// A share.
    pub(crate) fn parts(&mut self, name: &str) -> Option<Parts> {
        match self.value(name)?.0 {
            Val::Parts(parts) => Some(parts),
            _ => None,
        }
    }

    /// A size; `None` also for `unlimited`.
    pub(crate) fn size(&mut self, name: &str) -> Option<Bytes> {
        match self.value(name)?.0 {
            Val::Size(size) => Some(size),
            _ => None,
        }
    }

    /// Packets or bytes; `None` also for `unlimited`.
    pub(crate) fn length(&mut self, name: &str) -> Option<Count> {
        match self.value(name)?.0 {
            Val::Length(count) => Some(count),
            _ => None,
        }
    }

    /// A list of names, each with its place.
    pub(crate) fn names(&mut self, name: &str) -> Option<Vec<(String, At)>> {
        match self.value(name)?.0 {
            Val::Names(names) => Some(names),
            _ => None,
        }
    }

    /// The switches of the tables `sender`, `receiver` and `connection`.
    pub(crate) fn settings(&mut self) -> Vec<Setting> {
        self.table.map_or_else(Vec::new, |t| settings::read(t, &self.path, self.complaints))
    }
}
