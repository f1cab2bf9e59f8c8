//! Pipes: the lines that a pipe is on, and its changes to them.
//!
//! Contract: a pipe changes only the given properties. It adds no element to a path: rate, delay,
//! queue, marker and loss are those of its line.

use lowtide_net::{Blueprint, LineSpec};

use super::{LocatedError, links};
use crate::model::{PipeTable, ScenarioModel};

/// A line of the network: the number of its link, and whether it leads from end `b` to end `a`.
pub(crate) type LinkDirection = (usize, bool);

/// Returns the lines of a pipe.
pub(crate) fn lines(
    pipe: &PipeTable,
    model: &ScenarioModel,
    plan: &Blueprint,
) -> Result<Vec<LinkDirection>, LocatedError> {
    let forward = !matches!(pipe.direction.as_str(), "down" | "left");
    let backward = !matches!(pipe.direction.as_str(), "up" | "right");
    let mut out = Vec::new();
    for named in &pipe.on {
        let group = model.hosts.iter().find(|g| g.name == named.name);
        let named: Vec<LinkDirection> = if let Some(group) = group {
            (group.range.first..group.range.end()).map(|link| (link as usize, false)).collect()
        } else {
            match links::find(plan, model, named, 0) {
                Ok(link) => vec![link],
                Err(unknown) => match links::of_kinds(plan, &named.name) {
                    links if links.is_empty() => return Err(unknown),
                    links => links,
                },
            }
        };
        for (link, reversed) in named {
            out.extend(forward.then_some((link, reversed)));
            out.extend(backward.then_some((link, !reversed)));
        }
    }
    Ok(out)
}

/// Applies a pipe to its lines.
pub(super) fn apply_pipe(
    pipe: &PipeTable,
    model: &ScenarioModel,
    plan: &mut Blueprint,
) -> Result<(), LocatedError> {
    for (link, back) in lines(pipe, model, plan)? {
        let Some(link) = plan.links.get_mut(link) else { continue };
        let line = if back { &mut link.from_b } else { &mut link.from_a };
        if line.port.classes.is_some() && (pipe.buffer.is_some() || pipe.mark.is_some()) {
            let message = format!("[pipe.{}] has one queue, but the switch has classes", pipe.name);
            let help = Some("remove its buffer and its marker, or the classes".to_owned());
            return Err(LocatedError { at: pipe.on_at, message, help });
        }
        change(pipe, line);
    }
    Ok(())
}

fn change(pipe: &PipeTable, line: &mut LineSpec) {
    line.rate = pipe.rate.unwrap_or(line.rate);
    line.delay = pipe.delay.unwrap_or(line.delay);
    line.loss = pipe.loss;
    let port = &mut line.port;
    port.buffer = pipe.buffer.unwrap_or(port.buffer);
    if let Some(mark) = &pipe.mark {
        port.mark = mark.spec.clone();
    }
    port.count_in_service = pipe.count_in_service.unwrap_or(port.count_in_service);
}
