//! Snapshot of the network of the testbed that is up, sent over a socket: one reply per connection.

use std::io::Read;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::Duration;

use lowtide_bottleneck::BottleneckReport;
use lowtide_host::Setup;
use lowtide_rows::{Level, LossCounters, Queue, ServedCounters};
use lowtide_sim::Digest;
use lowtide_units::Quantile;
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
    ports: Vec<Queue>,
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
        let (fidelity, strays) = (&report.fidelity, &report.ingress_drops);
        Self {
            network,
            scenario: scenario.to_owned(),
            ports: report.ports.clone(),
            packets: fidelity.lateness.count(),
            late_mean_ns: fidelity.lateness.mean(),
            late_p50_ns: fidelity.lateness.nearest_rank(Quantile::P50),
            late_p99_ns: fidelity.lateness.nearest_rank(Quantile::P99),
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
    pub(super) fn serve(
        listener: &UnixListener,
        shot: &mut dyn FnMut() -> std::io::Result<Self>,
    ) -> std::io::Result<()> {
        loop {
            let stream = match listener.accept() {
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
                accepted => accepted?.0,
            };
            stream.set_nonblocking(false)?;
            stream.set_write_timeout(Some(REPLY_TIMEOUT))?;
            // A client that is gone does not matter.
            let _ = serde_json::to_writer(stream, &shot()?);
        }
    }

    /// Queue records of the interval from `before` to this snapshot.
    pub(super) fn since(&self, before: &Self) -> Vec<Queue> {
        self.ports.iter().zip(&before.ports).map(|(now, then)| since(now, then)).collect()
    }
}

/// Returns the counters of `now` without those of `before`.
fn since(now: &Queue, before: &Queue) -> Queue {
    let levels = now.levels.iter().filter_map(|level| {
        let then = before.levels.iter().find(|l| l.packets == level.packets);
        let then = then.copied().unwrap_or_default();
        let time_ps = level.time_ps.saturating_sub(then.time_ps);
        let arrivals = level.arrivals.saturating_sub(then.arrivals);
        (time_ps > 0 || arrivals > 0).then_some(Level { time_ps, arrivals, ..*level })
    });
    let (served, losses) = (&before.served, &before.losses);
    Queue {
        name: now.name.clone(),
        at_switch: now.at_switch,
        rate_bps: now.rate_bps,
        served: ServedCounters {
            packets: now.served.packets.saturating_sub(served.packets),
            bytes: now.served.bytes.saturating_sub(served.bytes),
            marks: now.served.marks.saturating_sub(served.marks),
            overflow_drops: now.served.overflow_drops.saturating_sub(served.overflow_drops),
            aqm_drops: now.served.aqm_drops.saturating_sub(served.aqm_drops),
        },
        losses: LossCounters {
            random_losses: now.losses.random_losses.saturating_sub(losses.random_losses),
            link_down_drops: now.losses.link_down_drops.saturating_sub(losses.link_down_drops),
        },
        busy_ps: now.busy_ps.saturating_sub(before.busy_ps),
        levels: levels.collect(),
        // Counted since the testbed is up: the manifest says so.
        max_bytes: now.max_bytes,
        classes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_subtracts_the_earlier_snapshot() {
        let port = |packets, levels: &[(u32, u64, u64)]| Queue {
            name: "s->a".to_owned(),
            at_switch: true,
            rate_bps: 1_000_000,
            served: ServedCounters { packets, marks: packets / 2, ..ServedCounters::default() },
            busy_ps: packets * 10,
            max_bytes: 3000,
            levels: levels
                .iter()
                .map(|&(packets, time_ps, arrivals)| Level { packets, time_ps, arrivals })
                .collect(),
            ..Queue::default()
        };
        let before = port(10, &[(0, 100, 4), (1, 50, 6), (7, 5, 1)]);
        let after = port(30, &[(0, 150, 4), (1, 80, 20), (2, 9, 3), (7, 5, 1)]);
        let expected = port(20, &[(0, 50, 0), (1, 30, 14), (2, 9, 3)]);
        assert_eq!(since(&after, &before), expected);
    }
}
