//! `lowtide diff`: differences of runs.

use std::path::Path;

use lowtide_lab::diff::{
    DiffOverview, DiffSide, RunDivergence, RunPair, first_divergence, overview,
};
use lowtide_scenario::Scenario;
use serde::Serialize;

use crate::args::DiffArgs;
use crate::cmd::flow::flow_selector;
use crate::cmd::set;
use crate::error::CommandError;
use crate::output::Output;

#[derive(Serialize)]
struct DiffOutput<'a, T> {
    a: &'a str,
    b: &'a str,
    #[serde(flatten)]
    found: T,
}

#[derive(Serialize)]
struct FirstDivergences {
    same: bool,
    runs: Vec<RunDivergence>,
}

pub(crate) fn diff(args: &DiffArgs, out: Output) -> Result<(), CommandError> {
    for (given, name) in [(args.scheme.len(), "--scheme"), (args.seed.len(), "--seed")] {
        if given > 2 {
            let message = format!("{name} takes one value, or one for A and one for B");
            return Err(CommandError::Usage(message, None));
        }
    }
    if args.nothing_to_compare() {
        let message = "there is nothing to compare with".to_owned();
        let help =
            "name a second directory or scenario, set a key with -s, or give two seeds or schemes";
        return Err(CommandError::Usage(message, Some(help.to_owned())));
    }
    let other = args.b.as_deref().unwrap_or(&args.a);
    let b = side(other, &args.set)?;
    let a = side(&args.a, &[])?;
    let (of_a, of_b) =
        (flow_selector("", &args.run_selector(0))?, flow_selector("", &args.run_selector(1))?);
    let (a, b) = ((&a, &of_a), (&b, &of_b));
    let same = if args.first_divergence {
        let runs = first_divergence(a, b, &args.memory.limits())?;
        let same = runs.iter().all(|r| r.first.is_none());
        if out.json {
            let found = FirstDivergences { same, runs };
            out.answer("lowtide.divergence/1", &DiffOutput { a: &args.a, b: other, found })?;
        } else {
            out.text(&runs.iter().map(RunDivergence::text).collect::<String>())?;
        }
        same
    } else {
        let found = overview(a, b)?;
        let same = found.same && found.tables.is_empty();
        if out.json {
            out.answer("lowtide.diff/1", &DiffOutput { a: &args.a, b: other, found })?;
        } else {
            print(&found, out)?;
        }
        same
    };
    if same { Ok(()) } else { Err(CommandError::Differs) }
}

/// Loads a directory, or a scenario with these keys set.
fn side(name: &str, keys: &[String]) -> Result<DiffSide, CommandError> {
    if !Path::new(name).is_dir() {
        return Ok(DiffSide::plan(set(Scenario::load(name)?, keys)?.expand()?));
    }
    if !keys.is_empty() {
        let message = format!("-s sets keys of a scenario, and `{name}` is a run directory");
        let help = format!("its scenario is `{name}/scenario.toml`");
        return Err(CommandError::Usage(message, Some(help)));
    }
    Ok(DiffSide::directory(Path::new(name))?)
}

fn print(found: &DiffOverview, out: Output) -> Result<(), CommandError> {
    if !found.settings.is_empty() {
        let row = |s: &lowtide_lab::diff::SettingDiff| {
            let text = |values: &[String]| {
                if values.is_empty() { "–".to_owned() } else { values.join(" | ") }
            };
            vec![s.key.clone(), text(&s.a), text(&s.b)]
        };
        let rows: Vec<Vec<String>> = found.settings.iter().map(row).collect();
        out.table(&["setting", "A", "B"], &[], &rows)?;
        Output::raw("\n")?;
    }
    let row = |r: &RunPair| {
        let text = |digest: &Option<String>| digest.clone().unwrap_or_else(|| "missing".into());
        let verdict = if r.same { "same" } else { "differs" };
        vec![r.run.to_string(), text(&r.a), text(&r.b), verdict.to_owned()]
    };
    let rows: Vec<Vec<String>> = found.runs.iter().map(row).collect();
    out.table(&["run", "digest of A", "digest of B", ""], &[], &rows)?;
    if !found.tables.is_empty() {
        out.text(&format!("\ntables that differ: {}", found.tables.join(", ")))?;
    }
    if !found.same {
        out.note("--first-divergence finds the first difference");
    }
    Ok(())
}
