//! Rows as batches of columns: the columns of a file, writing and reading.

mod column;
mod field;
mod metadata;
mod swept;

use std::iter::repeat_n;
use std::sync::Arc;

use lowtide_rows::{Cell, RUN, Row, SCHEME, SEED, Value};

use self::column::ColumnBuilder;
pub(crate) use self::column::Values;
pub use self::column::{Cells, ColumnCells};
pub use self::field::{ColumnMetadata, Field};
#[cfg(test)]
pub(crate) use self::metadata::KEYS as METADATA_KEYS;
pub use self::metadata::TABLES_SCHEMA;
pub(crate) use self::metadata::{
    TableOrigin, check as check_metadata, columns as column_metadata, key_values,
};
pub(crate) use self::swept::SweptKeys;
use crate::key::{RunKey, SweepPoint};

/// Consecutive rows of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Batch {
    fields: Arc<[Field]>,
    pub(crate) columns: Vec<ColumnCells>,
    pub(crate) rows: usize,
}

impl Batch {
    pub(crate) fn empty(fields: &Arc<[Field]>) -> Self {
        let columns = fields.iter().map(Field::empty).collect();
        Self { fields: Arc::clone(fields), columns, rows: 0 }
    }

    /// The cells of each column, in the order of the table.
    pub fn columns(&self) -> &[ColumnCells] {
        &self.columns
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn fields(&self) -> &Arc<[Field]> {
        &self.fields
    }

    fn column(&self, name: &str) -> Option<&ColumnCells> {
        let at = self.fields.iter().position(|field| field.name() == name)?;
        self.columns.get(at)
    }

    /// Appends rows of the same columns.
    pub(crate) fn append(&mut self, other: Self) {
        self.rows += other.rows;
        for (column, more) in self.columns.iter_mut().zip(other.columns) {
            column.append(more);
        }
    }
}

/// The columns of a table with these swept keys.
pub(crate) fn fields<R: Row>(swept: &SweptKeys) -> Arc<[Field]> {
    let mut fields = vec![Field::declared(&RUN), Field::declared(&SCHEME)];
    fields.extend(swept.fields());
    fields.push(Field::declared(&SEED));
    fields.extend(R::COLUMNS.iter().map(Field::declared));
    fields.into()
}

/// The rows of one run as a batch with `fields`, whose swept keys are texts.
pub(crate) fn batch<R: Row>(
    fields: &Arc<[Field]>,
    key: &RunKey,
    rows: &[R],
) -> Result<Batch, String> {
    let mut columns: Vec<_> = fields.iter().map(Field::builder).collect();
    let mut cells = Vec::with_capacity(fields.len());
    for row in rows {
        cells.extend([key.run.cell(), Cell::Text(&key.scheme)]);
        cells.extend(key.point.0.iter().map(|(_, value)| Cell::Text(value)));
        cells.push(key.seed.cell());
        row.cells(&mut cells);
        for (column, cell) in columns.iter_mut().zip(cells.drain(..)) {
            column.push(cell)?;
        }
    }
    let columns = columns.into_iter().map(ColumnBuilder::finish).collect();
    Ok(Batch { fields: Arc::clone(fields), columns, rows: rows.len() })
}

/// Converts a batch of one run to `fields`, those of the plan: with the number of the run in the
/// plan, and with the numbers of the swept keys. An error names the invalid column.
pub(crate) fn merged(
    batch: Batch,
    fields: &Arc<[Field]>,
    swept: &SweptKeys,
    key: &RunKey,
) -> Result<Batch, String> {
    let rows = batch.rows;
    let mut own: Vec<Option<ColumnCells>> = batch.columns.into_iter().map(Some).collect();
    let repeat = |field: &Field, cell| {
        let mut column = field.builder();
        repeat_n(cell, rows).try_for_each(|cell| column.push(cell)).map(|()| column.finish())
    };
    let mut column = |field: &Field| {
        if field.name() == RUN.name {
            return repeat(field, key.run.cell());
        }
        if let Some((of, unit)) = swept.number(field) {
            return repeat(field, key.point.get(of).map_or(Cell::Null, |value| unit.read(value)));
        }
        let at = batch.fields.iter().position(|own| own.name() == field.name());
        let column = at.and_then(|at| own.get_mut(at)?.take());
        let same = column.filter(|column| {
            column.kind() == field.kind && column.levels.is_some() == field.nullable
        });
        same.ok_or_else(|| missing(field.name()))
    };
    let columns = fields.iter().map(&mut column).collect::<Result<_, String>>()?;
    Ok(Batch { fields: Arc::clone(fields), columns, rows })
}

/// The error of a table that lacks a column.
pub(crate) fn missing(column: &str) -> String {
    format!("the column `{column}` is missing or of another type")
}

/// Splits a batch into the rows of each run, with its number. An error names the invalid column.
pub(crate) fn by_run(batch: &Batch) -> Result<Vec<(u32, Batch)>, String> {
    let runs = read::<u32>(batch, RUN.name)?;
    let mut cells: Vec<Cells<'_>> = batch.columns.iter().map(ColumnCells::cells).collect();
    let stretch = |same: &[u32]| {
        let columns = batch.fields.iter().zip(&mut cells).map(|(field, cells)| {
            let mut column = field.builder();
            cells.take(same.len()).try_for_each(|cell| column.push(cell))?;
            Ok::<_, String>(column.finish())
        });
        let columns = columns.collect::<Result<_, _>>()?;
        let part = Batch { fields: Arc::clone(&batch.fields), columns, rows: same.len() };
        Ok(same.first().map(|run| (*run, part)))
    };
    runs.chunk_by(|a, b| a == b).map(stretch).filter_map(Result::transpose).collect()
}

/// The rows of a batch, each with the number of its run; an error names the invalid column. A
/// missing nullable column, as in tables before it was added, reads as nulls.
pub(crate) fn rows<R: Row>(batch: &Batch) -> Result<Vec<(u32, R)>, String> {
    let runs = read::<u32>(batch, RUN.name)?;
    let mut columns = Vec::with_capacity(R::COLUMNS.len());
    for column in R::COLUMNS {
        columns.push(match batch.column(column.name) {
            Some(found) if found.kind() == column.kind => Some(found.cells()),
            None if column.nullable => None,
            _ => return Err(missing(column.name)),
        });
    }
    let mut cells = Vec::with_capacity(columns.len());
    let row = |run| {
        cells.clear();
        for column in &mut columns {
            cells.push(column.as_mut().and_then(Iterator::next).unwrap_or(Cell::Null));
        }
        R::from_cells(&mut cells.iter()).map(|row| (run, row)).map_err(missing)
    };
    runs.into_iter().map(row).collect()
}

/// The values of one column; an error names it if it is missing or of another type.
fn read<T: Value>(batch: &Batch, name: &str) -> Result<Vec<T>, String> {
    let column = batch.column(name).ok_or_else(|| missing(name))?;
    column.cells().map(|cell| T::from_cell(cell).ok_or_else(|| missing(name))).collect()
}

/// The run of each row of a batch; an error names the invalid column.
pub(crate) fn keys(batch: &Batch) -> Result<Vec<RunKey>, String> {
    let place = |name: &str| {
        let at = batch.fields.iter().position(|field| field.name() == name);
        at.ok_or_else(|| missing(name))
    };
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
    let swept = batch.fields.iter().take(seed_at).skip(scheme_at + 1);
    for name in swept.filter(|field| !field.is_number()).map(Field::name) {
        let values = read::<String>(batch, name)?;
        for (key, value) in keys.iter_mut().zip(values) {
            key.point.0.push((name.to_owned(), value));
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
            &fields::<LinkRow>(&SweptKeys::texts(&key.point)),
            &key,
            std::slice::from_ref(&row),
        )
        .unwrap();
        assert_eq!(rows::<LinkRow>(&whole), Ok(vec![(7, row.clone())]));
        assert_eq!(keys(&whole), Ok(vec![key]));
        let without = |name: &str| {
            let kept = |field: &Field| field.name() != name;
            let columns = whole.fields.iter().zip(&whole.columns).filter(|(f, _)| kept(f));
            rows::<LinkRow>(&Batch {
                columns: columns.map(|(_, column)| column.clone()).collect(),
                fields: whole.fields.iter().filter(|f| kept(f)).cloned().collect(),
                rows: 1,
            })
        };
        assert_eq!(without("utilisation"), Ok(vec![(7, LinkRow { utilisation: None, ..row })]));
        assert_eq!(without("link"), Err(missing("link")));
    }
}
