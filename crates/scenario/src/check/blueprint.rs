//! Checks that the network can be built; reports its errors at their place in the file.

use lowtide_net::{Blueprint, BlueprintError, Network};
use lowtide_units::Duration;

use crate::diagnostics::Diagnostics;
use crate::model::ScenarioModel;
use crate::network;

/// Checks the blueprint.
pub(super) fn plan(model: &ScenarioModel, plan: &Blueprint, diagnostics: &mut Diagnostics<'_>) {
    let Err(error) = Network::build(plan, 0, Duration::ZERO, Duration::ZERO) else { return };
    let graph = model.topology.entry.explicit_links;
    let (at, message, help) = match &error {
        BlueprintError::NoLink { name } => {
            let group = name.rsplit_once('.').map_or(name.as_str(), |(group, _)| group);
            let group = model.hosts.iter().find(|g| g.name == group);
            let help = format!("write a link with `ends = [\"{name}\", ..]`, or shrink the group");
            let at = group.map_or(model.topology.at, |g| g.at);
            (at, format!("`{name}` has no link, and each host needs one"), Some(help))
        }
        BlueprintError::Disconnected { from, to } => {
            let help = graph.then(|| "connect the switches between them".to_owned());
            (model.topology.at, format!("there is no path from `{from}` to `{to}`"), help)
        }
        BlueprintError::Port { link, back, reason } => {
            let ends = plan.links.get(*link).map(|link| (plan.name(link.a), plan.name(link.b)));
            let (a, b) = ends.unwrap_or_default();
            let (near, far) = if *back { (b, a) } else { (a, b) };
            let at = model.switch.for_switch(near).buffer_at;
            (at, format!("the port of `{near}` to `{far}` {reason}"), None)
        }
        BlueprintError::Reserved { name, .. } => {
            (model.switch.for_switch(name).buffer_at, error.to_string(), None)
        }
        BlueprintError::FailureOfNoLink { failure, .. }
        | BlueprintError::FailureEndsEarly { failure, .. }
        | BlueprintError::FailureOfNoRate { failure, .. }
        | BlueprintError::FailuresOverlap { second: failure, .. } => {
            let at = model.failures.get(*failure).map_or(model.topology.at, |f| f.times_at);
            (at, overlap(model, &error), None)
        }
        other => {
            let wrong = network::locate(&model.topology, other);
            (wrong.at, wrong.message, wrong.help)
        }
    };
    diagnostics.add(at, message, help);
}

/// Describes failures that overlap, or lose nothing, by their names.
fn overlap(model: &ScenarioModel, error: &BlueprintError) -> String {
    let name = |i: &usize| model.failures.get(*i).map_or("", |f| f.name.as_str());
    let (first, second) = match error {
        BlueprintError::FailuresOverlap { first, second } => (first, second),
        BlueprintError::FailureOfNoRate { failure, rate, own } => {
            return format!(
                "[failure.{}] leaves {rate} of a line of {own}: write a smaller `rate`",
                name(failure)
            );
        }
        _ => return error.to_string(),
    };
    format!(
        "[failure.{}] and [failure.{}] of one link overlap: it must be back, and `detect` have passed, \
         before it fails again",
        name(first),
        name(second)
    )
}
