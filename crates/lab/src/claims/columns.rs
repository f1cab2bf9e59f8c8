//! The columns of a table by their kind.

use lowtide_record::{DataFrame, FrameColumn, FrameValues};

/// The column of that name.
pub(super) fn column<'a>(frame: &'a DataFrame, name: &str) -> Result<&'a FrameColumn, String> {
    frame.column(name).ok_or_else(|| format!("the table has no column `{name}`"))
}

/// The values of a column of numbers.
pub(super) fn numbers<'a>(frame: &'a DataFrame, name: &str) -> Result<&'a [Option<f64>], String> {
    match &column(frame, name)?.values {
        FrameValues::Numbers(values) => Ok(values),
        FrameValues::Texts(_) => Err(format!("the column `{name}` holds no numbers")),
    }
}

/// The values of a column of text.
pub(super) fn texts<'a>(frame: &'a DataFrame, name: &str) -> Result<&'a [Option<String>], String> {
    match &column(frame, name)?.values {
        FrameValues::Texts(values) => Ok(values),
        FrameValues::Numbers(_) => Err(format!("the column `{name}` holds no text")),
    }
}
