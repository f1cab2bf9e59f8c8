//! Complete results taken apart into their runs again, so that a plan with more seeds keeps those that there are.

use std::path::{Path, PathBuf};

use super::{RUN_FILE, RunDir, TABLES, write_json};
use crate::error::RecordError;
use crate::files::{make_directory, remove_directory, rename, temporary};
use crate::manifest::ManifestRun;
use crate::parquet::{self, TableWriter, write_rows};
use crate::rows::{
    ClassRow, DelayRow, FlowRow, LevelRow, LinkRow, MemoryRow, ProbeRow, QueryRow, QueueRow,
    QueueSampleRow, RunRow,
};
use crate::table::{self, Row};
use crate::trace::{TraceHopRow, TraceSegmentRow, TraceSenderRow};

/// A run, and the directory in which it grows.
type Part<'a> = (&'a ManifestRun, PathBuf);

impl RunDir {
    /// Puts `runs` of the complete results here, in their order, under `partial/`, as if they had just been finished. The results
    /// stay as they are until the next ones are complete.
    ///
    /// # Errors
    /// A table that cannot be read, or a file that cannot be written. Whatever is not whole by then is not there.
    pub fn take_apart(&self, runs: &[&ManifestRun]) -> Result<(), RecordError> {
        let parts: Vec<Part<'_>> =
            runs.iter().map(|run| (*run, temporary(&self.partial(&run.key, &run.hash)))).collect();
        let done = self.split_and_place(&parts);
        if done.is_err() {
            for (_, growing) in &parts {
                remove_directory(growing)?;
            }
        }
        done
    }

    fn split_and_place(&self, parts: &[Part<'_>]) -> Result<(), RecordError> {
        for (_, growing) in parts {
            make_directory(growing)?;
        }
        self.split::<RunRow>(parts)?;
        self.split::<FlowRow>(parts)?;
        self.split::<QueueRow>(parts)?;
        self.split::<LevelRow>(parts)?;
        self.split::<LinkRow>(parts)?;
        self.split::<ProbeRow>(parts)?;
        self.split::<DelayRow>(parts)?;
        self.split::<QueueSampleRow>(parts)?;
        self.split::<QueryRow>(parts)?;
        self.split::<ClassRow>(parts)?;
        self.split::<MemoryRow>(parts)?;
        self.split::<TraceSegmentRow>(parts)?;
        self.split::<TraceHopRow>(parts)?;
        self.split::<TraceSenderRow>(parts)?;
        for (run, growing) in parts {
            write_json(&growing.join(RUN_FILE), run)?;
            let place = self.partial(&run.key, &run.hash);
            // Another process may have done the same; equal hashes are equal runs.
            match rename(growing, &place) {
                Err(_) if self.has(&run.key, &run.hash) => remove_directory(growing)?,
                renamed => renamed?,
            }
        }
        Ok(())
    }

    /// Gives each run its rows of one table, which stand run by run.
    fn split<R: Row>(&self, parts: &[Part<'_>]) -> Result<(), RecordError> {
        let path = self.path_of::<R>();
        if path.exists() {
            split_file(&path, parts)?;
        }
        if TABLES.contains(&R::TABLE) {
            for (run, growing) in parts {
                if !growing.join(format!("{}.parquet", R::TABLE)).exists() {
                    write_rows::<R>(growing, &run.key, &[])?;
                }
            }
        }
        Ok(())
    }
}

/// Gives each run its rows of the table at `path`.
fn split_file(path: &Path, parts: &[Part<'_>]) -> Result<(), RecordError> {
    let name = path.file_name().unwrap_or_default();
    let mut open: Option<(u32, TableWriter)> = None;
    for batch in parquet::batches(path, None)? {
        let batch = batch.map_err(|e| RecordError::table(path, &e))?;
        let stretches = table::stretches(&batch)
            .ok_or_else(|| RecordError::table(path, &"the column `run` is missing or wrong"))?;
        for (number, rows) in stretches {
            if open.as_ref().is_none_or(|(of, _)| *of != number) {
                if let Some((_, before)) = open.take() {
                    before.finish()?;
                }
                let at = parts.binary_search_by_key(&number, |(run, _)| run.key.run);
                let Some((_, growing)) = at.ok().and_then(|i| parts.get(i)) else { continue };
                open = Some((number, TableWriter::create(&growing.join(name), batch.schema())?));
            }
            if let Some((_, writer)) = &mut open {
                writer.batch(&batch.slice(rows.start, rows.len()))?;
            }
        }
    }
    open.map_or(Ok(()), |(_, last)| last.finish())
}
