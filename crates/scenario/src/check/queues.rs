//! Whether the queues of switches and pipes hold a packet, and can get long enough for their markers.

use lowtide_net::{Blueprint, BufferSpec, Count, MarkSpec, NodeId};
use lowtide_units::Bytes;

use crate::complaints::Complaints;
use crate::error::suggest;
use crate::model::{Model, SwitchPort};
use crate::network;
use crate::tree::At;
use crate::value::show;

/// A queue as it is written.
struct Queue<'a> {
    /// The table that describes it.
    table: &'a str,
    buffer: BufferSpec,
    mark: MarkSpec,
    buffer_at: At,
    k_at: At,
    /// What a dynamic buffer may come to where nothing else is queued.
    share: Option<u64>,
}

/// Checks all queues for packets of `full` bytes.
pub(super) fn queues(model: &Model, plan: &Blueprint, full: u64, complaints: &mut Complaints<'_>) {
    for said in model.switch.each() {
        if !said.name.is_empty()
            && !plan.switches.iter().any(|s| std::ptr::eq(model.switch.of(&s.name), said))
        {
            nowhere(said, plan, complaints);
            continue;
        }
        let table = match said.name.as_str() {
            "" => "switch".to_owned(),
            name => format!("switch.at.{name}"),
        };
        let SwitchPort { buffer, mark, buffer_at, k_at, .. } = *said;
        let share = share(model, plan, said, &buffer);
        if model.switch.classes.is_empty() {
            let queue = Queue { table: &table, buffer, mark, buffer_at, k_at, share };
            queue.check(full, complaints);
        }
        for class in &model.switch.classes {
            let table = match (class.buffer, class.mark) {
                (None, None) => table.clone(),
                _ => format!("switch.class.{}", class.name),
            };
            let own = class.buffer.unwrap_or(buffer);
            let queue = Queue {
                table: &table,
                buffer: own,
                mark: class.mark.unwrap_or(mark),
                buffer_at: if class.buffer.is_some() { class.buffer_at } else { buffer_at },
                k_at: if class.mark.is_some() { class.k_at } else { k_at },
                share: self::share(model, plan, said, &own),
            };
            queue.check(full, complaints);
        }
    }
    pipes(model, full, complaints);
}

/// Complains of a name that no switch has.
fn nowhere(said: &SwitchPort, plan: &Blueprint, complaints: &mut Complaints<'_>) {
    let mut names: Vec<&str> = Vec::new();
    for switch in &plan.switches {
        let kind = switch.name.trim_end_matches(|c: char| c.is_ascii_digit());
        for name in [kind, switch.name.as_str()] {
            if !name.is_empty() && !names.contains(&name) && names.len() < 1_000 {
                names.push(name);
            }
        }
    }
    let message = format!("no switch is called `{0}`, nor `{0}` and a number", said.name);
    complaints.add(said.at, message, suggest(&said.name, &names));
}

/// What a queue with a dynamic buffer may come to when it is alone: `alpha B / (1 + alpha)` of what is
/// shared, and what is its own; the most of any switch that this is said of.
fn share(model: &Model, plan: &Blueprint, said: &SwitchPort, buffer: &BufferSpec) -> Option<u64> {
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
        std::ptr::eq(model.switch.of(&switch.0.name), said)
    };
    let all: Vec<_> = plan.switches.iter().zip(ports).collect();
    let fewest = all.iter().filter(of).map(|(_, n)| *n).min()?;
    let sharing = said.ports_per_memory.map_or(fewest, |most| fewest.min(most.get()));
    let queues = u64::from(sharing).saturating_mul(model.switch.classes.len().max(1) as u64);
    let taken = reserved.as_u64().saturating_mul(queues);
    let shared = said.memory?.as_u64().saturating_sub(taken);
    let (num, den) = (u128::from(alpha.num), u128::from(alpha.den.get()));
    let part = u64::try_from(num * u128::from(shared) / (den + num)).unwrap_or(u64::MAX);
    Some(part.saturating_add(reserved.as_u64()))
}

impl Queue<'_> {
    /// Whether it holds a packet of `full` bytes and can get long enough for its marker.
    fn check(&self, full: u64, complaints: &mut Complaints<'_>) {
        let in_bytes = |count: Count| match count {
            Count::Packets(n) => n.saturating_mul(full),
            Count::Bytes(n) => n.as_u64(),
        };
        let (room, what) = match (self.buffer, self.share) {
            (BufferSpec::Static(buffer), _) => {
                (in_bytes(buffer), format!("the buffer of {}", show(buffer)))
            }
            (BufferSpec::Dynamic { .. }, Some(share)) => {
                (share, format!("the {} that a port may take when it is alone", Bytes::new(share)))
            }
            _ => return,
        };
        if room < full {
            let message = match self.buffer {
                BufferSpec::Static(buffer) => {
                    format!("a buffer of {} holds no packet of {full} B", show(buffer))
                }
                _ => format!("{what} holds no packet of {full} B"),
            };
            let help = "give each port room for a full packet at least".to_owned();
            complaints.add(self.buffer_at, message, Some(help));
            return;
        }
        let (key, shown, least) = match self.mark {
            MarkSpec::Step { k, .. } | MarkSpec::StepDequeue { k, .. } => {
                ("k", show(k), in_bytes(k))
            }
            MarkSpec::Red(red) => ("min", show(red.min), in_bytes(red.min)),
            MarkSpec::Pi(pi) => ("q-ref", pi.q_ref.to_string(), in_bytes(Count::Packets(pi.q_ref))),
            MarkSpec::None | MarkSpec::Phantom { .. } | MarkSpec::CoDel(_) | MarkSpec::Pie(_) => {
                return;
            }
        };
        if least > room {
            let name = if key == "k" { "K" } else { key };
            let message = format!("{name} = {shown} is above {what}: nothing would ever be marked");
            let help = match self.buffer {
                BufferSpec::Dynamic { .. } => {
                    format!("lower `{key}` of [{}.mark], or raise `alpha` or `memory`", self.table)
                }
                _ => format!("lower `{key}` of [{0}.mark], or raise `buffer` of [{0}]", self.table),
            };
            complaints.add(self.k_at, message, Some(help));
        }
    }
}

/// Whether the queues of pipes make sense, and no line has two.
fn pipes(model: &Model, full: u64, complaints: &mut Complaints<'_>) {
    if model.pipes.is_empty() {
        return;
    }
    // They were laid before: nothing can be wrong with their places.
    let Ok(plan) = network::bare(model) else { return };
    let mut taken = Vec::new();
    for pipe in &model.pipes {
        let Ok(lines) = network::lines(pipe, model, &plan) else { continue };
        if lines.iter().any(|line| taken.contains(line)) {
            let message = format!("[pipe.{}] is on a line that has a pipe already", pipe.name);
            let help = "give them different directions, or make one of them".to_owned();
            complaints.add(pipe.on_at, message, Some(help));
            continue;
        }
        // The lines of a pipe differ in what stands at their near end: a host, or a switch.
        for end in [false, true] {
            let line = lines.iter().find(|(_, back)| *back == end);
            let Some(link) = line.and_then(|(link, _)| plan.links.get(*link)) else { continue };
            let port = link.line(end).port;
            let before = complaints.len();
            let queue = Queue {
                table: &format!("pipe.{}", pipe.name),
                buffer: pipe.buffer.unwrap_or(port.buffer),
                mark: pipe.mark.unwrap_or(port.mark),
                buffer_at: pipe.buffer_at,
                k_at: pipe.k_at,
                share: None,
            };
            queue.check(full, complaints);
            if complaints.len() > before {
                break;
            }
        }
        taken.extend(lines);
    }
}
