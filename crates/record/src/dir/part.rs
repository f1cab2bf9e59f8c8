//! A part of a run directory: the runs of one task, in a separate directory.
//!
//! Contract: a directory marked `part` has all runs of its selection. Its manifest lists their
//! files with their hashes, the plan and the program, so it can be merged on another machine.

use std::path::Path;

use super::partial::{PartialRun, RUN_FILE};
use super::{Checksums, RunDir, read_hashed, read_manifest};
use crate::error::RecordError;
use crate::files::{self, FileEntry, sync_directory};
use crate::manifest::{DirectoryStatus, Manifest};
use crate::selection::RunSelection;

/// The scenario of a part with the changes of the command line, from which the plan follows.
pub const PART_PLAN: &str = "plan.toml";

/// Most runs of a plan.
const MAX_RUNS: usize = 1_000_000;

/// The command that makes a part, or repairs it.
fn command(root: &Path, manifest: &Manifest, selection: &RunSelection) -> String {
    format!("`{} {selection} --part {}`", manifest.command, root.display())
}

impl RunDir {
    /// Marks the directory as a part: lists the files of `manifest.runs`, which must be saved, and
    /// `files` with their hashes in the manifest.
    ///
    /// # Errors
    /// A run is missing or damaged, or a file cannot be written.
    pub fn finish_part(
        &self,
        manifest: Manifest,
        files: &[String],
    ) -> Result<Manifest, RecordError> {
        let mut entries = Vec::new();
        for run in &manifest.runs {
            let place = self.partial(&run.key, &run.hash);
            let relative = self.relative(&place);
            let within = |name: &str| format!("{relative}/{name}");
            let path = within(RUN_FILE);
            let saved: PartialRun =
                read_hashed(&self.root, &path, "the same command repeats this run")?;
            entries.push(files::file_entry(&self.root, &path)?);
            let moved = |file: FileEntry| FileEntry { path: within(&file.path), ..file };
            entries.extend(saved.files.into_iter().map(moved));
        }
        for name in files {
            entries.push(files::file_entry(&self.root, name)?);
        }
        sync_directory(&self.root)?;
        let manifest = Manifest { status: DirectoryStatus::Part, files: entries, ..manifest };
        let manifest = self.write_manifest(manifest)?;
        self.remove_left_over();
        Ok(manifest)
    }

    /// Opens a complete part. Its files are checked as they are read; [`Self::verify`] checks all.
    ///
    /// # Errors
    /// The directory is no part, or one that is not finished.
    pub fn open_part(root: &Path) -> Result<(Self, Manifest), RecordError> {
        let refused = |reason: String| {
            let path = root.to_path_buf();
            Err(RecordError::NotMergeable { path, reason })
        };
        if !Self::is_begun(root) {
            let reason = "holds no part of a run directory: it has no manifest.json; \
                          `lowtide run ... --part DIR` makes one";
            return refused(reason.to_owned());
        }
        let manifest = read_manifest(root)?;
        let mut dir = Self::of(root, &manifest);
        let Some(selection) = &manifest.selection else {
            return refused(match manifest.status {
                DirectoryStatus::Complete => "holds complete results, not a part; a merge takes \
                                              the directories of `lowtide run ... --part DIR`"
                    .to_owned(),
                _ => format!(
                    "holds an interrupted run directory, not a part; `{}` continues it",
                    manifest.command
                ),
            });
        };
        let command = command(root, &manifest, selection);
        if manifest.status != DirectoryStatus::Part {
            let numbers = 0..manifest.planned_runs().min(MAX_RUNS) as u32;
            let wanted = numbers.filter(|run| selection.contains(*run)).count();
            let finished = dir.partial_runs();
            return refused(format!(
                "is a half-written part: {finished} of its {wanted} runs are finished; {command} \
                 makes the others"
            ));
        }
        dir.checksums = Checksums::of(&manifest.files, format!("{command} repairs the part"));
        Ok((dir, manifest))
    }
}
