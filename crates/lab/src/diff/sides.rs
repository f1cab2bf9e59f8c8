//! The runs of one side of a diff, from a directory or a scenario.

use std::path::Path;

use lowtide_record::{Manifest, ManifestRun, ReportedSetting, RunDir, RunKey};
use lowtide_scenario::{RunPlan, RunSpec};

use crate::error::LabError;
use crate::flow::{FlowSelector, not_reproducible, specification};
use crate::schedule::keys;
use crate::settings::settings;

/// One side of a comparison.
pub struct DiffSide {
    origin: SideOrigin,
    pub(super) runs: Vec<SideRun>,
}

enum SideOrigin {
    Directory(Box<RunDir>, Box<Manifest>),
    Plan(Box<RunPlan>),
}

/// One run of a side.
pub(super) struct SideRun {
    pub(super) key: RunKey,
    /// Its digest, if a directory has it.
    pub(super) digest: Option<String>,
}

impl DiffSide {
    /// The runs of a complete run directory whose tables pass their checksums.
    pub fn directory(root: &Path) -> Result<Self, LabError> {
        let (dir, manifest) = RunDir::open(root)?;
        dir.verify(|path| path.ends_with(".parquet"))?;
        let run = |r: &ManifestRun| SideRun { key: r.key.clone(), digest: Some(r.digest.clone()) };
        let runs = manifest.runs.iter().map(run).collect();
        Ok(Self { origin: SideOrigin::Directory(Box::new(dir), Box::new(manifest)), runs })
    }

    /// The runs of a plan.
    pub fn plan(plan: RunPlan) -> Self {
        let runs = keys(&plan).into_iter().map(|key| SideRun { key, digest: None }).collect();
        Self { origin: SideOrigin::Plan(Box::new(plan)), runs }
    }

    /// The specification of `run`.
    pub(super) fn specification(&self, run: &SideRun) -> Result<RunSpec, LabError> {
        let missing = || LabError::NoRuns(run.key.to_string());
        match &self.origin {
            SideOrigin::Directory(dir, manifest) => {
                let entry = manifest.runs.iter().find(|r| r.key == run.key);
                specification(dir, manifest, entry.ok_or_else(missing)?)
            }
            SideOrigin::Plan(plan) => {
                plan.runs.get(run.key.run as usize).cloned().ok_or_else(missing)
            }
        }
    }

    /// Rejects a directory with another digest of `run`: this program did not make it.
    pub(super) fn verify_digest(&self, run: &SideRun, digest: &str) -> Result<(), LabError> {
        if let SideOrigin::Directory(_, manifest) = &self.origin
            && let Some(entry) = manifest.runs.iter().find(|r| r.key == run.key)
            && entry.digest != digest
        {
            return Err(not_reproducible(manifest, entry, "it comes out with another digest"));
        }
        Ok(())
    }

    pub(super) fn settings(&self) -> Result<Vec<ReportedSetting>, LabError> {
        match &self.origin {
            SideOrigin::Directory(_, manifest) => Ok(manifest.settings.clone()),
            SideOrigin::Plan(plan) => settings(plan),
        }
    }

    /// The files of its tables; none without a directory.
    pub(super) fn tables(&self) -> Vec<&str> {
        let SideOrigin::Directory(_, manifest) = &self.origin else { return Vec::new() };
        let files = manifest.files.iter().map(|f| f.path.as_str());
        files.filter(|path| path.ends_with(".parquet")).collect()
    }

    /// Whether a table has equal rows in both directories. The metadata of its file may differ, as
    /// it names the version and the scenario.
    pub(super) fn has_equal_rows(&self, other: &Self, file: &str) -> Result<bool, LabError> {
        match (&self.origin, &other.origin) {
            (SideOrigin::Directory(a, _), SideOrigin::Directory(b, _)) => {
                let both = [self, other].iter().all(|side| side.tables().contains(&file));
                Ok(both && a.has_equal_rows(b, file)?)
            }
            _ => Ok(false),
        }
    }

    /// Whether it is a run directory.
    pub(super) const fn is_directory(&self) -> bool {
        matches!(self.origin, SideOrigin::Directory(..))
    }
}

/// Pairs the runs of the same scheme, or the only run of each side.
pub(super) fn pairs<'s>(
    (a, choose_a): (&'s DiffSide, &FlowSelector),
    (b, choose_b): (&'s DiffSide, &FlowSelector),
) -> Result<Vec<(&'s SideRun, &'s SideRun)>, LabError> {
    let left = choose_a.select(&a.runs, |r| &r.key)?;
    let right = choose_b.select(&b.runs, |r| &r.key)?;
    if let ([one], [other]) = (&left[..], &right[..]) {
        return Ok(vec![(one, other)]);
    }
    let same = |l: &&'s SideRun| {
        let of = right.iter().find(|r| r.key.scheme == l.key.scheme)?;
        Some((*l, *of))
    };
    let pairs: Vec<_> = left.iter().filter_map(same).collect();
    if pairs.is_empty() {
        let names = |runs: &[&SideRun]| -> String {
            runs.iter().map(|r| r.key.scheme.as_str()).collect::<Vec<_>>().join(", ")
        };
        let message = format!(
            "the sides have no scheme in common: ({}) and ({})",
            names(&left),
            names(&right)
        );
        let help = Some("name one of each: `--scheme dctcp,sack`".to_owned());
        return Err(LabError::NotFound { message, help });
    }
    Ok(pairs)
}
