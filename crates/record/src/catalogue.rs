//! The columns of every table, by the name of the table.

use crate::rows::{
    BufferPoolRow, ClassRow, DelayRow, FlowRow, LevelRow, LinkRow, ProbeRow, QueryRow, QueueRow,
    QueueSampleRow, RunRow,
};
use crate::table::{Column, Row};
use crate::trace::{TraceHopRow, TraceSegmentRow, TraceSenderRow};

/// Name and columns of every table.
pub(crate) const CATALOGUE: [(&str, &[Column]); 14] = [
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
