//! Lengths and counters of the kernel's qdiscs at the ports of a switch.

use lowtide_kernel::PortCounts;
use lowtide_live::links::Links;
use lowtide_live::netns::Namespace;
use lowtide_live::{Clock, LiveError};
use lowtide_units::Instant;
use serde_json::Value;

use super::devices;
use super::shaper::{HEADER, tc};
use crate::error::TestbedError;
use crate::plan::HostPlan;

/// Counts of packets that a full queue dropped, and of marked ones, as `tc` names them.
const OVERFLOWS: [&str; 3] = ["pdrop", "drop_overlimit", "overlimit"];
const MARKS: [&str; 2] = ["marked", "ecn_mark"];

/// The ports of a switch, whose lengths are sampled.
#[derive(Debug)]
pub(super) struct Qdiscs {
    switch: Namespace,
    links: Links,
    clock: Clock,
    since: Instant,
    ports: Vec<Port>,
}

#[derive(Debug)]
struct Port {
    device: u32,
    name: String,
    levels: Vec<(u64, u64)>,
    max_bytes: u64,
}

impl Qdiscs {
    /// Returns the ports of a switch to the hosts of `plans`.
    pub(super) fn new(plans: &[HostPlan], switch: &Namespace) -> Result<Self, LiveError> {
        let opened = switch.run(|| {
            let mut links = Links::open()?;
            let port = |plan: &HostPlan| {
                let name = devices::name(plan);
                Ok(Port { device: links.get(&name)?.index, name, levels: Vec::new(), max_bytes: 0 })
            };
            let ports: Result<Vec<_>, _> = plans.iter().map(port).collect();
            ports.map(|ports| (links, ports))
        });
        let (links, ports) = opened.and_then(|opened| opened)?;
        let clock = Clock::start();
        Ok(Self { switch: switch.clone(), links, clock, since: clock.now(), ports })
    }

    /// Counts the time since the last sample at the present lengths.
    pub(super) fn sample(&mut self) -> Result<(), TestbedError> {
        let queues = self.links.root_queues();
        let queues =
            queues.map_err(|e| TestbedError::Command("tc qdisc".to_owned(), e.to_string()))?;
        let now = self.clock.now();
        let took = now.saturating_since(self.since).as_ns();
        self.since = now;
        for port in &mut self.ports {
            let Some(queue) = queues.iter().find(|q| q.device == port.device) else { continue };
            // A packet that waits has another one before it on the line.
            let in_system = queue.packets as usize + usize::from(queue.packets > 0);
            if port.levels.len() <= in_system {
                port.levels.resize(in_system + 2, (0, 0));
            }
            port.levels[in_system].0 += took;
            // The kernel reads both one after the other.
            let bytes = u64::from(queue.bytes).saturating_sub(u64::from(queue.packets) * HEADER);
            port.max_bytes = port.max_bytes.max(bytes);
        }
        Ok(())
    }

    /// Reads the counters of all ports.
    pub(super) fn counts(&mut self) -> Result<Vec<PortCounts>, TestbedError> {
        self.sample()?;
        let show = ["-s", "-j", "qdisc", "show"];
        let host = |error| TestbedError::Command(show.join(" "), format!("{error}"));
        let text = self.switch.run(|| tc(&show)).map_err(host)??;
        let all: Value = serde_json::from_str(&text)
            .map_err(|e| TestbedError::Command(show.join(" "), e.to_string()))?;
        let of = |name: &str| {
            let queues = all.as_array().into_iter().flatten();
            queues.filter(|queue| queue["dev"] == name).collect::<Vec<_>>()
        };
        Ok(self.ports.iter().map(|port| port.counts(&of(&port.name))).collect())
    }
}

impl Port {
    /// Returns the counts of `tbf` and of the qdisc in it.
    fn counts(&self, qdiscs: &[&Value]) -> PortCounts {
        let mut counts = PortCounts::default();
        let number =
            |queue: &Value, keys: &[&str]| keys.iter().find_map(|key| queue[*key].as_u64());
        for queue in qdiscs {
            if queue["root"] == true {
                counts.packets = number(queue, &["packets"]).unwrap_or(0);
                let bytes = number(queue, &["bytes"]).unwrap_or(0);
                counts.bytes = bytes - counts.packets * HEADER;
            } else if queue["parent"] == "1:1" {
                let drops = number(queue, &["drops"]).unwrap_or(0);
                counts.marks = number(queue, &MARKS).unwrap_or(0);
                counts.overflow_drops = number(queue, &OVERFLOWS).unwrap_or(drops);
                counts.aqm_drops = drops - counts.overflow_drops;
            }
        }
        counts.max_bytes = self.max_bytes;
        counts.levels.clone_from(&self.levels);
        counts
    }
}
