//! Declaration of tables: typed columns, each with its unit and description.
//!
//! Contract: the declaration of a row type is the only definition of a column. Writer, reader, the
//! schema in the file and the documentation follow from it.

mod column_type;
mod shared;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

pub use column_type::Cell;

use crate::key::{RunKey, SweepPoint};

/// One column of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name, with the unit as suffix if it has one.
    pub name: &'static str,
    /// Its unit; empty for names, identifiers and plain counts.
    pub unit: &'static str,
    /// Its description, in one sentence.
    pub description: &'static str,
    /// The Arrow type.
    pub kind: DataType,
    /// Whether a value may be absent.
    pub nullable: bool,
}

/// A row of a table.
pub trait Row: Sized {
    /// Name of the table and of its file.
    const TABLE: &'static str;
    /// The columns, without those that identify the run.
    const COLUMNS: &'static [Column];
    /// Converts rows to columns.
    fn to_arrays(rows: &[Self]) -> Vec<ArrayRef>;
    /// Converts columns to rows; an error names the invalid column.
    fn from_arrays(find: &dyn Fn(&str) -> Option<ArrayRef>) -> Result<Vec<Self>, &'static str>;
}

/// Declares a row type: `field: type, "unit", "description";`, and `..group;` to insert columns
/// that several tables share ([`shared`]).
macro_rules! table {
    ($(#[$meta:meta])* $name:ident, $table:literal: $($columns:tt)+) => {
        crate::table::table! { {$(#[$meta])* $name, $table} {} $($columns)+ }
    };
    ($head:tt {$($done:tt)*}
        $($field:ident: $ty:ty, $unit:literal, $doc:literal;)* ..$group:ident; $($rest:tt)*
    ) => {
        crate::table::columns! {
            $group $head {$($done)* $($field: $ty, $unit, $doc;)*} $($rest)*
        }
    };
    ({$($head:tt)*} {$($done:tt)*} $($rest:tt)*) => {
        crate::table::table! { = $($head)*, $($done)* $($rest)* }
    };
    (=
        $(#[$meta:meta])*
        $name:ident, $table:literal,
        $($field:ident: $ty:ty, $unit:literal, $doc:literal;)+
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Debug)]
        pub struct $name {
            $(#[doc = $doc] pub $field: $ty,)+
        }

        impl crate::table::Row for $name {
            const TABLE: &'static str = $table;
            const COLUMNS: &'static [crate::table::Column] = &[$(crate::table::Column {
                name: stringify!($field),
                unit: $unit,
                description: $doc,
                kind: <$ty as crate::table::Cell>::TYPE,
                nullable: <$ty as crate::table::Cell>::NULLABLE,
            }),+];

            fn to_arrays(rows: &[Self]) -> Vec<arrow_array::ArrayRef> {
                vec![$(<$ty as crate::table::Cell>::write(rows.iter().map(|r| &r.$field))),+]
            }

            fn from_arrays(
                find: &dyn Fn(&str) -> Option<arrow_array::ArrayRef>,
            ) -> Result<Vec<Self>, &'static str> {
                $(
                    let $field = find(stringify!($field))
                        .and_then(|a| <$ty as crate::table::Cell>::read(&*a))
                        .ok_or(stringify!($field))?;
                    let mut $field = $field.into_iter();
                )+
                let mut rows = Vec::new();
                loop {
                    $(let Some($field) = $field.next() else { return Ok(rows) };)+
                    rows.push(Self { $($field),+ });
                }
            }
        }
    };
}
pub(crate) use shared::columns;
pub(crate) use table;

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
        field(RUN, u32::TYPE, false, "", "Number of the run in the order of the plan."),
        field(SCHEME, String::TYPE, false, "", "Name of the scheme."),
    ];
    fields.extend(
        point.keys().map(|key| field(key, String::TYPE, false, "", "Value of the swept key.")),
    );
    fields.push(field(SEED, u64::TYPE, false, "", "Seed of the run."));
    fields.extend(
        R::COLUMNS.iter().map(|c| field(c.name, c.kind.clone(), c.nullable, c.unit, c.description)),
    );
    Arc::new(Schema::new(fields))
}

/// The rows of one run as a batch of `schema`.
pub(crate) fn batch<R: Row>(
    schema: &SchemaRef,
    key: &RunKey,
    rows: &[R],
) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let repeat = |text: &String| String::write(std::iter::repeat_n(text, rows.len()));
    let mut columns =
        vec![u32::write(std::iter::repeat_n(&key.run, rows.len())), repeat(&key.scheme)];
    columns.extend(key.point.0.iter().map(|(_, value)| repeat(value)));
    columns.push(u64::write(std::iter::repeat_n(&key.seed, rows.len())));
    columns.extend(R::to_arrays(rows));
    RecordBatch::try_new(Arc::clone(schema), columns)
}

/// Renumbers a batch as run `run` of another plan.
pub(crate) fn renumbered(
    batch: &RecordBatch,
    run: u32,
) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let place = batch.schema().index_of(RUN)?;
    let mut columns = batch.columns().to_vec();
    columns[place] = u32::write(std::iter::repeat_n(&run, batch.num_rows()));
    RecordBatch::try_new(batch.schema(), columns)
}

/// The numbers of the runs in a batch, each with its range of rows; `None` without the column.
pub(crate) fn run_ranges(batch: &RecordBatch) -> Option<Vec<(u32, Range<usize>)>> {
    let runs = batch.column_by_name(RUN).and_then(|a| u32::read(a))?;
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
    let runs = batch.column_by_name(RUN).and_then(|a| u32::read(a)).ok_or(RUN)?;
    let nulls = |name: &str| {
        let column = R::COLUMNS.iter().find(|c| c.name == name && c.nullable)?;
        Some(new_null_array(&column.kind, batch.num_rows()))
    };
    let rows = R::from_arrays(&|name| batch.column_by_name(name).cloned().or_else(|| nulls(name)))?;
    Ok(runs.into_iter().zip(rows).collect())
}

/// The run of each row of a batch; an error names the invalid column.
pub(crate) fn keys(batch: &RecordBatch) -> Result<Vec<RunKey>, String> {
    fn read<T: Cell>(array: &ArrayRef, name: &str) -> Result<Vec<T>, String> {
        T::read(array).ok_or_else(|| name.to_owned())
    }
    let schema = batch.schema();
    let place = |name: &str| schema.index_of(name).map_err(|_| name.to_owned());
    let (scheme_at, seed_at) = (place(SCHEME)?, place(SEED)?);
    let runs = read::<u32>(batch.column(place(RUN)?), RUN)?;
    let schemes = read::<String>(batch.column(scheme_at), SCHEME)?;
    let seeds = read::<u64>(batch.column(seed_at), SEED)?;
    let mut keys: Vec<RunKey> = runs
        .into_iter()
        .zip(schemes)
        .zip(seeds)
        .map(|((run, scheme), seed)| RunKey { run, scheme, point: SweepPoint::default(), seed })
        .collect();
    for at in scheme_at + 1..seed_at {
        let name = schema.field(at).name();
        let values = read::<String>(batch.column(at), name)?;
        for (key, value) in keys.iter_mut().zip(values) {
            key.point.0.push((name.clone(), value));
        }
    }
    Ok(keys)
}

#[cfg(test)]
#[expect(unreachable_pub, reason = "the macro makes rows public")]
mod tests {
    use super::*;

    table! {
        /// A small table.
        Small, "small":
        needed: u32, "", "Always there.";
        later: Option<String>, "", "Added by a later version.";
    }

    #[test]
    fn a_column_that_an_earlier_version_lacks_holds_nulls() {
        let key = RunKey { run: 7, scheme: "dctcp".into(), point: SweepPoint::default(), seed: 1 };
        let row = Small { needed: 5, later: Some("here".into()) };
        let whole = batch(&schema::<Small>(&key.point), &key, std::slice::from_ref(&row)).unwrap();
        assert_eq!(rows::<Small>(&whole), Ok(vec![(7, row)]));
        let without = |name: &str| {
            let mut batch = whole.clone();
            batch.remove_column(whole.schema().index_of(name).unwrap());
            rows::<Small>(&batch)
        };
        assert_eq!(without("later"), Ok(vec![(7, Small { needed: 5, later: None })]));
        assert_eq!(without("needed"), Err("needed"));
    }
}
