//! All tables, and the columns of the key that begin each of them.

use crate::flow::FlowRow;
use crate::probe::{DelayRow, ProbeRow, VariableRow};
use crate::query::{CollectiveRow, QueryRow};
use crate::queue::{BufferPoolRow, ClassRow, LevelRow, LinkRow, QueueRow, QueueSampleRow};
use crate::run::RunRow;
use crate::table::{Column, ColumnType, Row};
use crate::trace::{TraceHopRow, TraceSegmentRow, TraceSenderRow};

/// A table: what it is, and its columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableDeclaration {
    /// Name of the table and of its file.
    pub name: &'static str,
    /// Meaning of a row, in sentences.
    pub description: &'static str,
    /// Its columns after those of the key.
    pub columns: &'static [Column],
}

impl TableDeclaration {
    /// Returns the declaration of a row.
    pub const fn of<R: Row>() -> Self {
        Self { name: R::TABLE, description: R::DESCRIPTION, columns: R::COLUMNS }
    }
}

/// Every table.
pub const CATALOGUE: [TableDeclaration; 16] = [
    TableDeclaration::of::<RunRow>(),
    TableDeclaration::of::<FlowRow>(),
    TableDeclaration::of::<QueryRow>(),
    TableDeclaration::of::<CollectiveRow>(),
    TableDeclaration::of::<QueueRow>(),
    TableDeclaration::of::<LevelRow>(),
    TableDeclaration::of::<ClassRow>(),
    TableDeclaration::of::<BufferPoolRow>(),
    TableDeclaration::of::<LinkRow>(),
    TableDeclaration::of::<ProbeRow>(),
    TableDeclaration::of::<VariableRow>(),
    TableDeclaration::of::<DelayRow>(),
    TableDeclaration::of::<QueueSampleRow>(),
    TableDeclaration::of::<TraceSegmentRow>(),
    TableDeclaration::of::<TraceHopRow>(),
    TableDeclaration::of::<TraceSenderRow>(),
];

/// Number of the run, the first column of every table.
pub const RUN: Column = key_column("run", ColumnType::Int, "Number of the run in the plan.");
/// Scheme of the run, the second column. The swept keys follow it.
pub const SCHEME: Column = key_column("scheme", ColumnType::Text, "Name of the scheme.");
/// Seed of the run, after the swept keys and before the columns of the table.
pub const SEED: Column = key_column("seed", ColumnType::Int, "Seed of the run.");

const fn key_column(name: &'static str, kind: ColumnType, description: &'static str) -> Column {
    Column { name, unit: "", description, kind, nullable: false }
}

/// Returns the columns of a table; `None` if there is no such table.
pub fn table_columns(table: &str) -> Option<&'static [Column]> {
    CATALOGUE.iter().find(|t| t.name == table).map(|t| t.columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_occurs_once_and_ends_with_its_unit() {
        for TableDeclaration { name: table, description, columns } in CATALOGUE {
            assert!(description.ends_with('.'), "{table}");
            for (i, column) in columns.iter().enumerate() {
                let (name, unit) = (column.name, column.unit);
                assert!(columns[..i].iter().all(|c| c.name != name), "{table}.{name}");
                assert!(column.description.ends_with('.'), "{table}.{name}");
                for suffix in ["ps", "ns"] {
                    let ends = name.ends_with(&format!("_{suffix}"));
                    assert_eq!(ends, unit == suffix, "{table}.{name}");
                }
                assert!(!name.ends_with("_bytes") || unit == "bytes", "{table}.{name}");
            }
        }
    }
}
