//! Checks of keys in combination. Rejects every combination that would run without meaning, or
//! would run something other than requested.

mod blueprint;
mod marking;
mod peers;
mod queues;

use lowtide_host::EARLY_SPACING;
use lowtide_net::Blueprint;
use lowtide_tcp::Config;
use lowtide_tcp::switches::{self, SwitchError};
use lowtide_traffic::workload::{Traffic, WorkloadContext};
use lowtide_units::Instant;

use crate::deployment;
use crate::diagnostics::Diagnostics;
use crate::files::error_span;
use crate::flows;
use crate::model::{HostGroup, RunEnd, ScenarioModel, TrafficGroup};
use crate::network;
use crate::settings::SwitchSetting;
use crate::toml_tree::{SourceSpan, SourceText};
use crate::transport_config::HostConfigs;

/// Checks one point under one scheme.
pub(crate) fn check(
    model: &ScenarioModel,
    host_configs: &HostConfigs,
    diagnostics: &mut Diagnostics<'_>,
) {
    let configs = &host_configs.groups[..];
    sides(model, diagnostics);
    switches(model, configs, diagnostics);
    switches(model, &host_configs.moved, diagnostics);
    packets(model, configs, diagnostics);
    packets(model, &host_configs.moved, diagnostics);
    let plan = match network::blueprint(model) {
        Ok(plan) => plan,
        Err(wrong) => return diagnostics.add(wrong.at, wrong.message, wrong.help),
    };
    if let Err((at, message, help)) = deployment::check(model, &plan) {
        diagnostics.add(at, message, Some(help));
    }
    let full = configs.iter().map(|c| u64::from(c.mtu)).max().unwrap_or(0);
    let before = diagnostics.len();
    queues::queues(model, &plan, full, diagnostics);
    if diagnostics.len() == before {
        blueprint::plan(model, &plan, diagnostics);
    }
    let ctx = network::workload_context(model, &plan, model.run.first_seed);
    let made = generate_traffic(model, &ctx, diagnostics);
    end(model, diagnostics);
    times(model, &made, diagnostics);
    early(model, &made, diagnostics);
    delays(model, &plan, diagnostics);
    traced(model, &made, diagnostics);
    // Pairs with moved hosts are the subject of a deployment, so they are not checked.
    if !model.run.allow_mismatch {
        peers::peers(model, &made, configs, diagnostics);
    }
}

fn times(model: &ScenarioModel, made: &[Traffic], diagnostics: &mut Diagnostics<'_>) {
    let run = &model.run;
    if run.warmup >= run.duration {
        let message = format!(
            "a warm-up of {} leaves nothing of a run of {} to measure",
            run.warmup, run.duration
        );
        diagnostics.add(run.warmup_at, message, Some("warm up for less, or run longer".to_owned()));
    }
    let sized = made
        .iter()
        .any(|t| !t.query_clients.is_empty() || t.flows.iter().any(|f| f.size.is_some()));
    let empty = made.iter().any(|t| t.flows.is_empty() && t.query_clients.is_empty());
    if run.end != RunEnd::Duration && !sized && !empty {
        let message =
            format!("every flow is unlimited, so the run can never end by `{}`", run.end.name());
        let help = "write `end = \"duration\"` in [run], or give a flow a size";
        diagnostics.add(run.end_at, message, Some(help.to_owned()));
    }
    for (group, made) in model.traffic.iter().zip(made) {
        let late = |start: Instant| start.since_start() >= run.duration;
        let Some(flow) = made.flows.iter().find(|f| late(f.start)) else { continue };
        let message = format!(
            "flows of [traffic.{}] start at {}, but the run ends at {}",
            group.name, flow.start, run.duration
        );
        let key = if group.files.is_empty() { "start" } else { "file" };
        diagnostics.add(
            group.span_of(key),
            message,
            Some("start earlier, or run longer".to_owned()),
        );
    }
}

/// Checks that connections which open early do so before their transfers begin.
fn early(model: &ScenarioModel, made: &[Traffic], diagnostics: &mut Diagnostics<'_>) {
    for (group, made) in model.traffic.iter().zip(made).filter(|(group, _)| group.early) {
        let at = group.span_of("connect");
        if made.query_clients.iter().any(|client| !client.persistent) {
            let message = format!("[traffic.{}] opens a connection for each query", group.name);
            let help = "leave out `connect`, or write `connections = \"persistent\"`".to_owned();
            diagnostics.add(at, message, Some(help));
            continue;
        }
        // The connections of a query client are numbered after those of the clients before it.
        let servers = made.query_clients.iter().scan(0, |sum, client| {
            let first = *sum;
            *sum += client.servers.len() as u64;
            Some((first, client.start))
        });
        let opened = (0..).zip(made.flows.iter().map(|flow| flow.start)).chain(servers);
        let late = opened.filter(|(n, start)| start.since_start() < EARLY_SPACING * (n + 1));
        let Some((number, start)) = late.last() else { continue };
        let needed = EARLY_SPACING * (number + 1);
        let message = format!(
            "[traffic.{}] opens connections 1 ms apart: number {number} opens at {}, and is to \
             transfer from {} on",
            group.name,
            EARLY_SPACING * number,
            start.since_start(),
        );
        let help = format!("start {} later or more", needed.saturating_sub(start.since_start()));
        diagnostics.add(at, message, Some(help));
    }
}

/// Checks the end of an open loop and its limit.
fn end(model: &ScenarioModel, diagnostics: &mut Diagnostics<'_>) {
    let run = &model.run;
    let open = model.traffic.iter().any(|of| of.workload.is_open_loop(&of.args.values));
    match run.end_limit {
        _ if run.end == RunEnd::CountedDone && !open => {
            let message = "no traffic group is an open loop, so no load goes on beyond the counted \
                           flows";
            let help = "write `end = \"done\"`, or add a group of kind `poisson`";
            diagnostics.add(run.end_at, message, Some(help.to_owned()));
        }
        Some(_) if run.end != RunEnd::CountedDone => {
            let message = format!("`end-limit` does nothing with `end = \"{}\"`", run.end.name());
            let help = "leave it out, or write `end = \"counted-done\"`";
            diagnostics.add(run.end_limit_at, message, Some(help.to_owned()));
        }
        Some(limit) if limit <= run.duration => {
            let message = format!(
                "a limit of {limit} leaves no time after the last counted arrival at {}",
                run.duration
            );
            let help = "raise it, or leave it out: the default is four times the duration";
            diagnostics.add(run.end_limit_at, message, Some(help.to_owned()));
        }
        _ => {}
    }
}

/// Over a link whose delay is as long as the run, no packet arrives.
fn delays(model: &ScenarioModel, plan: &Blueprint, diagnostics: &mut Diagnostics<'_>) {
    let lines = plan.links.iter().flat_map(|link| [&link.from_a, &link.from_b]);
    let Some(longest) = lines.map(|line| line.delay).max() else { return };
    if longest >= model.run.duration {
        let message = format!(
            "a link has a delay of {longest}, and the run ends at {}: nothing crosses it",
            model.run.duration
        );
        let help = "shorten the delay, or run longer".to_owned();
        diagnostics.add(model.run.duration_at, message, Some(help));
    }
}

fn traced(model: &ScenarioModel, made: &[Traffic], diagnostics: &mut Diagnostics<'_>) {
    if model.probes.trace.is_empty() {
        return;
    }
    let groups = flows::groups(model, made);
    for (text, at) in &model.probes.trace {
        if let Err((message, help)) = flows::resolve(text, &groups) {
            diagnostics.add(*at, message, help);
        }
    }
}

/// Generates the traffic of each group with the first seed; reports the errors of workloads.
fn generate_traffic(
    model: &ScenarioModel,
    ctx: &WorkloadContext,
    diagnostics: &mut Diagnostics<'_>,
) -> Vec<Traffic> {
    let mut make = |group: &TrafficGroup| match group.traffic(ctx) {
        Ok(traffic) => traffic,
        Err(refusal) => {
            // An error in a file is shown in that file.
            let error = refusal.file.as_deref();
            let file =
                error.and_then(|e| Some((e, group.files.iter().find(|f| f.name == e.file)?)));
            if let Some((error, file)) = file {
                let at =
                    error_span(&file.text, error, diagnostics.add_source(SourceText::of(file)));
                diagnostics.add(at, error.message.clone(), refusal.help);
            } else {
                let at = refusal.key.map_or(group.at, |key| group.span_of(key));
                diagnostics.add(at, refusal.message, refusal.help);
            }
            Traffic::default()
        }
    };
    model.traffic.iter().map(&mut make).collect()
}

fn sides(model: &ScenarioModel, diagnostics: &mut Diagnostics<'_>) {
    let entry = model.topology.entry;
    for (index, side) in entry.sides().iter().enumerate() {
        if side.required && model.hosts.iter().all(|g| g.side != index) {
            let message = format!("no hosts on the {} of the {}", side.name, entry.name);
            let help = format!("put a group there: `side = \"{}\"`", side.name);
            diagnostics.add(model.topology.at, message, Some(help));
        }
    }
}

/// Checks the switches of each group in combination.
fn switches(model: &ScenarioModel, configs: &[Config], diagnostics: &mut Diagnostics<'_>) {
    let mut places: Vec<SourceSpan> = Vec::new();
    for (group, config) in model.hosts.iter().zip(configs) {
        let Err(error) = switches::check(config) else { continue };
        let name = if let SwitchError::Value { name, .. } = &error { name } else { "" };
        let at = setting_span(model, group, name);
        if !places.contains(&at) {
            places.push(at);
            diagnostics.add(at, format!("[hosts.{}]: {error}", group.name), None);
        }
    }
}

fn packets(model: &ScenarioModel, configs: &[Config], diagnostics: &mut Diagnostics<'_>) {
    let link = model.topology.mtu.as_u64();
    let mut places: Vec<SourceSpan> = Vec::new();
    for (group, config) in model.hosts.iter().zip(configs) {
        let at = setting_span(model, group, "mtu");
        if u64::from(config.mtu) > link && !places.contains(&at) {
            places.push(at);
            let message = format!(
                "[hosts.{}] sends IP packets of {} B, but the links carry {link} B at most",
                group.name, config.mtu
            );
            let help = "lower `mtu` of the connection, or raise `mtu` in [topology]".to_owned();
            diagnostics.add(at, message, Some(help));
        }
    }
}

/// Returns the most specific location that sets a switch for a group.
fn setting_span(model: &ScenarioModel, group: &HostGroup, switch: &str) -> SourceSpan {
    let set = |settings: &[SwitchSetting]| settings.iter().find(|s| s.name == switch).map(|s| s.at);
    set(&group.stack.settings)
        .or_else(|| group.stack.scheme.as_ref().map(|s| s.at))
        .or_else(|| set(&model.transport.settings))
        .unwrap_or(group.at)
}
