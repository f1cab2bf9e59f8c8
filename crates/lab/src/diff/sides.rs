//! What is compared: the runs of a directory, or those of a scenario.

use std::path::Path;

use lowtide_record::{Manifest, ManifestRun, RunDir, RunKey, Setting};
use lowtide_scenario::{Plan, RunSpec};

use crate::error::LabError;
use crate::flow::{Choice, not_again, specification};
use crate::schedule::keys;
use crate::settings::settings;

/// One side of a comparison.
pub struct Side {
    from: From,
    pub(super) runs: Vec<Run>,
}

enum From {
    Directory(Box<RunDir>, Box<Manifest>),
    Plan(Box<Plan>),
}

/// One run of a side.
pub(super) struct Run {
    pub(super) key: RunKey,
    /// Its digest, where a directory tells.
    pub(super) digest: Option<String>,
}

impl Side {
    /// The runs of a complete run directory, all of whose tables are as they were written.
    pub fn directory(root: &Path) -> Result<Self, LabError> {
        let (dir, manifest) = RunDir::open(root)?;
        dir.verify(|path| path.ends_with(".parquet"))?;
        let run = |r: &ManifestRun| Run { key: r.key.clone(), digest: Some(r.digest.clone()) };
        let runs = manifest.runs.iter().map(run).collect();
        Ok(Self { from: From::Directory(Box::new(dir), Box::new(manifest)), runs })
    }

    /// The runs of a plan.
    pub fn plan(plan: Plan) -> Self {
        let runs = keys(&plan).into_iter().map(|key| Run { key, digest: None }).collect();
        Self { from: From::Plan(Box::new(plan)), runs }
    }

    /// How `run` is made.
    pub(super) fn specification(&self, run: &Run) -> Result<RunSpec, LabError> {
        let missing = || LabError::NoRuns(run.key.to_string());
        match &self.from {
            From::Directory(dir, manifest) => {
                let entry = manifest.runs.iter().find(|r| r.key == run.key);
                specification(dir, manifest, entry.ok_or_else(missing)?)
            }
            From::Plan(plan) => plan.runs.get(run.key.run as usize).cloned().ok_or_else(missing),
        }
    }

    /// A directory that holds another digest of `run` was not made by this program.
    pub(super) fn confirm(&self, run: &Run, digest: &str) -> Result<(), LabError> {
        if let From::Directory(_, manifest) = &self.from
            && let Some(entry) = manifest.runs.iter().find(|r| r.key == run.key)
            && entry.digest != digest
        {
            return Err(not_again(manifest, entry, "it comes out with another digest"));
        }
        Ok(())
    }

    pub(super) fn settings(&self) -> Result<Vec<Setting>, LabError> {
        match &self.from {
            From::Directory(_, manifest) => Ok(manifest.settings.clone()),
            From::Plan(plan) => settings(plan),
        }
    }

    /// Its tables, each with a hash; none without a directory.
    pub(super) fn tables(&self) -> Vec<(&str, &str)> {
        let From::Directory(_, manifest) = &self.from else { return Vec::new() };
        let tables = manifest.files.iter().filter(|f| f.path.ends_with(".parquet"));
        tables.map(|f| (f.path.as_str(), f.blake3.as_str())).collect()
    }

    /// Everything about it is on disk.
    pub(super) const fn is_directory(&self) -> bool {
        matches!(self.from, From::Directory(..))
    }
}

/// The runs that belong together: those of the same scheme, or the only one of each side.
pub(super) fn pairs<'s>(
    (a, choose_a): (&'s Side, &Choice),
    (b, choose_b): (&'s Side, &Choice),
) -> Result<Vec<(&'s Run, &'s Run)>, LabError> {
    let left = choose_a.pick(&a.runs, |r| &r.key)?;
    let right = choose_b.pick(&b.runs, |r| &r.key)?;
    if let ([one], [other]) = (&left[..], &right[..]) {
        return Ok(vec![(one, other)]);
    }
    let same = |l: &&'s Run| {
        let of = right.iter().find(|r| r.key.scheme == l.key.scheme)?;
        Some((*l, *of))
    };
    let pairs: Vec<_> = left.iter().filter_map(same).collect();
    if pairs.is_empty() {
        let names = |runs: &[&Run]| -> String {
            runs.iter().map(|r| r.key.scheme.as_str()).collect::<Vec<_>>().join(", ")
        };
        let message =
            format!("no scheme of the one ({}) is in the other ({})", names(&left), names(&right));
        let help = Some("name one of each: `--scheme dctcp,sack`".to_owned());
        return Err(LabError::Choice { message, help });
    }
    Ok(pairs)
}
