//! Any table as text: for the command `table` and for CSV, without a Parquet reader.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::{Array, RecordBatch, RecordBatchReader as _};
use arrow_schema::Schema;
use lowtide_input_files::TABLE;
use lowtide_rows::Cell;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;

use crate::error::RecordError;
use crate::parquet::batches;
use crate::table::{ColumnReader, DESCRIPTION, UNIT};

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
    path: PathBuf,
    columns: Vec<TextColumn>,
    batches: ParquetRecordBatchReader,
    rows: std::vec::IntoIter<Vec<Option<String>>>,
}

/// Opens a table file outside of a run directory; [`crate::RunDir::text_table`] also checks it.
pub fn read_table(path: &Path) -> Result<TextTable, RecordError> {
    open(path, lowtide_input_files::open(path, &TABLE).map_err(RecordError::io("open", path))?)
}

/// Reads an open table.
pub(crate) fn open(path: &Path, file: File) -> Result<TextTable, RecordError> {
    let batches = batches((path, file), None)?;
    let columns = columns(&batches.schema());
    Ok(TextTable { path: path.to_path_buf(), columns, batches, rows: Vec::new().into_iter() })
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
                Err(e) => return Some(Err(RecordError::table(&self.path, &e))),
            }
        }
    }
}

fn columns(schema: &Schema) -> Vec<TextColumn> {
    let of = |field: &arrow_schema::Field, key: &str| {
        field.metadata().get(key).cloned().unwrap_or_default()
    };
    schema
        .fields()
        .iter()
        .map(|field| TextColumn {
            name: field.name().clone(),
            unit: of(field, UNIT),
            description: of(field, DESCRIPTION),
            numeric: field.data_type().is_numeric(),
        })
        .collect()
}

fn text_rows(batch: &RecordBatch) -> Vec<Vec<Option<String>>> {
    let columns: Vec<_> = batch.columns().iter().map(|c| text_column(&**c)).collect();
    (0..batch.num_rows()).map(|row| columns.iter().map(|c| c[row].clone()).collect()).collect()
}

/// A column of an unknown type reads as null.
fn text_column(column: &dyn Array) -> Vec<Option<String>> {
    let Some(reader) = ColumnReader::new(column) else { return vec![None; column.len()] };
    (0..column.len()).map(|row| text(reader.cell(row))).collect()
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
