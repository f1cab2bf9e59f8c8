//! Reports of a bottleneck.

use lowtide_rows::{Queue, QueueSampleRow};
use lowtide_units::{Duration, LogHistogram};

use crate::engine::IngressDrops;
use crate::faults::FaultCounts;
use crate::fidelity::Fidelity;
use crate::forwarder::Forwarder;

/// Report of a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostReport {
    /// Its name.
    pub name: String,
    /// Whether it has a device.
    pub attached: bool,
    /// Error of its device, if it failed.
    pub device_error: Option<String>,
    /// Packets from its device to other hosts.
    pub sent: u64,
    /// Their IP bytes.
    pub sent_bytes: u64,
    /// Packets delivered to it.
    pub delivered: u64,
    /// Their IP bytes.
    pub delivered_bytes: u64,
    /// Packets delivered to it that its device did not take.
    pub device_drops: u64,
    /// Queueing delay in switches of each packet delivered to it, ns.
    pub queueing_delay: LogHistogram,
    /// Faults injected into its packets, without loss on its link.
    pub faults: FaultCounts,
}

/// Report of a bottleneck.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BottleneckReport {
    /// Time since the start.
    pub took: Duration,
    /// Hosts by number.
    pub hosts: Vec<HostReport>,
    /// Queues of the output ports by number, since the warm-up.
    pub ports: Vec<Queue>,
    /// Samples of switch queues, if enabled.
    pub samples: Vec<QueueSampleRow>,
    /// Packets dropped before they entered the network.
    pub ingress_drops: IngressDrops,
    /// Packets to hosts without a working device.
    pub no_device_drops: u64,
    /// Packets for which a switch had no route.
    pub no_route_drops: u64,
    /// Packets in transit at the end.
    pub in_transit: u64,
    /// Timing accuracy.
    pub fidelity: Fidelity,
}

impl BottleneckReport {
    /// Unexpected problems; empty after a good run.
    pub fn warnings(&self) -> Vec<String> {
        let device_failure = |h: &HostReport| {
            let why = h.device_error.as_ref()?;
            Some(format!("the device of host `{}` is gone: {why}", h.name))
        };
        self.hosts.iter().filter_map(device_failure).chain(self.fidelity.warnings()).collect()
    }

    /// The port with this name.
    pub fn port(&self, name: &str) -> Option<&Queue> {
        self.ports.iter().find(|p| p.name == name)
    }

    /// The host with this name.
    pub fn host(&self, name: &str) -> Option<&HostReport> {
        self.hosts.iter().find(|h| h.name == name)
    }
}

/// Statistics of the thread and the machine, known to the driver only.
#[derive(Debug, Default)]
pub(crate) struct ThreadStats {
    pub(crate) scheduling: String,
    pub(crate) cpu: Duration,
    pub(crate) steal: Duration,
}

impl Forwarder {
    /// Returns the report at `now`; all events up to then have been handled.
    pub(crate) fn report(
        &self,
        now: lowtide_units::Instant,
        names: &[String],
        thread: ThreadStats,
    ) -> BottleneckReport {
        let engine = &self.engine;
        let snapshot = engine.snapshot(now);
        let counters = engine.counters().iter().zip(engine.faults());
        let host = |((name, (counters, faults)), port): (
            (&String, (&crate::engine::HostCounters, _)),
            _,
        )| {
            let port = Option::and_then(port, |i: usize| self.ports.get(i));
            HostReport {
                name: name.clone(),
                attached: port.is_some(),
                device_error: port.and_then(|s| s.device_error.clone()),
                sent: counters.sent,
                sent_bytes: counters.sent_bytes,
                delivered: counters.delivered,
                delivered_bytes: counters.delivered_bytes,
                device_drops: port.map_or(0, |s| s.device_drops),
                queueing_delay: counters.queueing_delay.clone(),
                faults,
            }
        };
        let hosts = names.iter().zip(counters).zip(self.by_host.iter().copied()).map(host);
        BottleneckReport {
            took: now.since_start(),
            hosts: hosts.collect(),
            ports: snapshot.ports().collect(),
            samples: engine.samples().to_vec(),
            ingress_drops: engine.ingress_drops(),
            no_device_drops: self.no_device_drops,
            no_route_drops: snapshot.no_route_drops(),
            in_transit: engine.in_transit() as u64,
            fidelity: Fidelity {
                lateness: self.fidelity.lateness.clone(),
                tolerance: self.tolerance,
                late_packets: self.fidelity.late_packets,
                batch_size: self.fidelity.batch_size.clone(),
                loop_iteration: self.fidelity.loop_iteration.clone(),
                device_drops: self.ports.iter().map(|s| s.device_drops).sum(),
                checksum_partial: self.ports.iter().map(|s| s.checksum_partial).sum(),
                no_buffer: engine.ingress_drops().no_buffer,
                scheduling: thread.scheduling,
                cpu: thread.cpu,
                steal: thread.steal,
            },
        }
    }
}
