//! Result tables as Parquet, the run directory and its manifest.
//!
//! Contract: results are stored in typed tables, each column with its unit, and read back unchanged
//! or not at all: every read is checked against the hash of what was written. A directory marked
//! `complete` is complete. Nothing is analysed here except the order statistics in the table of
//! queues.

pub mod bundle;
mod content_hash;
mod convert;
mod dictionary;
mod digest;
mod dir;
mod error;
mod files;
mod frame;
mod key;
mod manifest;
mod parquet;
mod selection;
mod table;
mod text;
mod trace;

pub use convert::RunTables;
pub use dictionary::{ColumnDescription, TableDescription, dictionary};
pub use digest::{combine as combine_digests, hex as digest_text};
pub use dir::{OPTIONAL_TABLES, PART_PLAN, QUERIES, RunDir, RunReader, SampledSeries, TABLES};
pub use error::RecordError;
pub use files::{FileEntry, place_directory, remove_directory, temp_path};
pub use files::{write_atomic, write_atomic_with};
pub use frame::{DataFrame, FrameColumn, FrameValues};
pub use key::{RunKey, SweepPoint};
pub use manifest::{
    Backend, DirectoryStatus, Manifest, ManifestRun, ReportedSetting, SCHEMA as MANIFEST_SCHEMA,
    SchemeOverride, SharedRuns, TimingReport,
};
pub use parquet::TableReader;
pub use selection::RunSelection;
pub use table::{Batch, Cells, ColumnCells, ColumnMetadata, Field, TABLES_SCHEMA};
pub use text::{TextColumn, TextTable, read_table};
pub use trace::{TRACE_TABLES, TraceTables};
