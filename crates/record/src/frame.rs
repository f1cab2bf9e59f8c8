//! Columns of any table in memory, for analysis that names columns as data.

use std::fs::File;
use std::path::Path;

use arrow_array::{Array as _, RecordBatchReader as _};
use lowtide_rows::Cell;
use parquet::arrow::ProjectionMask;

use crate::error::RecordError;
use crate::parquet::projected;
use crate::table::{ColumnReader, UNIT};

/// Columns of equal length.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DataFrame {
    columns: Vec<FrameColumn>,
}

/// One column.
#[derive(Clone, PartialEq, Debug)]
pub struct FrameColumn {
    /// Its name.
    pub name: String,
    /// Its unit; empty for names and counts.
    pub unit: String,
    /// Its values.
    pub values: FrameValues,
}

/// The values of a column; `None` for a null.
#[derive(Clone, PartialEq, Debug)]
pub enum FrameValues {
    /// Numbers; true is one, false zero. Integers beyond 2^53 are rounded.
    Numbers(Vec<Option<f64>>),
    /// Text.
    Texts(Vec<Option<String>>),
}

/// Reads the columns `names` of an open table. Missing columns are omitted.
pub(crate) fn read(path: &Path, file: File, names: &[&str]) -> Result<DataFrame, RecordError> {
    let batches = projected((path, file), |schema| {
        let fields = schema.root_schema().get_fields().iter().enumerate();
        let wanted = fields.filter(|(_, f)| names.contains(&f.name())).map(|(i, _)| i);
        ProjectionMask::roots(schema, wanted.collect::<Vec<_>>())
    })?;
    let schema = batches.schema();
    let column = |field: &std::sync::Arc<arrow_schema::Field>| FrameColumn {
        name: field.name().clone(),
        unit: field.metadata().get(UNIT).cloned().unwrap_or_default(),
        values: match field.data_type() {
            arrow_schema::DataType::Utf8 => FrameValues::Texts(Vec::new()),
            _ => FrameValues::Numbers(Vec::new()),
        },
    };
    let mut frame = DataFrame { columns: schema.fields().iter().map(column).collect() };
    for batch in batches {
        let batch = batch.map_err(|e| RecordError::table(path, &e))?;
        for (column, array) in frame.columns.iter_mut().zip(batch.columns()) {
            let reader = ColumnReader::new(array).ok_or_else(|| {
                RecordError::table(path, &format!("the column `{}` has no known type", column.name))
            })?;
            let cells = (0..array.len()).map(|row| reader.cell(row));
            match &mut column.values {
                FrameValues::Texts(texts) => texts.extend(cells.map(text)),
                FrameValues::Numbers(all) => all.extend(cells.map(Cell::number)),
            }
        }
    }
    Ok(frame)
}

/// Returns the value of a cell in a column of texts.
fn text(cell: Cell<'_>) -> Option<String> {
    if let Cell::Text(text) = cell { Some(text.to_owned()) } else { None }
}

impl DataFrame {
    /// Builds a frame from columns of equal length.
    pub fn new(columns: Vec<FrameColumn>) -> Self {
        Self { columns }
    }

    /// The column named `name`.
    pub fn column(&self, name: &str) -> Option<&FrameColumn> {
        self.columns.iter().find(|c| c.name == name)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| c.values.len())
    }
}

impl FrameValues {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Texts(values) => values.len(),
        }
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
