//! Cost estimate of a run, before it is run.
//!
//! Contract: a rough estimate from the setup alone, within a small factor, never a guarantee.
//! Losses, retransmissions and windows are ignored: flows get their fair share of the links.

use std::collections::{BTreeMap, BTreeSet};

use lowtide_host::Setup;
use lowtide_net::{Blueprint, HostId, LinkSpec, NodeId, ShortestPaths};
use lowtide_traffic::{Flow, QueryClientSpec, WritePattern};
use lowtide_units::{Bytes, Duration};

use crate::row_estimate::{LinkDirection, RowEstimate};

/// Cost of one run, or of all runs of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Estimate {
    /// Number of runs.
    pub runs: u64,
    /// Hosts of the largest run.
    pub hosts: u64,
    /// Connections of the largest run.
    pub flows: u64,
    /// Packets serialised by any output queue in all runs, including hosts' ports and ACKs.
    pub hops: u64,
    /// Simulated time of all runs.
    pub simulated: Duration,
    /// Time of all runs on one core at [`HOPS_PER_SECOND`].
    pub wall: Duration,
    /// Memory of the largest run, including its samples and tables.
    pub memory: Bytes,
    /// Largest contribution to that memory.
    pub memory_cause: CostCause,
    /// Disk space of all runs while they are merged: twice their tables.
    pub disk: Bytes,
    /// Largest contribution to that space.
    pub disk_cause: CostCause,
}

/// Largest contribution to the memory or disk space of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CostCause {
    /// Connections, most of them of this traffic group.
    Connections(u16),
    /// Hosts.
    Hosts,
    /// Packets in flight, as many as the connections' buffers allow.
    InFlight,
    /// Periodic samples.
    Samples,
    /// Traced flows.
    Trace,
    /// The number of runs.
    #[default]
    Runs,
}

/// Packet-hops per second on one core that the wall time assumes: the minimum required of the
/// release build.
pub const HOPS_PER_SECOND: u64 = 5_000_000;

/// Bytes on disk of a connection's row.
const FLOW_DISK_BYTES: u64 = 120;

/// Bytes on disk of a run besides its rows, part and merged: schemas and summaries of its tables.
const RUN_DISK_BYTES: u64 = 300_000;

/// Bytes in memory of a closed connection, in the run and its tables; measured with a million.
const FLOW_BYTES: u64 = 1_100;

/// Further bytes of an open connection's two ends, without packets in flight; measured, rounded up.
const OPEN_BYTES: u64 = 6_000;

/// Bytes of a host without its connections.
const HOST_BYTES: u64 = 4_000;

/// Bytes of a packet in flight with its entries in queues and scoreboards.
const PACKET_BYTES: u64 = 200;

/// Bytes of a flow of the load that does not begin; measured, rounded up.
const IDLE_LOAD_BYTES: u64 = 350;

/// Packets of a connection that carry no data: SYN, FIN and their ACKs.
const CONTROL_PACKETS: u64 = 7;

/// Minimum header bytes of a segment with timestamps.
const HEADER: u64 = 52;

/// Returns the responses of each server to a query client, as one flow.
fn response_flows(setup: &Setup) -> Vec<Flow> {
    let mut out = Vec::new();
    for client in &setup.query_clients {
        let each = client.response_sizes.iter().map(|b| b.as_u64()).fold(0, u64::saturating_add);
        let mean = each / (client.response_sizes.len() as u64).max(1);
        let all = mean
            .saturating_mul(client.schedule.countable() as u64)
            .saturating_mul(client.fan_out.into());
        let part = Bytes::new((all / (client.servers.len() as u64).max(1)).max(1));
        let flow = |src: &u32| Flow {
            group: client.group,
            src: *src,
            dst: client.client,
            size: Some(part),
            start: client.start,
            write_pattern: WritePattern::Bulk,
        };
        out.extend(client.servers.iter().map(flow));
    }
    out
}

impl Estimate {
    /// Estimates the cost of one run.
    pub fn of(setup: &Setup) -> Self {
        let responses = response_flows(setup);
        let counted = counted_flows(setup);
        let paths = FlowPaths::of(&setup.network, setup.flows.iter().chain(&responses));
        let simulated = duration(setup, &responses, &paths);
        let begin = |flow: &&Flow| flow.start.since_start() < simulated;
        let load = setup.flows[counted.len()..].iter().filter(begin);
        let begun = (counted.len() + load.clone().count()) as u64;
        let flows = || counted.iter().chain(load.clone()).chain(&responses);
        let mut hops = 0_u64;
        // Packets in flight and open connections, times their lifetimes.
        let (mut packets, mut open) = (0_u128, 0_u128);
        let mut largest = 0_u64;
        for flow in flows() {
            let bytes = volume(setup, &paths, flow, simulated);
            let config = &setup.hosts[flow.src as usize].config;
            let full = payload(mtu(setup, flow));
            let m = u64::from(setup.hosts[flow.dst as usize].config.delack_segments).max(1);
            let segments = bytes.div_ceil(full);
            let path = paths.of_flow(flow).len() as u64;
            let all = segments.saturating_add(segments.div_ceil(m)).saturating_add(CONTROL_PACKETS);
            hops = hops.saturating_add(all.saturating_mul(path));
            let window = setup.hosts[flow.dst as usize].config.receive_buffer;
            let window = config.send_buffer.min(window).as_u64().min(bytes);
            let window = window.div_ceil(full);
            largest = largest.max(window);
            let life = flow_lifetime(setup, &paths, flow, bytes).min(simulated);
            packets = packets.saturating_add(u128::from(window) * u128::from(life.as_ps()));
            open = open.saturating_add(u128::from(life.as_ps()));
        }
        let asked: u64 = setup.query_clients.iter().map(QueryClientSpec::connections).sum();
        let connections = begun.saturating_add(asked);
        let idle = (setup.flows.len() as u64 - begun).saturating_mul(IDLE_LOAD_BYTES);
        // A connection opened for one request has its own handshake and close.
        let asked = asked.saturating_sub(responses.len() as u64);
        hops = hops.saturating_add(asked.saturating_mul(2 * CONTROL_PACKETS));
        let at_once = |sum: u128| {
            let mean = sum.div_ceil(u128::from(simulated.as_ps()).max(1));
            u64::try_from(mean).unwrap_or(u64::MAX)
        };
        let packets = at_once(packets).saturating_add(largest);
        let open = at_once(open).saturating_mul(OPEN_BYTES);
        let rows = RowEstimate::of(setup, simulated, |flow| {
            let bytes = volume(setup, &paths, flow, simulated);
            (bytes.div_ceil(payload(mtu(setup, flow))), paths.of_flow(flow))
        });
        let group = busiest_group(setup);
        let (memory, memory_cause) = most(&[
            (
                CostCause::Connections(group),
                connections.saturating_mul(FLOW_BYTES).saturating_add(open).saturating_add(idle),
            ),
            (CostCause::Hosts, (setup.hosts.len() as u64).saturating_mul(HOST_BYTES)),
            (CostCause::InFlight, packets.saturating_mul(PACKET_BYTES)),
            (CostCause::Samples, rows.samples.memory),
            (CostCause::Trace, rows.trace.memory),
        ]);
        let (disk, disk_cause) = most(&[
            (CostCause::Connections(group), connections.saturating_mul(2 * FLOW_DISK_BYTES)),
            (CostCause::Samples, rows.samples.disk.saturating_mul(2)),
            (CostCause::Trace, rows.trace.disk.saturating_mul(2)),
            (CostCause::Runs, RUN_DISK_BYTES),
        ]);
        Self {
            runs: 1,
            hosts: setup.hosts.len() as u64,
            flows: connections,
            hops,
            simulated,
            wall: wall(hops),
            memory: Bytes::new(memory),
            memory_cause,
            disk: Bytes::new(disk),
            disk_cause,
        }
    }

    /// The cost of this and `other`, one after the other.
    pub fn then(self, other: Self) -> Self {
        let hops = self.hops.saturating_add(other.hops);
        Self {
            runs: self.runs.saturating_add(other.runs),
            hosts: self.hosts.max(other.hosts),
            flows: self.flows.max(other.flows),
            hops,
            simulated: Duration::from_ps(
                self.simulated.as_ps().saturating_add(other.simulated.as_ps()),
            ),
            wall: wall(hops),
            memory: self.memory.max(other.memory),
            memory_cause: if self.memory < other.memory {
                other.memory_cause
            } else {
                self.memory_cause
            },
            disk: Bytes::new(self.disk.as_u64().saturating_add(other.disk.as_u64())),
            disk_cause: if self.disk < other.disk { other.disk_cause } else { self.disk_cause },
        }
    }

    /// The cost of a run whose tables are copied from another: no time.
    pub(crate) fn copied(self) -> Self {
        Self { hops: 0, simulated: Duration::ZERO, wall: Duration::ZERO, ..self }
    }

    /// The cost of `n` of these, one after the other.
    pub fn times(self, n: u64) -> Self {
        let hops = self.hops.saturating_mul(n);
        Self {
            runs: self.runs.saturating_mul(n),
            hops,
            simulated: Duration::from_ps(self.simulated.as_ps().saturating_mul(n)),
            wall: wall(hops),
            disk: Bytes::new(self.disk.as_u64().saturating_mul(n)),
            ..self
        }
    }
}

/// Returns the flows that do not only keep the load up.
fn counted_flows(setup: &Setup) -> &[Flow] {
    let load_from = setup.counting.open_loop.map(|open| open.load_from as usize);
    &setup.flows[..load_from.unwrap_or(usize::MAX).min(setup.flows.len())]
}

/// Rounds up to whole milliseconds, as it is an estimate.
fn wall(hops: u64) -> Duration {
    Duration::from_ms(hops.div_ceil(HOPS_PER_SECOND / 1_000))
}

/// Payload of a full packet of `mtu` bytes.
fn payload(mtu: u64) -> u64 {
    mtu.saturating_sub(HEADER).max(1)
}

/// The MTU of a flow: the smaller one of its hosts.
fn mtu(setup: &Setup, flow: &Flow) -> u64 {
    let of = |host: u32| u64::from(setup.hosts[host as usize].config.mtu);
    of(flow.src).min(of(flow.dst))
}

/// The path between each pair of hosts that a flow connects.
struct FlowPaths {
    by_pair: BTreeMap<(u32, u32), Vec<LinkDirection>>,
    /// Flows without a size on each line.
    unlimited: BTreeMap<LinkDirection, u64>,
}

impl FlowPaths {
    fn of<'f>(network: &Blueprint, flows: impl Iterator<Item = &'f Flow> + Clone) -> Self {
        let mut out = Self { by_pair: BTreeMap::new(), unlimited: BTreeMap::new() };
        // `check` has reported the errors of the network.
        let Ok(routes) = ShortestPaths::find(network) else { return out };
        let pairs: BTreeSet<(u32, u32)> = flows.clone().map(|f| (f.src, f.dst)).collect();
        out.by_pair = pairs.into_iter().map(|pair| (pair, ecmp_path(&routes, pair))).collect();
        for flow in flows.filter(|f| f.size.is_none()) {
            for line in out.by_pair.get(&(flow.src, flow.dst)).map_or(&[][..], Vec::as_slice) {
                *out.unlimited.entry(*line).or_default() += 1;
            }
        }
        out
    }

    fn of_flow(&self, flow: &Flow) -> &[LinkDirection] {
        self.by_pair.get(&(flow.src, flow.dst)).map_or(&[], Vec::as_slice)
    }
}

/// Returns the lines from one host to another as the network routes. Pairs are spread over
/// equal-cost paths as by a hash.
fn ecmp_path(routes: &ShortestPaths<'_>, (src, dst): (u32, u32)) -> Vec<LinkDirection> {
    let mut mix = u64::from(src) << 32 | u64::from(dst);
    let mut below = |n: usize| {
        mix = (mix ^ (mix >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (((mix >> 32) * n as u64) >> 32) as usize
    };
    let mut out = Vec::new();
    let mut next = routes.nic(HostId(src)).filter(|_| src != dst);
    while let Some(port) = next {
        out.push((port as usize / 2, port % 2 == 1));
        next = match routes.far_end(port) {
            Some(NodeId::Switch(at)) => {
                let ports = routes.next_ports(at, HostId(dst));
                match ports.len() {
                    0 => return Vec::new(),
                    n => ports.get(below(n)).copied(),
                }
            }
            _ => None,
        };
    }
    out
}

/// Estimates the end of the run: its time limit, or when the busiest line has carried all sized
/// flows.
fn duration(setup: &Setup, responses: &[Flow], paths: &FlowPaths) -> Duration {
    if !setup.end.when_done {
        return setup.end.at;
    }
    let mut lines: BTreeMap<LinkDirection, (u64, Duration)> = BTreeMap::new();
    let mut latest = Duration::ZERO;
    for flow in counted_flows(setup).iter().chain(responses) {
        let Some(size) = flow.size else { continue };
        let start = flow.start.since_start();
        latest = latest.max(start + flow.write_pattern.write_duration(size));
        for line in paths.of_flow(flow) {
            let entry = lines.entry(*line).or_insert((0, start));
            entry.0 = entry.0.saturating_add(size.as_u64());
            entry.1 = entry.1.min(start);
        }
    }
    let drained = lines.iter().map(|((link, back), (bytes, start))| {
        let link = &setup.network.links[*link];
        *start + link.line(*back).rate.serialization(Bytes::new(wire_bytes(link, *bytes)))
    });
    drained.max().unwrap_or(setup.end.at).max(latest).min(setup.end.at)
}

/// Bytes on a line for `bytes` of payload in packets of 1500 B.
fn wire_bytes(link: &LinkSpec, bytes: u64) -> u64 {
    let full = 1_500 + link.framing.overhead();
    (u128::from(bytes) * u128::from(full) / u128::from(payload(1_500))).min(u128::from(u64::MAX))
        as u64
}

/// Payload bytes that a flow will carry.
fn volume(setup: &Setup, paths: &FlowPaths, flow: &Flow, simulated: Duration) -> u64 {
    let mut active = simulated.saturating_sub(flow.start.since_start());
    if let WritePattern::BulkFor { duration: lasts } = flow.write_pattern {
        active = active.min(lasts);
    }
    let room = |line: &LinkDirection| {
        let link = &setup.network.links[line.0];
        let raw = link.line(line.1).rate.bytes_in(active).as_u64();
        let full = 1_500 + link.framing.overhead();
        let goodput = u128::from(raw) * u128::from(payload(1_500)) / u128::from(full);
        let sharers = match flow.size {
            Some(_) => 1,
            None => paths.unlimited.get(line).copied().unwrap_or(1),
        };
        goodput as u64 / sharers.max(1)
    };
    let most = paths.of_flow(flow).iter().map(room).min().unwrap_or(0);
    let most = match flow.write_pattern {
        WritePattern::Rate { rate, .. } => most.min(rate.bytes_in(active).as_u64()),
        WritePattern::Bulk
        | WritePattern::OnReceipt
        | WritePattern::OnOff { .. }
        | WritePattern::BulkFor { .. } => most,
    };
    flow.size.map_or(most, |size| size.as_u64().min(most.max(1)))
}

/// Estimates how long a flow has packets in flight: 4 times the serialization on the slowest line,
/// plus 1 ms for some round trips of a data centre.
fn flow_lifetime(setup: &Setup, paths: &FlowPaths, flow: &Flow, bytes: u64) -> Duration {
    let lines = paths.of_flow(flow).iter();
    let rates = lines.map(|(link, back)| setup.network.links[*link].line(*back).rate);
    let sending = rates.map(|rate| rate.serialization(Bytes::new(bytes))).max();
    sending.unwrap_or_default() * 4 + Duration::from_ms(1)
}

/// Returns the traffic group with the most connections.
fn busiest_group(setup: &Setup) -> u16 {
    let mut connections: BTreeMap<u16, u64> = BTreeMap::new();
    let flows = setup.flows.iter().map(|f| (f.group, 1));
    for (group, n) in flows.chain(setup.query_clients.iter().map(|a| (a.group, a.connections()))) {
        let all = connections.entry(group).or_default();
        *all = all.saturating_add(n);
    }
    connections.into_iter().max_by_key(|(_, n)| *n).map_or(0, |(group, _)| group)
}

/// Returns the sum of all contributions, and the largest one.
fn most(shares: &[(CostCause, u64)]) -> (u64, CostCause) {
    let sum = shares.iter().fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
    let largest = shares.iter().max_by_key(|(_, bytes)| *bytes);
    (sum, largest.map_or_else(CostCause::default, |(cause, _)| *cause))
}
