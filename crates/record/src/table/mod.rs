//! Rows as Arrow record batches: the schema in the file, writing and reading.

mod column;
mod metadata;
mod swept;

use std::collections::HashMap;
use std::iter::repeat_n;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use lowtide_rows::{Cell, Column, ColumnType, RUN, Row, SCHEME, SEED, Value};

pub(crate) use self::column::ColumnReader;
use self::column::{ColumnBuilder, build, data_type};
#[cfg(test)]
pub(crate) use self::metadata::KEYS as METADATA_KEYS;
pub use self::metadata::TABLES_SCHEMA;
pub(crate) use self::metadata::{
    DESCRIPTION, TableOrigin, UNIT, check as check_metadata, key_values,
};
pub(crate) use self::swept::SweptKeys;
use self::swept::is_number;
use crate::key::{RunKey, SweepPoint};

fn field(name: &str, kind: DataType, nullable: bool, unit: &str, description: &str) -> Field {
    let metadata = HashMap::from([
        (UNIT.to_owned(), unit.to_owned()),
        (DESCRIPTION.to_owned(), description.to_owned()),
    ]);
    Field::new(name, kind, nullable).with_metadata(metadata)
}

fn declared(c: &Column) -> Field {
    field(c.name, data_type(c.kind), c.nullable, c.unit, c.description)
}

/// The Arrow schema of a table with these swept keys.
pub(crate) fn schema<R: Row>(swept: &SweptKeys) -> SchemaRef {
    let mut fields = vec![declared(&RUN), declared(&SCHEME)];
    fields.extend(swept.fields());
    fields.push(declared(&SEED));
    fields.extend(R::COLUMNS.iter().map(declared));
    Arc::new(Schema::new(fields))
}

/// The rows of one run as a batch of `schema`, whose swept keys are texts.
pub(crate) fn batch<R: Row>(
    schema: &SchemaRef,
    key: &RunKey,
    rows: &[R],
) -> Result<RecordBatch, ArrowError> {
    let repeat = |kind, cell| build(kind, repeat_n(cell, rows.len()));
    let text = |text| repeat(ColumnType::Text, Cell::Text(text));
    let mut columns = vec![repeat(ColumnType::Int, key.run.cell())?, text(&key.scheme)?];
    for (_, value) in &key.point.0 {
        columns.push(text(value)?);
    }
    columns.push(repeat(ColumnType::Int, key.seed.cell())?);
    let mut own: Vec<_> =
        R::COLUMNS.iter().map(|c| ColumnBuilder::new(c.kind, rows.len())).collect();
    let mut cells = Vec::with_capacity(own.len());
    for row in rows {
        row.cells(&mut cells);
        for (column, cell) in own.iter_mut().zip(cells.drain(..)) {
            column.push(cell)?;
        }
    }
    columns.extend(own.into_iter().map(ColumnBuilder::finish));
    RecordBatch::try_new(Arc::clone(schema), columns)
}

/// Converts a batch of one run to `schema`, the schema of the plan: with the number of the run in
/// the plan, and with the numbers of the swept keys.
pub(crate) fn merged(
    batch: &RecordBatch,
    schema: &SchemaRef,
    swept: &SweptKeys,
    key: &RunKey,
) -> Result<RecordBatch, ArrowError> {
    let repeat = |kind, cell| build(kind, repeat_n(cell, batch.num_rows()));
    let column = |field: &Arc<Field>| {
        if field.name() == RUN.name {
            return repeat(ColumnType::Int, key.run.cell());
        }
        match swept.number(field) {
            Some((of, unit)) => {
                let value = key.point.get(of).map_or(Cell::Null, |value| unit.read(value));
                repeat(unit.kind(), value)
            }
            None => Ok(Arc::clone(batch.column(batch.schema().index_of(field.name())?))),
        }
    };
    let columns = schema.fields().iter().map(column).collect::<Result<_, ArrowError>>()?;
    RecordBatch::try_new(Arc::clone(schema), columns)
}

/// Removes the numbers of the swept keys from a batch, and the metadata of its file.
pub(crate) fn of_single_run(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let schema = batch.schema();
    let fields = schema.fields().iter().zip(batch.columns()).filter(|(f, _)| !is_number(f));
    let (fields, columns): (Vec<_>, Vec<_>) =
        fields.map(|(f, column)| (Arc::clone(f), Arc::clone(column))).unzip();
    RecordBatch::try_new(Schema::new(fields).into(), columns)
}

/// Whether two batches have columns of equal names, order and values.
pub(crate) fn have_equal_values(a: &RecordBatch, b: &RecordBatch) -> bool {
    let (one, other) = (a.schema(), b.schema());
    let names = one.fields().iter().map(|field| field.name());
    names.eq(other.fields().iter().map(|field| field.name())) && a.columns() == b.columns()
}

/// The numbers of the runs in a batch, each with its range of rows; `None` without the column.
pub(crate) fn run_ranges(batch: &RecordBatch) -> Option<Vec<(u32, Range<usize>)>> {
    let runs = read::<u32>(batch, RUN.name).ok()?;
    let mut start = 0;
    let stretch = |same: &[u32]| {
        let rows = start..start + same.len();
        start = rows.end;
        same.first().map(|run| (*run, rows))
    };
    Some(runs.chunk_by(|a, b| a == b).filter_map(stretch).collect())
}

/// The rows of a batch, each with the number of its run; an error names the invalid column. A
/// missing nullable column, as in tables before it was added, reads as nulls.
pub(crate) fn rows<R: Row>(batch: &RecordBatch) -> Result<Vec<(u32, R)>, &'static str> {
    let runs = read::<u32>(batch, RUN.name)?;
    let mut columns = Vec::with_capacity(R::COLUMNS.len());
    for column in R::COLUMNS {
        let reader = match batch.column_by_name(column.name) {
            Some(array) => ColumnReader::new(array),
            None => column.nullable.then_some(ColumnReader::Missing),
        };
        columns.push(reader.filter(|r| r.holds(column.kind)).ok_or(column.name)?);
    }
    let mut cells = Vec::with_capacity(columns.len());
    let row = |(row, run)| {
        cells.clear();
        cells.extend(columns.iter().map(|column| column.cell(row)));
        R::from_cells(&mut cells.iter()).map(|row| (run, row))
    };
    runs.into_iter().enumerate().map(row).collect()
}

/// The values of one column; an error names it if it is missing or of another type.
fn read<'n, T: Value>(batch: &RecordBatch, name: &'n str) -> Result<Vec<T>, &'n str> {
    let column = batch.column_by_name(name).and_then(|a| ColumnReader::new(a)).ok_or(name)?;
    (0..batch.num_rows()).map(|row| T::from_cell(column.cell(row)).ok_or(name)).collect()
}

/// The run of each row of a batch; an error names the invalid column.
pub(crate) fn keys(batch: &RecordBatch) -> Result<Vec<RunKey>, String> {
    let schema = batch.schema();
    let place = |name: &str| schema.index_of(name).map_err(|_| name.to_owned());
    let (scheme_at, seed_at) = (place(SCHEME.name)?, place(SEED.name)?);
    let runs = read::<u32>(batch, RUN.name)?;
    let schemes = read::<String>(batch, SCHEME.name)?;
    let seeds = read::<u64>(batch, SEED.name)?;
    let mut keys: Vec<RunKey> = runs
        .into_iter()
        .zip(schemes)
        .zip(seeds)
        .map(|((run, scheme), seed)| RunKey { run, scheme, point: SweepPoint::default(), seed })
        .collect();
    let swept = schema.fields().iter().take(seed_at).skip(scheme_at + 1);
    for name in swept.filter(|field| !is_number(field)).map(|field| field.name()) {
        let values = read::<String>(batch, name)?;
        for (key, value) in keys.iter_mut().zip(values) {
            key.point.0.push((name.clone(), value));
        }
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use lowtide_rows::LinkRow;

    use super::*;

    #[test]
    fn a_column_that_an_earlier_version_lacks_holds_nulls() {
        let key = RunKey { run: 7, scheme: "dctcp".into(), point: SweepPoint::default(), seed: 1 };
        let row = LinkRow {
            link: 5,
            name: "switch0->receiver0".into(),
            rate_bps: 1_000,
            observed_ps: 8,
            busy_ps: 4,
            packets: 3,
            bytes: 2,
            utilisation: Some(0.5),
        };
        let whole = batch(
            &schema::<LinkRow>(&SweptKeys::texts(&key.point)),
            &key,
            std::slice::from_ref(&row),
        )
        .unwrap();
        assert_eq!(rows::<LinkRow>(&whole), Ok(vec![(7, row.clone())]));
        assert_eq!(keys(&whole), Ok(vec![key]));
        let without = |name: &str| {
            let mut batch = whole.clone();
            batch.remove_column(whole.schema().index_of(name).unwrap());
            rows::<LinkRow>(&batch)
        };
        assert_eq!(without("utilisation"), Ok(vec![(7, LinkRow { utilisation: None, ..row })]));
        assert_eq!(without("link"), Err("link"));
    }
}
