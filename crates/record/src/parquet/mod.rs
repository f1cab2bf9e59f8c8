//! Tables as Parquet files, Snappy-compressed.

mod read;
mod write;

pub use read::TableReader;
pub(crate) use read::{ByRun, have_equal_rows, read};
pub(crate) use write::{RunWriter, TableWriter};

/// Rows per row group: the maximum that a reader of one run has to skip.
const ROW_GROUP: usize = 1 << 16;
