//! Tables as Parquet files, Snappy-compressed, with the Arrow schema (units, descriptions)
//! embedded.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use lowtide_rows::Row;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::statistics::Statistics;
use parquet::schema::types::SchemaDescriptor;

use crate::error::RecordError;
use crate::files::{AtomicFile, FileDigest, FileEntry, FirstWriteError};
use crate::key::RunKey;
use crate::table::{self, SweptKeys, TABLES_SCHEMA, TableOrigin};

/// Rows per row group: the maximum that a reader of one run has to skip.
const ROW_GROUP: usize = 1 << 16;

/// A table being written, which gets its name in [`TableWriter::finish`].
pub(crate) struct TableWriter {
    path: PathBuf,
    failed: FirstWriteError,
    schema: SchemaRef,
    writer: ArrowWriter<AtomicFile>,
}

impl TableWriter {
    /// Creates the file `path` of the table `table`.
    pub(crate) fn create(
        path: &Path,
        table: &str,
        origin: &TableOrigin,
        schema: SchemaRef,
    ) -> Result<Self, RecordError> {
        let metadata =
            table::key_values(table, origin, &schema).map_err(|e| RecordError::encode(path, &e))?;
        let growing = AtomicFile::create(path)?;
        let failed = growing.first_error();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(ROW_GROUP))
            .set_key_value_metadata(Some(metadata))
            .build();
        let writer = ArrowWriter::try_new(growing, SchemaRef::clone(&schema), Some(properties))
            .map_err(|e| write_error(path, &failed, &e))?;
        Ok(Self { path: path.to_path_buf(), failed, schema, writer })
    }

    /// Writes rows of a run, one row group at a time: a batch of all rows would be a second copy
    /// of a large table.
    pub(crate) fn rows<R: Row>(&mut self, key: &RunKey, rows: &[R]) -> Result<(), RecordError> {
        for group in rows.chunks(ROW_GROUP) {
            let batch = table::batch(&self.schema, key, group)
                .map_err(|e| RecordError::encode(&self.path, &e))?;
            self.batch(&batch)?;
        }
        Ok(())
    }

    pub(crate) fn batch(&mut self, batch: &RecordBatch) -> Result<(), RecordError> {
        self.writer.write(batch).map_err(|e| write_error(&self.path, &self.failed, &e))
    }

    /// Renames the table to its final name.
    pub(crate) fn finish(self) -> Result<FileDigest, RecordError> {
        let Self { path, failed, writer, .. } = self;
        let growing = writer.into_inner().map_err(|e| write_error(&path, &failed, &e))?;
        growing.persist(&path)
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
        let schema = table::schema::<R>(&SweptKeys::texts(&self.key.point));
        let path = self.place.join(&name);
        let mut writer = TableWriter::create(&path, R::TABLE, self.origin, schema)?;
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

/// Opens a table whose schema this version reads.
fn open((path, file): (&Path, File)) -> Result<ParquetRecordBatchReaderBuilder<File>, RecordError> {
    let builder =
        ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| RecordError::table(path, &e))?;
    table::check_metadata(builder.schema().metadata()).map_err(|found| {
        RecordError::OtherVersion { path: path.to_path_buf(), found, reads: TABLES_SCHEMA }
    })?;
    Ok(builder)
}

/// Reads an open table; `runs` limits it to the row groups that may contain one of these runs.
pub(crate) fn batches(
    (path, file): (&Path, File),
    runs: Option<&[u32]>,
) -> Result<ParquetRecordBatchReader, RecordError> {
    let mut builder = open((path, file))?;
    if let Some(runs) = runs {
        let groups = builder.metadata().row_groups().iter().enumerate();
        let wanted = groups.filter(|(_, g)| may_hold(g, runs)).map(|(i, _)| i).collect();
        builder = builder.with_row_groups(wanted);
    }
    builder.build().map_err(|e| RecordError::table(path, &e))
}

/// Whether two open tables have equal rows: columns of equal names, order and values, except the
/// numbers of swept keys.
pub(crate) fn have_equal_rows(a: (PathBuf, File), b: (PathBuf, File)) -> Result<bool, RecordError> {
    let (mut a, mut b) = (RowStream::open(a)?, RowStream::open(b)?);
    loop {
        let rows = match (a.pending()?, b.pending()?) {
            (0, 0) => return Ok(true),
            (left, right) => left.min(right),
        };
        if rows == 0 || !table::have_equal_values(&a.take(rows), &b.take(rows)) {
            return Ok(false);
        }
    }
}

/// The rows of a table, in pieces of any length.
struct RowStream {
    path: PathBuf,
    batches: ParquetRecordBatchReader,
    rest: RecordBatch,
}

impl RowStream {
    fn open((path, file): (PathBuf, File)) -> Result<Self, RecordError> {
        let batches = batches((&path, file), None)?;
        let rest = RecordBatch::new_empty(batches.schema());
        Ok(Self { path, batches, rest })
    }

    /// The number of rows that can be taken; zero at the end.
    fn pending(&mut self) -> Result<usize, RecordError> {
        while self.rest.num_rows() == 0 {
            let Some(batch) = self.batches.next() else { break };
            let batch = batch.and_then(|b| table::of_single_run(&b));
            self.rest = batch.map_err(|e| RecordError::table(&self.path, &e))?;
        }
        Ok(self.rest.num_rows())
    }

    /// Takes the next rows, at most those that are pending.
    fn take(&mut self, rows: usize) -> RecordBatch {
        let taken = self.rest.slice(0, rows);
        self.rest = self.rest.slice(rows, self.rest.num_rows() - rows);
        taken
    }
}

/// Reads an open table in batches of whole row groups, for readers of all rows.
pub(crate) fn row_groups(
    (path, file): (&Path, File),
) -> Result<ParquetRecordBatchReader, RecordError> {
    let batches = open((path, file))?.with_batch_size(ROW_GROUP).build();
    batches.map_err(|e| RecordError::table(path, &e))
}

/// Reads the columns of an open table selected by `mask`.
pub(crate) fn projected(
    (path, file): (&Path, File),
    mask: impl Fn(&SchemaDescriptor) -> ProjectionMask,
) -> Result<ParquetRecordBatchReader, RecordError> {
    let builder = open((path, file))?;
    let mask = mask(builder.parquet_schema());
    let batches = builder.with_projection(mask).build();
    batches.map_err(|e| RecordError::table(path, &e))
}

/// Whether the bounds of the column `run` admit one of `runs`.
fn may_hold(group: &RowGroupMetaData, runs: &[u32]) -> bool {
    let statistics = group.columns().first().and_then(|c| c.statistics());
    let Some(Statistics::Int32(bounds)) = statistics else { return true };
    match (bounds.min_opt(), bounds.max_opt()) {
        (Some(&min), Some(&max)) => runs.iter().any(|r| (min as u32..=max as u32).contains(r)),
        _ => true,
    }
}

/// The rows of `path` that belong to `runs` (all if `None`), with the number of the run.
pub(crate) fn read<R: Row>(
    (path, file): (&Path, File),
    runs: Option<&[u32]>,
) -> Result<Vec<(u32, R)>, RecordError> {
    let mut found = Vec::new();
    for batch in batches((path, file), runs)? {
        let rows = typed::<R>(path, &batch.map_err(|e| RecordError::table(path, &e))?)?;
        found.extend(rows.into_iter().filter(|(run, _)| runs.is_none_or(|r| r.contains(run))));
    }
    Ok(found)
}

fn typed<R: Row>(path: &Path, batch: &RecordBatch) -> Result<Vec<(u32, R)>, RecordError> {
    table::rows(batch).map_err(|column| {
        RecordError::table(path, &format!("the column `{column}` is missing or of another type"))
    })
}

/// Reads a whole table run by run, in file order, with one run in memory.
pub(crate) struct ByRun<R> {
    path: PathBuf,
    batches: ParquetRecordBatchReader,
    pending: std::vec::IntoIter<(u32, R)>,
    next: Option<(u32, R)>,
}

impl<R: Row> ByRun<R> {
    pub(crate) fn open(path: &Path, file: File) -> Result<Self, RecordError> {
        let batches = batches((path, file), None)?;
        Ok(Self { path: path.to_path_buf(), batches, pending: Vec::new().into_iter(), next: None })
    }

    fn advance(&mut self) -> Result<Option<(u32, R)>, RecordError> {
        loop {
            if let Some(row) = self.pending.next() {
                return Ok(Some(row));
            }
            let Some(batch) = self.batches.next() else { return Ok(None) };
            let batch = batch.map_err(|e| RecordError::table(&self.path, &e))?;
            self.pending = typed(&self.path, &batch)?.into_iter();
        }
    }

    /// The rows of `run`, possibly none. Runs must be requested in file order.
    pub(crate) fn take(&mut self, run: u32) -> Result<Vec<R>, RecordError> {
        let mut rows = Vec::new();
        loop {
            let row = match self.next.take() {
                Some(row) => Some(row),
                None => self.advance()?,
            };
            match row {
                Some((of, row)) if of == run => rows.push(row),
                other => {
                    self.next = other;
                    return Ok(rows);
                }
            }
        }
    }
}
