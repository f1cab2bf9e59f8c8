//! Checks that the queues of switches and pipes hold a packet and can reach their marking
//! thresholds.

use lowtide_net::{Blueprint, BufferSpec, NodeId, QueueLength};
use lowtide_units::{Bytes, Rate};

use super::marking::{Queue, UselessMarker};
use crate::diagnostics::Diagnostics;
use crate::error::suggest;
use crate::model::{MarkTable, ScenarioModel, SwitchPort};
use crate::network;
use crate::toml_tree::SourceSpan;

/// A queue and its location in the file.
struct LocatedQueue<'a> {
    queue: Queue<'a>,
    buffer_at: SourceSpan,
    /// The table of its marker; `None` if the file has none here.
    mark: Option<&'a MarkTable>,
}

/// Checks all queues for packets of `full` bytes.
pub(super) fn queues(
    model: &ScenarioModel,
    plan: &Blueprint,
    full: u64,
    diagnostics: &mut Diagnostics<'_>,
) {
    for spec in model.switch.each() {
        if !spec.name.is_empty()
            && !plan.switches.iter().any(|s| std::ptr::eq(model.switch.for_switch(&s.name), spec))
        {
            report_unknown_switch(spec, plan, diagnostics);
            continue;
        }
        let table = match spec.name.as_str() {
            "" => "switch".to_owned(),
            name => format!("switch.at.{name}"),
        };
        let SwitchPort { buffer, ref mark, buffer_at, .. } = *spec;
        let share = dynamic_share(model, plan, spec, &buffer);
        if model.switch.classes.is_empty() {
            let line = slowest(model, plan, spec);
            let queue =
                Queue { table: &table, buffer, mark: &mark.spec, dynamic_share: share, line };
            LocatedQueue { queue, buffer_at, mark: Some(mark) }.check(full, diagnostics);
        }
        for class in &model.switch.classes {
            let table = match (class.buffer, &class.mark) {
                (None, None) => table.clone(),
                _ => format!("switch.class.{}", class.name),
            };
            let own = class.buffer.unwrap_or(buffer);
            let mark = class.mark.as_ref().unwrap_or(mark);
            let queue = Queue {
                table: &table,
                buffer: own,
                mark: &mark.spec,
                dynamic_share: dynamic_share(model, plan, spec, &own),
                // Packets of a class wait for those of other classes.
                line: None,
            };
            let buffer_at = if class.buffer.is_some() { class.buffer_at } else { buffer_at };
            LocatedQueue { queue, buffer_at, mark: Some(mark) }.check(full, diagnostics);
        }
    }
    pipes(model, full, diagnostics);
}

/// Reports a name that matches no switch.
fn report_unknown_switch(spec: &SwitchPort, plan: &Blueprint, diagnostics: &mut Diagnostics<'_>) {
    let mut names: Vec<&str> = Vec::new();
    for switch in &plan.switches {
        let kind = switch.name.trim_end_matches(|c: char| c.is_ascii_digit());
        for name in [kind, switch.name.as_str()] {
            if !name.is_empty() && !names.contains(&name) && names.len() < 1_000 {
                names.push(name);
            }
        }
    }
    let message = format!("no switch is called `{0}`, nor `{0}` and a number", spec.name);
    diagnostics.add(spec.at, message, suggest(&spec.name, &names));
}

/// Returns the limit of a queue with a dynamic buffer when it is alone: `alpha B / (1 + alpha)` of
/// the shared memory plus its reserve. Takes the maximum over the switches that `spec` describes.
fn dynamic_share(
    model: &ScenarioModel,
    plan: &Blueprint,
    spec: &SwitchPort,
    buffer: &BufferSpec,
) -> Option<u64> {
    let BufferSpec::Dynamic { alpha, reserved } = buffer else { return None };
    let mut ports = vec![0_u32; plan.switches.len()];
    for link in &plan.links {
        for node in [link.a, link.b] {
            if let NodeId::Switch(switch) = node
                && let Some(count) = ports.get_mut(switch as usize)
            {
                *count += 1;
            }
        }
    }
    let of = |switch: &&(&lowtide_net::SwitchSpec, u32)| {
        std::ptr::eq(model.switch.for_switch(&switch.0.name), spec)
    };
    let all: Vec<_> = plan.switches.iter().zip(ports).collect();
    let fewest = all.iter().filter(of).map(|(_, n)| *n).min()?;
    let sharing = spec.ports_per_memory.map_or(fewest, |most| fewest.min(most.get()));
    let queues = u64::from(sharing).saturating_mul(model.switch.classes.len().max(1) as u64);
    let taken = reserved.as_u64().saturating_mul(queues);
    let shared = spec.memory?.as_u64().saturating_sub(taken);
    let (num, den) = (u128::from(alpha.num), u128::from(alpha.den.get()));
    let part = u64::try_from(num * u128::from(shared) / (den + num)).unwrap_or(u64::MAX);
    Some(part.saturating_add(reserved.as_u64()))
}

/// Returns the slowest line behind the queues that `spec` describes, and its framing.
fn slowest(model: &ScenarioModel, plan: &Blueprint, spec: &SwitchPort) -> Option<(Rate, u64)> {
    let is_said = |node: NodeId| match node {
        NodeId::Host(_) => false,
        NodeId::Switch(at) => plan
            .switches
            .get(at as usize)
            .is_some_and(|switch| std::ptr::eq(model.switch.for_switch(&switch.name), spec)),
    };
    let lines = plan.links.iter().flat_map(|link| {
        let near = [(false, link.a), (true, link.b)].into_iter();
        near.filter(|(_, node)| is_said(*node)).map(move |(back, _)| (link.line(back).rate, link))
    });
    lines.map(|(rate, link)| (rate, link.framing.overhead())).min_by_key(|(rate, _)| *rate)
}

impl LocatedQueue<'_> {
    /// Checks that it holds a packet of `full` bytes and can reach its marking threshold.
    fn check(&self, full: u64, diagnostics: &mut Diagnostics<'_>) {
        let message = match (self.queue.buffer, self.queue.dynamic_share) {
            (BufferSpec::Static(buffer), _) if in_bytes(buffer, full) < full => {
                format!("a buffer of {buffer} holds no packet of {full} B")
            }
            (BufferSpec::Dynamic { .. }, Some(share)) if share < full => format!(
                "the {} that a single active port may take holds no packet of {full} B",
                Bytes::new(share)
            ),
            _ => {
                let useless =
                    self.queue.never_marks(full).or_else(|| self.queue.marks_always(full));
                if let Some(UselessMarker { param, message, help }) = useless {
                    let of_mark = |mark: &MarkTable| mark.span_of(param.unwrap_or_default());
                    diagnostics.add(self.mark.map_or(self.buffer_at, of_mark), message, help);
                }
                return;
            }
        };
        let help = "give each port room for at least one full packet".to_owned();
        diagnostics.add(self.buffer_at, message, Some(help));
    }
}

/// Converts a queue length to bytes, for packets of `full` bytes.
const fn in_bytes(count: QueueLength, full: u64) -> u64 {
    match count {
        QueueLength::Packets(n) => n.saturating_mul(full),
        QueueLength::Bytes(n) => n.as_u64(),
    }
}

/// Returns the slowest of those lines that begin at this end of their links, and its framing.
fn slowest_of(
    lines: &[network::LinkDirection],
    plan: &Blueprint,
    end: bool,
) -> Option<(Rate, u64)> {
    let at_end = lines.iter().filter(|(_, back)| *back == end);
    let links = at_end.filter_map(|(link, _)| plan.links.get(*link));
    links.map(|l| (l.line(end).rate, l.framing.overhead())).min_by_key(|(rate, _)| *rate)
}

/// Checks the queues of pipes, and that no line has two pipes.
fn pipes(model: &ScenarioModel, full: u64, diagnostics: &mut Diagnostics<'_>) {
    if model.pipes.is_empty() {
        return;
    }
    // `network::blueprint` has accepted their locations.
    let Ok(plan) = network::blueprint_without_pipes(model) else { return };
    let mut taken = Vec::new();
    for pipe in &model.pipes {
        let Ok(lines) = network::lines(pipe, model, &plan) else { continue };
        if lines.iter().any(|line| taken.contains(line)) {
            let message = format!("[pipe.{}] is on a line that has a pipe already", pipe.name);
            let help = "give them different directions, or merge them".to_owned();
            diagnostics.add(pipe.on_at, message, Some(help));
            continue;
        }
        // The two ends of a pipe's lines differ: one may be a host, the other a switch.
        for end in [false, true] {
            let line = lines.iter().find(|(_, back)| *back == end);
            let Some(link) = line.and_then(|(link, _)| plan.links.get(*link)) else { continue };
            let port = &link.line(end).port;
            let before = diagnostics.len();
            let line = slowest_of(&lines, &plan, end).filter(|_| port.classes.is_none());
            let queue = Queue {
                table: &format!("pipe.{}", pipe.name),
                buffer: pipe.buffer.unwrap_or(port.buffer),
                mark: pipe.mark.as_ref().map_or(&port.mark, |mark| &mark.spec),
                dynamic_share: None,
                line: line.map(|(rate, framing)| (pipe.rate.unwrap_or(rate), framing)),
            };
            let (buffer_at, mark) = (pipe.buffer_at, pipe.mark.as_ref());
            LocatedQueue { queue, buffer_at, mark }.check(full, diagnostics);
            if diagnostics.len() > before {
                break;
            }
        }
        taken.extend(lines);
    }
}
