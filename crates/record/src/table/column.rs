//! The cells of a column, as Parquet encodes them: the values without nulls, and which are nulls.

use lowtide_rows::{Cell, ColumnType};
use parquet::data_type::ByteArray;

/// Cells of a column in consecutive rows.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnCells {
    pub(crate) values: Values,
    /// For a column with nulls: 1 for each value, 0 for each null.
    pub(crate) levels: Option<Vec<i16>>,
}

/// The values of a column, without nulls.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    Int(Vec<i64>),
    F64(Vec<f64>),
    Bool(Vec<bool>),
    /// Each is UTF-8.
    Text(Vec<ByteArray>),
}

/// Equality of the stored bits: NaN is equal to itself.
impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::F64(a), Self::F64(b)) => {
                a.iter().map(|v| v.to_bits()).eq(b.iter().map(|v| v.to_bits()))
            }
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => a == b,
            _ => false,
        }
    }
}

impl ColumnCells {
    pub(crate) fn new(kind: ColumnType, nullable: bool) -> Self {
        let values = match kind {
            ColumnType::Int => Values::Int(Vec::new()),
            ColumnType::F64 => Values::F64(Vec::new()),
            ColumnType::Bool => Values::Bool(Vec::new()),
            ColumnType::Text => Values::Text(Vec::new()),
        };
        Self { values, levels: nullable.then(Vec::new) }
    }

    /// The type of the values.
    pub(crate) const fn kind(&self) -> ColumnType {
        match self.values {
            Values::Int(_) => ColumnType::Int,
            Values::F64(_) => ColumnType::F64,
            Values::Bool(_) => ColumnType::Bool,
            Values::Text(_) => ColumnType::Text,
        }
    }

    /// Appends the cells of a column of equal type.
    pub(crate) fn append(&mut self, other: Self) {
        match (&mut self.values, other.values) {
            (Values::Int(values), Values::Int(more)) => values.extend(more),
            (Values::F64(values), Values::F64(more)) => values.extend(more),
            (Values::Bool(values), Values::Bool(more)) => values.extend(more),
            (Values::Text(values), Values::Text(more)) => values.extend(more),
            _ => {}
        }
        if let (Some(levels), Some(more)) = (&mut self.levels, other.levels) {
            levels.extend(more);
        }
    }

    /// The cells, in order.
    pub fn cells(&self) -> Cells<'_> {
        Cells { column: self, row: 0, value: 0 }
    }
}

/// A column that grows by one cell per row.
pub(crate) struct ColumnBuilder {
    column: ColumnCells,
    /// The texts in one piece, since one allocation for each would take a tenth of the time of
    /// writing a table, and the end of each.
    texts: Vec<u8>,
    ends: Vec<usize>,
}

impl ColumnBuilder {
    pub(crate) fn new(kind: ColumnType, nullable: bool) -> Self {
        let column = ColumnCells::new(kind, nullable);
        Self { column, texts: Vec::new(), ends: Vec::new() }
    }

    /// Appends a cell.
    ///
    /// # Errors
    /// No column has the count; or the cell is a null or of another type and the column has no
    /// nulls, which would be a bug of a declaration.
    pub(crate) fn push(&mut self, cell: Cell<'_>) -> Result<(), String> {
        match (&mut self.column.values, cell) {
            (_, Cell::TooLarge(count)) => {
                return Err(format!("{count} is more than tables hold, {}", i64::MAX));
            }
            (Values::Int(values), Cell::Int(value)) => values.push(value),
            (Values::F64(values), Cell::F64(value)) => values.push(value),
            (Values::Bool(values), Cell::Bool(value)) => values.push(value),
            (Values::Text(_), Cell::Text(text)) => {
                self.texts.extend_from_slice(text.as_bytes());
                self.ends.push(self.texts.len());
            }
            (_, cell) => {
                let Some(levels) = &mut self.column.levels else {
                    return Err(format!("{cell:?} is in a column without such cells"));
                };
                levels.push(0);
                return Ok(());
            }
        }
        if let Some(levels) = &mut self.column.levels {
            levels.push(1);
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> ColumnCells {
        if let Values::Text(values) = &mut self.column.values {
            let texts = ByteArray::from(self.texts);
            let mut start = 0;
            values.extend(self.ends.into_iter().map(|end| {
                let text = texts.slice(start, end - start);
                start = end;
                text
            }));
        }
        self.column
    }
}

/// An iterator over the cells of a column.
pub struct Cells<'a> {
    column: &'a ColumnCells,
    /// Rows and values that were passed.
    row: usize,
    value: usize,
}

impl<'a> Iterator for Cells<'a> {
    type Item = Cell<'a>;

    fn next(&mut self) -> Option<Cell<'a>> {
        if let Some(levels) = &self.column.levels {
            let level = *levels.get(self.row)?;
            self.row += 1;
            if level == 0 {
                return Some(Cell::Null);
            }
        }
        let cell = match &self.column.values {
            Values::Int(values) => Cell::Int(*values.get(self.value)?),
            Values::F64(values) => Cell::F64(*values.get(self.value)?),
            Values::Bool(values) => Cell::Bool(*values.get(self.value)?),
            Values::Text(values) => Cell::Text(values.get(self.value)?.as_utf8().ok()?),
        };
        self.value += 1;
        Some(cell)
    }
}
