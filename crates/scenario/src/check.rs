//! What the keys of a scenario say together: every combination that would run and mean nothing, or
//! something else than was asked for, is refused here.

use lowtide_net::{BufferSpec, Count, MarkSpec, PortSpec};
use lowtide_tcp::{Config, CwrRule, EcnMode, EcnWish, ack, cc, feedback};
use lowtide_traffic::workload::Traffic;
use lowtide_units::Instant;

use crate::complaints::Complaints;
use crate::flows;
use crate::model::{HostGroup, Model, TopologyKind, TrafficGroup};
use crate::network;
use crate::pipes::Line;
use crate::settings::Setting;
use crate::tree::At;
use crate::value::show;

/// Checks one point under one scheme; `configs` has one configuration per host group.
pub(crate) fn check(model: &Model, configs: &[Config], complaints: &mut Complaints<'_>) {
    let made = made(model, complaints);
    times(model, &made, complaints);
    sides(model, complaints);
    traced(model, &made, complaints);
    packets(model, configs, complaints);
    if !model.run.allow_mismatch {
        peers(model, &made, configs, complaints);
    }
}

fn times(model: &Model, made: &[Traffic], complaints: &mut Complaints<'_>) {
    let run = &model.run;
    if run.warmup >= run.duration {
        let message = format!(
            "a warm-up of {} leaves nothing of a run of {} to measure",
            run.warmup, run.duration
        );
        complaints.add(run.warmup_at, message, Some("warm up for less, or run longer".to_owned()));
    }
    let sized =
        made.iter().any(|t| !t.askers.is_empty() || t.flows.iter().any(|f| f.size.is_some()));
    let empty = made.iter().any(|t| t.flows.is_empty() && t.askers.is_empty());
    if run.end_done && !sized && !empty {
        let message = "every flow is unlimited, so the run can never end by `done`";
        let help = "write `end = \"duration\"` in [run], or give a flow a size";
        complaints.add(run.end_at, message, Some(help.to_owned()));
    }
    for (group, made) in model.traffic.iter().zip(made) {
        let late = |start: Instant| start.since_start() >= run.duration;
        let Some(flow) = made.flows.iter().find(|f| late(f.start)) else { continue };
        let message = format!(
            "flows of [traffic.{}] start at {}, but the run ends at {}",
            group.name, flow.start, run.duration
        );
        complaints.add(group.start_at, message, Some("start earlier, or run longer".to_owned()));
    }
}

fn traced(model: &Model, made: &[Traffic], complaints: &mut Complaints<'_>) {
    if model.probes.trace.is_empty() {
        return;
    }
    let groups = flows::groups(model, made);
    for (text, at) in &model.probes.trace {
        if let Err((message, help)) = flows::resolve(text, &groups) {
            complaints.add(*at, message, help);
        }
    }
}

/// The flows of each group with the first seed; complains of what a workload refuses.
fn made(model: &Model, complaints: &mut Complaints<'_>) -> Vec<Traffic> {
    let site = model.site(model.run.first_seed);
    let mut make = |group: &TrafficGroup| match group.traffic(&site) {
        Ok(traffic) => traffic,
        Err(refusal) => {
            complaints.add(group.to_at, refusal.message, refusal.help);
            Traffic::default()
        }
    };
    model.traffic.iter().map(&mut make).collect()
}

fn sides(model: &Model, complaints: &mut Complaints<'_>) {
    if model.topology.kind == TopologyKind::Dumbbell {
        for right in [false, true] {
            if model.hosts.iter().all(|g| g.right != right) {
                let side = if right { "right" } else { "left" };
                let message = format!("no hosts on the {side} of the dumbbell");
                let help = "put a group there, or write `kind = \"star\"`".to_owned();
                complaints.add(model.topology.at, message, Some(help));
            }
        }
    }
}

fn packets(model: &Model, configs: &[Config], complaints: &mut Complaints<'_>) {
    let link = model.topology.mtu.as_u64();
    let mut places: Vec<At> = Vec::new();
    for (group, config) in model.hosts.iter().zip(configs) {
        let at = place_of(model, group, "mtu");
        if u64::from(config.mtu) > link && !places.contains(&at) {
            places.push(at);
            let message = format!(
                "[hosts.{}] sends IP packets of {} B, but the links carry {link} B at most",
                group.name, config.mtu
            );
            let help = "lower `mtu` of the connection, or raise `mtu` in [topology]".to_owned();
            complaints.add(at, message, Some(help));
        }
    }
    let full = configs.iter().map(|c| u64::from(c.mtu)).max().unwrap_or(0);
    queue(
        &model.switch.port,
        "switch",
        full,
        model.switch.buffer_at,
        model.switch.k_at,
        complaints,
    );
    pipes(model, full, complaints);
}

/// Whether the queues of pipes make sense, and no line has two.
fn pipes(model: &Model, full: u64, complaints: &mut Complaints<'_>) {
    if model.pipes.is_empty() {
        return;
    }
    let plan = network::blueprint(model);
    let mut taken: Vec<Line> = Vec::new();
    for pipe in &model.pipes {
        let lines = pipe.lines(&model.hosts, plan.links.len());
        if lines.iter().any(|line| taken.contains(line)) {
            let message = format!("[pipe.{}] is on a line that has a pipe already", pipe.name);
            let help = "give them different directions, or make one of them".to_owned();
            complaints.add(pipe.on_at, message, Some(help));
            continue;
        }
        let ports = lines.iter().filter_map(|(link, back)| {
            plan.links.get(*link).map(|link| (link.line(*back).port, *back))
        });
        // The lines of a pipe differ in what stands at their near end, and that goes by direction.
        for end in [false, true] {
            let Some((port, _)) = ports.clone().find(|(_, back)| *back == end) else { continue };
            let before = complaints.len();
            let name = format!("pipe.{}", pipe.name);
            queue(&port, &name, full, pipe.buffer_at, pipe.k_at, complaints);
            if complaints.len() > before {
                break;
            }
        }
        taken.extend(lines);
    }
}

/// Whether the queue of a port, which the table `name` describes, holds a packet of `full` bytes and
/// can get long enough for its marker.
fn queue(
    port: &PortSpec,
    name: &str,
    full: u64,
    buffer_at: At,
    k_at: At,
    complaints: &mut Complaints<'_>,
) {
    let in_bytes = |count: Count| match count {
        Count::Packets(n) => n.saturating_mul(full),
        Count::Bytes(n) => n.as_u64(),
    };
    let BufferSpec::Static(buffer) = port.buffer else { return };
    let room = in_bytes(buffer);
    if room < full {
        let message = format!("a buffer of {} holds no packet of {full} B", show(buffer));
        let help = "give each port room for a full packet at least".to_owned();
        complaints.add(buffer_at, message, Some(help));
        return;
    }
    if let MarkSpec::Step { k, .. } = port.mark
        && in_bytes(k) > room
    {
        let message = format!(
            "K = {} is above the buffer of {}: nothing would ever be marked",
            show(k),
            show(buffer)
        );
        let help = format!("lower `k` of [{name}.mark], or raise `buffer` of [{name}]");
        complaints.add(k_at, message, Some(help));
    }
}

/// Whether each receiver serves the senders that send to it.
fn peers(model: &Model, made: &[Traffic], configs: &[Config], complaints: &mut Complaints<'_>) {
    for (traffic, made) in model.traffic.iter().zip(made) {
        for (from, to) in pairs(model, made) {
            let (sender, receiver) = (&configs[from], &configs[to]);
            let (from, to) = (&model.hosts[from], &model.hosts[to]);
            let agreed = sender.ecn.asks() && receiver.ecn != EcnWish::Off;
            let wants = cc::find(sender.cc).is_some_and(|e| e.wants.ecn);
            if wants && !agreed {
                let (group, reason) = match sender.ecn {
                    EcnWish::Off => (from, format!("[hosts.{}] has `ecn = \"off\"`", from.name)),
                    EcnWish::Passive | EcnWish::AccEcnPassive => {
                        (from, format!("[hosts.{}] only accepts ECN and never asks", from.name))
                    }
                    EcnWish::Rfc3168 | EcnWish::AccEcn => {
                        (to, format!("[hosts.{}] has `ecn = \"off\"`", to.name))
                    }
                };
                let message = format!(
                    "`{}`, with which [traffic.{}] is sent, needs ECN, but {reason}",
                    sender.cc, traffic.name
                );
                let help =
                    "set `ecn = \"rfc3168\"` for both ends; `run.allow-mismatch = true` runs \
                            it all the same"
                        .to_owned();
                complaints.add(place_of(model, group, "ecn"), message, Some(help));
                continue;
            }
            let both_accurate = sender.ecn.is_accurate() && receiver.ecn.is_accurate();
            let mode = if both_accurate { EcnMode::AccEcn } else { EcnMode::Classic };
            let decoder = mode.feedback(sender.feedback).and_then(feedback::find);
            let understands = decoder.map_or(&[][..], |e| e.understands);
            let echo = mode.ack(receiver.ack);
            if agreed && !understands.is_empty() && !understands.contains(&echo) {
                let message = format!(
                    "the receivers [hosts.{}] of [traffic.{}] echo by `{}`, which the sender's \
                     `{}` does not understand",
                    to.name, traffic.name, echo, sender.feedback
                );
                let help = format!(
                    "set `ack` of the receivers to {}; `run.allow-mismatch = true` runs it all \
                     the same",
                    understands.join(" or ")
                );
                complaints.add(place_of(model, to, "ack"), message, Some(help));
            } else if agreed
                && sender.cwr == CwrRule::Never
                && receiver.ack == ack::rfc3168::ENTRY.name
            {
                let message = format!(
                    "the receivers [hosts.{}] of [traffic.{}] echo until CWR comes, which [hosts.{}] \
                     never sends: its window would stay at the floor",
                    to.name, traffic.name, from.name
                );
                let help = "set `cwr = \"after-reduction\"` for the sender; `run.allow-mismatch = true` \
                            runs it all the same";
                complaints.add(place_of(model, from, "cwr"), message, Some(help.to_owned()));
            }
        }
    }
}

/// The pairs of host groups between which flows, requests or answers go, each once.
fn pairs(model: &Model, made: &Traffic) -> Vec<(usize, usize)> {
    let mut out: Vec<(usize, usize)> = Vec::new();
    let mut add = |from: u32, to: u32| {
        let group = |host| model.group_of(host).map(|(index, _)| usize::from(index));
        if let (Some(from), Some(to)) = (group(from), group(to))
            && !out.contains(&(from, to))
        {
            out.push((from, to));
        }
    };
    made.flows.iter().for_each(|f| add(f.src, f.dst));
    for asker in &made.askers {
        for server in &asker.servers {
            add(asker.client, *server);
            add(*server, asker.client);
        }
    }
    out
}

/// Where a switch of a group is set, as exactly as can be said.
fn place_of(model: &Model, group: &HostGroup, switch: &str) -> At {
    let set = |settings: &[Setting]| settings.iter().find(|s| s.name == switch).map(|s| s.at);
    set(&group.stack.settings)
        .or_else(|| group.stack.scheme.as_ref().map(|s| s.at))
        .or_else(|| set(&model.transport.settings))
        .unwrap_or(group.at)
}
