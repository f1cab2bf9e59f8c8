//! Pipes on their lines: which lines of the network a pipe means, and what it changes there.
//!
//! Contract: a pipe says what it changes and leaves the rest as it is. It adds no element of its own to
//! a path: rate, delay, queue, marker and loss are those of the line on which it is put.

use lowtide_net::{Blueprint, LineSpec};

use super::{LocatedError, links};
use crate::model::{PipeTable, ScenarioModel};

/// A line of the network: the number of its link, and whether it leads from end `b` to end `a`.
pub(crate) type LinkDirection = (usize, bool);

/// The lines on which a pipe is put.
pub(crate) fn lines(
    pipe: &PipeTable,
    model: &ScenarioModel,
    plan: &Blueprint,
) -> Result<Vec<LinkDirection>, LocatedError> {
    let forth = !matches!(pipe.direction.as_str(), "down" | "left");
    let back = !matches!(pipe.direction.as_str(), "up" | "right");
    let mut out = Vec::new();
    for named in &pipe.on {
        let group = model.hosts.iter().find(|g| g.name == named.name);
        let (range, turned) = if let Some(group) = group {
            (group.range.first as usize..group.range.end() as usize, false)
        } else {
            let (link, turned) = links::find(plan, model, named, 0)?;
            (link..link + 1, turned)
        };
        for link in range {
            out.extend(forth.then_some((link, turned)));
            out.extend(back.then_some((link, !turned)));
        }
    }
    Ok(out)
}

/// Puts it on its lines.
pub(super) fn apply_pipe(
    pipe: &PipeTable,
    model: &ScenarioModel,
    plan: &mut Blueprint,
) -> Result<(), LocatedError> {
    for (link, back) in lines(pipe, model, plan)? {
        let Some(link) = plan.links.get_mut(link) else { continue };
        let line = if back { &mut link.from_b } else { &mut link.from_a };
        if line.port.classes.is_some() && (pipe.buffer.is_some() || pipe.mark.is_some()) {
            let message =
                format!("[pipe.{}] has one queue where the switch has classes", pipe.name);
            let help = Some("take its buffer and its marker out, or the classes".to_owned());
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
    port.mark = pipe.mark.unwrap_or(port.mark);
    port.count_in_service = pipe.count_in_service.unwrap_or(port.count_in_service);
}
