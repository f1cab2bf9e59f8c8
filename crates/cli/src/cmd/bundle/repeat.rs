//! The command that repeats the runs of a directory from files of an archive.
//!
//! The scenario of a directory is the file as it was read, with the files that it names. The
//! changes of the command line are in the recorded command. Both together must give the hashes of
//! all runs, or they are not used.

use std::path::Path;

use clap::Parser;
use lowtide_record::Manifest;
use lowtide_scenario::{RunPlan, Scenario};

use crate::args::{Cli, Command, PapersCommand, RunArgs};
use crate::cmd::overridden;

/// Command that repeats the runs.
pub(super) struct RepeatPlan {
    /// Arguments, or the reason that none repeat the runs.
    pub(super) args: Result<Vec<String>, String>,
    /// The scenario as run, with the files that it names, if the command needs it.
    pub(super) scenario: Option<String>,
}

/// Whether an archive may ask for the command: only those that [`repeat_plan`] returns are run.
pub(super) fn is_repeat_command(args: &[String]) -> bool {
    let words: Vec<&str> = args.iter().take(2).map(String::as_str).collect();
    matches!(words.as_slice(), ["run" | "matrix", ..] | ["papers", "reproduce"])
}

/// Finds the command that repeats the runs of a complete directory.
pub(super) fn repeat_plan(dir: &Path, manifest: &Manifest) -> RepeatPlan {
    if let Some(backend) = &manifest.backend {
        let reason = format!("packets were carried by a kernel (backend `{}`)", backend.name);
        return RepeatPlan { args: Err(reason), scenario: None };
    }
    let words = shlex::split(&manifest.command).unwrap_or_default();
    let command = Cli::try_parse_from(&words).map(|cli| cli.command);
    let run = match &command {
        Ok(Command::Run(run)) => Some(&**run),
        _ => None,
    };
    if let Some(text) = scenario_as_run(dir, manifest, run) {
        let file = format!("{}.toml", manifest.scenario);
        return RepeatPlan { args: Ok(vec!["run".to_owned(), file]), scenario: Some(text) };
    }
    let args = match command {
        Ok(Command::Papers { command: PapersCommand::Reproduce(args) })
            if lowtide_papers::find_experiments(&manifest.scenario).len() == 1 =>
        {
            let mut words = vec!["papers".to_owned(), "reproduce".to_owned()];
            words.push(manifest.scenario.clone());
            words.extend(args.quick.then(|| "--quick".to_owned()));
            words.extend(args.vary.then(|| "--vary".to_owned()));
            words
                .extend(args.seeds.into_iter().flat_map(|n| ["--seeds".to_owned(), n.to_string()]));
            Ok(words)
        }
        Ok(Command::Matrix(args)) => {
            let files = [args.scenario.as_ref(), args.on.as_ref()];
            let is_embedded = |name: &String| {
                lowtide_scenario::embedded_scenarios().iter().any(|e| e.name == name)
            };
            if files.into_iter().flatten().all(is_embedded) && args.thresholds.is_none() {
                Ok(without_output(&words))
            } else {
                Err("`matrix` read a file, which the archive does not have".to_owned())
            }
        }
        _ => Err("its scenario and its command do not give these runs".to_owned()),
    };
    RepeatPlan { args, scenario: None }
}

/// The scenario with the changes of the command line, if it gives the runs of the directory.
fn scenario_as_run(dir: &Path, manifest: &Manifest, run: Option<&RunArgs>) -> Option<String> {
    let file = format!("{}.toml", manifest.scenario);
    let text = std::fs::read_to_string(dir.join("scenario.toml")).ok()?;
    let mut scenario = Scenario::parse(&text, &file).ok()?;
    if let Some(run) = run {
        scenario = overridden(scenario, &run.scenario).ok()?;
        if !run.trace.is_empty() {
            scenario = scenario.with_flag("--trace", "probes.trace", &run.trace.join(",")).ok()?;
        }
    }
    let text = scenario.to_toml().ok()?;
    // The packed text is checked alone, without any file beside it.
    let plan = Scenario::parse(&text, &file).ok()?.expand().ok()?;
    has_these_runs(&plan, manifest).then_some(text)
}

/// Whether the plan has the runs of the manifest, by their hashes.
fn has_these_runs(plan: &RunPlan, manifest: &Manifest) -> bool {
    plan.hash == manifest.scenario_hash
        && plan.name == manifest.scenario
        && plan.runs.iter().map(|r| &r.hash).eq(manifest.runs.iter().map(|r| &r.hash))
}

/// The arguments without the program, the output directory, and options that change no result.
fn without_output(words: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-o" | "--out" | "-j" | "--jobs" | "--memory" => {
                words.next();
            }
            "--afresh" | "--json" | "--quiet" | "-q" | "--progress=lines" => {}
            other if other.starts_with("--out=") || other.starts_with("--jobs=") => {}
            other => kept.push(other.to_owned()),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_without_effect_on_results_are_left_out() {
        let words = ["lowtide", "matrix", "--senders", "a,b", "-o", "x", "--afresh", "-j", "2"];
        let words: Vec<String> = words.map(str::to_owned).to_vec();
        assert_eq!(without_output(&words), ["matrix", "--senders", "a,b"]);
    }

    #[test]
    fn an_archive_cannot_ask_for_other_commands() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(is_repeat_command(&words("run first-light.toml")));
        assert!(is_repeat_command(&words("papers reproduce od-fig5.1 --quick")));
        for other in ["kernel load lt_dctcp", "papers list", "man /usr", "testbed run"] {
            assert!(!is_repeat_command(&words(other)), "{other}");
        }
    }
}
