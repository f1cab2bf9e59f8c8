//! What a bottleneck tells of itself.

use lowtide_net::PortStats;
use lowtide_units::{Duration, Rate};

use crate::engine::{QueueAt, Strays};
use crate::faults::FaultCounts;
use crate::fidelity::Fidelity;
use crate::histogram::Histogram;
use crate::turn::Core;

/// One host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostReport {
    /// Its name.
    pub name: String,
    /// It has a device.
    pub attached: bool,
    /// Why its device is no more, if so.
    pub gone: Option<String>,
    /// Packets that came from its device for other hosts.
    pub sent: u64,
    /// Their IP bytes.
    pub sent_bytes: u64,
    /// Packets that reached it.
    pub delivered: u64,
    /// Their IP bytes.
    pub delivered_bytes: u64,
    /// Of those, packets that its device did not take.
    pub refused: u64,
    /// Nanoseconds that each packet that reached it had waited in queues of switches.
    pub waited: Histogram,
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
pub struct Report {
    /// Since the start.
    pub took: Duration,
    /// By number.
    pub hosts: Vec<HostReport>,
    /// By number.
    pub ports: Vec<PortReport>,
    /// Queues of switches at intervals, if they were wished for.
    pub samples: Vec<QueueAt>,
    /// Packets that never met the network.
    pub strays: Strays,
    /// Packets to hosts that have no device, or none any more.
    pub nowhere: u64,
    /// Packets to which a switch had no way.
    pub unrouted: u64,
    /// Packets under way at the end.
    pub under_way: u64,
    /// How well time was kept.
    pub fidelity: Fidelity,
}

impl Report {
    /// What went wrong that nobody asked for; nothing after a good run.
    pub fn complaints(&self) -> Vec<String> {
        let gone = |h: &HostReport| {
            let why = h.gone.as_ref()?;
            Some(format!("the device of host `{}` is gone: {why}", h.name))
        };
        self.hosts.iter().filter_map(gone).chain(self.fidelity.complaints()).collect()
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
pub(crate) struct Thread {
    pub(crate) scheduling: String,
    pub(crate) cpu: Duration,
    pub(crate) stolen: Duration,
}

impl Core {
    /// The report at `now`, up to which everything has happened.
    pub(crate) fn report(
        &self,
        now: lowtide_units::Instant,
        names: &[String],
        thread: Thread,
    ) -> Report {
        let engine = &self.engine;
        let figures = engine.figures(now);
        let tallies = engine.tallies().iter().zip(engine.faults());
        let host =
            |((name, (tally, faults)), seat): ((&String, (&crate::engine::HostTally, _)), _)| {
                let seat = Option::and_then(seat, |i: usize| self.seats.get(i));
                HostReport {
                    name: name.clone(),
                    attached: seat.is_some(),
                    gone: seat.and_then(|s| s.gone.clone()),
                    sent: tally.sent,
                    sent_bytes: tally.sent_bytes,
                    delivered: tally.delivered,
                    delivered_bytes: tally.delivered_bytes,
                    refused: seat.map_or(0, |s| s.refused),
                    waited: tally.waited.clone(),
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
        Report {
            took: now.since_start(),
            hosts: hosts.collect(),
            ports: ports.collect(),
            samples: engine.samples().to_vec(),
            strays: engine.strays(),
            nowhere: self.nowhere,
            unrouted: figures.unrouted(),
            under_way: engine.under_way() as u64,
            fidelity: Fidelity {
                late: self.pace.late.clone(),
                tolerance: self.tolerance,
                behind: self.pace.behind,
                batch: self.pace.batch.clone(),
                turn: self.pace.turn.clone(),
                refused: self.seats.iter().map(|s| s.refused).sum(),
                unfinished: self.seats.iter().map(|s| s.unfinished).sum(),
                crowded: engine.strays().crowded,
                scheduling: thread.scheduling,
                cpu: thread.cpu,
                stolen: thread.stolen,
            },
        }
    }
}
