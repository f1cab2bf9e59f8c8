//! The data dictionary: every table and column, as `lowtide list tables --json` and the site have
//! them.

use lowtide_rows::{CATALOGUE, Column, ColumnType, RUN, SCHEME, SEED};
use serde::Serialize;

/// A table.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TableDescription {
    /// Name of the table and of its file.
    pub name: &'static str,
    /// Meaning of a row, in sentences.
    pub description: &'static str,
    /// Its columns, in order. The columns of the swept keys are between `scheme` and `seed`.
    pub columns: Vec<ColumnDescription>,
}

/// A column.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ColumnDescription {
    /// Its name.
    pub name: &'static str,
    /// Type of its values, as Arrow names it.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Its unit; empty for names, identifiers and plain counts.
    pub unit: &'static str,
    /// Whether a value may be null.
    pub nullable: bool,
    /// Its description.
    pub description: &'static str,
}

impl ColumnDescription {
    fn of(column: &Column) -> Self {
        let Column { name, unit, description, kind, nullable } = *column;
        Self { name, kind: type_name(kind), unit, nullable, description }
    }
}

/// The name of a type.
const fn type_name(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Int => "int64",
        ColumnType::F64 => "double",
        ColumnType::Bool => "bool",
        ColumnType::Text => "string",
    }
}

/// Returns every table.
pub fn dictionary() -> Vec<TableDescription> {
    let table = |declared: &lowtide_rows::TableDeclaration| TableDescription {
        name: declared.name,
        description: declared.description,
        columns: [RUN, SCHEME, SEED]
            .iter()
            .chain(declared.columns)
            .map(ColumnDescription::of)
            .collect(),
    };
    CATALOGUE.iter().map(table).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::fs;
    use std::path::Path;

    use lowtide_rows::SweptUnit;

    use super::*;
    use crate::dir::TABLES;
    use crate::table::METADATA_KEYS;

    const MARK: &str = "<!-- Generated from the declarations; a test compares it. -->\n";
    const END: &str = "\n## Columns\n";

    /// The generated part of the page.
    fn reference() -> String {
        let mut text = "\n## Numbers of swept keys\n\
            | values | column | type | unit |\n|---|---|---|---|\n"
            .to_owned();
        for (unit, example) in SweptUnit::ALL.into_iter().zip(EXAMPLES) {
            let (suffix, kind) = (unit.suffix(), type_name(unit.kind()));
            assert_eq!(SweptUnit::of(example), Some(unit));
            let [a, b] = example;
            let _ = writeln!(text, "| `{a}`, `{b}` | `KEY_{suffix}` | {kind} | {} |", unit.name());
        }
        text.push_str("\n## Metadata of a file\n| key | value |\n|---|---|\n");
        for (key, meaning) in METADATA_KEYS {
            let _ = writeln!(text, "| `{key}` | {meaning} |");
        }
        text
    }

    /// Values of each unit, in the order of [`SweptUnit::ALL`].
    const EXAMPLES: [[&str; 2]; 7] = [
        ["20 pkt", "65 pkt"],
        ["10 kB", "1 MB"],
        ["10 us", "1 ms"],
        ["1 Gbit/s", "10 Gbit/s"],
        ["20 %", "60 %"],
        ["1/4", "30"],
        ["servers[0..10]", "servers[0..20]"],
    ];

    #[test]
    fn the_page_has_the_current_units_and_metadata() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/tables.md");
        let page = fs::read_to_string(&path).unwrap();
        let (head, rest) = page.split_once(MARK).unwrap();
        let (tables, tail) = rest.split_once(END).unwrap();
        if std::env::var_os("LOWTIDE_WRITE_DOCS").is_some() {
            fs::write(&path, format!("{head}{MARK}{}{END}{tail}", reference())).unwrap();
        } else {
            assert_eq!(tables, reference(), "regenerate it: cargo xtask docs");
        }
    }

    #[test]
    fn the_description_says_whether_a_table_may_be_missing() {
        for table in dictionary() {
            let may_be_missing = table.description.contains("The table exists only");
            assert_eq!(may_be_missing, !TABLES.contains(&table.name), "{}", table.name);
        }
    }
}
