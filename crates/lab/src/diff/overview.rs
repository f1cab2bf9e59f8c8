//! Settings, digests and tables that differ.

use lowtide_host::ProbePlan;
use lowtide_record::{ReportedSetting, RunKey, digest_text};
use serde::Serialize;

use super::sides::{DiffSide, SideRun, pairs};
use crate::error::LabError;
use crate::flow::FlowSelector;

/// Differences of two sides.
#[derive(Clone, Debug, Serialize)]
pub struct DiffOverview {
    /// Whether all runs and digests agree.
    pub same: bool,
    /// Settings that differ.
    pub settings: Vec<SettingDiff>,
    /// The runs of both sides, paired.
    pub runs: Vec<RunPair>,
    /// Files of tables whose rows differ or that only one side has; empty unless both sides are
    /// directories.
    pub tables: Vec<String>,
}

/// A setting that differs; one value per scheme, one if all agree, none if the setting does not
/// exist.
#[derive(Clone, Debug, Serialize)]
pub struct SettingDiff {
    /// Its section and name.
    pub key: String,
    /// Values of the first side.
    pub a: Vec<String>,
    /// Values of the other side.
    pub b: Vec<String>,
}

/// A run of each side; `None` if a side has no such run.
#[derive(Clone, Debug, Serialize)]
pub struct RunPair {
    /// The run, with its key on the side that has it.
    pub run: RunKey,
    /// Its digest on the first side.
    pub a: Option<String>,
    /// Its digest on the other side.
    pub b: Option<String>,
    /// Whether both exist and agree.
    pub same: bool,
}

/// The differences between `a` and `b`: all runs of two directories if nothing is selected, else
/// the selected runs. Runs of a scenario are executed.
///
/// # Errors
/// As for [`super::first_divergence`].
pub fn overview(
    (a, choose_a): (&DiffSide, &FlowSelector),
    (b, choose_b): (&DiffSide, &FlowSelector),
) -> Result<DiffOverview, LabError> {
    let everything =
        |c: &FlowSelector| c.scheme.is_none() && c.seed.is_none() && c.point.is_empty();
    let all = a.is_directory() && b.is_directory() && everything(choose_a) && everything(choose_b);
    let runs = if all { all_pairs(a, b) } else { some_pairs((a, choose_a), (b, choose_b))? };
    let tables = if all { tables(a, b)? } else { Vec::new() };
    let settings = settings(&a.settings()?, &b.settings()?);
    Ok(DiffOverview { same: runs.iter().all(|r| r.same), settings, runs, tables })
}

fn all_pairs(a: &DiffSide, b: &DiffSide) -> Vec<RunPair> {
    let same =
        |x: &RunKey, y: &RunKey| (&x.scheme, &x.point, x.seed) == (&y.scheme, &y.point, y.seed);
    let digest = |side: &DiffSide, key: &RunKey| {
        side.runs.iter().find(|r| same(&r.key, key)).and_then(|r| r.digest.clone())
    };
    let row = |run: &SideRun| {
        let (in_a, in_b) = (digest(a, &run.key), digest(b, &run.key));
        let same = in_a.is_some() && in_a == in_b;
        RunPair { run: run.key.clone(), a: in_a, b: in_b, same }
    };
    let only_b = b.runs.iter().filter(|r| !a.runs.iter().any(|l| same(&l.key, &r.key)));
    a.runs.iter().chain(only_b).map(row).collect()
}

fn some_pairs(
    a: (&DiffSide, &FlowSelector),
    b: (&DiffSide, &FlowSelector),
) -> Result<Vec<RunPair>, LabError> {
    let pair = |(left, right): (&SideRun, &SideRun)| {
        let (in_a, in_b) = (digest(a.0, left)?, digest(b.0, right)?);
        let same = in_a == in_b;
        Ok(RunPair { run: left.key.clone(), a: Some(in_a), b: Some(in_b), same })
    };
    pairs(a, b)?.into_iter().map(pair).collect()
}

fn digest(side: &DiffSide, run: &SideRun) -> Result<String, LabError> {
    if let Some(digest) = &run.digest {
        return Ok(digest.clone());
    }
    let mut setup = side.specification(run)?.setup()?;
    setup.probes = ProbePlan::default();
    let outcome = lowtide_host::run(&setup, &mut |_| false)
        .map_err(|error| LabError::Run { key: Box::new(run.key.clone()), error })?;
    Ok(digest_text(outcome.digest))
}

fn tables(a: &DiffSide, b: &DiffSide) -> Result<Vec<String>, LabError> {
    let mut files = [a.tables(), b.tables()].concat();
    files.sort_unstable();
    files.dedup();
    let mut found = Vec::new();
    for file in files {
        if !a.has_equal_rows(b, file)? {
            found.push(file.to_owned());
        }
    }
    Ok(found)
}

fn settings(a: &[ReportedSetting], b: &[ReportedSetting]) -> Vec<SettingDiff> {
    let key = |s: &ReportedSetting| format!("{}.{}", s.section, s.name);
    let values = |all: &[ReportedSetting], of: &str| {
        all.iter().find(|s| key(s) == of).map(|s| s.values.clone()).unwrap_or_default()
    };
    let mut keys: Vec<String> = Vec::new();
    for setting in a.iter().chain(b) {
        let key = key(setting);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let row = |key: String| {
        let (a, b) = (values(a, &key), values(b, &key));
        (a != b).then_some(SettingDiff { key, a, b })
    };
    keys.into_iter().filter_map(row).collect()
}
