//! Timing accuracy of the bottleneck.

use lowtide_units::{Duration, Instant, LogHistogram};

/// Timing statistics of the driver. Times are in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct FidelityStats {
    /// Time from the due time of a packet until it was passed to the device.
    pub(crate) lateness: LogHistogram,
    /// Packets later than the tolerance.
    pub(crate) late_packets: u64,
    /// Packets read per iteration, of iterations that read any.
    pub(crate) batch_size: LogHistogram,
    /// Time between two polls of the devices, without sleep.
    pub(crate) loop_iteration: LogHistogram,
}

impl FidelityStats {
    /// Records a packet due at `due` that was passed to its device at `now`.
    #[inline]
    pub(crate) fn record_delivery(&mut self, due: Instant, now: Instant, tolerance: Duration) {
        let late = now.saturating_since(due);
        self.lateness.add(late.as_ns());
        self.late_packets += u64::from(late > tolerance);
    }
}

/// Timing accuracy and drops of the bottleneck. The time that a packet waits in its device before
/// it is read is not measured; [`Self::loop_iteration`] bounds it while the thread runs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fidelity {
    /// Time from the due time of each packet until it was passed to the device, ns.
    pub lateness: LogHistogram,
    /// Lateness that counts as falling behind.
    pub tolerance: Duration,
    /// Packets later than the tolerance.
    pub late_packets: u64,
    /// Packets read per iteration, of iterations that read any.
    pub batch_size: LogHistogram,
    /// Time between two polls of the devices, without sleep, ns.
    pub loop_iteration: LogHistogram,
    /// Packets that devices did not take.
    pub device_drops: u64,
    /// Packets with a partial checksum or several segments, from hosts whose interface has offloads
    /// on. Their segments had no individual ECN mark or arrival time.
    pub checksum_partial: u64,
    /// Packets dropped for lack of a buffer ([`crate::IngressDrops::no_buffer`]).
    pub no_buffer: u64,
    /// Scheduling of the thread: real-time priority, core, refused settings.
    pub scheduling: String,
    /// CPU time of the thread.
    pub cpu: Duration,
    /// Steal time of all CPUs during the run: the hypervisor ran other guests. In steps of 10 ms;
    /// zero if not reported.
    pub steal: Duration,
}

impl Fidelity {
    /// Reasons why the results may differ from those of the network; empty if the thread kept up.
    pub fn warnings(&self) -> Vec<String> {
        let mut all = Vec::new();
        // Results tolerate one late packet in a hundred.
        if self.late_packets * 100 > self.lateness.count() {
            all.push(format!(
                "it fell behind: {} of {} packets were more than {} us late",
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
                "{} packets came with offloads of their hosts' interfaces: run `ethtool -K NAME tx off tso off gso off` there",
                self.checksum_partial
            ));
        }
        if self.no_buffer > 0 {
            all.push(format!("{} packets were dropped without a buffer", self.no_buffer));
        }
        all
    }
}
