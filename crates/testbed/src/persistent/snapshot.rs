//! Snapshot of the network of the testbed that is up, sent over a socket: one reply per connection.

use std::io::Read;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::Duration;

use lowtide_bottleneck::BottleneckReport;
use lowtide_host::{QueueLevel, QueueRecord, Setup};
use lowtide_sim::Digest;
use lowtide_units::Duration as Span;
use serde::{Deserialize, Serialize};

use super::{PersistentError, TestbedPaths};

/// Maximum time of a reply.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

/// Network counters since the testbed is up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Snapshot {
    /// Digest of the network configuration.
    pub(super) network: u64,
    /// Scenario of the testbed.
    pub(super) scenario: String,
    ports: Vec<PortSnapshot>,
    pub(super) packets: u64,
    pub(super) late_mean_ns: u64,
    pub(super) late_p50_ns: u64,
    pub(super) late_p99_ns: u64,
    pub(super) late_max_ns: u64,
    pub(super) late_packets: u64,
    pub(super) tolerance_ns: u64,
    pub(super) steal_ns: u64,
    pub(super) refused: u64,
    pub(super) strays: u64,
    pub(super) no_route_drops: u64,
    pub(super) scheduling: String,
}

/// Counters of one port.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PortSnapshot {
    name: String,
    at_switch: bool,
    rate_bps: u64,
    packets: u64,
    bytes: u64,
    marks: u64,
    drops: u64,
    aqm_drops: u64,
    lost: u64,
    link_down_drops: u64,
    busy_ps: u64,
    max_bytes: u64,
    /// Queue length, time at this length, and arrivals.
    levels: Vec<(u32, u64, u64)>,
}

/// Digest that distinguishes networks.
pub(super) fn network(setup: &Setup) -> u64 {
    let text = format!("{:?}", setup.network);
    Digest::combine(text.bytes().map(u64::from))
}

pub(super) fn socket(paths: &TestbedPaths) -> PathBuf {
    paths.state_dir.join("testbed.sock")
}

impl Snapshot {
    pub(super) fn of(report: &BottleneckReport, network: u64, scenario: &str) -> Self {
        let port = |p: &lowtide_bottleneck::PortReport| {
            let stats = &p.stats;
            PortSnapshot {
                name: p.name.clone(),
                at_switch: p.at_switch,
                rate_bps: p.rate.as_bps(),
                packets: stats.packets,
                bytes: stats.bytes,
                marks: stats.marks,
                drops: stats.drops,
                aqm_drops: stats.aqm_drops,
                lost: stats.lost,
                link_down_drops: stats.link_down_drops,
                busy_ps: stats.busy.as_ps(),
                max_bytes: stats.max_bytes,
                levels: stats
                    .levels
                    .iter()
                    .map(|l| (l.packets, l.time.as_ps(), l.arrivals))
                    .collect(),
            }
        };
        let (fidelity, strays) = (&report.fidelity, &report.ingress_drops);
        Self {
            network,
            scenario: scenario.to_owned(),
            ports: report.ports.iter().map(port).collect(),
            packets: fidelity.lateness.count(),
            late_mean_ns: fidelity.lateness.mean(),
            late_p50_ns: fidelity.lateness.percentile(50),
            late_p99_ns: fidelity.lateness.percentile(99),
            late_max_ns: fidelity.lateness.max(),
            late_packets: fidelity.late_packets,
            tolerance_ns: fidelity.tolerance.as_ns(),
            steal_ns: fidelity.steal.as_ns(),
            refused: fidelity.device_drops,
            strays: strays.malformed + strays.unknown_destination + report.no_device_drops,
            no_route_drops: report.no_route_drops,
            scheduling: fidelity.scheduling.clone(),
        }
    }

    /// Requests a snapshot from the testbed that is up.
    pub(super) fn fetch(paths: &TestbedPaths) -> Result<Self, PersistentError> {
        let path = socket(paths);
        let mut stream = UnixStream::connect(&path).map_err(|_| PersistentError::NotUp)?;
        let mut text = String::new();
        let read = stream.set_read_timeout(Some(REPLY_TIMEOUT));
        read.and_then(|()| stream.read_to_string(&mut text))
            .and_then(|_| serde_json::from_str(&text).map_err(std::io::Error::other))
            .map_err(PersistentError::system("query the testbed that is up"))
    }

    /// Answers all pending connections.
    pub(super) fn serve(listener: &UnixListener, shot: &dyn Fn() -> Self) -> std::io::Result<()> {
        loop {
            let stream = match listener.accept() {
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
                accepted => accepted?.0,
            };
            stream.set_nonblocking(false)?;
            stream.set_write_timeout(Some(REPLY_TIMEOUT))?;
            // A client that is gone does not matter.
            let _ = serde_json::to_writer(stream, &shot());
        }
    }

    /// Queue records of the interval from `before` to this snapshot.
    pub(super) fn since(&self, before: &Self) -> Vec<QueueRecord> {
        self.ports.iter().zip(&before.ports).map(|(now, then)| now.since(then)).collect()
    }
}

impl PortSnapshot {
    fn since(&self, before: &Self) -> QueueRecord {
        let levels = self.levels.iter().filter_map(|(packets, time, arrivals)| {
            let then = before.levels.iter().find(|(n, ..)| n == packets);
            let (t, a) = then.map_or((0, 0), |(_, t, a)| (*t, *a));
            let (time, arrivals) = (time.saturating_sub(t), arrivals.saturating_sub(a));
            let level = QueueLevel { packets: *packets, time: Span::from_ps(time), arrivals };
            (time > 0 || arrivals > 0).then_some(level)
        });
        QueueRecord {
            name: self.name.clone(),
            at_switch: self.at_switch,
            rate_bps: self.rate_bps,
            packets: self.packets.saturating_sub(before.packets),
            bytes: self.bytes.saturating_sub(before.bytes),
            marks: self.marks.saturating_sub(before.marks),
            drops: self.drops.saturating_sub(before.drops),
            aqm_drops: self.aqm_drops.saturating_sub(before.aqm_drops),
            lost: self.lost.saturating_sub(before.lost),
            link_down_drops: self.link_down_drops.saturating_sub(before.link_down_drops),
            busy: Span::from_ps(self.busy_ps.saturating_sub(before.busy_ps)),
            levels: levels.collect(),
            // Counted since the testbed is up: the manifest says so.
            max_bytes: self.max_bytes,
            classes: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_subtracts_the_earlier_snapshot() {
        let port = |packets, levels: &[(u32, u64, u64)]| PortSnapshot {
            name: "s->a".to_owned(),
            at_switch: true,
            rate_bps: 1_000_000,
            packets,
            bytes: 0,
            marks: packets / 2,
            drops: 0,
            aqm_drops: 0,
            lost: 0,
            link_down_drops: 0,
            busy_ps: packets * 10,
            max_bytes: 3000,
            levels: levels.to_vec(),
        };
        let before = port(10, &[(0, 100, 4), (1, 50, 6), (7, 5, 1)]);
        let after = port(30, &[(0, 150, 4), (1, 80, 20), (2, 9, 3), (7, 5, 1)]);
        let record = after.since(&before);
        assert_eq!((record.packets, record.marks, record.busy), (20, 10, Span::from_ps(200)));
        let levels: Vec<_> =
            record.levels.iter().map(|l| (l.packets, l.time.as_ps(), l.arrivals)).collect();
        assert_eq!(levels, [(0, 50, 0), (1, 30, 14), (2, 9, 3)]);
    }
}
