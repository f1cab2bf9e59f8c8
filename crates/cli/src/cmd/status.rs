//! `lowtide status`: which runs of a directory are finished, running, failed, missing.

use std::collections::BTreeMap;
use std::time::SystemTime;

use lowtide_lab::{RunState, RunStatus, SweepStatus, point_text, status as survey};
use lowtide_record::DirectoryStatus;
use serde::Serialize;

use crate::args::StatusArgs;
use crate::error::CommandError;
use crate::output::Output;

#[derive(Serialize)]
struct StatusOutput<'a> {
    scenario: &'a str,
    scenario_hash: &'a str,
    program: &'a str,
    finished: bool,
    planned: usize,
    total: usize,
    done: usize,
    running: usize,
    failed: usize,
    stopped: usize,
    missing: usize,
    remaining_s: Option<f64>,
    remaining_wall_s: Option<f64>,
    runs: &'a [RunStatus],
}

/// Most runs listed by name on the terminal.
const MAX_LISTED: usize = 12;

pub(crate) fn status(args: &StatusArgs, out: Output) -> Result<(), CommandError> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the age of a run is shown, nothing depends on it"
    )]
    let now = SystemTime::now();
    let found = survey(&args.dirs, now)?;
    if out.json {
        let count = |state| found.count(state);
        let body = StatusOutput {
            scenario: &found.manifest.scenario,
            scenario_hash: &found.manifest.scenario_hash,
            program: &found.manifest.program,
            finished: found.is_finished,
            planned: found.planned,
            total: found.runs.len(),
            done: count(RunState::Done),
            running: count(RunState::Running),
            failed: count(RunState::Failed),
            stopped: count(RunState::Stopped),
            missing: count(RunState::Missing),
            remaining_s: found.remaining_seconds,
            remaining_wall_s: found.remaining_wall_seconds(),
            runs: &found.runs,
        };
        return out.answer("lowtide.status/1", &body);
    }
    show(&found, out)
}

fn show(found: &SweepStatus, out: Output) -> Result<(), CommandError> {
    let manifest = &found.manifest;
    let states =
        [RunState::Running, RunState::Failed, RunState::Stopped, RunState::Missing].map(|state| {
            let count = found.count(state);
            (count > 0).then(|| format!(", {count} {}", state.name()))
        });
    let (scenario, hash) = (&manifest.scenario, &manifest.scenario_hash);
    let (done, total) = (found.count(RunState::Done), found.runs.len());
    out.paragraph(&format!(
        "{scenario} {hash}: {done} of {total} runs are done{}",
        states.into_iter().flatten().collect::<String>()
    ))?;
    if total < found.planned {
        let rest = found.planned - total;
        out.paragraph(&format!("The plan has {rest} more runs, which belong to other parts."))?;
    }
    table(found, out)?;
    for state in [RunState::Running, RunState::Failed, RunState::Stopped] {
        list(&found.runs, state, out)?;
    }
    out.paragraph(&next_step(found))
}

/// Prints a line for each scheme and point with runs.
fn table(found: &SweepStatus, out: Output) -> Result<(), CommandError> {
    let mut groups: BTreeMap<(usize, usize), Vec<&RunStatus>> = BTreeMap::new();
    let manifest = &found.manifest;
    let (mut group, mut last) = ((0, 0), None);
    for run in &found.runs {
        // Runs are in the order of schemes and points.
        let place = (&run.key.scheme, &run.key.point);
        if last != Some(place) {
            let scheme = manifest.schemes.iter().position(|s| s == place.0).unwrap_or(0);
            group = (scheme, group.1 + 1);
            last = Some(place);
        }
        groups.entry(group).or_default().push(run);
    }
    let rows = groups.values().filter_map(|runs| {
        let first = runs.first()?;
        let count = |state| match runs.iter().filter(|run| run.state == state).count() {
            0 => String::new(),
            n => n.to_string(),
        };
        let walls = || runs.iter().filter_map(|r| r.wall_seconds).filter(|wall| *wall > 0.0);
        let (sum, timed) = (walls().sum::<f64>(), walls().count());
        let mean = if timed > 0 { duration(sum / timed as f64) } else { String::new() };
        Some(vec![
            first.key.scheme.clone(),
            point_text(&first.key.point),
            format!("{}/{}", runs.iter().filter(|r| r.state == RunState::Done).count(), runs.len()),
            count(RunState::Running),
            count(RunState::Failed),
            count(RunState::Stopped),
            count(RunState::Missing),
            mean,
        ])
    });
    let header = ["scheme", "point", "done", "running", "failed", "stopped", "missing", "mean"];
    out.narrow_table(&header, &[2, 3, 4, 5, 6, 7], &rows.collect::<Vec<_>>())
}

/// Prints the runs in `state` with their process.
fn list(runs: &[RunStatus], state: RunState, out: Output) -> Result<(), CommandError> {
    let of_state = || runs.iter().filter(|run| run.state == state);
    for RunStatus { key, worker, elapsed_seconds, error, .. } in of_state().take(MAX_LISTED) {
        let worker = worker.as_deref().unwrap_or("unknown");
        let since = elapsed_seconds.map(|s| format!(" for {}", duration(s))).unwrap_or_default();
        let error = error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
        let number = key.run;
        out.text(&format!("{} run {number} ({key}) on {worker}{since}{error}", state.name()))?;
    }
    match of_state().count().checked_sub(MAX_LISTED) {
        Some(more @ 1..) => out.text(&format!("and {more} more {}; --json has all", state.name())),
        _ => Ok(()),
    }
}

/// Returns the remaining time, or the next command.
fn next_step(found: &SweepStatus) -> String {
    let command = &found.manifest.command;
    let open = found.runs.len() - found.count(RunState::Done);
    if found.is_finished {
        return match found.manifest.status {
            DirectoryStatus::Complete => "The directory is complete.".to_owned(),
            _ => "The parts are finished: `lowtide merge OUT PART...` merges all.".to_owned(),
        };
    }
    if open == 0 {
        return format!("All runs are done; `{command}` completes the directory.");
    }
    let left = found.remaining_seconds.map_or_else(
        || "No run has finished yet, so the remaining time is unknown".to_owned(),
        |seconds| format!("About {} of one process are left", duration(seconds)),
    );
    let running = found.count(RunState::Running);
    match found.remaining_wall_seconds() {
        _ if running == 0 => format!("{left}. No process is running; the same command continues."),
        None => format!("{left}."),
        Some(wall) => format!("{left}, about {} with {running} at a time.", duration(wall)),
    }
}

/// Returns a time in words of the right size: `34 s`, `12 min`, `3.4 h`.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}
