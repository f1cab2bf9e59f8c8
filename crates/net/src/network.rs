//! The network at run time.

mod cross_shard;
mod hop;
mod inspect;
mod links;
mod paths;
mod prefetch;
mod shards;
mod special;

use std::hint::cold_path;
use std::sync::Arc;

use lowtide_rows::Queue;
use lowtide_sim::{Digest, Entity, Rng, Scheduler, Seed};
use lowtide_units::{Duration, Instant};
use lowtide_wire::Segment;

pub use self::cross_shard::CrossShardPacket;
pub use self::hop::ArrivedPacket;
use self::shards::NetworkShard;
use crate::buffer_pool::{BufferPool, pool_layout};
use crate::check::check;
use crate::failure::Failures;
use crate::packet::{Envelope, Packet};
use crate::packet_pool::PacketPool;
use crate::port::{FarEnd, Port, PortConfig, SharedConstants};
use crate::port_tracer::{HopRecord, PortTracer};
use crate::route::{Edges, Routes};
use crate::{Blueprint, BlueprintError, HostId, LineSpec, NodeId};

/// Ports, lines and packets. The crate documentation has the rules.
///
/// Each direction of a link has one output port: port `2 i` is at end `a` of link `i` of the
/// blueprint, port `2 i + 1` at end `b`. A port has at most one pending event: the arrival of its
/// first packet at the far end of the line. A port with classes or drops at dequeue has a second
/// one: the departure of the packet in service.
#[derive(Clone, Debug)]
pub struct Network {
    ports: Vec<Port>,
    labels: Vec<Label>,
    routes: Routes,
    pool: PacketPool,
    /// Per host; empty without jitter.
    lateness: Vec<Lateness>,
    host_jitter: Duration,
    /// For traces; usually none.
    port_tracer: Option<Box<PortTracer>>,
    /// Packets accumulate their queueing delay.
    measures_queueing: bool,
    /// Paths are chosen by a flow hash.
    by_flow: bool,
    /// Usually none.
    failures: Option<Box<Failures>>,
    /// Shared memories.
    buffer_pools: Vec<BufferPool>,
    /// Switch names.
    switches: Vec<String>,
    warmup: Instant,
    /// Local index of each port of the whole network whose far end is in this shard; empty if there
    /// is one shard.
    local_ports: Arc<[u32]>,
    /// By local index, the number of the port; empty if it is the index.
    port_numbers: Box<[u32]>,
    shard: Option<Box<NetworkShard>>,
}

#[derive(Clone, Debug)]
struct Label {
    name: String,
    at_switch: bool,
}

/// The jitter state of a host.
#[derive(Clone, Debug)]
struct Lateness {
    rng: Rng,
    last: Instant,
}

impl Lateness {
    #[inline]
    fn delay(&mut self, arrival: Instant, jitter: Duration) -> Instant {
        let span = jitter.as_ps().saturating_add(1);
        self.last = (arrival + Duration::from_ps(self.rng.below(span))).max(self.last);
        self.last
    }
}

/// A packet that has reached its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// The host.
    pub host: HostId,
    /// The packet.
    pub packet: Packet,
    /// Arrival time of its last bit; the event is later by the host jitter.
    pub arrived_at: Instant,
    /// Queueing delay at switches, in whole nanoseconds per queue; zero unless
    /// [`Network::measure_queueing`] was called. Ground truth for measurements; no host can know
    /// it.
    pub queueing_delay: Duration,
    /// Its number if it is traced ([`Network::trace`]), else zero.
    pub trace_id: u64,
}

impl Network {
    /// The kind of entities whose events go to [`Network::on_port_event`].
    pub const PORT_KIND: u8 = 0;

    /// Checks `plan` and builds it.
    ///
    /// Every packet reaches its host up to `host_jitter` after its arrival, uniformly, drawn per
    /// host from `run_seed`, without reordering. Statistics start at `warmup`. ECMP salts and
    /// spraying also derive from `run_seed`; [`Network::build_salted`] gives them their own seed.
    pub fn build(
        plan: &Blueprint,
        run_seed: u64,
        host_jitter: Duration,
        warmup: Duration,
    ) -> Result<Self, BlueprintError> {
        Self::build_salted(plan, run_seed, run_seed, host_jitter, warmup)
    }

    /// Builds a network as [`Network::build`] does, with path choice seeded by `salt_seed`.
    pub fn build_salted(
        plan: &Blueprint,
        run_seed: u64,
        salt_seed: u64,
        host_jitter: Duration,
        warmup: Duration,
    ) -> Result<Self, BlueprintError> {
        check_number(plan.links.len())?;
        let edges = Edges::build(plan)?;
        check(plan)?;
        let routes = Routes::find(&edges, plan.routing, salt_seed, &[], &plan.line_rates())?;
        let failures = Failures::new(plan, edges, salt_seed)?;
        let mut fails = vec![false; plan.links.len()];
        plan.failures.iter().for_each(|f| fails[f.link] = true);
        let warmup = Instant::ZERO + warmup;
        let groups = pool_layout(plan);
        let mut shared = SharedConstants::default();
        let ports = plan.links.iter().zip(&fails).zip(0_u64..).flat_map(|((link, fails), i)| {
            let mut port = |spec: &LineSpec, to, number: u64| {
                let classes = spec.port.classes.and_then(|set| plan.class_sets.get(set.0 as usize));
                let config = PortConfig {
                    framing: link.framing,
                    far_end: far_end(to),
                    classes: classes.map(Vec::as_slice),
                    pool: groups.of_port[number as usize],
                    fails: *fails,
                    warmup,
                    run_seed,
                    number,
                };
                Port::new(spec, &config, &mut shared)
            };
            [port(&link.from_a, link.b, 2 * i), port(&link.from_b, link.a, 2 * i + 1)]
        });
        let hosts = if host_jitter == Duration::ZERO { 0 } else { plan.hosts.len() as u64 };
        let lateness = (0..hosts).map(|host| Lateness {
            rng: Seed::derive(run_seed, "host", host, "arrival-jitter").rng(),
            last: Instant::ZERO,
        });
        let mut ports: Vec<Port> = ports.collect();
        if failures.is_some() {
            ports.iter_mut().for_each(Port::take_complete_arrivals);
        }
        Ok(Self {
            ports,
            labels: labels(plan),
            routes,
            pool: PacketPool::default(),
            lateness: lateness.collect(),
            host_jitter,
            port_tracer: None,
            measures_queueing: false,
            by_flow: plan.routing.by_flow(),
            failures,
            buffer_pools: BufferPool::all(plan, &groups),
            switches: plan.switches.iter().map(|s| s.name.clone()).collect(),
            warmup,
            local_ports: Arc::default(),
            port_numbers: Box::default(),
            shard: None,
        })
    }

    /// Starts to trace the packets sent by these connections ([`Packet::src_conn`]) at every port.
    /// Tracing changes neither the run nor its digest. Packets in flight get the first numbers;
    /// their past is not traced.
    pub fn trace(&mut self, conns: &[u32]) {
        let mut tracer = PortTracer::new(conns, self.ports.len());
        for (id, packet) in self.pool.in_flight() {
            tracer.on_send(id, packet.src_conn);
        }
        self.port_tracer = Some(Box::new(tracer));
        self.ports.iter_mut().for_each(|port| port.set_traced(true));
    }

    /// Starts to measure queueing delays for [`Delivery::queueing_delay`].
    pub fn measure_queueing(&mut self) {
        self.measures_queueing = true;
        self.ports.iter_mut().for_each(Port::take_complete_arrivals);
    }

    /// Starts to record dropped and lost packets for [`Network::pop_dropped`].
    pub fn record_drops(&mut self) {
        self.pool.record_drops();
    }

    /// Returns [`Packet::src_conn`] of a packet dropped or lost anywhere since
    /// [`Network::record_drops`]. Each packet is returned once, in no order. For drivers with
    /// per-packet state.
    pub fn pop_dropped(&mut self) -> Option<u32> {
        self.pool.pop_dropped()
    }

    /// Returns the number of the packet sent last; zero if it is not traced.
    pub fn last_trace_id(&self) -> u64 {
        self.port_tracer.as_ref().map_or(0, |w| w.last())
    }

    /// Takes the records that are final and precede all that are not, with the time before which
    /// none will follow. Without tracing there are none before `now`.
    pub fn take_final_hop_records(&mut self, now: Instant) -> (Vec<HopRecord>, Instant) {
        self.port_tracer.as_mut().map_or_else(|| (Vec::new(), now), |t| t.take_final(now))
    }

    /// Stops tracing and returns the remaining records by time.
    pub fn take_hop_records(&mut self) -> Vec<HopRecord> {
        self.ports.iter_mut().for_each(|port| port.set_traced(false));
        self.port_tracer.take().map(|w| w.into_hop_records()).unwrap_or_default()
    }

    /// Sends a packet through the port of `packet.src`.
    ///
    /// Returns its departure time from the host, or `None` if it was dropped there. A source or
    /// destination that does not exist, or a packet to its own host, is an error of the caller. A
    /// debug build panics; a release build drops the packet.
    pub fn send(
        &mut self,
        now: Instant,
        packet: &Packet,
        sched: &mut Scheduler,
    ) -> Option<Instant> {
        self.send_segment(now, &packet.segment, packet.envelope(), sched)
    }

    /// Sends a segment as [`Network::send`] does, without a packet around it.
    #[expect(clippy::inline_always, reason = "every packet, and its parts stay in registers")]
    #[inline(always)]
    pub fn send_segment(
        &mut self,
        now: Instant,
        segment: &Segment,
        envelope: Envelope,
        sched: &mut Scheduler,
    ) -> Option<Instant> {
        let Envelope { src, dst, .. } = envelope;
        let known = self.routes.nic(dst).is_some() && src != dst;
        debug_assert!(known, "{src:?} sends to {dst:?}");
        let port = self.routes.nic(src).filter(|_| known)?;
        let flow = if self.by_flow { envelope.flow(segment) } else { 0 };
        let id = self.pool.put(segment, envelope, flow);
        if let Some(tracer) = &mut self.port_tracer {
            cold_path();
            tracer.on_send(id, envelope.src_conn);
        }
        self.enqueue(now, port, id, sched)
    }

    /// Returns the framing bytes per packet on the line of `host`.
    pub fn framing(&self, host: HostId) -> u64 {
        let port = self.routes.nic(host).and_then(|port| self.ports.get(port as usize));
        port.map_or(0, |port| port.line().overhead())
    }

    /// Returns the departure time of a packet of `size` IP bytes sent by `host` at `now`, if its
    /// port admits it. For timestamps in the packet itself.
    pub fn departure_time(&self, now: Instant, host: HostId, size: u32) -> Option<Instant> {
        let port = self.ports.get(self.routes.nic(host)? as usize)?;
        Some(port.departure_of(now, size, &self.pool))
    }

    /// Returns the time at which the port of `host`, as of `now`, will be empty.
    pub fn drained_at(&self, now: Instant, host: HostId) -> Option<Instant> {
        let port = self.ports.get(self.routes.nic(host)? as usize)?;
        Some(port.drained_at(now, &self.pool))
    }

    /// Returns the serialisation time of `size` IP bytes on the line of `host`.
    pub fn serialization(&self, host: HostId, size: u32) -> Option<Duration> {
        let port = self.ports.get(self.routes.nic(host)? as usize)?;
        Some(port.line().serialization(size))
    }

    /// Returns the local index of the port with that number, whose far end is here.
    #[inline]
    fn local_port(&self, number: u32) -> u32 {
        if self.local_ports.is_empty() {
            return number;
        }
        cold_path();
        self.local_ports[number as usize]
    }

    /// Returns the number of the port with that local index.
    #[inline]
    fn port_number(&self, port: u32) -> u32 {
        self.port_numbers.get(port as usize).copied().unwrap_or(port)
    }

    /// Brings hops and statistics up to `at`. Call it at the end of the run, before reading them.
    pub fn finish(&mut self, at: Instant) {
        for buffer_pool in 0..self.buffer_pools.len() {
            self.settle(at, buffer_pool, None);
        }
        for port in 0..self.ports.len() as u32 {
            self.finish_port(at, port);
        }
    }

    /// Returns the queues of all output ports by number, with counters up to [`Network::finish`].
    pub fn ports(&self) -> impl Iterator<Item = Queue> {
        self.ports.iter().zip(&self.labels).map(|(port, label)| {
            let mut queue = port.stats(&self.pool);
            // A failure may have reduced the rate.
            if let Some(failures) = &self.failures {
                queue.rate_bps = failures.rates[port.number() as usize];
            }
            Queue { name: label.name.clone(), at_switch: label.at_switch, ..queue }
        })
    }

    /// Returns the queue length of `port` at `now` in packets and IP bytes, as the port counts it.
    ///
    /// Reading changes neither the run nor its digest.
    pub fn queue_now(&mut self, now: Instant, port: u32) -> (u32, u64) {
        let queue = self.queue_at(now, port).unwrap_or_default();
        (queue.packets, queue.bytes)
    }

    /// Returns the packets serialised by all ports since the start, warm-up included, up to
    /// [`Network::finish`].
    pub fn hops(&self) -> u64 {
        self.ports.iter().map(Port::departures).sum()
    }

    /// Returns the number of packets in flight.
    pub fn in_flight(&self) -> usize {
        self.pool.len()
    }

    /// Returns the digest of all port events: time, packet and outcome of each arrival, and each
    /// packet lost to a link failure, combined by port number. With planned failures, packets
    /// without a route follow, by switch number.
    pub fn digest(&self) -> u64 {
        let no_route = self.failures.iter().flat_map(|f| &f.digests).map(|d| d.value());
        Digest::combine(self.ports.iter().map(Port::digest).chain(no_route))
    }
}

/// Every port needs an entity.
fn check_number(links: usize) -> Result<(), BlueprintError> {
    let most = Entity::MAX_INDEX as usize / 2;
    if links > most { Err(BlueprintError::TooManyLinks { links, most }) } else { Ok(()) }
}

fn far_end(node: NodeId) -> FarEnd {
    match node {
        NodeId::Host(host) => FarEnd::Host(host),
        NodeId::Switch(switch) => FarEnd::Switch(switch),
    }
}

/// Returns name and location of each port, by number.
fn labels(plan: &Blueprint) -> Vec<Label> {
    let ends = plan.links.iter().flat_map(|link| [link.a, link.b]);
    let at_switch = ends.map(|from| matches!(from, NodeId::Switch(_)));
    let label = |(name, at_switch)| Label { name, at_switch };
    plan.port_names().into_iter().zip(at_switch).map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_port_still_has_an_entity() {
        let most = (1 << 27) - 1;
        assert_eq!(check_number(most), Ok(()));
        let last = 2 * most as u32 + 1;
        assert_eq!(Entity::new(Network::PORT_KIND, last).index(), last);
        let error = check_number(most + 1).unwrap_err();
        assert_eq!(error, BlueprintError::TooManyLinks { links: most + 1, most });
        assert_eq!(error.to_string(), "134217728 links are too many, the most is 134217727");
    }
}
