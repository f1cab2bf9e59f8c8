//! Tables as capsules of the Arrow C data interface, which other libraries read without a copy.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchReader, StringArray,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field as ArrowField, Schema, SchemaRef};
use lowtide_record::{Batch, ColumnCells, ColumnMetadata, Field, RunDir, TableReader};
use lowtide_rows::{Cell, ColumnType};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::exception;

/// Returns a capsule with an `ArrowArrayStream`.
pub(crate) fn stream<'py>(
    py: Python<'py>,
    dir: &RunDir,
    name: &str,
) -> PyResult<Bound<'py, PyCapsule>> {
    let table = py.detach(|| dir.table_reader(name)).map_err(|e| exception::of_record(py, &e))?;
    let stream = FFI_ArrowArrayStream::new(Box::new(ArrowReader::new(table)));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// Returns a capsule with an `ArrowSchema`.
pub(crate) fn schema<'py>(
    py: Python<'py>,
    dir: &RunDir,
    name: &str,
) -> PyResult<Bound<'py, PyCapsule>> {
    let table = py.detach(|| dir.table_reader(name)).map_err(|e| exception::of_record(py, &e))?;
    let schema = FFI_ArrowSchema::try_from(&arrow_schema_of(table.fields()));
    let schema = schema.map_err(|e| exception::of_run(py, &e.to_string()))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

/// The columns of a table; fields have `unit` and `description` as metadata, and `key` if they are
/// the numbers of a swept key.
fn arrow_schema_of(fields: &[Field]) -> Schema {
    let field = |field: &Field| {
        let ColumnMetadata { name, unit, description, key } = field.metadata.clone();
        let texts = [("unit", Some(unit)), ("description", Some(description)), ("key", key)];
        let texts = texts.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?)));
        ArrowField::new(name, data_type(field.kind), field.nullable)
            .with_metadata(texts.collect::<HashMap<_, _>>())
    };
    Schema::new(fields.iter().map(field).collect::<Vec<_>>())
}

const fn data_type(kind: ColumnType) -> DataType {
    match kind {
        ColumnType::Int => DataType::Int64,
        ColumnType::F64 => DataType::Float64,
        ColumnType::Bool => DataType::Boolean,
        ColumnType::Text => DataType::Utf8,
    }
}

/// A table as record batches, one for a row group.
struct ArrowReader {
    table: TableReader,
    schema: SchemaRef,
}

impl ArrowReader {
    fn new(table: TableReader) -> Self {
        let schema = arrow_schema_of(table.fields()).into();
        Self { table, schema }
    }

    fn record_batch(&self, batch: &Batch) -> Result<RecordBatch, ArrowError> {
        let columns = self.table.fields().iter().zip(batch.columns());
        let arrays = columns.map(|(field, cells)| array(field.kind, cells)).collect();
        RecordBatch::try_new(Arc::clone(&self.schema), arrays)
    }
}

impl Iterator for ArrowReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.table.next_group().transpose()?;
        let batch = batch.map_err(|e| ArrowError::ExternalError(Box::new(e)));
        Some(batch.and_then(|batch| self.record_batch(&batch)))
    }
}

impl RecordBatchReader for ArrowReader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

fn array(kind: ColumnType, column: &ColumnCells) -> ArrayRef {
    macro_rules! array {
        ($array:ty, $cell:path) => {{
            let value = |cell| if let $cell(value) = cell { Some(value) } else { None };
            Arc::new(column.cells().map(value).collect::<$array>())
        }};
    }
    match kind {
        ColumnType::Int => array!(Int64Array, Cell::Int),
        ColumnType::F64 => array!(Float64Array, Cell::F64),
        ColumnType::Bool => array!(BooleanArray, Cell::Bool),
        ColumnType::Text => array!(StringArray, Cell::Text),
    }
}
