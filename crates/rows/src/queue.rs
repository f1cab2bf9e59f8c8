//! Output queues, their classes, links and buffer pools: their counters and their tables.

use std::sync::Arc;

use lowtide_units::Quantile;
use serde::{Deserialize, Serialize};

use crate::level::{Level, LevelWeight};
use crate::table::{group, table};

group! {
    /// Packets that an output queue, or one of its classes, has served.
    #[derive(Copy, Eq, Default, Serialize, Deserialize)]
    ServedCounters:
    packets: u64, "packets", "Packets serialised.";
    bytes: u64, "bytes", "IP bytes serialised.";
    marks: u64, "packets", "Packets marked here.";
    overflow_drops: u64, "packets", "Packets dropped here because the buffer was full.";
    aqm_drops: u64, "packets", "Packets dropped here by the AQM.";
}

group! {
    /// Packets lost at a link: at random before its queue, or because it failed. Packets that were
    /// on the line or in flight when it failed are also among the packets served.
    #[derive(Copy, Eq, Default, Serialize, Deserialize)]
    LossCounters:
    random_losses: u64, "packets", "Packets lost at random before the queue.";
    link_down_drops: u64, "packets", "Packets lost because the link failed: queued, being sent, in flight, or arriving while it was down.";
}

impl ServedCounters {
    /// Returns all packets dropped by the queue.
    pub const fn drops(&self) -> u64 {
        self.overflow_drops + self.aqm_drops
    }
}

impl LossCounters {
    /// Returns all packets lost at the link.
    pub const fn drops(&self) -> u64 {
        self.random_losses + self.link_down_drops
    }
}

/// One class of an output queue, after the warm-up.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ClassQueue {
    /// Its packets.
    pub served: ServedCounters,
    /// Maximum length of its queue in bytes, as the port counts it.
    pub max_bytes: u64,
    /// Its queue by length in packets, as in [`Queue::levels`].
    pub levels: Vec<Level>,
}

/// One output queue, after the warm-up.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Queue {
    /// `switch0->receiver0`: its node and the next one; parallel links have the suffix `#1`, `#2`.
    pub name: String,
    /// True at a switch, false at a host.
    pub at_switch: bool,
    /// Rate of the line, bits per second.
    pub rate_bps: u64,
    /// Its packets. `marks` counts packets that the marker chose, those that already had CE too.
    pub served: ServedCounters,
    /// Losses of its link.
    pub losses: LossCounters,
    /// Busy time of the line, picoseconds, framing included.
    pub busy_ps: u64,
    /// Maximum length in bytes, as the port counts it.
    pub max_bytes: u64,
    /// The queue by length in packets, as the port counts it (`count-in-service`); only lengths
    /// that occurred, ascending. The times add up to the time observed, the arrivals to the packets
    /// that were forwarded, marked or not, or dropped.
    pub levels: Vec<Level>,
    /// By class, in list order; empty without classes. Their sums equal those of the queue, except
    /// packets in flight at the end of the warm-up.
    pub classes: Vec<ClassQueue>,
}

impl Queue {
    /// Returns all packets lost here.
    pub const fn drops(&self) -> u64 {
        self.served.drops() + self.losses.drops()
    }

    /// Computes the statistics of its length.
    pub fn length(&self) -> LengthStatistics {
        LengthStatistics::new(self.max_bytes, &self.levels)
    }
}

group! {
    /// Length of a queue over time.
    #[derive(Copy)]
    LengthStatistics:
    max_bytes: u64, "bytes", "Maximum length, in bytes.";
    mean_packets: Option<f64>, "packets", "Mean length over time.";
    p50_packets: Option<u32>, "packets", "Median length over time.";
    p99_packets: Option<u32>, "packets", "99th percentile of the length over time.";
    p999_packets: Option<u32>, "packets", "99.9th percentile of the length over time.";
    max_packets: Option<u32>, "packets", "Maximum length, in packets.";
}

impl LengthStatistics {
    /// Computes the statistics of a queue of at most `max_bytes` from its histogram.
    pub fn new(max_bytes: u64, levels: &[Level]) -> Self {
        let quantile = |q| LevelWeight::Time.quantile(levels, q);
        Self {
            max_bytes,
            mean_packets: LevelWeight::Time.mean(levels),
            p50_packets: quantile(Quantile::P50),
            p99_packets: quantile(Quantile::P99),
            p999_packets: quantile(Quantile::P999),
            max_packets: levels.last().map(|l| l.packets),
        }
    }
}

table! {
    QueueRow, "queues", "One output queue over its run, after the warm-up.":
    ..queue;
    at_switch: bool, "", "Whether it is at a switch, otherwise at a host.";
    ..line;
    drops: u64, "packets", "All packets lost here: overflow_drops, aqm_drops, random_losses and link_down_drops.";
    /// Its packets.
    served: ServedCounters;
    marker: Option<String>, "", "The marker, if it sets CE; null if it drops, if there is none, or if each class has its own.";
    /// Losses of its link.
    losses: LossCounters;
    /// Its length.
    length: LengthStatistics;
    arrivals: u64, "packets", "Packets that arrived, dropped ones included.";
    seen_mean_packets: Option<f64>, "packets", "Mean length found by arriving packets.";
    seen_p1_packets: Option<u32>, "packets", "1st percentile of the length found by arriving packets.";
    seen_p50_packets: Option<u32>, "packets", "Median length found by arriving packets.";
    seen_p99_packets: Option<u32>, "packets", "99th percentile of the length found by arriving packets.";
    seen_p999_packets: Option<u32>, "packets", "99.9th percentile of the length found by arriving packets.";
}

table! {
    ClassRow, "queue_classes", "One class of one output queue over its run, after the warm-up. The table exists only if switches have classes.":
    ..queue;
    number: u32, "", "Place of the class in the list of the switch, from zero.";
    class: String, "", "The class.";
    marker: Option<String>, "", "Its marker, if it sets CE; null if it drops, or if there is none.";
    drops: u64, "packets", "All packets of the class dropped here: overflow_drops and aqm_drops.";
    /// Its packets.
    served: ServedCounters;
    /// Its length.
    length: LengthStatistics;
}

table! {
    #[derive(Eq)]
    BufferPoolRow, "buffer_pools", "A buffer pool that queues of a switch share. The table exists only if there are any (`buffer = \"dynamic\"`). Only queues with a dynamic threshold count.":
    switch: String, "", "The switch.";
    buffer_pool: u32, "", "Number of the buffer pool at this switch, from zero.";
    size_bytes: u64, "bytes", "Its size.";
    reserved_bytes: u64, "bytes", "Bytes of it that are reserved for single queues.";
    held_bytes: u64, "bytes", "Occupancy at the end of the run.";
    peak_bytes: u64, "bytes", "Peak occupancy after the warm-up.";
}

table! {
    #[derive(Eq)]
    LevelRow, "queue_levels", "One length of one queue, with the time and the arrivals at it. It is the histogram behind the statistics in `queues`, over the run after the warm-up: a row for each length that occurred, not for each change.":
    ..queue;
    /// The length.
    level: Level;
}

table! {
    #[derive(Eq)]
    QueueSampleRow, "queue_samples", "A queue at one point in time, at the interval of `[probes]`.":
    time_ps: u64, "ps", "Time.";
    ..queue;
    packets: u32, "packets", "Length in packets.";
    bytes: u64, "bytes", "Length in bytes.";
}

table! {
    LinkRow, "links", "One direction of one link over its run, after the warm-up.":
    link: u32, "", "Number of the queue that feeds it.";
    name: Arc<str>, "", "The sending node and the receiving node.";
    ..line;
    busy_ps: u64, "ps", "Time that it was sending, framing included.";
    packets: u64, "packets", "Packets sent.";
    bytes: u64, "bytes", "IP bytes sent.";
    utilisation: Option<f64>, "1", "Fraction of the time that it was sending.";
}
