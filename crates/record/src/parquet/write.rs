//! Writing a table, one row group at a time.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lowtide_rows::Row;
use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use super::ROW_GROUP;
use crate::error::RecordError;
use crate::files::{AtomicFile, FileDigest, FileEntry, FirstWriteError};
use crate::key::RunKey;
use crate::table::{self, Batch, ColumnCells, Field, SweptKeys, TableOrigin, Values};

/// A table being written, which gets its name in [`TableWriter::finish`].
pub(crate) struct TableWriter {
    path: PathBuf,
    failed: FirstWriteError,
    fields: Arc<[Field]>,
    writer: SerializedFileWriter<AtomicFile>,
    /// Rows of the next row group.
    pending: Batch,
}

impl TableWriter {
    /// Creates the file `path` of the table `table`.
    pub(crate) fn create(
        path: &Path,
        table: &str,
        origin: &TableOrigin,
        fields: &Arc<[Field]>,
    ) -> Result<Self, RecordError> {
        let metadata =
            table::key_values(table, origin, fields).map_err(|e| RecordError::encode(path, &e))?;
        let growing = AtomicFile::create(path)?;
        let failed = growing.first_error();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(metadata))
            .build();
        let writer = schema(fields)
            .and_then(|schema| SerializedFileWriter::new(growing, schema, properties.into()))
            .map_err(|e| write_error(path, &failed, &e))?;
        let (path, fields) = (path.to_path_buf(), Arc::clone(fields));
        Ok(Self { path, failed, writer, pending: Batch::empty(&fields), fields })
    }

    /// Writes rows of a run, one row group at a time: a batch of all rows would be a second copy
    /// of a large table.
    pub(crate) fn rows<R: Row>(&mut self, key: &RunKey, rows: &[R]) -> Result<(), RecordError> {
        for group in rows.chunks(ROW_GROUP) {
            let batch = table::batch(&self.fields, key, group)
                .map_err(|e| RecordError::encode(&self.path, &e))?;
            self.batch(batch)?;
        }
        Ok(())
    }

    /// Writes at most a row group of rows.
    pub(crate) fn batch(&mut self, batch: Batch) -> Result<(), RecordError> {
        if self.pending.rows() + batch.rows() > ROW_GROUP {
            self.write_group()?;
        }
        if self.pending.rows() == 0 {
            self.pending = batch;
        } else {
            self.pending.append(batch);
        }
        Ok(())
    }

    /// Writes the pending rows.
    fn write_group(&mut self) -> Result<(), RecordError> {
        let rows = std::mem::replace(&mut self.pending, Batch::empty(&self.fields));
        write_group(&mut self.writer, &rows).map_err(|e| write_error(&self.path, &self.failed, &e))
    }

    /// Renames the table to its final name.
    pub(crate) fn finish(mut self) -> Result<FileDigest, RecordError> {
        self.write_group()?;
        let Self { path, failed, writer, .. } = self;
        let growing = writer.into_inner().map_err(|e| write_error(&path, &failed, &e))?;
        growing.persist(&path)
    }
}

/// The schema of a file.
fn schema(fields: &[Field]) -> Result<TypePtr, ParquetError> {
    let columns = fields.iter().map(Field::parquet).collect::<Result<_, _>>()?;
    Ok(Type::group_type_builder("schema").with_fields(columns).build()?.into())
}

/// Writes a row group, unless it is empty.
fn write_group(
    writer: &mut SerializedFileWriter<AtomicFile>,
    rows: &Batch,
) -> Result<(), ParquetError> {
    if rows.rows() == 0 {
        return Ok(());
    }
    let mut group = writer.next_row_group()?;
    for cells in rows.columns() {
        if let Some(mut column) = group.next_column()? {
            write_column(&mut column, cells)?;
            column.close()?;
        }
    }
    group.close()?;
    Ok(())
}

fn write_column(
    column: &mut SerializedColumnWriter<'_>,
    cells: &ColumnCells,
) -> Result<usize, ParquetError> {
    let levels = cells.levels.as_deref();
    match (column.untyped(), &cells.values) {
        (ColumnWriter::Int64ColumnWriter(to), Values::Int(v)) => to.write_batch(v, levels, None),
        (ColumnWriter::DoubleColumnWriter(to), Values::F64(v)) => to.write_batch(v, levels, None),
        (ColumnWriter::BoolColumnWriter(to), Values::Bool(v)) => to.write_batch(v, levels, None),
        (ColumnWriter::ByteArrayColumnWriter(to), Values::Text(v)) => {
            to.write_batch(v, levels, None)
        }
        _ => Err(ParquetError::General("the values have another type than the column".to_owned())),
    }
}

/// Converts a write error, of the file system or of the encoder.
fn write_error(path: &Path, failed: &FirstWriteError, error: &ParquetError) -> RecordError {
    match failed.error() {
        Some(source) => RecordError::io("write", path)(source),
        None => RecordError::encode(path, error),
    }
}

/// Writer of the whole tables of one run.
#[derive(Clone, Copy)]
pub(crate) struct RunWriter<'a> {
    /// The directory of the tables.
    pub(crate) place: &'a Path,
    pub(crate) key: &'a RunKey,
    pub(crate) origin: &'a TableOrigin,
}

impl RunWriter<'_> {
    /// Writes a table.
    pub(crate) fn write<R: Row>(self, rows: &[R]) -> Result<FileEntry, RecordError> {
        let name = format!("{}.parquet", R::TABLE);
        let fields = table::fields::<R>(&SweptKeys::texts(&self.key.point));
        let path = self.place.join(&name);
        let mut writer = TableWriter::create(&path, R::TABLE, self.origin, &fields)?;
        writer.rows(self.key, rows)?;
        Ok(writer.finish()?.into_entry(name))
    }

    /// Writes a table if it has rows.
    pub(crate) fn write_optional<R: Row>(
        self,
        rows: &[R],
    ) -> Result<Option<FileEntry>, RecordError> {
        if rows.is_empty() { Ok(None) } else { self.write(rows).map(Some) }
    }
}
