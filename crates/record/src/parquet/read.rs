//! Reading a table: in batches, as typed rows, and run by run.

use std::cell::Cell;
use std::fs::File;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use lowtide_rows::{RUN, Row};
use parquet::column::reader::ColumnReader;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::FileReader as _;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::statistics::Statistics;

use super::ROW_GROUP;
use crate::error::RecordError;
use crate::table::{self, Batch, ColumnCells, Field, TABLES_SCHEMA, Values};

/// Rows of a batch.
const BATCH: usize = 1 << 10;

/// An open table, read from its start; as an iterator, in batches.
pub struct TableReader {
    path: PathBuf,
    file: SerializedFileReader<File>,
    /// The columns that are read, and the place of each in the file.
    fields: Arc<[Field]>,
    places: Vec<usize>,
    /// Row groups that were not begun.
    groups: std::vec::IntoIter<usize>,
    /// The begun row group, and its rows that were not read.
    columns: Vec<ColumnReader>,
    left: usize,
}

impl TableReader {
    /// Opens a table whose version this one reads.
    pub(crate) fn open((path, file): (&Path, File)) -> Result<Self, RecordError> {
        let undecoded = |e: String| RecordError::table(path, &e);
        let file = decoded(|| SerializedFileReader::new(file).map_err(|e| e.to_string()))
            .map_err(undecoded)?;
        let metadata = file.metadata().file_metadata().key_value_metadata();
        table::check_metadata(metadata).map_err(|found| RecordError::OtherVersion {
            path: path.to_path_buf(),
            found,
            reads: TABLES_SCHEMA,
        })?;
        decoded(|| Self::new(path, file)).map_err(undecoded)
    }

    fn new(path: &Path, file: SerializedFileReader<File>) -> Result<Self, String> {
        let metadata = file.metadata().file_metadata();
        let mut described = table::column_metadata(metadata.key_value_metadata())?;
        let mut fields = Vec::new();
        for column in metadata.schema_descr().columns() {
            let mut field = Field::of_parquet(column).ok_or_else(|| {
                format!("the column `{}` has a type that tables do not have", column.path())
            })?;
            if let Some(at) = described.iter().position(|c| c.name == field.metadata.name) {
                field.metadata = described.swap_remove(at);
            }
            fields.push(field);
        }
        Ok(Self {
            path: path.to_path_buf(),
            places: (0..fields.len()).collect(),
            fields: fields.into(),
            groups: (0..file.num_row_groups()).collect::<Vec<_>>().into_iter(),
            file,
            columns: Vec::new(),
            left: 0,
        })
    }

    /// The columns.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Limits it to the columns for which `wanted` holds.
    pub(crate) fn with_columns(mut self, wanted: impl Fn(&Field) -> bool) -> Self {
        let columns = self.fields.iter().zip(self.places).filter(|(field, _)| wanted(field));
        let (fields, places): (Vec<_>, _) = columns.map(|(f, place)| (f.clone(), place)).unzip();
        self.places = places;
        self.fields = fields.into();
        self
    }

    /// Limits it to the row groups that may contain one of `runs`.
    fn with_runs(mut self, runs: &[u32]) -> Self {
        let run = self.fields.iter().zip(&self.places).find(|(f, _)| f.name() == RUN.name);
        let Some((_, &place)) = run else { return self };
        let groups = self.groups.filter(|&g| {
            let group = self.file.metadata().row_groups().get(g);
            group.is_none_or(|group| may_hold(group, place, runs))
        });
        self.groups = groups.collect::<Vec<_>>().into_iter();
        self
    }

    /// The next rows, whole row groups at a time; `None` at the end.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn next_group(&mut self) -> Result<Option<Batch>, RecordError> {
        self.read(ROW_GROUP)
    }

    /// The next rows, `most` unless the table ends; `None` at the end and after an error.
    fn read(&mut self, most: usize) -> Result<Option<Batch>, RecordError> {
        decoded(|| self.decode(most)).map_err(|reason| {
            self.groups = Vec::new().into_iter();
            self.left = 0;
            RecordError::table(&self.path, &reason)
        })
    }

    fn decode(&mut self, most: usize) -> Result<Option<Batch>, String> {
        let mut batch = Batch::empty(&self.fields);
        while batch.rows < most && self.is_in_group()? {
            let rows = self.left.min(most - batch.rows);
            for (reader, cells) in self.columns.iter_mut().zip(&mut batch.columns) {
                read_cells(reader, cells, rows)?;
            }
            batch.rows += rows;
            self.left -= rows;
        }
        Ok(Some(batch).filter(|batch| batch.rows > 0))
    }

    /// Begins the next row group with rows if none is open. Returns whether there is one.
    fn is_in_group(&mut self) -> Result<bool, String> {
        while self.left == 0 {
            let Some(next) = self.groups.next() else { return Ok(false) };
            let group = self.file.get_row_group(next).map_err(|e| e.to_string())?;
            let rows = group.metadata().num_rows();
            self.left =
                usize::try_from(rows).map_err(|_| format!("a row group has {rows} rows"))?;
            let columns = self.places.iter().map(|place| group.get_column_reader(*place));
            self.columns = columns.collect::<Result<_, _>>().map_err(|e| e.to_string())?;
        }
        Ok(true)
    }
}

thread_local! {
    /// Whether this thread decodes a file.
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Decodes a file. The decoder panics at some faults of a file. They are errors here, and the hook
/// of panics prints nothing about them.
fn decoded<T>(decode: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    static SILENCE: Once = Once::new();
    SILENCE.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !DECODING.get() {
                others(info);
            }
        }));
    });
    DECODING.set(true);
    let result = catch_unwind(AssertUnwindSafe(decode));
    DECODING.set(false);
    result.unwrap_or_else(|cause| {
        let text = cause.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("no reason");
        Err(format!("the decoder cannot go on: {text}"))
    })
}

impl Iterator for TableReader {
    type Item = Result<Batch, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read(BATCH).transpose()
    }
}

/// Appends the next `rows` cells of a column.
fn read_cells(reader: &mut ColumnReader, to: &mut ColumnCells, rows: usize) -> Result<(), String> {
    let levels = to.levels.as_mut();
    let (read, _, _) = match (reader, &mut to.values) {
        (ColumnReader::Int64ColumnReader(from), Values::Int(values)) => {
            from.read_records(rows, levels, None, values)
        }
        (ColumnReader::DoubleColumnReader(from), Values::F64(values)) => {
            from.read_records(rows, levels, None, values)
        }
        (ColumnReader::BoolColumnReader(from), Values::Bool(values)) => {
            from.read_records(rows, levels, None, values)
        }
        (ColumnReader::ByteArrayColumnReader(from), Values::Text(values)) => {
            let start = values.len();
            let read = from.read_records(rows, levels, None, values);
            read.and_then(|read| check_texts(values.get(start..)).map(|()| read))
        }
        _ => Err(ParquetError::General("a column has another type than its schema".to_owned())),
    }
    .map_err(|e| e.to_string())?;
    if read == rows { Ok(()) } else { Err(format!("a column ends {} rows early", rows - read)) }
}

fn check_texts(texts: Option<&[ByteArray]>) -> Result<(), ParquetError> {
    texts.unwrap_or_default().iter().try_for_each(|text| text.as_utf8().map(drop))
}

/// Whether the bounds of the column of runs, the one at `place`, admit one of `runs`.
fn may_hold(group: &RowGroupMetaData, place: usize, runs: &[u32]) -> bool {
    let statistics = group.columns().get(place).and_then(|c| c.statistics());
    let Some(Statistics::Int64(bounds)) = statistics else { return true };
    match (bounds.min_opt(), bounds.max_opt()) {
        (Some(&min), Some(&max)) => runs.iter().any(|r| (min..=max).contains(&i64::from(*r))),
        _ => true,
    }
}

/// Whether two open tables have equal rows: columns of equal names, order and values, except the
/// numbers of swept keys.
pub(crate) fn have_equal_rows(a: (PathBuf, File), b: (PathBuf, File)) -> Result<bool, RecordError> {
    let open = |(path, file): (PathBuf, File)| {
        TableReader::open((&path, file)).map(|table| table.with_columns(|f| !f.is_number()))
    };
    let (mut a, mut b) = (open(a)?, open(b)?);
    if !a.fields().iter().map(Field::name).eq(b.fields().iter().map(Field::name)) {
        return Ok(false);
    }
    loop {
        match (a.next().transpose()?, b.next().transpose()?) {
            (None, None) => return Ok(true),
            (Some(left), Some(right)) if left.columns == right.columns => {}
            _ => return Ok(false),
        }
    }
}

/// The rows of `path` that belong to `runs` (all if `None`), with the number of the run.
pub(crate) fn read<R: Row>(
    (path, file): (&Path, File),
    runs: Option<&[u32]>,
) -> Result<Vec<(u32, R)>, RecordError> {
    let table = TableReader::open((path, file))?;
    let mut found = Vec::new();
    for batch in if let Some(runs) = runs { table.with_runs(runs) } else { table } {
        let rows = typed::<R>(path, &batch?)?;
        found.extend(rows.into_iter().filter(|(run, _)| runs.is_none_or(|r| r.contains(run))));
    }
    Ok(found)
}

fn typed<R: Row>(path: &Path, batch: &Batch) -> Result<Vec<(u32, R)>, RecordError> {
    table::rows(batch).map_err(|e| RecordError::table(path, &e))
}

/// Reads a whole table run by run, in file order, with one run in memory.
pub(crate) struct ByRun<R> {
    batches: TableReader,
    pending: std::vec::IntoIter<(u32, R)>,
    next: Option<(u32, R)>,
}

impl<R: Row> ByRun<R> {
    pub(crate) fn open(path: &Path, file: File) -> Result<Self, RecordError> {
        let batches = TableReader::open((path, file))?;
        Ok(Self { batches, pending: Vec::new().into_iter(), next: None })
    }

    fn advance(&mut self) -> Result<Option<(u32, R)>, RecordError> {
        loop {
            if let Some(row) = self.pending.next() {
                return Ok(Some(row));
            }
            let Some(batch) = self.batches.next() else { return Ok(None) };
            self.pending = typed(&self.batches.path, &batch?)?.into_iter();
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
