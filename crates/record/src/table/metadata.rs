//! Metadata of a table file: version of its schema, origin of its rows, meaning of its columns.
//!
//! It is key-value metadata of Parquet, which every reader has.

use parquet::file::metadata::KeyValue;

use super::field::{ColumnMetadata, Field};
use crate::manifest::Manifest;

/// Version of the tables. A change of a name, type or meaning raises the number; a new column that
/// may be null does not.
pub const TABLES_SCHEMA: &str = "lowtide.tables/3";

const SCHEMA: &str = "lowtide.schema";
const TABLE: &str = "lowtide.table";
const VERSION: &str = "lowtide.version";
const SCENARIO: &str = "lowtide.scenario";
const SCENARIO_HASH: &str = "lowtide.scenario-hash";
const COLUMNS: &str = "lowtide.columns";

/// Keys of the metadata, each with its meaning, for their reference.
#[cfg(test)]
pub(crate) const KEYS: [(&str, &str); 6] = [
    (SCHEMA, "version of the tables; a change that could break a reader raises the number"),
    (TABLE, "name of the table"),
    (VERSION, "version of lowtide that wrote it"),
    (SCENARIO, "name of the scenario"),
    (SCENARIO_HASH, "hash of its resolved form without seeds, as in `manifest.json`"),
    (
        COLUMNS,
        "JSON list of the columns: `name`, `unit`, `description`; of the numbers of a swept key also `key`",
    ),
];

/// Origin of the rows of a directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TableOrigin {
    version: String,
    scenario: String,
    scenario_hash: String,
}

impl TableOrigin {
    pub(crate) fn of(manifest: &Manifest) -> Self {
        Self {
            version: manifest.version.clone(),
            scenario: manifest.scenario.clone(),
            scenario_hash: manifest.scenario_hash.clone(),
        }
    }
}

/// Returns the metadata of a file with the table `table`.
pub(crate) fn key_values(
    table: &str,
    origin: &TableOrigin,
    fields: &[Field],
) -> Result<Vec<KeyValue>, serde_json::Error> {
    let columns: Vec<_> = fields.iter().map(|field| &field.metadata).collect();
    let values = [
        (SCHEMA, TABLES_SCHEMA.to_owned()),
        (TABLE, table.to_owned()),
        (VERSION, origin.version.clone()),
        (SCENARIO, origin.scenario.clone()),
        (SCENARIO_HASH, origin.scenario_hash.clone()),
        (COLUMNS, serde_json::to_string(&columns)?),
    ];
    Ok(values.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value)).collect())
}

/// Returns the meaning of the columns of a file with this metadata.
///
/// # Errors
/// `lowtide.columns` is no list of columns.
pub(crate) fn columns(metadata: Option<&Vec<KeyValue>>) -> Result<Vec<ColumnMetadata>, String> {
    serde_json::from_str(value(metadata, COLUMNS).unwrap_or_default())
        .map_err(|e| format!("its `{COLUMNS}` is no list of columns: {e}"))
}

/// Checks that this version reads a file with this metadata.
///
/// # Errors
/// The schema that the file names, as a clause.
pub(crate) fn check(metadata: Option<&Vec<KeyValue>>) -> Result<(), String> {
    match value(metadata, SCHEMA) {
        Some(TABLES_SCHEMA) => Ok(()),
        Some(schema) => Err(format!("its schema is `{schema}`")),
        None => Err("it names no schema".to_owned()),
    }
}

fn value<'a>(metadata: Option<&'a Vec<KeyValue>>, key: &str) -> Option<&'a str> {
    metadata?.iter().find(|pair| pair.key == key)?.value.as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_in_the_reference() {
        let origin = TableOrigin {
            version: "0".to_owned(),
            scenario: "small".to_owned(),
            scenario_hash: "0".to_owned(),
        };
        let written = key_values("flows", &origin, &[]).unwrap();
        let written: Vec<&str> = written.iter().map(|value| value.key.as_str()).collect();
        assert_eq!(written, KEYS.map(|(key, _)| key));
    }

    #[test]
    fn tables_of_another_version_are_refused() {
        let pair = |key: &str, value: &str| KeyValue::new(key.to_owned(), value.to_owned());
        let with = |schema| vec![pair(SCHEMA, schema), pair(COLUMNS, "[]")];
        assert_eq!(check(Some(&with(TABLES_SCHEMA))), Ok(()));
        assert_eq!(columns(Some(&with(TABLES_SCHEMA))), Ok(Vec::new()));
        for other in ["lowtide.tables/2", "lowtide.tables/99"] {
            assert_eq!(check(Some(&with(other))), Err(format!("its schema is `{other}`")));
        }
        for none in [None, Some(&Vec::new())] {
            assert_eq!(check(none), Err("it names no schema".to_owned()));
        }
        for listed in ["", "7", r#"[{"name": "run"}]"#] {
            let pairs = vec![pair(SCHEMA, TABLES_SCHEMA), pair(COLUMNS, listed)];
            let refused = columns(Some(&pairs)).unwrap_err();
            assert!(refused.contains("`lowtide.columns` is no list of columns"), "{refused}");
        }
    }
}
