//! A complete run directory: loaded, checked, and what follows from its tables made again.
//!
//! Contract: nothing is read whose content is not what was written. A damaged table or scenario is an error
//! that names the file; a damaged figure or report is made again.

use std::path::{Path, PathBuf};

use lowtide_record::{Manifest, RecordError, RunDir};

use crate::error::LabError;
use crate::facts::RunFacts;
use crate::results::Results;
use crate::transports::Transports;

/// A complete run directory and what it says.
#[derive(Debug)]
pub struct CompletedExperiment {
    /// Where it is.
    pub dir: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// Its results.
    pub results: Results,
}

impl CompletedExperiment {
    /// What ran, with the labels that say so.
    pub fn transports(&self) -> Transports {
        Transports::new(&self.manifest, &self.results)
    }
}

/// Writes what people look at into a directory whose tables are complete, and names its files.
pub(crate) type OutputWriter<'a> =
    dyn Fn(&RunDir, &Manifest, &Results) -> Result<Vec<String>, LabError> + 'a;

/// The results of a complete run directory, all of whose tables are as they were written.
///
/// # Errors
/// The directory is not complete, or a table is damaged.
pub fn load(root: &Path) -> Result<CompletedExperiment, LabError> {
    load_open(root).map(|(_, finished)| finished)
}

/// As [`load`], with the directory, whose tables are not checked again.
pub(crate) fn load_open(root: &Path) -> Result<(RunDir, CompletedExperiment), LabError> {
    let (dir, manifest) = RunDir::open(root)?;
    dir.verify(|path| path.ends_with(".parquet"))?;
    let finished = load_results(&dir, manifest)?;
    Ok((dir, finished))
}

/// Checks every file of a complete run directory: how many there are, and what is wrong with which.
///
/// # Errors
/// The directory is not complete.
pub fn verify(root: &Path) -> Result<(usize, Vec<RecordError>), LabError> {
    let (dir, manifest) = RunDir::open(root)?;
    Ok((manifest.files.len(), dir.damage()))
}

/// Makes everything in a complete run directory that follows from its tables again, with the report that
/// is wanted.
pub(crate) fn rerender(
    root: &Path,
    present: &OutputWriter<'_>,
) -> Result<CompletedExperiment, LabError> {
    let (dir, manifest) = RunDir::open(root)?;
    rerender_in(&dir, &manifest, present)
}

fn rerender_in(
    dir: &RunDir,
    manifest: &Manifest,
    present: &OutputWriter<'_>,
) -> Result<CompletedExperiment, LabError> {
    let CompletedExperiment { results, .. } = load_results(dir, manifest.clone())?;
    let paths = manifest.files.iter().map(|f| f.path.clone());
    let mut files: Vec<String> = paths.filter(|p| is_scenario(p)).collect();
    files.extend(present(dir, manifest, &results)?);
    let manifest = dir.finish(manifest.clone(), &files)?;
    Ok(CompletedExperiment { dir: dir.root().to_path_buf(), manifest, results })
}

/// The results of a directory that is complete. Every file of it is checked. Those that follow from the
/// tables are made again if need be.
pub(crate) fn verify_and_load(
    dir: &RunDir,
    complete: &Manifest,
    present: &OutputWriter<'_>,
) -> Result<CompletedExperiment, LabError> {
    dir.verify(is_source)?;
    // A process that was killed as it completed the directory left its parts behind.
    dir.tidy()?;
    if dir.verify(|path| !is_source(path)).is_err() {
        return rerender_in(dir, complete, present);
    }
    load_results(dir, complete.clone())
}

/// Whether a file of a complete directory cannot be made from the others.
fn is_source(path: &str) -> bool {
    path.ends_with(".parquet") || is_scenario(path)
}

/// Whether a file says what was run.
fn is_scenario(path: &str) -> bool {
    path == "scenario.toml" || path.starts_with("resolved/")
}

/// The results of an open directory.
pub(crate) fn load_results(
    dir: &RunDir,
    manifest: Manifest,
) -> Result<CompletedExperiment, LabError> {
    let mut reader = dir.reader()?;
    let mut facts = Vec::new();
    for run in &manifest.runs {
        if let Some(tables) = reader.take(run.key.run)? {
            facts.push(RunFacts::new(&run.key, &tables, &run.size_classes));
        }
    }
    let results = Results::new(facts);
    Ok(CompletedExperiment { dir: dir.root().to_path_buf(), manifest, results })
}
