//! Pipes: lines that differ from what `[topology]` and `[switch]` say of all, as dummynet has them.
//!
//! Contract: a pipe says what it changes and leaves the rest as it is. It adds no element of its own to
//! a path: rate, delay, queue, marker and loss are those of the line on which it is put.

use lowtide_net::{Blueprint, BufferSpec, LineSpec, MarkSpec};
use lowtide_units::{Duration, Parts, Rate};

use crate::emit::Text;
use crate::keys::Fallback::{Is, Required, Unset};
use crate::keys::{SHARE, Section, key, section};
use crate::model::{HostGroup, TopologyKind};
use crate::ports::{self, MARK_KEYS};
use crate::reader::Reader;
use crate::tree::At;
use crate::value::{Names, Ty};

/// The line between the switches of a dumbbell, as `on` calls it.
pub(crate) const BOTTLENECK: &str = "bottleneck";

/// `[pipe.NAME]`.
pub(crate) const PIPE: Section = Section {
    path: &["pipe", "*"],
    doc: "A line that differs from the others: what is written here replaces what `[topology]` and `[switch]` say.",
    keys: &[
        key(
            "on",
            Ty::NameList(Names::Lines),
            Required,
            "`bottleneck`, or host groups: the line of each of their hosts.",
        ),
        key(
            "direction",
            Ty::Name(Names::Fixed(&["both", "up", "down", "right", "left"])),
            Is("both"),
            "`up` from the hosts or `down` to them, on the bottleneck `right` or `left`; else `both`.",
        ),
        key("rate", Ty::Rate, Unset("as the line"), "Rate."),
        key("delay", Ty::Time { positive: false }, Unset("as the line"), "Propagation delay."),
        key(
            "buffer",
            Ty::LengthOrUnlimited,
            Unset("as the port; that of a host has no limit"),
            "What the port may hold.",
        ),
        key(
            "count-in-service",
            Ty::Bool,
            Unset("as the port"),
            "Whether the packet on the line counts as queued.",
        ),
        key(
            "loss",
            SHARE,
            Is("0 %"),
            "The share of packets that are lost at random, each on its own, before they meet the queue.",
        ),
    ],
    switches: false,
};

/// `[pipe.NAME.mark]`.
pub(crate) const PIPE_MARK: Section = Section {
    path: &["pipe", "*", "mark"],
    doc: "The marker of the pipe; without this table that of the port, of which a host has none.",
    keys: MARK_KEYS,
    switches: false,
};

/// One table `[pipe.NAME]`.
#[derive(Clone, Debug)]
pub(crate) struct Pipe {
    pub(crate) name: String,
    on: Vec<String>,
    direction: String,
    rate: Option<Rate>,
    delay: Option<Duration>,
    buffer: Option<BufferSpec>,
    count_in_service: Option<bool>,
    loss: Parts,
    mark: Option<MarkSpec>,
    pub(crate) on_at: At,
    pub(crate) buffer_at: At,
    pub(crate) k_at: At,
}

/// A line of the network: the number of its link, and whether it leads from end `b` to end `a`.
pub(crate) type Line = (usize, bool);

impl Pipe {
    /// Reads one pipe and complains of a direction that its lines do not have.
    pub(crate) fn read(name: &str, r: &mut Reader<'_, '_, '_>, kind: TopologyKind) -> Self {
        let on: Vec<String> =
            r.names("on").unwrap_or_default().into_iter().map(|(name, _)| name).collect();
        let direction = r.text("direction").unwrap_or_else(|| "both".to_owned());
        let middle = on.iter().any(|n| n == BOTTLENECK);
        let hosts = on.iter().any(|n| n != BOTTLENECK);
        if middle && kind == TopologyKind::Star {
            let help = "name a host group, or write `kind = \"dumbbell\"` in [topology]".to_owned();
            r.complain("on", "a star has no bottleneck between switches", Some(help));
        }
        let (odd, help) = match direction.as_str() {
            "up" | "down" => (middle, "the bottleneck goes `right` and `left`"),
            "right" | "left" => (hosts, "the line of a host goes `up` and `down`"),
            _ => (false, ""),
        };
        if odd {
            let message = format!("there is no `{direction}` on every line of this pipe");
            r.complain("direction", message, Some(help.to_owned()));
        }
        let buffer = r.has("buffer").then(|| ports::buffer(r));
        let (mark, k_at) = if r.has("mark")
            && let Some(found) = section(PIPE_MARK.path)
        {
            let (mark, at) = ports::mark(&mut r.below(found, "mark"));
            (Some(mark), at)
        } else {
            (None, r.at("buffer"))
        };
        Self {
            name: name.to_owned(),
            on,
            direction,
            rate: r.rate("rate"),
            delay: r.time("delay"),
            buffer,
            count_in_service: r.has("count-in-service").then(|| r.bool("count-in-service")),
            loss: r.parts("loss").unwrap_or_default(),
            mark,
            on_at: r.at("on"),
            buffer_at: r.at("buffer"),
            k_at,
        }
    }

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

    /// Writes it out.
    pub(crate) fn write(&self, out: &mut Text) {
        out.table(&format!("pipe.{}", self.name));
        out.list("on", self.on.iter().map(String::as_str));
        out.text("direction", &self.direction);
        if let Some(rate) = self.rate {
            out.text("rate", rate);
        }
        if let Some(delay) = self.delay {
            out.text("delay", delay);
        }
        if let Some(buffer) = &self.buffer {
            ports::write_buffer(out, buffer);
        }
        if let Some(counts) = self.count_in_service {
            out.bare("count-in-service", counts);
        }
        out.text("loss", self.loss);
        if let Some(mark) = &self.mark {
            out.table(&format!("pipe.{}.mark", self.name));
            ports::write_mark(out, mark);
        }
    }
}
