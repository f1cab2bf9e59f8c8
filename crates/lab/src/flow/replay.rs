//! Replay of a run of a directory with a trace of one flow.
//!
//! Contract: the specification must have the hash in the manifest, and the result the digest in the
//! manifest; otherwise it is an error. A replay that is stopped early has no digest to compare.

use std::sync::Arc;

use lowtide_host::{ProbePlan, Setup};
use lowtide_record::{Manifest, ManifestRun, RunDir, RunKey, SweepPoint, TraceTables, digest_text};
use lowtide_rows::EndReason;
use lowtide_scenario::{RunPlan, RunSpec, Scenario};
use lowtide_units::Instant;

use super::{ReplayProgress, TraceConsumer};
use crate::budget::ResourceLimits;
use crate::error::LabError;
use crate::schedule::RunProgress;
use crate::unstored_run::UnstoredRun;

/// Returns a scheme's name as part of a file name.
pub(crate) fn file_name(scheme: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    scheme.chars().map(keep).collect()
}

/// Derives the run of `key` from the resolved scenario of another run of its scheme. Returns `None`
/// if the text does not lead to it.
fn derive(text: &str, key: &RunKey, hash: &str) -> Option<RunSpec> {
    let mut scenario = Scenario::parse(text, "resolved.toml").ok()?;
    scenario = scenario.with_override("run.first-seed", &key.seed.to_string()).ok()?;
    for (name, value) in &key.point.0 {
        scenario = scenario.with_override(name, value).ok()?;
    }
    scenario.expand().ok()?.runs.into_iter().find(|run| run.hash == hash)
}

/// Returns the names of resolved scenarios from which a run may follow, the likelier one first.
fn names(scheme: &str, point: usize) -> [String; 2] {
    let scheme = file_name(scheme);
    [format!("resolved/{scheme}.{point}.toml"), format!("resolved/{scheme}.toml")]
}

/// Returns runs that do not follow from the resolved scenario `shown` of their scheme, because a
/// swept key may determine others. They must be stored separately, under the returned names.
pub(crate) fn extra_scenarios<'p>(
    plan: &'p RunPlan,
    shown: &RunSpec,
) -> Vec<(String, &'p RunSpec)> {
    let text = shown.resolved_toml();
    let mut out = Vec::new();
    for (i, point) in plan.points.iter().enumerate() {
        let of = |r: &&RunSpec| r.scheme == shown.scheme && r.point == *point;
        let Some(run) = plan.runs.iter().find(of).filter(|_| *point != shown.point) else {
            continue;
        };
        let key = RunKey {
            run: 0,
            scheme: run.scheme.clone(),
            point: SweepPoint(point.clone()),
            seed: run.seed,
        };
        if derive(&text, &key, &run.hash).is_none() {
            let [own, _] = names(&run.scheme, i);
            out.push((own, run));
        }
    }
    out
}

/// Returns the error for a `run` that cannot be repeated.
pub(crate) fn not_reproducible(manifest: &Manifest, run: &ManifestRun, reason: &str) -> LabError {
    LabError::NotReproducible {
        key: Box::new(run.key.clone()),
        reason: reason.to_owned(),
        version: manifest.version.clone(),
        command: manifest.command.clone(),
    }
}

/// Returns the specification of `run` from the scenarios in the directory.
pub(crate) fn specification(
    dir: &RunDir,
    manifest: &Manifest,
    run: &ManifestRun,
) -> Result<RunSpec, LabError> {
    let point = manifest.points.iter().position(|p| *p == run.key.point).unwrap_or_default();
    let again = |reason: &str| not_reproducible(manifest, run, reason);
    if manifest.backend.is_some() {
        return Err(LabError::Measured { key: Box::new(run.key.clone()) });
    }
    let there = |name: &&String| dir.root().join(name).exists();
    let names = names(&run.key.scheme, point);
    let texts = names.iter().filter(there).map(|name| dir.read(name));
    let texts = texts.collect::<Result<Vec<String>, _>>()?;
    if texts.is_empty() {
        return Err(again("the directory does not hold its resolved scenario"));
    }
    texts
        .iter()
        .find_map(|text| derive(text, &run.key, &run.hash))
        .ok_or_else(|| again("its resolved scenario has another meaning in this version"))
}

/// Passes the trace of `flow` in `run` on to `consumer`. Returns true if the run was repeated to
/// its end; its digest was then compared.
pub(super) fn replay(
    (dir, manifest): (&RunDir, &Manifest),
    run: &ManifestRun,
    flow: u32,
    consumer: &mut dyn TraceConsumer,
    limits: &ResourceLimits<'_>,
    progress: ReplayProgress<'_>,
) -> Result<bool, LabError> {
    let spec = specification(dir, manifest, run)?;
    let untraced = Setup { probes: ProbePlan::default(), ..spec.setup()? };
    // The trace is read in parts, so the estimate is that of the run without it.
    let unstored = UnstoredRun { key: &run.key, spec: &spec, setup: &untraced };
    UnstoredRun::admit(&[unstored], limits)?;
    let trace = ProbePlan { trace: vec![flow], ..ProbePlan::default() };
    let setup = Setup { probes: trace, ..untraced.clone() };
    let (key, end) = (&run.key, Instant::ZERO + setup.end.at);
    progress(RunProgress::Started(key));
    let mut names: Vec<Arc<str>> = Vec::new();
    let mut failed = None;
    let outcome = lowtide_host::run_streamed(&setup, &mut |part| {
        if names.is_empty() {
            names = part.ports.iter().map(|name| name.as_str().into()).collect();
        }
        let rows = TraceTables::of(&part.rows, &names);
        if part.until < Instant::FAR_FUTURE {
            progress(RunProgress::Running { key, now: part.until, end });
        }
        let fits = unstored.check(limits);
        failed = fits.and_then(|()| consumer.part(&rows, part.until.as_ps())).err();
        failed.is_some() || consumer.is_complete()
    })
    .map_err(|error| LabError::Run { key: Box::new(key.clone()), error })?;
    if let Some(error) = failed {
        return Err(error);
    }
    progress(RunProgress::Finished(key));
    let complete = outcome.reason != EndReason::Interrupted;
    if complete && digest_text(outcome.digest) != run.digest {
        return Err(not_reproducible(manifest, run, "the replay gives another digest"));
    }
    Ok(complete)
}
