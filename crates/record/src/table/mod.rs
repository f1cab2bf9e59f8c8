//! Rows as Arrow record batches: the schema in the file, writing and reading.

mod column;

use std::collections::HashMap;
use std::iter::repeat_n;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use lowtide_rows::{Cell, ColumnType, Row, Value};

pub(crate) use self::column::ColumnReader;
use self::column::{ColumnBuilder, build, data_type};
use crate::key::{RunKey, SweepPoint};

/// Column with the number of the run.
pub(crate) const RUN: &str = "run";
/// Column of the scheme.
pub(crate) const SCHEME: &str = "scheme";
/// Column of the seed.
pub(crate) const SEED: &str = "seed";

fn field(name: &str, kind: DataType, nullable: bool, unit: &str, description: &str) -> Field {
    let metadata = HashMap::from([
        ("unit".to_owned(), unit.to_owned()),
        ("description".to_owned(), description.to_owned()),
    ]);
    Field::new(name, kind, nullable).with_metadata(metadata)
}

/// The Arrow schema of a table for runs whose swept keys are those of `point`.
pub fn schema<R: Row>(point: &SweepPoint) -> SchemaRef {
    let mut fields = vec![
        field(RUN, DataType::UInt32, false, "", "Number of the run in the order of the plan."),
        field(SCHEME, DataType::Utf8, false, "", "Name of the scheme."),
    ];
    fields.extend(
        point.keys().map(|key| field(key, DataType::Utf8, false, "", "Value of the swept key.")),
    );
    fields.push(field(SEED, DataType::UInt64, false, "", "Seed of the run."));
    fields.extend(
        R::COLUMNS
            .iter()
            .map(|c| field(c.name, data_type(c.kind), c.nullable, c.unit, c.description)),
    );
    Arc::new(Schema::new(fields))
}

/// The rows of one run as a batch of `schema`.
pub(crate) fn batch<R: Row>(
    schema: &SchemaRef,
    key: &RunKey,
    rows: &[R],
) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let repeat = |kind, cell| build(kind, repeat_n(cell, rows.len()));
    let text = |text| repeat(ColumnType::Text, Cell::Text(text));
    let mut columns = vec![repeat(ColumnType::U32, Cell::U32(key.run)), text(&key.scheme)];
    columns.extend(key.point.0.iter().map(|(_, value)| text(value)));
    columns.push(repeat(ColumnType::U64, Cell::U64(key.seed)));
    let mut own: Vec<_> =
        R::COLUMNS.iter().map(|c| ColumnBuilder::new(c.kind, rows.len())).collect();
    let mut cells = Vec::with_capacity(own.len());
    for row in rows {
        row.cells(&mut cells);
        for (column, cell) in own.iter_mut().zip(cells.drain(..)) {
            column.push(cell);
        }
    }
    columns.extend(own.into_iter().map(ColumnBuilder::finish));
    RecordBatch::try_new(Arc::clone(schema), columns)
}

/// Renumbers a batch as run `run` of another plan.
pub(crate) fn renumbered(
    batch: &RecordBatch,
    run: u32,
) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let place = batch.schema().index_of(RUN)?;
    let mut columns = batch.columns().to_vec();
    columns[place] = build(ColumnType::U32, repeat_n(Cell::U32(run), batch.num_rows()));
    RecordBatch::try_new(batch.schema(), columns)
}

/// The numbers of the runs in a batch, each with its range of rows; `None` without the column.
pub(crate) fn run_ranges(batch: &RecordBatch) -> Option<Vec<(u32, Range<usize>)>> {
    let runs = read::<u32>(batch, RUN).ok()?;
    let mut start = 0;
    let stretch = |same: &[u32]| {
        let rows = start..start + same.len();
        start = rows.end;
        same.first().map(|run| (*run, rows))
    };
    Some(runs.chunk_by(|a, b| a == b).filter_map(stretch).collect())
}

/// The rows of a batch, each with the number of its run; an error names the invalid column. A
/// missing nullable column, as in tables of earlier versions, reads as nulls.
pub(crate) fn rows<R: Row>(batch: &RecordBatch) -> Result<Vec<(u32, R)>, &'static str> {
    let runs = read::<u32>(batch, RUN)?;
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
    let (scheme_at, seed_at) = (place(SCHEME)?, place(SEED)?);
    let runs = read::<u32>(batch, RUN)?;
    let schemes = read::<String>(batch, SCHEME)?;
    let seeds = read::<u64>(batch, SEED)?;
    let mut keys: Vec<RunKey> = runs
        .into_iter()
        .zip(schemes)
        .zip(seeds)
        .map(|((run, scheme), seed)| RunKey { run, scheme, point: SweepPoint::default(), seed })
        .collect();
    for at in scheme_at + 1..seed_at {
        let name = schema.field(at).name();
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
        let whole =
            batch(&schema::<LinkRow>(&key.point), &key, std::slice::from_ref(&row)).unwrap();
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
