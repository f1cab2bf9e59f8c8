//! The state of a directory while its runs are being made, without reading their tables.

use std::fs;
use std::path::Path;

use super::partial::{PARTIAL, PartialRun, RUN_FILE};
use super::running::StartedRun;
use super::{DirectoryStatus, RunDir, read_hashed, read_manifest};
use crate::error::RecordError;
use crate::files::is_temporary;
use crate::manifest::{Manifest, ManifestRun};

/// The content of a directory at one instant.
#[derive(Clone, PartialEq, Debug)]
pub struct SurveyedDir {
    /// Its manifest, with any status.
    pub manifest: Manifest,
    /// Its finished runs, in no order.
    pub finished: Vec<ManifestRun>,
    /// Runs that have started and are not finished.
    pub started: Vec<StartedRun>,
}

impl RunDir {
    /// Surveys a directory with any status. Other processes may fill it meanwhile.
    ///
    /// # Errors
    /// The directory has no readable manifest.
    pub fn survey(root: &Path) -> Result<SurveyedDir, RecordError> {
        if !Self::is_begun(root) {
            return Err(RecordError::NoResults { path: root.to_path_buf() });
        }
        let manifest = read_manifest(root)?;
        let dir = Self::of(root, &manifest);
        if manifest.status == DirectoryStatus::Complete {
            let finished = manifest.runs.clone();
            return Ok(SurveyedDir { manifest, finished, started: Vec::new() });
        }
        // A process may start a run, or finish it, between these two lines.
        let started = dir.started_runs();
        let finished = dir.finished_runs(&manifest);
        Ok(SurveyedDir { manifest, finished, started })
    }

    /// The finished runs of the program of `manifest`. Their tables are not checked.
    fn finished_runs(&self, manifest: &Manifest) -> Vec<ManifestRun> {
        let Ok(entries) = fs::read_dir(self.root.join(PARTIAL)) else { return Vec::new() };
        let names = entries.filter_map(|e| e.ok()?.file_name().into_string().ok());
        let read = |name: &str| {
            let file = format!("{PARTIAL}/{name}/{RUN_FILE}");
            read_hashed::<PartialRun>(&self.root, &file, "").ok()
        };
        let names = names.filter(|name| !is_temporary(Path::new(name)));
        let runs = names.filter_map(|name| read(&name));
        runs.filter(|r| r.program == manifest.program).map(|r| r.run).collect()
    }
}
