//! Columns of Arrow: building them from cells, and reading their cells.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray};
use arrow_schema::{ArrowError, DataType};
use lowtide_rows::{Cell, ColumnType};

/// Returns the Arrow type of a column.
pub(crate) const fn data_type(kind: ColumnType) -> DataType {
    match kind {
        ColumnType::Int => DataType::Int64,
        ColumnType::F64 => DataType::Float64,
        ColumnType::Bool => DataType::Boolean,
        ColumnType::Text => DataType::Utf8,
    }
}

macro_rules! columns {
    ($($kind:ident, $builder:ty, $array:ty, $new:expr;)*) => {
        /// A column that grows by one cell per row.
        pub(crate) enum ColumnBuilder {
            $($kind($builder),)*
        }

        impl ColumnBuilder {
            /// Returns an empty column with room for `rows` cells.
            pub(crate) fn new(kind: ColumnType, rows: usize) -> Self {
                match kind {
                    $(ColumnType::$kind => Self::$kind($new(rows)),)*
                }
            }

            /// Appends a cell. One of another type would be a bug of a declaration and is a null,
            /// which a column without nulls refuses.
            ///
            /// # Errors
            /// No column holds the count.
            pub(crate) fn push(&mut self, cell: Cell<'_>) -> Result<(), ArrowError> {
                match (self, cell) {
                    (_, Cell::TooLarge(count)) => return Err(too_large(count)),
                    $((Self::$kind(column), Cell::$kind(value)) => column.append_value(value),)*
                    $((Self::$kind(column), _) => column.append_null(),)*
                }
                Ok(())
            }

            pub(crate) fn finish(self) -> ArrayRef {
                match self {
                    $(Self::$kind(mut column) => Arc::new(column.finish()),)*
                }
            }
        }

        /// A column whose cells are read.
        pub(crate) enum ColumnReader<'a> {
            /// A column that the file lacks.
            Missing,
            $($kind(&'a $array),)*
        }

        impl<'a> ColumnReader<'a> {
            /// Returns `None` if the column has a type that tables do not have.
            pub(crate) fn new(column: &'a dyn Array) -> Option<Self> {
                $(if let Some(column) = column.as_any().downcast_ref::<$array>() {
                    return Some(Self::$kind(column));
                })*
                None
            }

            /// Whether the cells have this type.
            pub(crate) const fn holds(&self, kind: ColumnType) -> bool {
                match self {
                    Self::Missing => true,
                    $(Self::$kind(_) => matches!(kind, ColumnType::$kind),)*
                }
            }

            /// Returns the cell of a row, which must exist.
            pub(crate) fn cell(&self, row: usize) -> Cell<'a> {
                match self {
                    $(Self::$kind(column) if column.is_valid(row) => Cell::$kind(column.value(row)),)*
                    _ => Cell::Null,
                }
            }
        }
    };
}

columns! {
    Int, Int64Builder, Int64Array, Int64Builder::with_capacity;
    F64, Float64Builder, Float64Array, Float64Builder::with_capacity;
    Bool, BooleanBuilder, BooleanArray, BooleanBuilder::with_capacity;
    Text, StringBuilder, StringArray, |rows| StringBuilder::with_capacity(rows, 0);
}

/// Builds a column of `kind` from cells.
pub(crate) fn build<'a>(
    kind: ColumnType,
    cells: impl ExactSizeIterator<Item = Cell<'a>>,
) -> Result<ArrayRef, ArrowError> {
    let mut column = ColumnBuilder::new(kind, cells.len());
    for cell in cells {
        column.push(cell)?;
    }
    Ok(column.finish())
}

fn too_large(count: u64) -> ArrowError {
    let most = i64::MAX;
    ArrowError::InvalidArgumentError(format!("{count} is more than tables hold, {most}"))
}
