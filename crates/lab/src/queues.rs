//! What queues at switches came to, by port and by class, and the memories that they share.
//!
//! Contract: everything is of the time after the warm-up, and as the tables have it.

use std::collections::BTreeMap;

use lowtide_record::{ClassRow, MemoryRow, QueueRow, RunTables};
use serde::Serialize;

/// One queue at a switch in one run, after the warm-up.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct QueueFacts {
    /// Its name.
    pub name: String,
    /// Mean length over time.
    pub mean_packets: Option<f64>,
    /// Median length over time.
    pub p50_packets: Option<u32>,
    /// 99th percentile over time.
    pub p99_packets: Option<u32>,
    /// 99.9th percentile over time.
    pub p999_packets: Option<u32>,
    /// The longest.
    pub max_packets: Option<u32>,
    /// What arriving packets found.
    pub seen: ArrivalQueueStats,
    /// Its marker, if that sets CE; null with classes, which have their own.
    pub marker: Option<String>,
    /// Packets marked.
    pub marks: u64,
    /// Packets dropped for want of memory.
    pub drops: u64,
    /// Packets dropped by the marker.
    pub aqm_drops: u64,
    /// It had a marker and flows that agreed on ECN, dropped packets, and marked none: the threshold is
    /// out of reach, or none of these flows came here.
    pub never_marked: bool,
    /// Packets lost at random before they met it.
    pub lost: u64,
    /// Packets lost because its link failed.
    pub cut: u64,
    /// Share of the time that its line was busy.
    pub utilisation: Option<f64>,
    /// Its classes, in the order of the switch's list; empty where there are none.
    pub classes: Vec<QueueClassFacts>,
}

/// The length of a queue that arriving packets found.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct ArrivalQueueStats {
    /// Mean.
    pub mean_packets: Option<f64>,
    /// 1st percentile.
    pub p1_packets: Option<u32>,
    /// Median.
    pub p50_packets: Option<u32>,
    /// 99th percentile.
    pub p99_packets: Option<u32>,
    /// 99.9th percentile.
    pub p999_packets: Option<u32>,
}

/// One class of a queue.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct QueueClassFacts {
    /// Its name.
    pub name: String,
    /// Packets sent.
    pub packets: u64,
    /// IP bytes sent.
    pub bytes: u64,
    /// Mean length over time.
    pub mean_packets: Option<f64>,
    /// 99th percentile over time.
    pub p99_packets: Option<u32>,
    /// The longest.
    pub max_packets: Option<u32>,
    /// Its marker, if that sets CE.
    pub marker: Option<String>,
    /// Packets marked.
    pub marks: u64,
    /// Packets dropped for want of memory.
    pub drops: u64,
    /// Packets dropped by the marker.
    pub aqm_drops: u64,
    /// As [`QueueFacts::never_marked`].
    pub never_marked: bool,
}

/// A memory that queues of a switch share.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct BufferPoolFacts {
    /// The switch and the number of the memory: `switch0.0`.
    pub name: String,
    /// Its size.
    pub size_bytes: u64,
    /// What of it is reserved for single queues.
    pub reserved_bytes: u64,
    /// The most that queues held of it.
    pub peak_bytes: u64,
}

/// The queues at switches of a run.
pub(crate) fn facts(tables: &RunTables) -> Vec<QueueFacts> {
    let ecn = tables.flows.iter().any(|f| f.ecn);
    let links: BTreeMap<u32, Option<f64>> =
        tables.links.iter().map(|l| (l.link, l.utilisation)).collect();
    let mut classes: BTreeMap<u32, Vec<QueueClassFacts>> = BTreeMap::new();
    for row in &tables.classes {
        classes.entry(row.queue).or_default().push(QueueClassFacts::new(row, ecn));
    }
    let queue = |q: &QueueRow| QueueFacts {
        name: q.name.clone(),
        mean_packets: q.mean_packets,
        p50_packets: q.p50_packets,
        p99_packets: q.p99_packets,
        p999_packets: q.p999_packets,
        max_packets: q.max_packets,
        seen: ArrivalQueueStats {
            mean_packets: q.seen_mean_packets,
            p1_packets: q.seen_p1_packets,
            p50_packets: q.seen_p50_packets,
            p99_packets: q.seen_p99_packets,
            p999_packets: q.seen_p999_packets,
        },
        marker: q.marker.clone(),
        marks: q.marks,
        drops: q.drops,
        aqm_drops: q.aqm_drops,
        never_marked: ecn && q.marker.is_some() && q.drops > 0 && q.marks + q.aqm_drops == 0,
        lost: q.lost,
        cut: q.cut,
        utilisation: links.get(&q.queue).copied().flatten(),
        classes: classes.remove(&q.queue).unwrap_or_default(),
    };
    tables.queues.iter().filter(|q| q.at_switch).map(queue).collect()
}

impl QueueFacts {
    /// One of its classes.
    pub fn class(&self, name: &str) -> Option<&QueueClassFacts> {
        self.classes.iter().find(|c| c.name == name)
    }
}

impl QueueClassFacts {
    fn new(row: &ClassRow, ecn: bool) -> Self {
        let acted = row.marks + row.aqm_drops > 0;
        Self {
            name: row.class.clone(),
            packets: row.packets,
            bytes: row.bytes,
            mean_packets: row.mean_packets,
            p99_packets: row.p99_packets,
            max_packets: row.max_packets,
            marker: row.marker.clone(),
            marks: row.marks,
            drops: row.drops,
            aqm_drops: row.aqm_drops,
            never_marked: ecn && row.marker.is_some() && row.drops > 0 && !acted,
        }
    }
}

impl BufferPoolFacts {
    pub(crate) fn new(row: &MemoryRow) -> Self {
        Self {
            name: format!("{}.{}", row.switch, row.memory),
            size_bytes: row.size_bytes,
            reserved_bytes: row.reserved_bytes,
            peak_bytes: row.peak_bytes,
        }
    }

    /// The most that was held, as a share of its size.
    pub fn peak_fraction(&self) -> Option<f64> {
        (self.size_bytes > 0).then(|| self.peak_bytes as f64 / self.size_bytes as f64)
    }
}
