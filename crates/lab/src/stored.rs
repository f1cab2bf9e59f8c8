//! Complete run directories: loading, verification, and rendering of the outputs again.
//!
//! Contract: only files with their original content are read. A damaged table or scenario is an
//! error that names the file; a damaged figure or report is rendered again.

use std::path::{Path, PathBuf};

use lowtide_record::{Manifest, RecordError, RunDir, SweepPoint};

use crate::error::LabError;
use crate::facts::RunFacts;
use crate::headline::{Headline, asked_point, counted};
use crate::results::Results;
use crate::results_json::ResultsJson;
use crate::transports::Transports;

/// A complete run directory with its manifest and results.
#[derive(Debug)]
pub struct CompletedExperiment {
    /// The directory.
    pub dir: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// Its results.
    pub results: Results,
}

impl CompletedExperiment {
    /// Returns the effective transports and the labels.
    pub fn transports(&self) -> Transports {
        Transports::new(&self.manifest, &self.results.runs)
    }

    /// Returns the answer to the question of the scenario, and how the schemes compare.
    pub fn headline(&self) -> Headline {
        Headline::new(&self.manifest, &self.results, &self.transports())
    }

    /// Returns the results with their identification, for JSON.
    pub fn json(&self) -> ResultsJson<'_> {
        ResultsJson::new(&self.manifest, &self.results)
    }

    /// Returns the points whose tables a terminal shows: all; with a question the first one and
    /// that of the question.
    pub fn shown_points(&self) -> Vec<&SweepPoint> {
        let points = &self.manifest.points;
        let asked = self.manifest.question.as_ref().map(|q| asked_point(q, points).0);
        let shown = |(i, point): &(usize, &SweepPoint)| {
            asked.as_ref().is_none_or(|a| *i == 0 || *point == a)
        };
        points.iter().enumerate().filter(shown).map(|(_, point)| point).collect()
    }

    /// Returns the sentence about the flows that count.
    pub fn counted(&self) -> String {
        counted(&self.results)
    }
}

/// Writes the outputs into a directory whose tables are complete, and returns their names.
pub type OutputWriter<'a> =
    dyn Fn(&RunDir, &Manifest, &Results) -> Result<Vec<String>, LabError> + 'a;

/// Loads the results of a complete run directory after a check of all its tables.
///
/// # Errors
/// The directory is not complete, or a table is damaged.
pub fn load(root: &Path) -> Result<CompletedExperiment, LabError> {
    load_open(root).map(|(_, finished)| finished)
}

/// Loads the results as [`load`] does, and returns the directory too; its tables are not checked
/// again.
pub fn load_open(root: &Path) -> Result<(RunDir, CompletedExperiment), LabError> {
    let (dir, manifest) = RunDir::open(root)?;
    dir.verify(|path| path.ends_with(".parquet"))?;
    let finished = load_results(&dir, manifest)?;
    Ok((dir, finished))
}

/// Checks every file of a complete run directory. Returns their number, and the errors.
///
/// # Errors
/// The directory is not complete.
pub fn verify(root: &Path) -> Result<(usize, Vec<RecordError>), LabError> {
    let (dir, manifest) = RunDir::open(root)?;
    Ok((manifest.files.len(), dir.damage()))
}

/// Renders all outputs of a complete run directory that follow from its tables again, with the
/// given report.
pub fn rerender_as(
    root: &Path,
    write_outputs: &OutputWriter<'_>,
) -> Result<CompletedExperiment, LabError> {
    let (dir, manifest) = RunDir::open(root)?;
    rerender_in(&dir, &manifest, write_outputs)
}

fn rerender_in(
    dir: &RunDir,
    manifest: &Manifest,
    write_outputs: &OutputWriter<'_>,
) -> Result<CompletedExperiment, LabError> {
    let CompletedExperiment { results, .. } = load_results(dir, manifest.clone())?;
    let paths = manifest.files.iter().map(|f| f.path.clone());
    let mut files: Vec<String> = paths.filter(|p| is_scenario(p)).collect();
    files.extend(write_outputs(dir, manifest, &results)?);
    let manifest = dir.finish(manifest.clone(), &files)?;
    Ok(CompletedExperiment { dir: dir.root().to_path_buf(), manifest, results })
}

/// Checks every file of a complete directory and loads the results. Damaged outputs are rendered
/// again from the tables.
pub(crate) fn verify_and_load(
    dir: &RunDir,
    complete: &Manifest,
    write_outputs: &OutputWriter<'_>,
) -> Result<CompletedExperiment, LabError> {
    dir.verify(is_source)?;
    // A process killed while it completed the directory leaves its partial runs behind.
    dir.tidy()?;
    if dir.verify(|path| !is_source(path)).is_err() {
        return rerender_in(dir, complete, write_outputs);
    }
    load_results(dir, complete.clone())
}

/// Renders the outputs of a complete directory again for another question.
pub(crate) fn answer_again(
    dir: &RunDir,
    manifest: &Manifest,
    write_outputs: &OutputWriter<'_>,
) -> Result<CompletedExperiment, LabError> {
    dir.verify(is_source)?;
    dir.tidy()?;
    rerender_in(dir, manifest, write_outputs)
}

/// Returns whether a file of a complete directory cannot be derived from the others.
fn is_source(path: &str) -> bool {
    path.ends_with(".parquet") || is_scenario(path)
}

/// Returns whether a file is part of the scenario.
fn is_scenario(path: &str) -> bool {
    path == "scenario.toml" || path.starts_with("resolved/")
}

/// Returns the results of an open directory.
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
