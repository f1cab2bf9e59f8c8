//! Metadata of a table file: version of its schema, origin of its rows, meaning of its columns.
//!
//! Readers without the Arrow schema, as DuckDB, find it as key-value metadata of Parquet.

use arrow_schema::{FieldRef, Metadata, Schema};
use parquet::file::metadata::KeyValue;
use serde::Serialize;

use crate::manifest::Manifest;

/// Version of the tables. A change of a name, type or meaning raises the number; a new column that
/// may be null does not.
pub const TABLES_SCHEMA: &str = "lowtide.tables/2";

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

/// Metadata of a column: its unit.
pub(crate) const UNIT: &str = "unit";
/// Metadata of a column: its description.
pub(crate) const DESCRIPTION: &str = "description";
/// Metadata of a column with the numbers of a swept key: the key.
pub(crate) const KEY: &str = "key";

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

/// A column in the metadata of its table.
#[derive(Serialize)]
struct ColumnMetadata<'a> {
    name: &'a str,
    unit: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
}

impl<'a> ColumnMetadata<'a> {
    fn of(field: &'a FieldRef) -> Self {
        let text = |key: &str| field.metadata().get(key).map(String::as_str);
        Self {
            name: field.name(),
            unit: text(UNIT).unwrap_or_default(),
            description: text(DESCRIPTION).unwrap_or_default(),
            key: text(KEY),
        }
    }
}

/// Returns the metadata of a file with the table `table`.
pub(crate) fn key_values(
    table: &str,
    origin: &TableOrigin,
    schema: &Schema,
) -> Result<Vec<KeyValue>, serde_json::Error> {
    let columns: Vec<_> = schema.fields().iter().map(ColumnMetadata::of).collect();
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

/// Checks that this version reads a file with this metadata.
///
/// # Errors
/// The schema that the file names, as a clause.
pub(crate) fn check(metadata: &Metadata) -> Result<(), String> {
    match metadata.get(SCHEMA) {
        Some(schema) if schema == TABLES_SCHEMA => Ok(()),
        Some(schema) => Err(format!("its schema is `{schema}`")),
        None => Err("it names no schema".to_owned()),
    }
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
        let written = key_values("flows", &origin, &Schema::empty()).unwrap();
        let written: Vec<&str> = written.iter().map(|value| value.key.as_str()).collect();
        assert_eq!(written, KEYS.map(|(key, _)| key));
    }

    #[test]
    fn tables_of_another_version_are_refused() {
        let with = |schema: &str| Metadata::from([(SCHEMA.to_owned(), schema.to_owned())]);
        assert_eq!(check(&with(TABLES_SCHEMA)), Ok(()));
        for other in ["lowtide.tables/1", "lowtide.tables/99"] {
            let refused = check(&with(other)).unwrap_err();
            assert_eq!(refused, format!("its schema is `{other}`"));
        }
        let refused = check(&Metadata::default()).unwrap_err();
        assert_eq!(refused, "it names no schema");
    }
}
