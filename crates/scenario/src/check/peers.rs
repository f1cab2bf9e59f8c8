//! Checks that the sender and receiver of a flow use compatible ECN.

use lowtide_tcp::{Config, CwrRule, EcnMode, EcnNegotiation, ack, cc, feedback};
use lowtide_traffic::workload::Traffic;

use super::setting_span;
use crate::diagnostics::Diagnostics;
use crate::model::ScenarioModel;

/// Checks each receiver against the senders that send to it.
pub(super) fn peers(
    model: &ScenarioModel,
    made: &[Traffic],
    configs: &[Config],
    diagnostics: &mut Diagnostics<'_>,
) {
    for (traffic, made) in model.traffic.iter().zip(made) {
        for (from, to) in pairs(model, made) {
            let (sender, receiver) = (&configs[from], &configs[to]);
            let (from, to) = (&model.hosts[from], &model.hosts[to]);
            let agreed = sender.ecn.requests_ecn() && receiver.ecn != EcnNegotiation::Off;
            let wants = cc::REGISTRY.find(sender.cc).is_some_and(|e| e.requires.ecn);
            if wants && !agreed {
                let (group, reason) = match sender.ecn {
                    EcnNegotiation::Off => {
                        (from, format!("[hosts.{}] has `ecn = \"off\"`", from.name))
                    }
                    EcnNegotiation::Passive | EcnNegotiation::AccEcnPassive => (
                        from,
                        format!("[hosts.{}] only accepts ECN and never requests it", from.name),
                    ),
                    EcnNegotiation::Rfc3168
                    | EcnNegotiation::AccEcn
                    | EcnNegotiation::AccEcnRfc3168 => {
                        (to, format!("[hosts.{}] has `ecn = \"off\"`", to.name))
                    }
                };
                let message = format!(
                    "`{}` of [traffic.{}] needs ECN, but {reason}",
                    sender.cc, traffic.name
                );
                let help =
                    "set `ecn = \"rfc3168\"` for both ends; `run.allow-mismatch = true` runs \
                            it anyway"
                        .to_owned();
                diagnostics.add(setting_span(model, group, "ecn"), message, Some(help));
                continue;
            }
            let both_accurate =
                sender.ecn == EcnNegotiation::AccEcn && receiver.ecn.accepts_accecn();
            let mode = if both_accurate { EcnMode::AccEcn } else { EcnMode::Classic };
            let decoder =
                mode.feedback(sender.feedback).and_then(|name| feedback::REGISTRY.find(name));
            let understands = decoder.map_or(&[][..], |e| e.ack_policies);
            let echo = mode.ack(receiver.ack);
            if agreed && !understands.is_empty() && !understands.contains(&echo) {
                let message = format!(
                    "the receivers [hosts.{}] of [traffic.{}] echo by `{}`, which the sender's \
                     `{}` does not understand",
                    to.name, traffic.name, echo, sender.feedback
                );
                let help = format!(
                    "set `ack` of the receivers to {}; `run.allow-mismatch = true` runs it \
                     anyway",
                    understands.join(" or ")
                );
                diagnostics.add(setting_span(model, to, "ack"), message, Some(help));
            } else if agreed
                && sender.cwr == CwrRule::Never
                && receiver.ack == ack::rfc3168::ENTRY.name
            {
                let message = format!(
                    "the receivers [hosts.{}] of [traffic.{}] echo until CWR arrives, which [hosts.{}] \
                     never sends: its window would stay at the floor",
                    to.name, traffic.name, from.name
                );
                let help = "set `cwr = \"after-reduction\"` for the sender; `run.allow-mismatch = true` \
                            runs it anyway";
                diagnostics.add(setting_span(model, from, "cwr"), message, Some(help.to_owned()));
            }
        }
    }
}

/// Returns the pairs of host groups between which flows, requests or responses go, each once.
fn pairs(model: &ScenarioModel, made: &Traffic) -> Vec<(usize, usize)> {
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
    for client in &made.query_clients {
        for server in &client.servers {
            add(client.client, *server);
            add(*server, client.client);
        }
    }
    out
}
