//! Merges parts into a run directory.
//!
//! Contract: the directory appears complete or not at all, and its tables are those of one process.
//! A part that is half-written or damaged, or belongs to another scenario or program, is an error.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lowtide_record::{
    Manifest, ManifestRun, PART_PLAN, RecordError, RunDir, RunSelection, place_directory,
    remove_directory, temp_path,
};
use lowtide_scenario::RunPlan;

use crate::budget::ResourceLimits;
use crate::error::LabError;
use crate::facts::RunFacts;
use crate::outputs;
use crate::part;
use crate::program::program_digest;
use crate::schedule::RunProgress;
use crate::session::{ExecuteOptions, Session, complete};
use crate::stored::{CompletedExperiment, verify_and_load};

/// An open part.
struct OpenPart<'a> {
    root: &'a Path,
    dir: RunDir,
    manifest: Manifest,
}

/// Merges the parts at `roots`, which together have all runs of their plan, into the directory
/// `out`. Returns the plan too. A directory that already holds these results stays as it is.
///
/// # Errors
/// Parts cannot be merged, runs are missing (both are said of all parts at once), or `out` holds
/// something else.
pub fn merge(
    out: &Path,
    roots: &[PathBuf],
    progress: &(dyn Fn(RunProgress<'_>) + Sync),
) -> Result<(RunPlan, CompletedExperiment), LabError> {
    if roots.is_empty() {
        let message = "there is no part to merge".to_owned();
        return Err(LabError::InvalidRequest { message, help: None });
    }
    let mut unusable = Vec::new();
    let opened = roots.iter().filter_map(|root| open(root).map_err(|e| unusable.push(e)).ok());
    let parts: Vec<OpenPart<'_>> = opened.collect();
    let Some(first) = parts.first() else { return Err(LabError::NotMerged(unusable)) };
    let wanted = (&first.manifest, first.root.display());
    parts.iter().try_for_each(|part| check_plan(part, &wanted))?;
    let plan = part::expand(&first.dir.read(PART_PLAN)?, &first.manifest.scenario)?;
    let source = first.dir.read(part::SOURCE)?;
    let options =
        ExecuteOptions { source: &source, progress, ..without_runs(out, &first.manifest.command) };
    let mut session = Session::new(&plan, &options)?;
    session.planned.backend.clone_from(&first.manifest.backend);
    if !session.planned.has_same_plan(&first.manifest) || plan.hash != first.manifest.scenario_hash
    {
        return Err(refused(first, "has a plan.toml that does not give its runs".to_owned()));
    }
    let runs = find_runs(&session, &parts);
    let runs = match runs {
        Ok(runs) if unusable.is_empty() => runs,
        runs => {
            unusable.extend(runs.err());
            return Err(LabError::NotMerged(unusable));
        }
    };
    let finished = match existing(&session)? {
        Some(finished) => finished,
        None => write_directory(&session, &runs)?,
    };
    Ok((plan, finished))
}

fn open(root: &Path) -> Result<OpenPart<'_>, LabError> {
    let (dir, manifest) = part::open(root)?;
    Ok(OpenPart { root, dir, manifest })
}

fn refused(part: &OpenPart<'_>, reason: String) -> LabError {
    RecordError::NotMergeable { path: part.root.to_path_buf(), reason }.into()
}

/// Returns options of a session that makes no runs.
fn without_runs<'a>(dir: &Path, command: &'a str) -> ExecuteOptions<'a> {
    static NEVER: AtomicBool = AtomicBool::new(false);
    ExecuteOptions {
        dir: dir.to_path_buf(),
        jobs: 1,
        threads: None,
        discard_existing: false,
        source: "",
        command,
        clock: &|| Duration::ZERO,
        stop: &NEVER,
        progress: &|_| {},
        on_thread: &|work| work(),
        backend: None,
        limits: ResourceLimits::default(),
        share: true,
    }
}

/// Returns the results of `plan` in the directory `out`; `None` if there is no such directory.
///
/// # Errors
/// `out` holds something else, or it is damaged.
pub fn merged(plan: &RunPlan, out: &Path) -> Result<Option<CompletedExperiment>, LabError> {
    existing(&Session::new(plan, &without_runs(out, ""))?)
}

/// Returns the numbers of the runs of `plan` that the part at `root` has; `None` if it is
/// half-written or damaged.
///
/// # Errors
/// The part belongs to another program, scenario or plan, or it cannot be read.
pub fn part_runs(plan: &RunPlan, root: &Path) -> Result<Option<Vec<u32>>, LabError> {
    let (dir, manifest) = match part::open(root) {
        Ok(opened) => opened,
        Err(RecordError::NotMergeable { .. } | RecordError::Json { .. }) => return Ok(None),
        Err(error) if error.is_lost_partial() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let options = without_runs(root, "");
    let session = Session::new(plan, &options)?;
    let part = OpenPart { root, dir, manifest };
    check_plan(&part, &(&session.planned, "this sweep"))?;
    Ok(Some(part.manifest.runs.iter().map(|run| run.key.run).collect()))
}

/// Rejects a part of another program, or of another plan than the manifest and its place.
fn check_plan(
    part: &OpenPart<'_>,
    (other, place): &(&Manifest, impl Display),
) -> Result<(), LabError> {
    let (own, manifest) = (program_digest(), &part.manifest);
    if manifest.program != own {
        let (path, found) = (part.root.to_path_buf(), manifest.program.clone());
        return Err(RecordError::OtherProgram { path, found, wanted: own.to_owned() }.into());
    }
    if manifest.identity() != other.identity() {
        let (found, wanted) = (manifest.identity(), other.identity());
        return Err(refused(
            part,
            format!("has runs of {found}, and {place} of {wanted}; merge parts of one scenario"),
        ));
    }
    if !manifest.has_same_plan(other) {
        return Err(refused(
            part,
            format!(
                "and {place} have other schemes, points or seeds of {}; merge parts of one command",
                manifest.scenario
            ),
        ));
    }
    Ok(())
}

/// Returns the run directory `out` if it exists already and holds the plan.
fn existing(session: &Session<'_>) -> Result<Option<CompletedExperiment>, LabError> {
    let out = &session.options.dir;
    if fs::read_dir(out).map_or(!out.exists(), |mut entries| entries.next().is_none()) {
        return Ok(None);
    }
    if let Ok((dir, manifest)) = RunDir::open(out)
        && session.holds(&manifest)
        && manifest.identity() == session.planned.identity()
        && manifest.program == session.planned.program
    {
        return verify_and_load(&dir, &manifest, &outputs::write).map(Some);
    }
    let message = format!("`{}` exists and does not hold these results", out.display());
    let help = Some("name a directory that does not exist".to_owned());
    Err(LabError::InvalidRequest { message, help })
}

/// Returns the part and the entry of every run, in the order of the plan.
fn find_runs<'a>(
    session: &Session<'_>,
    parts: &'a [OpenPart<'a>],
) -> Result<Vec<(&'a OpenPart<'a>, &'a ManifestRun)>, LabError> {
    let total = session.keys.len();
    let mut found: Vec<Option<(&OpenPart<'_>, &ManifestRun)>> = vec![None; total];
    for part in parts {
        for run in &part.manifest.runs {
            let number = run.key.run as usize;
            let planned = session.keys.get(number).zip(session.plan.runs.get(number));
            if planned.is_none_or(|(key, spec)| *key != run.key || spec.hash != run.hash) {
                let reason = format!("lists the run {}, which its plan does not have", run.key);
                return Err(refused(part, reason));
            }
            let slot = &mut found[number];
            if let Some((other, first)) = slot
                && first.digest != run.digest
            {
                let reason = format!(
                    "and {} have different results of the run {} ({} and {}); remove the part that \
                     is wrong",
                    other.root.display(),
                    run.key,
                    run.digest,
                    first.digest
                );
                return Err(refused(part, reason));
            }
            slot.get_or_insert((part, run));
        }
    }
    let missing: Vec<u32> =
        (0_u32..).zip(&found).filter_map(|(n, run)| run.is_none().then_some(n)).collect();
    let Some(first) = missing.first().and_then(|&run| session.keys.get(run as usize)) else {
        return Ok(found.into_iter().flatten().collect());
    };
    let (first, remedy) = (Box::new(first.clone()), remedy(&missing, total, parts));
    Err(LabError::MissingRuns { missing, first, total, remedy })
}

/// Returns the command that makes the missing runs, as a clause.
fn remedy(missing: &[u32], total: usize, parts: &[OpenPart<'_>]) -> String {
    let command = parts.first().map_or("lowtide run", |part| &part.manifest.command);
    let listed = RunSelection::Listed { runs: missing.to_vec() };
    let count = parts.iter().map(|part| match part.manifest.selection {
        Some(RunSelection::Slice { of, .. }) => Some(of),
        _ => None,
    });
    // Parts of one job array lack whole tasks.
    let Some(of) = count.reduce(|a, b| if a == b { a } else { None }).flatten() else {
        return format!("`{command} {listed} --part DIR` makes them");
    };
    let mut tasks: Vec<usize> = missing.iter().map(|run| *run as usize % of).collect();
    tasks.sort_unstable();
    tasks.dedup();
    let whole = tasks.iter().map(|index| (total - index).div_ceil(of)).sum::<usize>();
    match tasks.as_slice() {
        [index] if whole == missing.len() => {
            format!("`{command} --index {index} --of {of} --part DIR` makes them")
        }
        _ if whole == missing.len() => {
            let tasks: Vec<String> = tasks.iter().map(ToString::to_string).collect();
            let tasks = tasks.join(", ");
            format!("`{command} --index I --of {of} --part DIR` makes them, for I = {tasks}")
        }
        _ => format!("`{command} {listed} --part DIR` makes them"),
    }
}

/// Writes the complete run directory under a temporary name and renames it.
fn write_directory(
    session: &Session<'_>,
    runs: &[(&OpenPart<'_>, &ManifestRun)],
) -> Result<CompletedExperiment, LabError> {
    let out = &session.options.dir;
    let staging = temp_path(out);
    let written = write(session, &staging, runs).and_then(|finished| {
        place_directory(&staging, out)?;
        Ok(finished)
    });
    if written.is_err() {
        remove_directory(&staging)?;
    }
    written
}

/// Writes the complete run directory `staging`; its path in the result is that of the session.
fn write(
    session: &Session<'_>,
    staging: &Path,
    runs: &[(&OpenPart<'_>, &ManifestRun)],
) -> Result<CompletedExperiment, LabError> {
    let (dir, _) = RunDir::begin(staging, &session.planned, false)?;
    let load = |(part, run): &(&OpenPart<'_>, &ManifestRun)| {
        let (entry, tables) = part.dir.load_run(&run.key, &run.hash).ok_or_else(|| {
            refused(part, format!("lost the run {} while it was merged", run.key))
        })?;
        let facts = RunFacts::new(&run.key, &tables, &entry.size_classes);
        Ok(Some((entry, facts)))
    };
    let loaded = runs.iter().map(load).collect::<Result<Vec<_>, LabError>>()?;
    let sources = || runs.iter().map(|(part, run)| (&part.dir, *run));
    complete(session, &dir, loaded, &outputs::write, &|_| dir.merge_from(sources()))
}
