//! How well real time was kept.

use lowtide_units::{Duration, Instant};

use crate::histogram::Histogram;

/// What the driver notes of itself. Spans are in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct FidelityStats {
    /// From when a packet was due at its host until it was given to the device.
    pub(crate) lateness: Histogram,
    /// Those that were later than the tolerance.
    pub(crate) late_packets: u64,
    /// Packets that were read in one turn, of turns that read any.
    pub(crate) batch_size: Histogram,
    /// From one look at the devices to the next, while there was something to do.
    pub(crate) loop_iteration: Histogram,
}

impl FidelityStats {
    /// A packet that was due at `due` was given to its device at `now`.
    #[inline]
    pub(crate) fn record_delivery(&mut self, due: Instant, now: Instant, tolerance: Duration) {
        let late = now.saturating_since(due);
        self.lateness.add(late.as_ns());
        self.late_packets += u64::from(late > tolerance);
    }
}

/// How well the bottleneck kept time, and what it could not do. What it cannot see: how long a packet lay in its
/// device before it was read; [`Self::turn`] bounds that while the thread runs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fidelity {
    /// Nanoseconds from when a packet was due at its host until it was given to the device: of each.
    pub lateness: Histogram,
    /// Lateness beyond this counts as having fallen behind.
    pub tolerance: Duration,
    /// Packets that were later.
    pub late_packets: u64,
    /// Packets that were read in one turn, of each turn that read any.
    pub batch_size: Histogram,
    /// Nanoseconds from one look at the devices to the next, sleep not counted.
    pub loop_iteration: Histogram,
    /// Packets that a device did not take.
    pub device_drops: u64,
    /// Packets that came unfinished from a host whose interface has offloads on: they had no mark and no time of their
    /// own.
    pub checksum_partial: u64,
    /// Packets for which there was no room ([`crate::IngressDrops::no_buffer`]).
    pub no_buffer: u64,
    /// How the thread ran: real-time priority, core; what was refused.
    pub scheduling: String,
    /// Processor time of the thread.
    pub cpu: Duration,
    /// Processor time that whoever runs this virtual machine gave to others meanwhile, of all processors, in steps of
    /// 10 ms; zero where nobody tells.
    pub steal: Duration,
}

impl Fidelity {
    /// Why what was seen here may not be what the network would have done; nothing where it kept up.
    pub fn warnings(&self) -> Vec<String> {
        let mut all = Vec::new();
        // One packet in a hundred is what a figure can bear.
        if self.late_packets * 100 > self.lateness.count() {
            all.push(format!(
                "it fell behind: {} of {} packets came more than {} us late",
                self.late_packets,
                self.lateness.count(),
                self.tolerance.as_us()
            ));
        }
        if self.device_drops > 0 {
            all.push(format!("devices did not take {} packets", self.device_drops));
        }
        if self.checksum_partial > 0 {
            all.push(format!(
                "{} packets came with offloads of their hosts' interfaces: `ethtool -K NAME tx off tso off gso off` there",
                self.checksum_partial
            ));
        }
        if self.no_buffer > 0 {
            all.push(format!("{} packets found no room for their bytes", self.no_buffer));
        }
        all
    }
}
