//! Typed access to the columns of a table.

use lowtide_record::{DataFrame, FrameColumn, FrameValues};

/// The column named `name`.
pub(super) fn column<'a>(frame: &'a DataFrame, name: &str) -> Result<&'a FrameColumn, String> {
    frame.column(name).ok_or_else(|| format!("the table has no column `{name}`"))
}

/// The values of a numeric column.
pub(super) fn numbers<'a>(frame: &'a DataFrame, name: &str) -> Result<&'a [Option<f64>], String> {
    match &column(frame, name)?.values {
        FrameValues::Numbers(values) => Ok(values),
        FrameValues::Texts(_) => Err(format!("the column `{name}` holds no numbers")),
    }
}

/// The values of a text column.
pub(super) fn texts<'a>(frame: &'a DataFrame, name: &str) -> Result<&'a [Option<String>], String> {
    match &column(frame, name)?.values {
        FrameValues::Texts(values) => Ok(values),
        FrameValues::Numbers(_) => Err(format!("the column `{name}` holds no text")),
    }
}
