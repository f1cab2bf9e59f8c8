//! The file as a tree in which every key and value has its location.
//!
//! Overrides and swept values are put into this tree before it is interpreted. So they pass the
//! checks of the file, and errors about them point at them.

use std::ops::Range;
use std::sync::Arc;

use lowtide_traffic::workload::UserFile;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::ScenarioError;

/// A source text of values: the file, or one override.
#[derive(Clone, Debug)]
pub(crate) struct SourceText {
    /// Name in errors.
    pub(crate) name: String,
    /// Contents.
    pub(crate) text: Arc<str>,
}

impl SourceText {
    /// Returns the source text of a file that the scenario names.
    pub(crate) fn of(file: &UserFile) -> Self {
        Self { name: file.name.clone(), text: file.text.as_str().into() }
    }
}

/// A byte range in one of the sources.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SourceSpan {
    /// Index of the source.
    pub(crate) source: usize,
    /// First byte.
    pub(crate) start: usize,
    /// One past the last byte.
    pub(crate) end: usize,
}

/// A value without its location.
#[derive(Clone, Debug)]
pub(crate) enum TomlData {
    Text(String),
    Int(i64),
    Float(String),
    Bool(bool),
    List(Vec<TomlNode>),
    Table(Vec<TomlEntry>),
    /// A TOML value that no key accepts (dates, huge integers), as text.
    Other(String),
}

/// A value and its location.
#[derive(Clone, Debug)]
pub(crate) struct TomlNode {
    pub(crate) data: TomlData,
    pub(crate) at: SourceSpan,
    /// Set by an override or a sweep, so it takes precedence over the file.
    pub(crate) is_override: bool,
}

/// One entry of a table.
#[derive(Clone, Debug)]
pub(crate) struct TomlEntry {
    pub(crate) key: String,
    pub(crate) key_at: SourceSpan,
    pub(crate) node: TomlNode,
}

impl SourceSpan {
    pub(crate) fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

impl TomlNode {
    /// Returns an empty table.
    fn table(at: SourceSpan) -> Self {
        Self { data: TomlData::Table(Vec::new()), at, is_override: false }
    }

    /// Returns the entries of a table; none for anything else.
    pub(crate) fn entries(&self) -> &[TomlEntry] {
        match &self.data {
            TomlData::Table(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the entry of that key.
    pub(crate) fn entry(&self, key: &str) -> Option<&TomlEntry> {
        self.entries().iter().find(|e| e.key == key)
    }

    /// Returns the value under a path of keys.
    pub(crate) fn get(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.entry(key).map(|e| &e.node))
    }

    /// Inserts `value` under `path` and creates missing tables. `key_at` is the location of the
    /// path.
    ///
    /// A value on the path that is not a table is left unchanged, and `value` is dropped; reading
    /// the tree then reports the wrong type.
    pub(crate) fn insert(&mut self, path: &[&str], key_at: SourceSpan, value: Self) {
        let TomlData::Table(entries) = &mut self.data else { return };
        let Some((key, rest)) = path.split_first() else { return };
        let index = entries.iter().position(|e| e.key == *key).unwrap_or_else(|| {
            let key = (*key).to_owned();
            entries.push(TomlEntry { key, key_at, node: Self::table(key_at) });
            entries.len() - 1
        });
        if rest.is_empty() {
            entries[index].node = value;
        } else {
            entries[index].node.insert(rest, key_at, value);
        }
    }

    /// Removes the entry at `path`.
    pub(crate) fn remove(&mut self, path: &[&str]) {
        let Some((last, parents)) = path.split_last() else { return };
        let mut node = self;
        for key in parents {
            let TomlData::Table(entries) = &mut node.data else { return };
            let Some(entry) = entries.iter_mut().find(|e| e.key == *key) else { return };
            node = &mut entry.node;
        }
        if let TomlData::Table(entries) = &mut node.data {
            entries.retain(|e| e.key != *last);
        }
    }

    /// Returns the value, marked as an override.
    pub(crate) fn into_override(mut self) -> Self {
        self.is_override = true;
        self
    }

    /// Describes the type of the TOML value, with an article.
    pub(crate) fn kind(&self) -> &'static str {
        match self.data {
            TomlData::Text(_) => "a string",
            TomlData::Int(_) => "a number",
            TomlData::Float(_) => "a number with a point",
            TomlData::Bool(_) => "true or false",
            TomlData::List(_) => "a list",
            TomlData::Table(_) => "a table",
            TomlData::Other(_) => "something else",
        }
    }

    /// Returns a scalar as written outside of TOML; `None` for lists and tables.
    pub(crate) fn scalar(&self) -> Option<String> {
        match &self.data {
            TomlData::Text(text) | TomlData::Float(text) | TomlData::Other(text) => {
                Some(text.clone())
            }
            TomlData::Int(n) => Some(n.to_string()),
            TomlData::Bool(b) => Some(b.to_string()),
            TomlData::List(_) | TomlData::Table(_) => None,
        }
    }
}

/// Parses a whole file, which becomes source `index`.
pub(crate) fn parse_file(
    index: usize,
    source: &SourceText,
) -> Result<TomlNode, Vec<ScenarioError>> {
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    if !errors.is_empty() {
        let found = errors.iter().map(|e| ScenarioError {
            message: format!("not TOML: {}", e.message().trim()),
            help: None,
            span: e.span(),
            file: source.name.clone(),
            text: Arc::clone(&source.text),
        });
        return Err(found.collect());
    }
    let at = SourceSpan { source: index, start: 0, end: 0 };
    Ok(TomlNode { data: convert_table(index, 0, table.get_ref()), at, is_override: false })
}

/// Parses the value of an override, which starts at byte `offset` of source `index`: TOML, or else
/// plain text, so that the command line needs no nested quotes.
pub(crate) fn parse_value(index: usize, offset: usize, text: &str) -> TomlNode {
    let plain = || {
        let start = offset + (text.len() - text.trim_start().len());
        let at = SourceSpan { source: index, start, end: start + text.trim().len() };
        TomlNode { data: TomlData::Text(text.trim().to_owned()), at, is_override: true }
    };
    match DeValue::parse(text) {
        Ok(value) => convert(index, offset, &value).into_override(),
        Err(_) => plain(),
    }
}

fn place(index: usize, offset: usize, span: Range<usize>) -> SourceSpan {
    SourceSpan { source: index, start: offset + span.start, end: offset + span.end }
}

fn convert(index: usize, offset: usize, value: &Spanned<DeValue<'_>>) -> TomlNode {
    let data = match value.get_ref() {
        DeValue::String(text) => TomlData::Text(text.clone().into_owned()),
        DeValue::Integer(n) => match i64::from_str_radix(n.as_str(), n.radix()) {
            Ok(n) => TomlData::Int(n),
            Err(_) => TomlData::Other(n.to_string()),
        },
        DeValue::Float(n) => TomlData::Float(n.as_str().to_owned()),
        DeValue::Boolean(b) => TomlData::Bool(*b),
        DeValue::Datetime(d) => TomlData::Other(d.to_string()),
        DeValue::Array(items) => {
            TomlData::List(items.iter().map(|v| convert(index, offset, v)).collect())
        }
        DeValue::Table(table) => convert_table(index, offset, table),
    };
    TomlNode { data, at: place(index, offset, value.span()), is_override: false }
}

fn convert_table(index: usize, offset: usize, table: &DeTable<'_>) -> TomlData {
    let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let name: &std::borrow::Cow<'_, str> = key.get_ref();
        TomlEntry {
            key: name.clone().into_owned(),
            key_at: place(index, offset, key.span()),
            node: convert(index, offset, value),
        }
    };
    TomlData::Table(table.iter().map(entry).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> SourceText {
        SourceText { name: "t.toml".into(), text: text.into() }
    }

    #[test]
    fn every_value_knows_its_place() {
        let text = "a = 1\n[b.c]\nd = \"10 kB\"\n";
        let tree = parse_file(0, &source(text)).unwrap();
        let d = tree.get(&["b", "c", "d"]).unwrap();
        assert_eq!(&text[d.at.range()], "\"10 kB\"");
        let key = tree.get(&["b", "c"]).unwrap().entry("d").unwrap().key_at;
        assert_eq!(&text[key.range()], "d");
    }

    #[test]
    fn the_order_of_the_file_is_kept() {
        let tree = parse_file(0, &source("[h.z]\nn=1\n[h.a]\nn=1\n")).unwrap();
        let names: Vec<_> =
            tree.get(&["h"]).unwrap().entries().iter().map(|e| e.key.as_str()).collect();
        assert_eq!(names, ["z", "a"]);
    }

    #[test]
    fn a_duplicate_key_is_rejected_at_its_location() {
        let errors = parse_file(0, &source("a = 1\na = 2\n")).unwrap_err();
        assert_eq!(errors[0].line_column(), Some((2, 1)));
        assert!(errors[0].message.contains("duplicate"), "{}", errors[0]);
    }

    #[test]
    fn an_override_is_toml_or_plain_text() {
        assert!(matches!(parse_value(1, 2, "3").data, TomlData::Int(3)));
        assert!(matches!(parse_value(1, 2, "[1, 2]").data, TomlData::List(_)));
        let plain = parse_value(1, 2, " 10 kB ");
        assert!(matches!(&plain.data, TomlData::Text(t) if t == "10 kB"));
        assert_eq!((plain.at.start, plain.at.end), (3, 8));
    }

    #[test]
    fn insert_creates_tables_and_remove_deletes_values() {
        let mut tree = parse_file(0, &source("a = 1\n")).unwrap();
        let at = SourceSpan { source: 1, start: 0, end: 1 };
        tree.insert(&["b", "c"], at, parse_value(1, 2, "3"));
        assert_eq!(tree.get(&["b", "c"]).and_then(TomlNode::scalar), Some("3".into()));
        tree.remove(&["b", "c"]);
        assert!(tree.get(&["b", "c"]).is_none());
        // A scalar on the path is unchanged.
        tree.insert(&["a", "c"], at, parse_value(1, 2, "3"));
        assert_eq!(tree.get(&["a"]).and_then(TomlNode::scalar), Some("1".into()));
    }
}
