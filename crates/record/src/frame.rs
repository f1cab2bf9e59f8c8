//! Columns of any table in memory, for analysis that names columns as data.

use std::fs::File;
use std::path::Path;

use lowtide_rows::{Cell, ColumnType};

use crate::error::RecordError;
use crate::parquet::TableReader;
use crate::table::Field;

/// Columns of equal length.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DataFrame {
    columns: Vec<FrameColumn>,
}

/// One column.
#[derive(Clone, PartialEq, Debug)]
pub struct FrameColumn {
    /// Its name.
    pub name: String,
    /// Its unit; empty for names and counts.
    pub unit: String,
    /// Its values.
    pub values: FrameValues,
}

/// The values of a column; `None` for a null.
#[derive(Clone, PartialEq, Debug)]
pub enum FrameValues {
    /// Numbers; true is one, false zero. Integers beyond 2^53 are rounded.
    Numbers(Vec<Option<f64>>),
    /// Text.
    Texts(Vec<Option<String>>),
}

/// Reads the columns `names` of an open table. Missing columns are omitted.
pub(crate) fn read(path: &Path, file: File, names: &[&str]) -> Result<DataFrame, RecordError> {
    let batches = TableReader::open((path, file))?;
    let batches = batches.with_columns(|field| names.contains(&field.name()));
    let column = |field: &Field| FrameColumn {
        name: field.metadata.name.clone(),
        unit: field.metadata.unit.clone(),
        values: match field.kind {
            ColumnType::Text => FrameValues::Texts(Vec::new()),
            _ => FrameValues::Numbers(Vec::new()),
        },
    };
    let mut frame = DataFrame { columns: batches.fields().iter().map(column).collect() };
    for batch in batches {
        for (column, cells) in frame.columns.iter_mut().zip(batch?.columns()) {
            match &mut column.values {
                FrameValues::Texts(texts) => texts.extend(cells.cells().map(text)),
                FrameValues::Numbers(all) => all.extend(cells.cells().map(Cell::number)),
            }
        }
    }
    Ok(frame)
}

/// Returns the value of a cell in a column of texts.
fn text(cell: Cell<'_>) -> Option<String> {
    if let Cell::Text(text) = cell { Some(text.to_owned()) } else { None }
}

impl DataFrame {
    /// Builds a frame from columns of equal length.
    pub fn new(columns: Vec<FrameColumn>) -> Self {
        Self { columns }
    }

    /// The column named `name`.
    pub fn column(&self, name: &str) -> Option<&FrameColumn> {
        self.columns.iter().find(|c| c.name == name)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| c.values.len())
    }
}

impl FrameValues {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Texts(values) => values.len(),
        }
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
