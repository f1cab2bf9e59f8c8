//! Pipes on their lines: which lines of the network a pipe means, and what it changes there.
//!
//! Contract: a pipe says what it changes and leaves the rest as it is. It adds no element of its own to
//! a path: rate, delay, queue, marker and loss are those of the line on which it is put.

use lowtide_net::{Blueprint, LineSpec};

use crate::known::BOTTLENECK;
use crate::model::{HostGroup, Pipe};

/// A line of the network: the number of its link, and whether it leads from end `b` to end `a`.
pub(crate) type Line = (usize, bool);

impl Pipe {
    /// The lines on which it is put, in a network of these host groups whose last link is the
    /// bottleneck of a dumbbell.
    pub(crate) fn lines(&self, hosts: &[HostGroup], links: usize) -> Vec<Line> {
        let forth = !matches!(self.direction.as_str(), "down" | "left");
        let back = !matches!(self.direction.as_str(), "up" | "right");
        let mut out = Vec::new();
        for name in &self.on {
            let range = match hosts.iter().find(|g| g.name == *name) {
                _ if name == BOTTLENECK => links.saturating_sub(1)..links,
                Some(group) => group.range.first as usize..group.range.end() as usize,
                None => 0..0,
            };
            for link in range {
                out.extend(forth.then_some((link, false)));
                out.extend(back.then_some((link, true)));
            }
        }
        out
    }

    /// Puts it on its lines.
    pub(crate) fn lay(&self, plan: &mut Blueprint, hosts: &[HostGroup]) {
        for (link, back) in self.lines(hosts, plan.links.len()) {
            let Some(link) = plan.links.get_mut(link) else { continue };
            self.change(if back { &mut link.from_b } else { &mut link.from_a });
        }
    }

    fn change(&self, line: &mut LineSpec) {
        line.rate = self.rate.unwrap_or(line.rate);
        line.delay = self.delay.unwrap_or(line.delay);
        line.loss = self.loss;
        let port = &mut line.port;
        port.buffer = self.buffer.unwrap_or(port.buffer);
        port.mark = self.mark.unwrap_or(port.mark);
        port.count_in_service = self.count_in_service.unwrap_or(port.count_in_service);
    }
}
