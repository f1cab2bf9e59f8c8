//! What a bottleneck tells of itself.

use lowtide_net::PortStats;
use lowtide_units::{Duration, Rate};

use crate::engine::{IngressDrops, PortQueueSample};
use crate::faults::FaultCounts;
use crate::fidelity::Fidelity;
use crate::forwarder::Forwarder;
use crate::histogram::Histogram;

/// One host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostReport {
    /// Its name.
    pub name: String,
    /// It has a device.
    pub attached: bool,
    /// Why its device is no more, if so.
    pub device_error: Option<String>,
    /// Packets that came from its device for other hosts.
    pub sent: u64,
    /// Their IP bytes.
    pub sent_bytes: u64,
    /// Packets that reached it.
    pub delivered: u64,
    /// Their IP bytes.
    pub delivered_bytes: u64,
    /// Of those, packets that its device did not take.
    pub device_drops: u64,
    /// Nanoseconds that each packet that reached it had waited in queues of switches.
    pub queueing_delay: Histogram,
    /// What went wrong on purpose with packets that it sent, those lost on its line apart.
    pub faults: FaultCounts,
}

/// One output port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortReport {
    /// `switch0->b`, as the simulator calls it.
    pub name: String,
    /// At a switch (else a host's own port).
    pub at_switch: bool,
    /// The rate of its line.
    pub rate: Rate,
    /// What it has seen since the warm-up.
    pub stats: PortStats,
}

impl PortReport {
    /// Mean length of the queue over time, packets.
    pub fn queue_mean(&self) -> f64 {
        let levels = &self.stats.levels;
        let time: u128 = levels.iter().map(|l| u128::from(l.time.as_ps())).sum();
        let area = levels.iter().map(|l| u128::from(l.time.as_ps()) * u128::from(l.packets));
        area.sum::<u128>() as f64 / (time.max(1) as f64)
    }

    /// The longest that the queue was, packets.
    pub fn queue_max(&self) -> u32 {
        self.stats.levels.last().map_or(0, |l| l.packets)
    }
}

/// Everything.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BottleneckReport {
    /// Since the start.
    pub took: Duration,
    /// By number.
    pub hosts: Vec<HostReport>,
    /// By number.
    pub ports: Vec<PortReport>,
    /// Queues of switches at intervals, if they were wished for.
    pub samples: Vec<PortQueueSample>,
    /// Packets that never met the network.
    pub ingress_drops: IngressDrops,
    /// Packets to hosts that have no device, or none any more.
    pub no_device_drops: u64,
    /// Packets to which a switch had no way.
    pub no_route_drops: u64,
    /// Packets under way at the end.
    pub in_transit: u64,
    /// How well time was kept.
    pub fidelity: Fidelity,
}

impl BottleneckReport {
    /// What went wrong that nobody asked for; nothing after a good run.
    pub fn warnings(&self) -> Vec<String> {
        let gone = |h: &HostReport| {
            let why = h.device_error.as_ref()?;
            Some(format!("the device of host `{}` is gone: {why}", h.name))
        };
        self.hosts.iter().filter_map(gone).chain(self.fidelity.warnings()).collect()
    }

    /// The port of that name.
    pub fn port(&self, name: &str) -> Option<&PortReport> {
        self.ports.iter().find(|p| p.name == name)
    }

    /// The host of that name.
    pub fn host(&self, name: &str) -> Option<&HostReport> {
        self.hosts.iter().find(|h| h.name == name)
    }
}

/// What only the driver knows of the thread and the machine.
#[derive(Debug, Default)]
pub(crate) struct ThreadStats {
    pub(crate) scheduling: String,
    pub(crate) cpu: Duration,
    pub(crate) steal: Duration,
}

impl Forwarder {
    /// The report at `now`, up to which everything has happened.
    pub(crate) fn report(
        &self,
        now: lowtide_units::Instant,
        names: &[String],
        thread: ThreadStats,
    ) -> BottleneckReport {
        let engine = &self.engine;
        let figures = engine.snapshot(now);
        let tallies = engine.counters().iter().zip(engine.faults());
        let host =
            |((name, (tally, faults)), seat): ((&String, (&crate::engine::HostCounters, _)), _)| {
                let seat = Option::and_then(seat, |i: usize| self.ports.get(i));
                HostReport {
                    name: name.clone(),
                    attached: seat.is_some(),
                    device_error: seat.and_then(|s| s.device_error.clone()),
                    sent: tally.sent,
                    sent_bytes: tally.sent_bytes,
                    delivered: tally.delivered,
                    delivered_bytes: tally.delivered_bytes,
                    device_drops: seat.map_or(0, |s| s.device_drops),
                    queueing_delay: tally.queueing_delay.clone(),
                    faults,
                }
            };
        let hosts = names.iter().zip(tallies).zip(self.by_host.iter().copied()).map(host);
        let ports = figures.ports().map(|p| PortReport {
            name: p.name.to_owned(),
            at_switch: p.at_switch,
            rate: p.rate,
            stats: p.stats,
        });
        BottleneckReport {
            took: now.since_start(),
            hosts: hosts.collect(),
            ports: ports.collect(),
            samples: engine.samples().to_vec(),
            ingress_drops: engine.ingress_drops(),
            no_device_drops: self.no_device_drops,
            no_route_drops: figures.no_route_drops(),
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
