//! Splits complete results into their runs, so a plan with more seeds keeps the existing ones.

use std::fs::File;
use std::path::{Path, PathBuf};

use lowtide_rows::{
    BufferPoolRow, ClassRow, CollectiveRow, DelayRow, FlowRow, LevelRow, LinkRow, ProbeRow,
    QueryRow, QueueRow, QueueSampleRow, Row, RunRow, TraceHopRow, TraceSegmentRow, TraceSenderRow,
    VariableRow,
};

use super::{RunDir, TABLES};
use crate::error::RecordError;
use crate::files::{FileEntry, make_directory, remove_directory, temp_path};
use crate::manifest::ManifestRun;
use crate::parquet::{RunWriter, TableReader, TableWriter};
use crate::table::{self, TableOrigin};

/// A run, its staging directory, and its finished tables.
struct SplitRun<'a> {
    run: &'a ManifestRun,
    staging: PathBuf,
    files: Vec<FileEntry>,
}

impl RunDir {
    /// Places `runs` of the complete results under `partial/`, as if they had just finished. `runs`
    /// are in the order of the results, which stay unchanged until the next ones are complete.
    ///
    /// # Errors
    /// A table cannot be read, or a file cannot be written. Unfinished partial runs are removed.
    pub fn split_into_partial(&self, runs: &[&ManifestRun]) -> Result<(), RecordError> {
        let staging = |run: &ManifestRun| temp_path(&self.partial(&run.key, &run.hash));
        let mut parts: Vec<SplitRun<'_>> = runs
            .iter()
            .map(|run| SplitRun { run, staging: staging(run), files: Vec::new() })
            .collect();
        let done = self.split_and_place(&mut parts);
        if done.is_err() {
            for part in &parts {
                remove_directory(&part.staging)?;
            }
        }
        done
    }

    fn split_and_place(&self, parts: &mut [SplitRun<'_>]) -> Result<(), RecordError> {
        for part in &*parts {
            make_directory(&part.staging)?;
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
        self.split::<CollectiveRow>(parts)?;
        self.split::<ClassRow>(parts)?;
        self.split::<BufferPoolRow>(parts)?;
        self.split::<VariableRow>(parts)?;
        self.split::<TraceSegmentRow>(parts)?;
        self.split::<TraceHopRow>(parts)?;
        self.split::<TraceSenderRow>(parts)?;
        for SplitRun { run, staging, files } in parts {
            self.commit(run, std::mem::take(files), staging)?;
        }
        Ok(())
    }

    /// Splits one table, whose rows are grouped by run, into those of the runs.
    fn split<R: Row>(&self, parts: &mut [SplitRun<'_>]) -> Result<(), RecordError> {
        let name = format!("{}.parquet", R::TABLE);
        if self.exists(&Self::file_of(R::TABLE)) {
            let (path, file) = self.open_table::<R>()?;
            split_file::<R>((&path, file), &self.origin, parts)?;
        }
        if TABLES.contains(&R::TABLE) {
            for part in parts {
                if part.files.iter().all(|f| f.path != name) {
                    let (place, key) = (part.staging.as_path(), &part.run.key);
                    let writer = RunWriter { place, key, origin: &self.origin };
                    part.files.push(writer.write::<R>(&[])?);
                }
            }
        }
        Ok(())
    }
}

/// Splits an open table into those of the runs.
fn split_file<R: Row>(
    (path, file): (&Path, File),
    origin: &TableOrigin,
    parts: &mut [SplitRun<'_>],
) -> Result<(), RecordError> {
    let name = format!("{}.parquet", R::TABLE);
    // Number of the run being written, its index in `parts`, and its table.
    let mut open: Option<(u32, usize, TableWriter)> = None;
    let finish = |open: Option<(u32, usize, TableWriter)>, parts: &mut [SplitRun<'_>]| {
        let Some((_, at, writer)) = open else { return Ok(()) };
        let entry = writer.finish()?.into_entry(name.as_str());
        if let Some(part) = parts.get_mut(at) {
            part.files.push(entry);
        }
        Ok::<_, RecordError>(())
    };
    // Tables of single runs have no numbers of swept keys.
    for batch in TableReader::open((path, file))?.with_columns(|field| !field.is_number()) {
        let stretches = table::by_run(&batch?).map_err(|e| RecordError::table(path, &e))?;
        for (number, rows) in stretches {
            if open.as_ref().is_none_or(|(of, ..)| *of != number) {
                finish(open.take(), parts)?;
                let at = parts.binary_search_by_key(&number, |part| part.run.key.run);
                let Some((at, part)) = at.ok().and_then(|at| Some((at, parts.get(at)?))) else {
                    continue;
                };
                let place = part.staging.join(&name);
                let writer = TableWriter::create(&place, R::TABLE, origin, rows.fields())?;
                open = Some((number, at, writer));
            }
            if let Some((.., writer)) = &mut open {
                writer.batch(rows)?;
            }
        }
    }
    finish(open, parts)
}
