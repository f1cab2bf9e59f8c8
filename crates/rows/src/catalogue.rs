//! The columns of every table, by the name of the table.

use crate::flow::FlowRow;
use crate::probe::{DelayRow, ProbeRow};
use crate::query::QueryRow;
use crate::queue::{BufferPoolRow, ClassRow, LevelRow, LinkRow, QueueRow, QueueSampleRow};
use crate::run::RunRow;
use crate::table::{Column, Columns as _, Row as _};
use crate::trace::{TraceHopRow, TraceSegmentRow, TraceSenderRow};

/// Name and columns of every table.
pub const CATALOGUE: [(&str, &[Column]); 14] = [
    (RunRow::TABLE, RunRow::COLUMNS),
    (FlowRow::TABLE, FlowRow::COLUMNS),
    (QueryRow::TABLE, QueryRow::COLUMNS),
    (QueueRow::TABLE, QueueRow::COLUMNS),
    (LevelRow::TABLE, LevelRow::COLUMNS),
    (ClassRow::TABLE, ClassRow::COLUMNS),
    (BufferPoolRow::TABLE, BufferPoolRow::COLUMNS),
    (LinkRow::TABLE, LinkRow::COLUMNS),
    (ProbeRow::TABLE, ProbeRow::COLUMNS),
    (DelayRow::TABLE, DelayRow::COLUMNS),
    (QueueSampleRow::TABLE, QueueSampleRow::COLUMNS),
    (TraceSegmentRow::TABLE, TraceSegmentRow::COLUMNS),
    (TraceHopRow::TABLE, TraceHopRow::COLUMNS),
    (TraceSenderRow::TABLE, TraceSenderRow::COLUMNS),
];

/// Returns the columns of a table; `None` if there is no such table.
pub fn table_columns(table: &str) -> Option<&'static [Column]> {
    CATALOGUE.iter().find(|(name, _)| *name == table).map(|(_, columns)| *columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_occurs_once_and_ends_with_its_unit() {
        for (table, columns) in CATALOGUE {
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
