//! One file per command; those that only print a text share `new`.

pub(crate) mod advise;
pub(crate) mod analyze;
mod backend;
pub(crate) mod bench;
pub(crate) mod bundle;
pub(crate) mod check;
pub(crate) mod cite;
pub(crate) mod compare;
pub(crate) mod diff;
pub(crate) mod explain;
#[cfg(feature = "figures")]
pub(crate) mod figure;
pub(crate) mod flow;
#[cfg(real_packets)]
pub(crate) mod kernel;
pub(crate) mod list;
#[cfg(real_packets)]
pub(crate) mod live;
pub(crate) mod man;
pub(crate) mod matrix;
pub(crate) mod merge;
pub(crate) mod new;
pub(crate) mod packetdrill;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod switch_config;
pub(crate) mod table;
#[cfg(real_packets)]
pub(crate) mod testbed;

use lowtide_scenario::Scenario;

use crate::args::ScenarioArgs;
use crate::error::CommandError;

/// Loads a scenario and applies the overrides.
fn scenario(args: &ScenarioArgs) -> Result<Scenario, CommandError> {
    overridden(Scenario::load(&args.scenario)?, args)
}

/// Applies the overrides: `-s`, then `--over`, then `--seeds`.
fn overridden(scenario: Scenario, args: &ScenarioArgs) -> Result<Scenario, CommandError> {
    let mut scenario = set(scenario, &args.set)?;
    for text in &args.over {
        let (key, values) = split(text, "--over", "KEY=A,B,...")?;
        let values: Vec<String> = values.split(',').map(|v| v.trim().to_string()).collect();
        scenario = scenario.with_sweep(key, &values)?;
    }
    if let Some(seeds) = args.seeds {
        scenario = scenario.seeds(seeds)?;
    }
    Ok(scenario)
}

/// Sets every `KEY=VALUE`.
fn set(mut scenario: Scenario, all: &[String]) -> Result<Scenario, CommandError> {
    for text in all {
        let (key, value) = split(text, "-s", "KEY=VALUE")?;
        scenario = scenario.with_override(key, value)?;
    }
    Ok(scenario)
}

fn split<'a>(text: &'a str, flag: &str, form: &str) -> Result<(&'a str, &'a str), CommandError> {
    let usage = || {
        let message = format!("`{flag} {text}` is not of the form `{flag} {form}`");
        CommandError::Usage(
            message,
            Some(format!("for instance `{flag} switch.mark.k=\"20 pkt\"`")),
        )
    };
    text.split_once('=').map(|(k, v)| (k.trim(), v.trim())).ok_or_else(usage)
}
