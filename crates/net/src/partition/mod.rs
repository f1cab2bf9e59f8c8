//! Partitioning of a network into shards that run in parallel.
//!
//! Contract: a switch with its ports and memory is never divided, and a host belongs to the shard
//! of its switch. Only links between switches are cut. A packet takes at least the minimum
//! serialisation time plus the propagation delay across such a link. The **lookahead** is the
//! minimum of these sums over all cut lines. It is never zero, and ports with departure events
//! (classes, drops at dequeue) are never at a cut link. Among balanced partitions the one with the
//! longest lookahead is chosen; among those, one with few cut links.

mod assign;
mod groups;

use lowtide_units::Duration;

use self::groups::SwitchGroups;
use crate::line::Line;
use crate::{Blueprint, HostId, LinkSpec, NodeId};

/// The smallest packet: headers of IPv4 and TCP without options.
const SMALLEST: u32 = 40;
/// Maximum load of a balanced shard, in tenths of its fair share.
const EVEN: u64 = 11;
/// Maximum load of a shard in tenths of the total; above it the other threads would mostly wait.
const MOST: u64 = 8;

/// The shard of each switch and each host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    shards: usize,
    switches: Vec<u16>,
    hosts: Vec<u16>,
    lookahead: Duration,
}

/// The reason why a network cannot be partitioned.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PartitionError {
    /// Fewer switches than shards.
    #[error("there are too few switches, and a switch is never cut")]
    TooFewSwitches,
    /// Too few links can be cut: the others have no delay, classes, or drops at dequeue.
    #[error(
        "its links between switches have no delay, or have classes or drops at dequeue: too few of \
         them can be cut"
    )]
    NoLookahead,
    /// One shard would have nearly all the work.
    #[error("one of the shards would have nearly all the work")]
    Unbalanced,
}

impl Partition {
    /// Partitions `plan` into `shards` shards, at least two. `work` is the work of each host, in
    /// units of the work of a port.
    ///
    /// # Errors
    /// The reason why this is impossible or useless.
    pub fn find(plan: &Blueprint, shards: usize, work: &[u64]) -> Result<Self, PartitionError> {
        if shards < 2 || plan.switches.len() < shards || shards > usize::from(u16::MAX) {
            return Err(PartitionError::TooFewSwitches);
        }
        let mut spans: Vec<Duration> = plan.links.iter().filter_map(span).collect();
        spans.sort_unstable();
        spans.dedup();
        let mut best: Option<(u64, Self)> = None;
        for &least in spans.iter().rev() {
            let groups =
                SwitchGroups::new(plan, work, |link| span(link).is_some_and(|s| s >= least));
            let Some(assignment) = assign::assign(&groups, shards) else { continue };
            let (heaviest, all) = groups.balance(&assignment, shards);
            let partition = Self::new(plan, &groups, &assignment, shards);
            if heaviest * 10 * shards as u64 <= EVEN * all {
                return Ok(partition);
            }
            if best.as_ref().is_none_or(|(h, _)| heaviest < *h) && heaviest * 10 <= MOST * all {
                best = Some((heaviest, partition));
            }
        }
        let why =
            if spans.is_empty() { PartitionError::NoLookahead } else { PartitionError::Unbalanced };
        best.map(|(_, partition)| partition).ok_or(why)
    }

    fn new(plan: &Blueprint, groups: &SwitchGroups, assignment: &[u16], shards: usize) -> Self {
        let switches: Vec<u16> = groups.of.iter().map(|group| assignment[*group]).collect();
        let mut hosts = vec![0; plan.hosts.len()];
        for link in &plan.links {
            if let (NodeId::Host(host), NodeId::Switch(switch))
            | (NodeId::Switch(switch), NodeId::Host(host)) = (link.a, link.b)
            {
                hosts[host.0 as usize] = switches[switch as usize];
            }
        }
        let mut partition = Self { shards, switches, hosts, lookahead: Duration::ZERO };
        let lines =
            plan.links.iter().filter(|link| partition.crosses_shards(link)).filter_map(span);
        partition.lookahead = lines.min().unwrap_or(Duration::MAX);
        partition
    }

    /// Returns the number of shards.
    pub const fn shards(&self) -> usize {
        self.shards
    }

    /// Returns the minimum delay from one shard to another.
    pub const fn lookahead(&self) -> Duration {
        self.lookahead
    }

    /// Returns the shard of a node.
    pub fn shard_of(&self, node: NodeId) -> usize {
        let shard = match node {
            NodeId::Host(host) => self.hosts.get(host.0 as usize),
            NodeId::Switch(switch) => self.switches.get(switch as usize),
        };
        shard.copied().unwrap_or_default().into()
    }

    /// Returns the shard of each host, by number.
    pub fn hosts(&self) -> &[u16] {
        &self.hosts
    }

    /// Returns the hosts of a shard, ascending.
    pub fn hosts_of(&self, shard: usize) -> impl Iterator<Item = HostId> {
        let own = self.hosts.iter().zip(0..).filter(move |(p, _)| usize::from(**p) == shard);
        own.map(|(_, host)| HostId(host))
    }

    /// Returns the switches of a shard, ascending.
    pub(crate) fn switches_of(&self, shard: usize) -> impl Iterator<Item = u32> {
        let own = self.switches.iter().zip(0..).filter(move |(p, _)| usize::from(**p) == shard);
        own.map(|(_, switch)| switch)
    }

    /// Returns true if the ends of a link are in different shards.
    pub fn crosses_shards(&self, link: &LinkSpec) -> bool {
        self.shard_of(link.a) != self.shard_of(link.b)
    }
}

/// Returns the minimum delay from a port of a link to its far end; `None` if the link cannot be
/// cut.
fn span(link: &LinkSpec) -> Option<Duration> {
    let (NodeId::Switch(_), NodeId::Switch(_)) = (link.a, link.b) else { return None };
    let lines = [&link.from_a, &link.from_b];
    if lines.iter().any(|l| l.port.classes.is_some() || l.port.mark.needs_departure_events()) {
        return None;
    }
    let spans = lines.map(|l| Line::new(l.rate, link.framing).serialization(SMALLEST) + l.delay);
    // A serialisation time alone would suffice, but this rule is simpler.
    let delayed = lines.iter().all(|l| l.delay > Duration::ZERO);
    spans.into_iter().min().filter(|_| delayed)
}
