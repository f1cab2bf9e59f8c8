//! Cutting a network into parts that run side by side.
//!
//! Contract: a switch is never cut, with all its ports and its memory, and a host goes with its switch. What
//! is cut are links between switches. A packet that comes to a port at such a link reaches the far end after
//! the least time on the line and the delay of the link, so **lookahead** is the least of those sums over all
//! lines that are cut. It is never zero, and a port whose departures are events of their own (classes, drops at
//! dequeue) is not at a link that is cut. Of several ways to cut, the one with the longest lookahead whose parts
//! are about equal is taken; among those, few links are cut.

mod assign;
mod groups;

use std::fmt;

use lowtide_units::Duration;

use self::groups::SwitchGroups;
use crate::line::Line;
use crate::{Blueprint, HostId, LinkSpec, NodeId};

/// The smallest packet: headers of IPv4 and TCP without options.
const SMALLEST: u32 = 40;
/// A part may hold so many tenths of its fair share and still count as equal.
const EVEN: u64 = 11;
/// With a part that holds more tenths of all than this, the other threads would wait most of the time.
const MOST: u64 = 8;

/// Which part each switch and each host belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    shards: usize,
    switches: Vec<u16>,
    hosts: Vec<u16>,
    lookahead: Duration,
}

/// Why a network is not cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PartitionError {
    /// There are fewer switches than parts.
    TooFewSwitches,
    /// Links between switches have no delay, or classes or drops at dequeue: too few of them can be cut.
    NoLookahead,
    /// One part would have nearly everything to do.
    Unbalanced,
}

impl fmt::Display for PartitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooFewSwitches => "there are too few switches, and a switch is never cut",
            Self::NoLookahead => {
                "its links between switches have no delay, or classes or drops at dequeue, and those are \
                 not cut"
            }
            Self::Unbalanced => "one of the parts would have nearly everything to do",
        })
    }
}

impl Partition {
    /// Cuts `plan` into so many parts, two or more. `work` says how much each host has to do, in units of
    /// what a port has.
    ///
    /// # Errors
    /// Why that cannot be done, or would be of no use.
    pub fn find(plan: &Blueprint, parts: usize, work: &[u64]) -> Result<Self, PartitionError> {
        if parts < 2 || plan.switches.len() < parts || parts > usize::from(u16::MAX) {
            return Err(PartitionError::TooFewSwitches);
        }
        let mut spans: Vec<Duration> = plan.links.iter().filter_map(span).collect();
        spans.sort_unstable();
        spans.dedup();
        let mut best: Option<(u64, Self)> = None;
        for &least in spans.iter().rev() {
            let groups =
                SwitchGroups::new(plan, work, |link| span(link).is_some_and(|s| s >= least));
            let Some(places) = assign::assign(&groups, parts) else { continue };
            let (heaviest, all) = groups.balance(&places, parts);
            let cut = Self::new(plan, &groups, &places, parts);
            if heaviest * 10 * parts as u64 <= EVEN * all {
                return Ok(cut);
            }
            if best.as_ref().is_none_or(|(h, _)| heaviest < *h) && heaviest * 10 <= MOST * all {
                best = Some((heaviest, cut));
            }
        }
        let why =
            if spans.is_empty() { PartitionError::NoLookahead } else { PartitionError::Unbalanced };
        best.map(|(_, cut)| cut).ok_or(why)
    }

    fn new(plan: &Blueprint, groups: &SwitchGroups, places: &[u16], parts: usize) -> Self {
        let switches: Vec<u16> = groups.of.iter().map(|group| places[*group]).collect();
        let mut hosts = vec![0; plan.hosts.len()];
        for link in &plan.links {
            if let (NodeId::Host(host), NodeId::Switch(switch))
            | (NodeId::Switch(switch), NodeId::Host(host)) = (link.a, link.b)
            {
                hosts[host.0 as usize] = switches[switch as usize];
            }
        }
        let mut cut = Self { shards: parts, switches, hosts, lookahead: Duration::ZERO };
        let lines = plan.links.iter().filter(|link| cut.crosses_shards(link)).filter_map(span);
        cut.lookahead = lines.min().unwrap_or(Duration::MAX);
        cut
    }

    /// How many parts there are.
    pub const fn shards(&self) -> usize {
        self.shards
    }

    /// The least time that anything takes from one part to another.
    pub const fn lookahead(&self) -> Duration {
        self.lookahead
    }

    /// The part of a node.
    pub fn shard_of(&self, node: NodeId) -> usize {
        let part = match node {
            NodeId::Host(host) => self.hosts.get(host.0 as usize),
            NodeId::Switch(switch) => self.switches.get(switch as usize),
        };
        part.copied().unwrap_or_default().into()
    }

    /// The part of each host, by number.
    pub fn hosts(&self) -> &[u16] {
        &self.hosts
    }

    /// The numbers of the hosts of a part, ascending.
    pub fn hosts_of(&self, part: usize) -> impl Iterator<Item = HostId> {
        let own = self.hosts.iter().zip(0..).filter(move |(p, _)| usize::from(**p) == part);
        own.map(|(_, host)| HostId(host))
    }

    /// The numbers of the switches of a part, ascending.
    pub(crate) fn switches_of(&self, part: usize) -> impl Iterator<Item = u32> {
        let own = self.switches.iter().zip(0..).filter(move |(p, _)| usize::from(**p) == part);
        own.map(|(_, switch)| switch)
    }

    /// Whether the ends of a link are in different parts.
    pub fn crosses_shards(&self, link: &LinkSpec) -> bool {
        self.shard_of(link.a) != self.shard_of(link.b)
    }
}

/// The least time from a port of a link to its far end; `None` for a link that is not to be cut.
fn span(link: &LinkSpec) -> Option<Duration> {
    let (NodeId::Switch(_), NodeId::Switch(_)) = (link.a, link.b) else { return None };
    let lines = [&link.from_a, &link.from_b];
    if lines.iter().any(|l| l.port.classes.is_some() || l.port.mark.needs_departure_events()) {
        return None;
    }
    let spans = lines.map(|l| Line::new(l.rate, link.framing).serialization(SMALLEST) + l.delay);
    // What is on the line for a while already would do, but the rule is easier to keep in mind.
    let delayed = lines.iter().all(|l| l.delay > Duration::ZERO);
    spans.into_iter().min().filter(|_| delayed)
}
