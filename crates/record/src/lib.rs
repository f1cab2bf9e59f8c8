//! Result tables as Parquet, the run directory and its manifest.
//!
//! Contract: results are stored in typed tables, each column with its unit, and read back unchanged
//! or not at all: every read is checked against the hash of what was written. A directory marked
//! `complete` is complete. Nothing is analysed here except the order statistics in the table of
//! queues.

mod content_hash;
mod convert;
mod digest;
mod dir;
mod error;
mod files;
mod frame;
mod key;
mod manifest;
mod parquet;
mod renamed;
mod table;
mod text;
mod trace;

pub use arrow_array::ffi_stream::FFI_ArrowArrayStream;
pub use arrow_schema::ffi::FFI_ArrowSchema;
pub use convert::RunTables;
pub use digest::{combine as combine_digests, hex as digest_text};
pub use dir::{OPTIONAL_TABLES, QUERIES, RunDir, RunReader, SampledSeries, TABLES};
pub use error::RecordError;
pub use files::{FileEntry, write_atomic, write_atomic_with};
pub use frame::{DataFrame, FrameColumn, FrameValues};
pub use key::{RunKey, SweepPoint};
pub use manifest::{
    Backend, DirectoryStatus, Manifest, ManifestRun, ReportedSetting, SCHEMA as MANIFEST_SCHEMA,
    SchemeOverride, SharedRuns, TimingReport,
};
pub use renamed::{renamed_column, renamed_table};
pub use table::schema;
pub use text::{TextColumn, TextTable, read_table};
pub use trace::{TRACE_TABLES, TraceTables};
