//! Facts of switch queues, by port and by class, and of the buffer pools that they share.
//!
//! Contract: all values are from the tables and cover the time after the warm-up.

use std::collections::BTreeMap;

use lowtide_record::RunTables;
use lowtide_rows::{BufferPoolRow, ClassRow, QueueRow};
use serde::Serialize;

/// One queue at a switch in one run, after the warm-up.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct QueueFacts {
    /// Name.
    pub name: String,
    /// Mean length over time.
    pub mean_packets: Option<f64>,
    /// Median length over time.
    pub p50_packets: Option<u32>,
    /// 99th percentile over time.
    pub p99_packets: Option<u32>,
    /// 99.9th percentile over time.
    pub p999_packets: Option<u32>,
    /// Maximum length.
    pub max_packets: Option<u32>,
    /// Queue length found by arriving packets.
    pub seen: ArrivalQueueStats,
    /// Marker, if it sets CE; null with classes, which have their own.
    pub marker: Option<String>,
    /// Packets marked.
    pub marks: u64,
    /// All packets lost here, of the four kinds below.
    pub drops: u64,
    /// Packets dropped because the buffer was full.
    pub overflow_drops: u64,
    /// Packets dropped by the AQM.
    pub aqm_drops: u64,
    /// Whether the queue had a marker and flows with ECN, dropped packets, and marked none. The
    /// threshold is then out of reach, or none of these flows used the queue.
    pub never_marked: bool,
    /// Packets lost at random before they reached the queue.
    pub random_losses: u64,
    /// Packets lost because the link failed.
    pub link_down_drops: u64,
    /// Share of the time in which the line was busy.
    pub utilisation: Option<f64>,
    /// Classes, in the order of the switch's list; empty without classes.
    pub classes: Vec<QueueClassFacts>,
}

/// Queue length found by arriving packets.
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
    /// Name.
    pub name: String,
    /// Packets sent.
    pub packets: u64,
    /// IP bytes sent.
    pub bytes: u64,
    /// Mean length over time.
    pub mean_packets: Option<f64>,
    /// 99th percentile over time.
    pub p99_packets: Option<u32>,
    /// Maximum length.
    pub max_packets: Option<u32>,
    /// Marker, if it sets CE.
    pub marker: Option<String>,
    /// Packets marked.
    pub marks: u64,
    /// All packets of the class dropped here, of the two kinds below.
    pub drops: u64,
    /// Packets dropped because the buffer was full.
    pub overflow_drops: u64,
    /// Packets dropped by the AQM.
    pub aqm_drops: u64,
    /// See [`QueueFacts::never_marked`].
    pub never_marked: bool,
}

/// A buffer pool that queues of a switch share.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct BufferPoolFacts {
    /// Switch and number of the pool: `switch0.0`.
    pub name: String,
    /// Size, bytes.
    pub size_bytes: u64,
    /// Bytes reserved for single queues.
    pub reserved_bytes: u64,
    /// Maximum bytes held by queues.
    pub peak_bytes: u64,
}

/// Returns the switch queues of a run.
pub(crate) fn facts(tables: &RunTables) -> Vec<QueueFacts> {
    let ecn = tables.flows.iter().any(|f| f.ecn);
    let links: BTreeMap<u32, Option<f64>> =
        tables.links.iter().map(|l| (l.link, l.utilisation)).collect();
    let mut classes: BTreeMap<u32, Vec<QueueClassFacts>> = BTreeMap::new();
    for row in &tables.classes {
        classes.entry(row.queue).or_default().push(QueueClassFacts::new(row, ecn));
    }
    let queue = |q: &QueueRow| QueueFacts {
        name: q.name.to_string(),
        mean_packets: q.length.mean_packets,
        p50_packets: q.length.p50_packets,
        p99_packets: q.length.p99_packets,
        p999_packets: q.length.p999_packets,
        max_packets: q.length.max_packets,
        seen: ArrivalQueueStats {
            mean_packets: q.seen_mean_packets,
            p1_packets: q.seen_p1_packets,
            p50_packets: q.seen_p50_packets,
            p99_packets: q.seen_p99_packets,
            p999_packets: q.seen_p999_packets,
        },
        marker: q.marker.clone(),
        marks: q.served.marks,
        drops: q.drops,
        overflow_drops: q.served.overflow_drops,
        aqm_drops: q.served.aqm_drops,
        never_marked: ecn
            && q.marker.is_some()
            && q.served.overflow_drops > 0
            && q.served.marks + q.served.aqm_drops == 0,
        random_losses: q.losses.random_losses,
        link_down_drops: q.losses.link_down_drops,
        utilisation: links.get(&q.queue).copied().flatten(),
        classes: classes.remove(&q.queue).unwrap_or_default(),
    };
    tables.queues.iter().filter(|q| q.at_switch).map(queue).collect()
}

impl QueueFacts {
    /// Returns the class `name`.
    pub fn class(&self, name: &str) -> Option<&QueueClassFacts> {
        self.classes.iter().find(|c| c.name == name)
    }
}

impl QueueClassFacts {
    fn new(row: &ClassRow, ecn: bool) -> Self {
        let acted = row.served.marks + row.served.aqm_drops > 0;
        Self {
            name: row.class.clone(),
            packets: row.served.packets,
            bytes: row.served.bytes,
            mean_packets: row.length.mean_packets,
            p99_packets: row.length.p99_packets,
            max_packets: row.length.max_packets,
            marker: row.marker.clone(),
            marks: row.served.marks,
            drops: row.drops,
            overflow_drops: row.served.overflow_drops,
            aqm_drops: row.served.aqm_drops,
            never_marked: ecn && row.marker.is_some() && row.served.overflow_drops > 0 && !acted,
        }
    }
}

impl BufferPoolFacts {
    pub(crate) fn new(row: &BufferPoolRow) -> Self {
        Self {
            name: format!("{}.{}", row.switch, row.buffer_pool),
            size_bytes: row.size_bytes,
            reserved_bytes: row.reserved_bytes,
            peak_bytes: row.peak_bytes,
        }
    }

    /// Returns the maximum use as a share of the size.
    pub fn peak_fraction(&self) -> Option<f64> {
        (self.size_bytes > 0).then(|| self.peak_bytes as f64 / self.size_bytes as f64)
    }
}
