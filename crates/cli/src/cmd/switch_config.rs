//! `lowtide import` and `lowtide export`: the configuration of a switch.

use std::path::Path;

use lowtide_input_files::{JSON, read_text};
use lowtide_scenario::RunPlan;
use lowtide_switch_config::{
    ConfigError, Configuration, Content, Import, Placement, Signal, Vendor,
};
use lowtide_units::Bytes;
use serde_json::{Value, json};
use toml::Table;

use crate::args::{ExportArgs, ImportArgs, ImportFormat};
use crate::cmd::scenario;
use crate::error::CommandError;
use crate::output::Output;

fn wrong(error: &ConfigError) -> CommandError {
    CommandError::Usage(error.to_string(), None)
}

pub(crate) fn import(args: &ImportArgs, out: Output) -> Result<(), CommandError> {
    let ImportFormat::Sonic = args.format;
    let files: Vec<Value> = args.files.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
    let Import { settings, notes } =
        lowtide_switch_config::import_sonic(&files, args.port.as_deref(), args.queue)
            .map_err(|e| wrong(&e))?;
    for note in &notes {
        out.note(note);
    }
    if settings.marking.is_some_and(|m| m.signal != Signal::Drop) {
        out.note(
            "not-ect = \"drop\" is the usual rule; it depends on the ASIC and its SAI: verify it with \
             the WRED drop counters (show queue wredcounters)",
        );
    }
    let switch = Table::from_iter([(
        "switch".to_owned(),
        lowtide_switch_config::to_switch(&settings).into(),
    )]);
    if out.json {
        return out.json(&switch);
    }
    Output::raw(&switch.to_string())
}

fn read(path: &Path) -> Result<Value, CommandError> {
    let wrong = |what: String| CommandError::Usage(format!("{}: {what}", path.display()), None);
    let text = read_text(path, &JSON).map_err(|e| wrong(e.to_string()))?;
    serde_json::from_str(&text).map_err(|e| wrong(format!("not JSON: {e}")))
}

pub(crate) fn export(args: &ExportArgs, out: Output) -> Result<(), CommandError> {
    let plan = scenario(&args.scenario)?.expand()?;
    let packet = Bytes::new(args.packet.into());
    let place = Placement {
        ports: args.ports.clone(),
        queue: args.queue,
        queue_memory: args.queue_memory,
        class: args.pipe.clone().unwrap_or_default(),
    };
    let switch = only_switch(&plan, args.pipe.as_deref())?;
    let configuration = match &args.merge {
        None => configuration(args.switch, &switch, packet, &place),
        Some(_) if args.switch != Vendor::Sonic => {
            let message =
                format!("--merge reads SONiC's config_db.json, not that of {}", args.switch);
            return Err(CommandError::Usage(message, Some("leave out --merge".to_owned())));
        }
        Some(present) => {
            let present = read(present)?;
            lowtide_switch_config::from_switch(args.switch, &switch, packet).and_then(|settings| {
                lowtide_switch_config::merge_sonic(&settings, &place, &present, args.replace)
            })
        }
    };
    let configuration = configuration.map_err(|e| wrong(&e))?;
    if let Content::Json(tables) = &configuration.content {
        for note in &configuration.notes {
            out.note(note);
        }
        return out.json(tables);
    }
    if out.json {
        return out.json(&as_json(&configuration));
    }
    Output::raw(&configuration.file())
}

/// The configuration of a switch with the table `[switch]`.
pub(crate) fn configuration(
    vendor: Vendor,
    switch: &Table,
    packet: Bytes,
    place: &Placement,
) -> Result<Configuration, ConfigError> {
    let settings = lowtide_switch_config::from_switch(vendor, switch, packet)?;
    lowtide_switch_config::export(vendor, &settings, place)
}

/// The configuration with its notes, as `--json` prints it.
pub(crate) fn as_json(configuration: &Configuration) -> Value {
    let content = match &configuration.content {
        Content::Json(tables) => tables.clone(),
        Content::Lines(lines) => Value::from(lines.as_str()),
    };
    json!({
        "name": configuration.vendor.name(),
        "configuration": content,
        "notes": configuration.notes,
    })
}

/// The table `[switch]` that all runs of the plan have, with the marker of a pipe if its ports have
/// a separate one.
///
/// # Errors
/// The runs differ, there is no such pipe, or the pipes have markers and none was chosen.
pub(crate) fn only_switch(plan: &RunPlan, pipe: Option<&str>) -> Result<Table, CommandError> {
    let mut switches = Vec::new();
    for run in &plan.runs {
        let resolved: Table = run.resolved_toml().parse().unwrap_or_default();
        let table = |name: &str| resolved.get(name).and_then(toml::Value::as_table).cloned();
        let (mut switch, mut pipes) =
            (table("switch").unwrap_or_default(), table("pipe").unwrap_or_default());
        pipes.retain(|_, pipe| pipe.get("mark").is_some());
        match (pipe.and_then(|name| pipes.get(name)?.get("mark")), pipe) {
            (Some(mark), _) => drop(switch.insert("mark".to_owned(), mark.clone())),
            (None, None) if pipes.is_empty() => {}
            _ => {
                let names: Vec<&str> = pipes.keys().map(String::as_str).collect();
                let message = match pipe {
                    Some(pipe) => format!("no pipe `{pipe}` with a marker"),
                    None => "ports differ in their markers, and a configuration has one".to_owned(),
                };
                let help = match names.as_slice() {
                    [] => "leave out --pipe: all ports are alike".to_owned(),
                    names => format!("choose one with --pipe: {}", names.join(", ")),
                };
                return Err(CommandError::Usage(message, Some(help)));
            }
        }
        switches.push(switch);
    }
    let mut switches = switches.into_iter();
    let first = switches.next().unwrap_or_default();
    if switches.any(|other| other != first) {
        return Err(CommandError::Usage(
            "the runs differ in their switches: a configuration has one of each value".to_owned(),
            Some("choose one with -s, for instance `-s switch.mark.k=\"65 pkt\"`".to_owned()),
        ));
    }
    Ok(first)
}
