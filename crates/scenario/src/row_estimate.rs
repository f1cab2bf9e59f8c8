//! Estimates the rows that a run records besides its flows, in bytes of memory and disk.

use std::collections::BTreeSet;
use std::mem::size_of;

use lowtide_host::Setup;
use lowtide_net::NodeId;
use lowtide_rows::{ProbeRow, QueueSampleRow, VariableRow};
use lowtide_traffic::Flow;
use lowtide_units::Duration;

/// One direction of a link.
pub(crate) type LinkDirection = (usize, bool);

/// Size of rows, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RowBytes {
    /// Memory, for the run's rows and for their encoding.
    pub(crate) memory: u64,
    /// Disk space of one table.
    pub(crate) disk: u64,
}

/// Rows that a run records.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RowEstimate {
    /// Periodic samples of senders and queues.
    pub(crate) samples: RowBytes,
    /// Traced flows.
    pub(crate) trace: RowBytes,
}

/// Rows of memory per row: the run's and the encoder's. Measured: 3 with two million samples of a
/// queue.
const MEMORY_ROWS: u64 = 3;

/// Bytes of a sampled sender in a table. Measured: 4 if little changes, 35 if everything does.
const PROBE_DISK_BYTES: u64 = 30;

/// Variables of a control of this project, at most (`bbr3`), and bytes of one in a table.
const VARIABLES: u64 = 10;
const VARIABLE_DISK_BYTES: u64 = 4;

/// Bytes of a sampled queue in a table. Measured: 3 if little changes, 12 if everything does.
const QUEUE_DISK_BYTES: u64 = 10;

/// Bytes of a traced packet at a port, in memory and in a table.
const HOP: RowBytes = RowBytes { memory: 400, disk: 30 };

impl RowEstimate {
    /// Estimates a run of this length; `carried` returns a flow's number of segments and its lines.
    pub(crate) fn of<'p>(
        setup: &Setup,
        simulated: Duration,
        carried: impl Fn(&Flow) -> (u64, &'p [LinkDirection]),
    ) -> Self {
        Self { samples: samples(setup, simulated), trace: trace(setup, carried) }
    }
}

fn samples(setup: &Setup, simulated: Duration) -> RowBytes {
    let Some(interval) = setup.probes.interval else { return RowBytes::default() };
    let samples = simulated.as_ps().checked_div(interval.as_ps()).unwrap_or(0);
    let senders: u64 = setup
        .probes
        .groups
        .iter()
        .map(|group| setup.flows.iter().filter(|f| f.group == *group).count() as u64)
        .map(|flows| flows.min(u64::from(setup.probes.flows_per_group)))
        .sum();
    let is_switch = |node: NodeId| u64::from(matches!(node, NodeId::Switch(_)));
    let ports: u64 = setup.network.links.iter().map(|l| is_switch(l.a) + is_switch(l.b)).sum();
    let ports = if setup.probes.queues { ports } else { 0 };
    let row = |probe: u64, queue: u64| senders.saturating_mul(probe).saturating_add(ports * queue);
    let memory = row(
        size_of::<ProbeRow>() as u64 + VARIABLES * size_of::<VariableRow>() as u64,
        size_of::<QueueSampleRow>() as u64,
    );
    RowBytes {
        memory: samples.saturating_mul(memory).saturating_mul(MEMORY_ROWS),
        disk: samples.saturating_mul(row(
            PROBE_DISK_BYTES + VARIABLES * VARIABLE_DISK_BYTES,
            QUEUE_DISK_BYTES,
        )),
    }
}

/// Estimates a trace, which records all packets at the ports on the path of a traced flow.
fn trace<'p>(setup: &Setup, carried: impl Fn(&Flow) -> (u64, &'p [LinkDirection])) -> RowBytes {
    let traced = setup.probes.trace.iter().filter_map(|flow| setup.flows.get(*flow as usize));
    let ports: BTreeSet<LinkDirection> = traced.flat_map(|flow| carried(flow).1).copied().collect();
    if ports.is_empty() {
        return RowBytes::default();
    }
    let hops = setup.flows.iter().map(|flow| {
        let (segments, lines) = carried(flow);
        let shared = lines.iter().filter(|line| ports.contains(line)).count() as u64;
        segments.saturating_mul(shared)
    });
    let hops = hops.fold(0_u64, u64::saturating_add);
    RowBytes { memory: hops.saturating_mul(HOP.memory), disk: hops.saturating_mul(HOP.disk) }
}
