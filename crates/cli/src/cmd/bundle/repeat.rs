//! The plan that repeats the runs of a directory, and the command for it.
//!
//! The scenario of a directory is the file as it was read, with the files that it names. The
//! changes of the command line are in the recorded command. Both together must give the hashes of
//! all runs, or they are not used.
//!
//! Contract: the plan reads no file but those of the directory, and its runs are simulations.
//! Packing writes its command into the archive. Verifying computes plan and command again, and
//! runs the plan only if the archive states the same command.

use clap::Parser;
use lowtide_papers::ReproduceMode;
use lowtide_record::{Manifest, RunDir};
use lowtide_scenario::{RunPlan, Scenario};

use crate::args::{
    Cli, Command, DrawArg, MatrixArgs, MoveArg, PapersCommand, ReproduceArgs, RunArgs,
};
use crate::cmd::{matrix, overridden};

/// The source of the runs.
const SOURCE: &str = "scenario.toml";

/// The runs of a directory, to be made again.
pub(super) struct Repetition {
    /// Arguments of `lowtide` that repeat the runs, without `-o`.
    pub(super) args: Vec<String>,
    /// The runs.
    pub(super) plan: RunPlan,
    /// The scenario as run, with the files that it names, if the arguments name its file.
    pub(super) scenario: Option<String>,
}

/// Finds the repetition of a complete directory, or the reason that there is none.
pub(super) fn find_repetition(dir: &RunDir, manifest: &Manifest) -> Result<Repetition, String> {
    if let Some(backend) = &manifest.backend {
        return Err(format!("packets were carried by a kernel (backend `{}`)", backend.name));
    }
    let words = shlex::split(&manifest.command).unwrap_or_default();
    let command = Cli::try_parse_from(&words).map(|cli| cli.command);
    let run = match &command {
        Ok(Command::Run(run)) => Some(&**run),
        _ => None,
    };
    if let Some((scenario, plan)) = scenario_as_run(dir, manifest, run) {
        let args = vec!["run".to_owned(), scenario_file(manifest)];
        return Ok(Repetition { args, plan, scenario: Some(scenario) });
    }
    let none = || "its scenario and its command do not give these runs".to_owned();
    let (args, plan) = match &command {
        Ok(Command::Papers { command: PapersCommand::Reproduce(args) }) => {
            experiment(args, manifest).ok_or_else(none)?
        }
        Ok(Command::Matrix(args)) => {
            let files = [args.scenario.as_ref(), args.on.as_ref()];
            let is_embedded = |name: &String| {
                lowtide_scenario::embedded_scenarios().iter().any(|e| e.name == name)
            };
            if !files.into_iter().flatten().all(is_embedded) || args.thresholds.is_some() {
                return Err("`matrix` read a file, which the archive does not have".to_owned());
            }
            let plan = matrix::plan(args).ok().filter(|plan| has_these_runs(plan, manifest));
            (matrix_words(args), plan.ok_or_else(none)?)
        }
        _ => return Err(none()),
    };
    Ok(Repetition { args, plan, scenario: None })
}

/// Name of the scenario beside the results in an archive.
pub(super) fn scenario_file(manifest: &Manifest) -> String {
    format!("{}.toml", manifest.scenario)
}

/// Whether the text is a scenario that alone, without any file beside it, gives these runs.
pub(super) fn gives_these_runs(text: &str, manifest: &Manifest) -> bool {
    plan_of(text, manifest).is_some()
}

fn plan_of(text: &str, manifest: &Manifest) -> Option<RunPlan> {
    let plan = Scenario::parse(text, &scenario_file(manifest)).ok()?.expand().ok()?;
    has_these_runs(&plan, manifest).then_some(plan)
}

/// The scenario with the changes of the command line, if it gives the runs of the directory.
fn scenario_as_run(
    dir: &RunDir,
    manifest: &Manifest,
    run: Option<&RunArgs>,
) -> Option<(String, RunPlan)> {
    let text = dir.read(SOURCE).ok()?;
    let mut scenario = Scenario::parse(&text, &scenario_file(manifest)).ok()?;
    if let Some(run) = run {
        scenario = overridden(scenario, &run.scenario).ok()?;
        if !run.trace.is_empty() {
            scenario = scenario.with_flag("--trace", "probes.trace", &run.trace.join(",")).ok()?;
        }
    }
    let text = scenario.to_toml().ok()?;
    let plan = plan_of(&text, manifest)?;
    Some((text, plan))
}

/// The embedded experiment, or one of its variations, that has the runs of the manifest.
fn experiment(args: &ReproduceArgs, manifest: &Manifest) -> Option<(Vec<String>, RunPlan)> {
    let rows = lowtide_papers::find_experiments(&manifest.scenario);
    let [row] = rows.as_slice() else { return None };
    let mut words = ["papers", "reproduce", manifest.scenario.as_str()].map(str::to_owned).to_vec();
    words.extend(args.quick.then(|| "--quick".to_owned()));
    words.extend(args.vary.then(|| "--vary".to_owned()));
    words.extend(args.seeds.into_iter().flat_map(|n| ["--seeds".to_owned(), n.to_string()]));
    let mode = ReproduceMode { quick: args.quick, seeds: args.seeds, ..ReproduceMode::default() };
    let plan = lowtide_papers::plan(row, mode).ok()?;
    if has_these_runs(&plan, manifest) {
        return Some((words, plan));
    }
    if !args.vary {
        return None;
    }
    let varied = lowtide_papers::variation_plans(row).ok()?.into_iter().map(|(_, plan)| plan);
    varied.into_iter().find(|plan| has_these_runs(plan, manifest)).map(|plan| (words, plan))
}

/// Whether the plan has the runs of the manifest, by their hashes.
fn has_these_runs(plan: &RunPlan, manifest: &Manifest) -> bool {
    plan.hash == manifest.scenario_hash
        && plan.name == manifest.scenario
        && plan.runs.iter().map(|r| &r.hash).eq(manifest.runs.iter().map(|r| &r.hash))
}

/// The arguments of `matrix` that choose its runs.
fn matrix_words(args: &MatrixArgs) -> Vec<String> {
    let mut words = vec!["matrix".to_owned()];
    words.extend(args.scenario.clone());
    let mut option = |name: &str, value: Option<String>| {
        words.extend(value.map(|value| format!("--{name}={value}")));
    };
    let list = |names: &Option<Vec<String>>| names.as_ref().map(|names| names.join(","));
    option("senders", list(&args.senders));
    option("receivers", list(&args.receivers));
    option("neighbours", list(&args.neighbours));
    option("share", list(&args.share));
    option("on", args.on.clone());
    let points = args.points.join(",");
    let default = lowtide_deployment::rollout::DEFAULT_POINTS.join(",");
    option("points", (args.on.is_some() && points != default).then_some(points));
    option("draw", (args.draw == DrawArg::Rack).then(|| "rack".to_owned()));
    option(
        "moves",
        match args.moves {
            MoveArg::Both => None,
            MoveArg::Senders => Some("senders".to_owned()),
            MoveArg::Receivers => Some("receivers".to_owned()),
        },
    );
    for set in &args.set {
        option("set", Some(set.clone()));
    }
    option("seeds", args.seeds.map(|n| n.to_string()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        shlex::split(text).expect("words")
    }

    #[test]
    fn options_without_effect_on_results_are_left_out() {
        let command =
            words("lowtide matrix --senders a,b -o x --afresh -j 2 --memory '1 GB' -s k=1");
        let Ok(Command::Matrix(args)) = Cli::try_parse_from(command).map(|cli| cli.command) else {
            panic!("it is a matrix");
        };
        assert_eq!(matrix_words(&args), ["matrix", "--senders=a,b", "--set=k=1"]);
    }

    #[test]
    fn every_choice_of_a_matrix_is_in_its_words() {
        for text in [
            "matrix --share=a,b --on=first-light --moves=senders --seeds=2",
            "matrix --share=a,b --on=first-light --points=10,20 --draw=rack --moves=receivers",
            "matrix my.toml --receivers=a --neighbours=none --set=a=1 --set=b=2",
        ] {
            let parsed = Cli::try_parse_from([&["lowtide".to_owned()], &*words(text)].concat());
            let Ok(Command::Matrix(args)) = parsed.map(|cli| cli.command) else {
                panic!("{text} is a matrix");
            };
            assert_eq!(matrix_words(&args), words(text));
        }
    }
}
