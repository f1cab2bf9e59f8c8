//! Network described by the arguments.

use lowtide_bottleneck::{BottleneckError, BottleneckSettings, Faults};
use lowtide_live::LiveError;
use lowtide_net::{Blueprint, HostId};
use lowtide_scenario::Scenario;

use crate::args::LinkArgs;
use crate::cmd::set;
use crate::error::CommandError;

/// Scenario of two hosts and a line.
const LINE: &str = include_str!("line.toml");

/// Maps errors of arguments to invalid usage, errors of the machine to a failed run.
pub(super) fn bottleneck_error(error: BottleneckError) -> CommandError {
    match error {
        BottleneckError::Live(error) => super::setup::live_error(&error),
        BottleneckError::Capture { .. } => CommandError::Unwritable(error.to_string()),
        BottleneckError::System { .. } => CommandError::Run(error.to_string()),
        _ => CommandError::Usage(error.to_string(), None),
    }
}

/// Returns the network of `scenario`, or the line.
pub(super) fn network(scenario: Option<&str>, args: &LinkArgs) -> Result<Blueprint, CommandError> {
    let line = [
        ("topology.bottleneck-rate", "--rate", &args.rate),
        ("topology.bottleneck-delay", "--delay", &args.delay),
        ("switch.buffer", "--buffer", &args.buffer),
        ("switch.mark.kind", "--mark", &args.mark),
        ("switch.mark.k", "--k", &args.k),
    ];
    let mut read = match scenario {
        Some(name) => {
            if let Some((key, flag, _)) = line.iter().find(|(.., value)| value.is_some()) {
                let help = format!("set a key of the scenario with KEY=VALUE, perhaps `{key}`");
                let message = format!("{flag} sets the line, but the network is that of `{name}`");
                return Err(CommandError::Usage(message, Some(help)));
            }
            Scenario::load(name)?
        }
        None => Scenario::parse(LINE, "line.toml")?,
    };
    for (key, _, value) in line {
        let Some(value) = value else { continue };
        // A bare number is a number of packets here only.
        let counts = matches!(key, "switch.mark.k" | "switch.buffer");
        let bare = counts && value.chars().all(|c| c.is_ascii_digit());
        read =
            read.with_override(key, &if bare { format!("{value} pkt") } else { value.clone() })?;
    }
    let plan = set(read, &args.net)?.expand()?;
    let mut networks = Vec::new();
    for run in &plan.runs {
        let network = run.setup()?.network;
        if !networks.contains(&network) {
            networks.push(network);
        }
    }
    match networks.pop() {
        Some(network) if networks.is_empty() => Ok(network),
        _ => {
            let help = "fix the keys of its sweep or schemes with KEY=VALUE".to_owned();
            let message = format!("`{}` has {} networks", plan.name, networks.len() + 1);
            Err(CommandError::Usage(message, Some(help)))
        }
    }
}

/// Finds the host `name`.
pub(super) fn host(network: &Blueprint, name: &str) -> Result<HostId, CommandError> {
    let found = network.hosts.iter().position(|h| h == name);
    found.map(|i| HostId(i as u32)).ok_or_else(|| {
        let some: Vec<&str> = network.hosts.iter().take(12).map(String::as_str).collect();
        let more = if network.hosts.len() > some.len() { ", ..." } else { "" };
        let help = format!("its hosts are {}{more}", some.join(", "));
        CommandError::Usage(format!("the network has no host `{name}`"), Some(help))
    })
}

/// Settings of the run.
pub(super) fn settings(
    network: &Blueprint,
    args: &LinkArgs,
) -> Result<BottleneckSettings, CommandError> {
    let mut faults = vec![Faults::default(); network.hosts.len()];
    for text in &args.faults {
        let (at, fault) = match text.split_once(':') {
            Some((name, fault)) => (Some(host(network, name)?), fault),
            None => (None, text.as_str()),
        };
        for (number, faults) in faults.iter_mut().enumerate() {
            if at.is_none_or(|at| at.0 as usize == number) {
                faults.set(fault).map_err(bottleneck_error)?;
            }
        }
    }
    let faults = faults.into_iter().enumerate().map(|(i, f)| (HostId(i as u32), f));
    Ok(BottleneckSettings {
        seed: args.seed,
        faults: faults.collect(),
        spin: args.spin,
        priority: Some(args.priority).filter(|p| *p > 0),
        cpu_core: args.core,
        sample_interval: args.sample.unwrap_or_default(),
        unprivileged: true,
        ..BottleneckSettings::default()
    })
}

/// Maps an error of a device as one of the network.
pub(super) fn device_error(error: LiveError) -> CommandError {
    bottleneck_error(error.into())
}
