//! Result tables as Parquet and CSV, the run directory and its manifest.
//!
//! Contract: what a run left behind goes into typed tables, each column with its unit, and comes back
//! as it was. A file is there whole or not at all; a directory that says `complete` is. Nothing is
//! analysed here beyond the order statistics that the table of queues carries.

mod convert;
pub mod csv;
mod digest;
mod dir;
mod error;
mod files;
mod frame;
mod key;
mod manifest;
mod parquet;
mod quantile;
mod rows;
mod table;
mod text;
mod trace;

pub use convert::RunTables;
pub use digest::{combine as combine_digests, hex as digest_text};
pub use dir::{QUERIES, RunDir, RunReader, SOME_TABLES, Series, TABLES};
pub use error::RecordError;
pub use files::{FileEntry, write_whole};
pub use frame::{Frame, FrameColumn, FrameValues, read_frame};
pub use key::{Point, RunKey};
pub use manifest::{
    Backend, Manifest, ManifestRun, Measured, Replaced, SCHEMA as MANIFEST_SCHEMA, Setting, Status,
};
pub use quantile::{Quantile, Weight};
pub use rows::{
    ClassRow, DelayRow, FlowRow, LevelRow, LinkRow, MemoryRow, ProbeRow, QueryRow, QueueRow,
    QueueSampleRow, RunRow,
};
pub use table::{Cell, Column, Row, schema};
pub use text::{TextColumn, TextTable, read_table};
pub use trace::{TRACE_TABLES, TraceHopRow, TraceSegmentRow, TraceSenderRow, TraceTables};
