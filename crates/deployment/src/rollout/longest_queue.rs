//! The longest queue at a switch by share.
//!
//! Contract: in each run it is the queue with the greatest 99th percentile of the length over time
//! after the warm-up; of equal ones that with the greater mean, then the first name. Seeds may
//! have different ones.

use std::collections::BTreeMap;

use lowtide_lab::{QueueFacts, RunFacts, ShownEstimate};
use lowtide_stats::{ValueRange, seed_mean};
use serde::Serialize;

/// The longest queue at a switch at a share; its lengths are means over seeds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LongestQueueRow {
    /// Moved share of the hosts, percent.
    pub share_percent: f64,
    /// Moved hosts.
    pub moved_hosts: u32,
    /// In how many seeds each queue is the longest.
    pub queues: BTreeMap<String, usize>,
    /// Mean length over time, packets.
    pub mean_packets: ShownEstimate,
    /// 99th percentile of the length over time, packets.
    pub p99_packets: ShownEstimate,
}

impl LongestQueueRow {
    /// Returns the row of the runs of a share; `None` without switches.
    pub(super) fn new(share_percent: f64, moved_hosts: u32, runs: &[&RunFacts]) -> Option<Self> {
        let longest: Vec<&QueueFacts> = runs.iter().filter_map(|run| longest(run)).collect();
        let mut queues: BTreeMap<String, usize> = BTreeMap::new();
        for queue in &longest {
            *queues.entry(queue.name.clone()).or_default() += 1;
        }
        let mean = |read: fn(&QueueFacts) -> Option<f64>| {
            let own: Vec<Option<f64>> = longest.iter().map(|queue| read(queue)).collect();
            ShownEstimate::from(seed_mean(&own, ValueRange::NOT_NEGATIVE))
        };
        let row = Self {
            share_percent,
            moved_hosts,
            queues,
            mean_packets: mean(|q| q.mean_packets),
            p99_packets: mean(|q| q.p99_packets.map(f64::from)),
        };
        (!row.queues.is_empty()).then_some(row)
    }

    /// Returns the queue that is the longest in most seeds, and their number.
    pub(super) fn most_frequent(&self) -> (&str, usize) {
        let most = self.queues.iter().rev().max_by_key(|(_, seeds)| **seeds);
        most.map_or(("", 0), |(name, seeds)| (name, *seeds))
    }
}

fn longest(run: &RunFacts) -> Option<&QueueFacts> {
    let mean = |queue: &QueueFacts| queue.mean_packets.unwrap_or_default();
    run.queues.iter().max_by(|a, b| {
        let lengths = a.p99_packets.cmp(&b.p99_packets).then(mean(a).total_cmp(&mean(b)));
        lengths.then(b.name.cmp(&a.name))
    })
}
