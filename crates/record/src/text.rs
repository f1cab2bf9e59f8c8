//! Any table as text: for the command `table` and for CSV, without a Parquet reader.

use std::fs::File;
use std::path::Path;

use lowtide_input_files::TABLE;
use lowtide_rows::{Cell, ColumnType};

use crate::error::RecordError;
use crate::parquet::TableReader;
use crate::table::{Batch, Field};

/// A column as described in the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextColumn {
    /// Its name.
    pub name: String,
    /// Its unit; empty for names and counts.
    pub unit: String,
    /// Its description.
    pub description: String,
    /// Whether it is numeric.
    pub numeric: bool,
}

/// An iterator over the rows of a table, as text.
pub struct TextTable {
    columns: Vec<TextColumn>,
    batches: TableReader,
    rows: std::vec::IntoIter<Vec<Option<String>>>,
}

/// Opens a table file outside of a run directory; [`crate::RunDir::text_table`] also checks it.
pub fn read_table(path: &Path) -> Result<TextTable, RecordError> {
    open(path, lowtide_input_files::open(path, &TABLE).map_err(RecordError::io("open", path))?)
}

/// Reads an open table.
pub(crate) fn open(path: &Path, file: File) -> Result<TextTable, RecordError> {
    let batches = TableReader::open((path, file))?;
    let columns = batches.fields().iter().map(TextColumn::of).collect();
    Ok(TextTable { columns, batches, rows: Vec::new().into_iter() })
}

impl TextTable {
    /// The columns, in order.
    pub fn columns(&self) -> &[TextColumn] {
        &self.columns
    }
}

impl Iterator for TextTable {
    /// One value per column; `None` for a null.
    type Item = Result<Vec<Option<String>>, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.rows.next() {
                return Some(Ok(row));
            }
            match self.batches.next()? {
                Ok(batch) => self.rows = text_rows(&batch).into_iter(),
                Err(e) => return Some(Err(e)),
            }
        }
    }
}

impl TextColumn {
    fn of(field: &Field) -> Self {
        let described = field.metadata.clone();
        Self {
            name: described.name,
            unit: described.unit,
            description: described.description,
            numeric: matches!(field.kind, ColumnType::Int | ColumnType::F64),
        }
    }
}

fn text_rows(batch: &Batch) -> Vec<Vec<Option<String>>> {
    let mut columns: Vec<_> = batch.columns().iter().map(|column| column.cells()).collect();
    let mut row = || columns.iter_mut().map(|cells| text(cells.next()?)).collect();
    (0..batch.rows()).map(|_| row()).collect()
}

fn text(cell: Cell<'_>) -> Option<String> {
    Some(match cell {
        Cell::Null => return None,
        Cell::Int(value) => value.to_string(),
        Cell::TooLarge(value) => value.to_string(),
        Cell::F64(value) => value.to_string(),
        Cell::Bool(value) => value.to_string(),
        Cell::Text(value) => value.to_owned(),
    })
}
