//! `lowtide kernel`.

mod stats;
mod unit;

use std::sync::atomic::Ordering;

use lowtide_kernel::{
    KernelError, LoadedTwin, Selections, SocketReader, TWINS, Twin, TwinState, find_twin,
};
use lowtide_units::{Duration, parse_duration};
use serde::Serialize;

use crate::args::{
    KernelCommand, KernelLoadArgs, KernelStatsArgs, KernelUnloadArgs, KernelWatchArgs,
};
use crate::error::CommandError;
use crate::interrupt::{STOP, watch_for_interrupt};
use crate::output::Output;

pub(crate) fn kernel(command: &KernelCommand, out: Output) -> Result<(), CommandError> {
    match command {
        KernelCommand::Load(args) => load(args, out),
        KernelCommand::List => list(out),
        KernelCommand::Stats(args) => stats(args, out),
        KernelCommand::Watch(args) => watch(args, out),
        KernelCommand::Unload(args) => unload(args, out),
        KernelCommand::Unit(args) => Output::raw(&unit::unit(args)?),
    }
}

fn failed(error: KernelError) -> CommandError {
    match error {
        KernelError::UnknownTwin { .. }
        | KernelError::Param(_)
        | KernelError::NoCgroup(_)
        | KernelError::NotCgroup2(_) => CommandError::Usage(error.to_string(), None),
        other => CommandError::Run(other.to_string()),
    }
}

/// Mode of ECN of this network namespace.
const TCP_ECN: &str = "/proc/sys/net/ipv4/tcp_ecn";

fn load(args: &KernelLoadArgs, out: Output) -> Result<(), CommandError> {
    let twin = find_twin(&args.name).map_err(failed)?;
    let params = params(args)?;
    let selections = Selections {
        cgroups: args.cgroups.clone(),
        delack_max: args.delack_max.as_deref().map(delack).transpose()?,
        routes: args.routes.clone(),
        default: args.default,
    };
    // A loaded twin can be selected for more sockets, but its parameters are those of its load.
    let new = !params.is_empty() || args.unrestricted;
    let adds = !new && !selections.is_empty() && is_loaded(twin)?;
    let done = if adds {
        lowtide_kernel::select(twin, &selections)
    } else {
        lowtide_kernel::load(twin, &params, args.unrestricted, &selections)
    };
    done.map_err(failed)?;
    if let Some(release) = lowtide_kernel::untested_release() {
        let (major, minor) = lowtide_kernel::NEWEST_TESTED;
        out.note(&format!(
            "warning: the BPF programs were tested on Linux up to {major}.{minor}; this is {release}"
        ));
    }
    let tcp_ecn = std::fs::read_to_string(TCP_ECN).unwrap_or_default();
    if let Some(limit) = twin.limit(tcp_ecn.trim()) {
        out.note(&format!("warning: net.ipv4.tcp_ecn = {}: {limit}", tcp_ecn.trim()));
    }
    if out.quiet {
        return Ok(());
    }
    let mut text = format!("{} is loaded: {}\n", twin.name, twin.summary);
    if selections.is_empty() {
        let who = if args.unrestricted { "" } else { " with CAP_NET_ADMIN" };
        text.extend(["sockets use it if a program", who, " asks for it: "]);
        text.push_str("setsockopt(TCP_CONGESTION)\n");
    }
    if !args.cgroups.is_empty() {
        text.push_str("sockets that exist already in these cgroups are untouched\n");
    }
    Output::raw(&text)
}

fn is_loaded(twin: &'static Twin) -> Result<bool, CommandError> {
    let loaded = lowtide_kernel::list().map_err(failed)?;
    Ok(loaded.iter().any(|l| l.twin.name == twin.name && l.state == TwinState::Loaded))
}

fn params(args: &KernelLoadArgs) -> Result<Vec<(&str, &str)>, CommandError> {
    let mut out: Vec<(&str, &str)> = Vec::new();
    for param in &args.params {
        let (name, value) = super::split(param, "--param", "NAME=VALUE")?;
        if out.iter().any(|(other, _)| *other == name) {
            let message = format!("`--param {name}` is given twice: give one value");
            return Err(CommandError::Usage(message, None));
        }
        out.push((name, value));
    }
    Ok(out)
}

fn delack(text: &str) -> Result<Duration, CommandError> {
    let delay = parse_duration(text).map_err(|e| CommandError::Usage(e.to_string(), None))?;
    if delay < Duration::from_us(1) || delay >= Duration::from_secs(1) {
        let message = format!("`--delack-max {text}` is not from 1 us to below 1 s");
        return Err(CommandError::Usage(message, None));
    }
    Ok(delay)
}

#[derive(Serialize)]
struct TwinEntry {
    name: &'static str,
    scheme: &'static str,
    state: &'static str,
    parameters: Vec<String>,
    cgroups: Vec<String>,
    sockets: usize,
}

#[derive(Serialize)]
struct KernelListOutput {
    schema: &'static str,
    twins: Vec<TwinEntry>,
}

const fn state(loaded: &LoadedTwin) -> &'static str {
    match loaded.state {
        TwinState::Loaded => "loaded",
        TwinState::Draining => "draining",
        TwinState::Gone => "gone",
        TwinState::Elsewhere => "elsewhere",
    }
}

fn list(out: Output) -> Result<(), CommandError> {
    let loaded = lowtide_kernel::list().map_err(failed)?;
    let entry = |twin: &'static Twin| {
        let found = loaded.iter().find(|l| l.twin.name == twin.name);
        TwinEntry {
            name: twin.name,
            scheme: twin.scheme,
            state: found.map_or("not loaded", state),
            parameters: found.map_or_else(Vec::new, |l| {
                l.params.iter().map(|(name, value)| format!("{name}={value}")).collect()
            }),
            cgroups: found.map_or_else(Vec::new, |l| {
                l.cgroups.iter().map(|path| path.display().to_string()).collect()
            }),
            sockets: found.map_or(0, |l| l.sockets),
        }
    };
    let twins: Vec<TwinEntry> = TWINS.iter().map(entry).collect();
    if out.json {
        return out.json(&KernelListOutput { schema: "lowtide.kernel-list/1", twins });
    }
    let rows: Vec<Vec<String>> = twins
        .iter()
        .map(|t| {
            vec![
                t.name.to_owned(),
                t.scheme.to_owned(),
                t.state.to_owned(),
                t.sockets.to_string(),
                t.parameters.join(" "),
                t.cgroups.join(" "),
            ]
        })
        .collect();
    out.table(&["twin", "scheme", "state", "sockets", "parameters", "cgroups"], &[3], &rows)
}

fn stats(args: &KernelStatsArgs, out: Output) -> Result<(), CommandError> {
    let sockets = SocketReader::open().and_then(|reader| reader.read()).map_err(failed)?;
    if args.prometheus {
        return Output::raw(&stats::prometheus(&sockets));
    }
    stats::show(sockets, out)
}

/// Time between two looks whether Ctrl-C was pressed, milliseconds.
const LOOK_MS: u64 = 10;

fn watch(args: &KernelWatchArgs, out: Output) -> Result<(), CommandError> {
    let every = parse_duration(&args.every)
        .map_err(|e| CommandError::Usage(e.to_string(), None))?
        .max(Duration::from_ms(LOOK_MS));
    watch_for_interrupt()?;
    let reader = SocketReader::open().map_err(failed)?;
    while !STOP.load(Ordering::Relaxed) {
        stats::show(reader.read().map_err(failed)?, out)?;
        // Short sleeps, so that Ctrl-C ends the command at once.
        for _ in 0..every.as_ms() / LOOK_MS {
            if STOP.load(Ordering::Relaxed) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(LOOK_MS));
        }
    }
    Ok(())
}

fn unload(args: &KernelUnloadArgs, out: Output) -> Result<(), CommandError> {
    let twin = find_twin(&args.name).map_err(failed)?;
    lowtide_kernel::unload(twin, args.force).map_err(failed)?;
    if out.quiet {
        return Ok(());
    }
    out.text(&format!("{} is unloaded", twin.name))
}
