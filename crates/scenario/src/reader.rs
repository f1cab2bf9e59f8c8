//! Reads one table of the file: typed values, defaults, and all errors.

use lowtide_units::{Bytes, Duration, Fraction, Rate};

use crate::diagnostics::Diagnostics;
use crate::error::unknown;
use crate::keys::KeySpec;
use crate::known_names::KnownNames;
use crate::settings::{self, SIDES, SwitchSetting};
use crate::table_spec::TableSpec;
use crate::toml_tree::{SourceSpan, SourceText, TomlData, TomlNode};
use crate::value::KeyValue;
use lowtide_schema::{DefaultValue, Value};

/// A table being read.
pub(crate) struct TableReader<'a, 'c, 's> {
    keys: Vec<KeySpec>,
    table: Option<&'a TomlNode>,
    /// Location for errors about a missing key: the name of the table.
    at: SourceSpan,
    path: String,
    known: &'a KnownNames,
    diagnostics: &'c mut Diagnostics<'s>,
}

impl<'a, 'c, 's> TableReader<'a, 'c, 's> {
    /// Reads `table`, at location `at` and dotted `path`, with the keys of `section` and `more`.
    /// Reports unknown keys at once.
    pub(crate) fn new(
        section: &'static TableSpec,
        more: &[KeySpec],
        table: Option<&'a TomlNode>,
        at: SourceSpan,
        path: &str,
        known: &'a KnownNames,
        diagnostics: &'c mut Diagnostics<'s>,
    ) -> Self {
        let mut keys = section.keys.to_vec();
        keys.extend_from_slice(more);
        let reader = Self { keys, table, at, path: path.to_owned(), known, diagnostics };
        reader.report_unknown(section)
    }

    fn report_unknown(self, section: &TableSpec) -> Self {
        let Some(table) = self.table else { return self };
        if !matches!(table.data, TomlData::Table(_)) {
            let message = format!("`{}` is {}, expected a table", self.path, table.kind());
            self.diagnostics.add(table.at, message, None);
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
            let message = format!("no key `{}` {place}", entry.key);
            let (message, help) = match help {
                Some(_) => (message, help),
                None => unknown(message, &entry.key, &names),
            };
            self.diagnostics.add(entry.key_at, message, help);
        }
        self
    }

    /// Returns a reader of the table of `section` within this one.
    pub(crate) fn subtable(&mut self, section: &'static TableSpec) -> TableReader<'a, '_, 's> {
        let name = section.name();
        let entry = self.table.and_then(|t| t.entry(name));
        let path = format!("{}.{name}", self.path);
        let at = entry.map_or(self.at, |e| e.key_at);
        let table = entry.map(|e| &e.node);
        let more = section.keys_of_kinds();
        TableReader::new(section, &more, table, at, &path, self.known, self.diagnostics)
    }

    /// Replaces the specifications of keys with these names: kinds may have a key of one name with
    /// different defaults.
    pub(crate) fn respecify(&mut self, own: &[KeySpec]) {
        for key in own {
            match self.keys.iter_mut().find(|k| k.name == key.name) {
                Some(known) => *known = *key,
                None => self.keys.push(*key),
            }
        }
    }

    /// Returns the names of the keys that the table may have.
    pub(crate) fn key_names(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().map(|key| key.name)
    }

    /// Describes the values that a key accepts.
    pub(crate) fn describe(&self, name: &str) -> String {
        let key = self.keys.iter().find(|key| key.name == name);
        key.map_or_else(String::new, |key| key.ty.describe(&|names| self.known.list(names)))
    }

    /// Returns the value of a key, or its default; `None` if there is neither or it was invalid.
    pub(crate) fn value(&mut self, name: &str) -> Option<(KeyValue, SourceSpan)> {
        let key = *self.keys.iter().find(|k| k.name == name)?;
        let known = |names| self.known.list(names);
        if let Some(entry) = self.table.and_then(|t| t.entry(name)) {
            return match key.ty.read(&entry.node, &known) {
                Ok(value) => Some((value, entry.node.at)),
                Err(error) => {
                    let message = format!("`{name}`: {}", error.message);
                    self.diagnostics.add(error.at, message, error.help);
                    None
                }
            };
        }
        match key.default {
            DefaultValue::Is(text) => {
                let node = TomlNode {
                    data: TomlData::Text(text.to_owned()),
                    at: self.at,
                    is_override: false,
                };
                key.ty.read(&node, &known).ok().map(|value| (value, self.at))
            }
            DefaultValue::Unset(_) => None,
            // A value that is not a table has been reported; its keys are not missing.
            DefaultValue::Required
                if self.table.is_some_and(|t| !matches!(t.data, TomlData::Table(_))) =>
            {
                None
            }
            DefaultValue::Required => {
                self.report_missing(name);
                None
            }
        }
    }

    /// Returns the single value of a key, as [`TableReader::value`] does.
    pub(crate) fn single(&mut self, name: &str) -> Option<Value> {
        match self.value(name)?.0 {
            KeyValue::Single(value) => Some(value),
            KeyValue::Names(_) => None,
        }
    }

    /// Reports a missing key.
    pub(crate) fn report_missing(&mut self, name: &str) {
        let Some(key) = self.keys.iter().find(|k| k.name == name) else { return };
        let message = if self.path.is_empty() {
            format!("`{name}` is missing at the top of the scenario")
        } else {
            format!("`{name}` is missing in [{}]", self.path)
        };
        let help = format!("{} Give {}", key.doc, self.describe(name));
        self.diagnostics.add(self.at, message, Some(help));
    }

    /// Location of a key's value, or else of the table.
    pub(crate) fn at(&self, name: &str) -> SourceSpan {
        self.table.and_then(|t| t.entry(name)).map_or(self.at, |e| e.node.at)
    }

    /// Adds a file that the table names, and returns its number.
    pub(crate) fn add_source(&mut self, source: SourceText) -> usize {
        self.diagnostics.add_source(source)
    }

    /// Reports an error at any location.
    pub(crate) fn report_at(&mut self, at: SourceSpan, message: String, help: Option<String>) {
        self.diagnostics.add(at, message, help);
    }

    /// Location of the table's name.
    pub(crate) fn table_span(&self) -> SourceSpan {
        self.at
    }

    /// Returns whether a key is set.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.table.is_some_and(|t| t.entry(name).is_some())
    }

    /// Reports an error at a key, or else at the table.
    pub(crate) fn report(&mut self, name: &str, message: impl Into<String>, help: Option<String>) {
        let at = self.at(name);
        self.diagnostics.add(at, message, help);
    }

    /// Reads a text or a name.
    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        match self.single(name)? {
            Value::Text(text) => Some(text),
            Value::Name(name) => Some(name.to_owned()),
            _ => None,
        }
    }

    /// Reads `true` or `false`; false if it was invalid.
    pub(crate) fn bool(&mut self, name: &str) -> bool {
        matches!(self.single(name), Some(Value::Bool(true)))
    }

    /// Reads a number; one if it was invalid.
    pub(crate) fn count(&mut self, name: &str) -> u64 {
        match self.single(name) {
            Some(Value::Count(n)) => n,
            _ => 1,
        }
    }

    /// Reads a time; `None` also for `off`.
    pub(crate) fn time(&mut self, name: &str) -> Option<Duration> {
        match self.single(name)? {
            Value::Duration(time) => Some(time),
            _ => None,
        }
    }

    /// Reads a rate; `None` also for `off`.
    pub(crate) fn rate(&mut self, name: &str) -> Option<Rate> {
        match self.single(name)? {
            Value::Rate(rate) => Some(rate),
            _ => None,
        }
    }

    /// Reads a fraction.
    pub(crate) fn parts(&mut self, name: &str) -> Option<Fraction> {
        match self.single(name)? {
            Value::Fraction(parts) => Some(parts),
            _ => None,
        }
    }

    /// Reads a size; `None` also for `unlimited`.
    pub(crate) fn size(&mut self, name: &str) -> Option<Bytes> {
        match self.single(name)? {
            Value::Bytes(size) => Some(size),
            _ => None,
        }
    }

    /// Reads a list of names, each with its location.
    pub(crate) fn names(&mut self, name: &str) -> Option<Vec<(String, SourceSpan)>> {
        match self.value(name)?.0 {
            KeyValue::Names(names) => Some(names),
            KeyValue::Single(_) => None,
        }
    }

    /// Reads the switches of the tables `sender`, `receiver` and `connection`.
    pub(crate) fn settings(&mut self) -> Vec<SwitchSetting> {
        self.table.map_or_else(Vec::new, |t| settings::read(t, &self.path, self.diagnostics))
    }
}
