//! `lowtide import` and `lowtide export`: the configuration of a switch.

use std::fs;
use std::path::Path;

use lowtide_scenario::RunPlan;
use lowtide_sonic::{Placement, SonicError};
use lowtide_units::Bytes;
use serde_json::Value;
use toml::Table;

use crate::args::{ExportArgs, ImportArgs, SwitchFormat};
use crate::cmd::{expand, scenario};
use crate::error::CommandError;
use crate::output::Output;

fn wrong(error: &SonicError) -> CommandError {
    CommandError::Usage(error.to_string(), None)
}

pub(crate) fn import(args: &ImportArgs, out: Output) -> Result<(), CommandError> {
    let SwitchFormat::Sonic = args.format;
    let files: Vec<Value> = args.files.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
    let settings = lowtide_sonic::import(&files, args.queue).map_err(|e| wrong(&e))?;
    if settings.marking.is_some_and(|m| m.ecn) {
        out.note("packets that are not ECN-capable are dropped where others are marked");
    }
    let switch =
        Table::from_iter([("switch".to_owned(), lowtide_sonic::to_switch(&settings).into())]);
    if out.json {
        return out.json(&switch);
    }
    Output::raw(&switch.to_string())
}

fn read(path: &Path) -> Result<Value, CommandError> {
    let wrong = |what: String| CommandError::Usage(format!("{}: {what}", path.display()), None);
    let text = fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
    serde_json::from_str(&text).map_err(|e| wrong(format!("not JSON: {e}")))
}

pub(crate) fn export(args: &ExportArgs, out: Output) -> Result<(), CommandError> {
    let SwitchFormat::Sonic = args.format;
    let plan = expand(&scenario(&args.scenario)?, out)?;
    let settings = lowtide_sonic::from_switch(&only_switch(&plan)?, Bytes::new(args.packet.into()));
    let place = Placement { ports: args.ports.clone(), queue: args.queue };
    let json = settings.and_then(|settings| lowtide_sonic::export(&settings, &place));
    out.json(&json.map_err(|e| wrong(&e))?)
}

/// The table `[switch]` that all runs of the plan have.
fn only_switch(plan: &RunPlan) -> Result<Table, CommandError> {
    let mut switches = plan.runs.iter().map(|run| {
        let resolved: Table = run.resolved_toml().parse().unwrap_or_default();
        resolved.get("switch").and_then(toml::Value::as_table).cloned().unwrap_or_default()
    });
    let first = switches.next().unwrap_or_default();
    if switches.any(|other| other != first) {
        return Err(CommandError::Usage(
            "the runs differ in their switches: a configuration has one of each value".to_owned(),
            Some("choose one with -s, for instance `-s switch.mark.k=\"65 pkt\"`".to_owned()),
        ));
    }
    Ok(first)
}
