//! The tables of one switch, as CONFIG_DB has them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::ConfigError;

/// Fields of an entry, without blanks at their ends: shipped files have them.
pub(super) type Fields = BTreeMap<String, String>;

/// By table, then by entry.
#[derive(Default)]
pub(super) struct Tables(BTreeMap<String, BTreeMap<String, Fields>>);

impl Tables {
    /// Joins the files of one switch.
    pub(super) fn join(files: &[Value]) -> Result<Self, ConfigError> {
        let mut all = Self::default();
        let not_an_object =
            |at: &str| ConfigError::field(at, "expected an object, as CONFIG_DB has it");
        for file in files {
            let tables = file.as_object().ok_or_else(|| not_an_object("the file"))?;
            for (table, entries) in tables {
                let entries = entries.as_object().ok_or_else(|| not_an_object(table))?;
                for (entry, fields) in entries {
                    let at = format!("{table}|{entry}");
                    let fields = fields.as_object().ok_or_else(|| not_an_object(&at))?;
                    let fields: Fields = fields.iter().filter_map(field_text).collect();
                    let entries = all.0.entry(table.clone()).or_default();
                    let old = entries.insert(entry.clone(), fields.clone());
                    if old.is_some_and(|old| old != fields) {
                        return Err(ConfigError::Conflict(at));
                    }
                }
            }
        }
        Ok(all)
    }

    pub(super) fn entries(&self, table: &str) -> impl Iterator<Item = (&String, &Fields)> {
        self.0.get(table).into_iter().flatten()
    }

    pub(super) fn find(&self, table: &str, name: &str) -> Option<&Fields> {
        self.0.get(table)?.get(name)
    }

    pub(super) fn entry(&self, table: &str, name: &str) -> Result<&Fields, ConfigError> {
        self.find(table, name).ok_or_else(|| {
            ConfigError::field(format!("{table}|{name}"), "the files do not have this entry")
        })
    }
}

/// CONFIG_DB has texts; tools also write numbers. Lists are of no field that is read.
fn field_text((field, value): (&String, &Value)) -> Option<(String, String)> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        _ => return None,
    };
    Some((field.clone(), text))
}

pub(super) fn number(fields: &Fields, field: &str, at: &str) -> Result<u64, ConfigError> {
    let text = fields.get(field).ok_or_else(|| ConfigError::field(at, "it is missing"))?;
    text.parse().map_err(|_| ConfigError::field(at, format!("`{text}` is no number of bytes")))
}

/// The name of an entry, which releases before 202111 write as `[TABLE|NAME]`.
pub(super) fn referenced(text: &str) -> &str {
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    inner.and_then(|text| text.split_once('|')).map_or(text, |(_, name)| name)
}
