//! The network that runs.

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

use lowtide_sim::{Digest, Entity, Rng, Scheduler, Seed};
use lowtide_units::{Duration, Instant};
use lowtide_wire::Segment;

pub use self::cross_shard::CrossShardPacket;
pub use self::hop::ArrivedPacket;
use self::shards::NetworkShard;
use crate::buffer_pool::{BufferPool, pool_layout};
use crate::check::check;
use crate::failure::Failures;
use crate::packet::{Envelope, Packet, PacketPool};
use crate::port::{FarEnd, Port, PortConfig};
use crate::port_tracer::{HopRecord, PortTracer};
use crate::route::{Edges, Routes};
use crate::{Blueprint, BlueprintError, HostId, LineSpec, NodeId, PortView, Routing};

/// Ports, lines and packets. See the crate's documentation for the rules.
///
/// Each direction of a link has one output port: port `2 i` is at end `a` of link `i` of the
/// blueprint, port `2 i + 1` at end `b`. A port has at most one event pending: the arrival of its
/// first packet at the far end of the line; one with classes or with drops at dequeue has another: the
/// departure of the packet on the line.
#[derive(Clone, Debug)]
pub struct Network {
    ports: Vec<Port>,
    labels: Vec<Label>,
    routes: Routes,
    pool: PacketPool,
    /// Per host; empty without jitter.
    lateness: Vec<Lateness>,
    host_jitter: Duration,
    /// For traces; most runs have none.
    port_tracer: Option<Box<PortTracer>>,
    /// Each packet knows how long it has waited.
    measures_queueing: bool,
    /// Ways are chosen by a hash of each connection.
    by_flow: bool,
    /// Most networks have none.
    failures: Option<Box<Failures>>,
    /// What queues share.
    buffer_pools: Vec<BufferPool>,
    /// Names.
    switches: Vec<String>,
    warmup: Instant,
    /// Where each port of the whole network is whose far end is here; empty where this is the whole.
    local_ports: Arc<[u32]>,
    shard: Option<Box<NetworkShard>>,
}

#[derive(Clone, Debug)]
struct Label {
    name: String,
    at_switch: bool,
}

/// How late packets reach a host.
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
    /// When its last bit came off the line: earlier than its event by the jitter of the host.
    pub arrived_at: Instant,
    /// How long it waited in queues of switches, in whole nanoseconds for each; zero unless
    /// [`Network::measure_queueing`] asked. For whoever compares a measurement with the truth: no host can
    /// know it.
    pub queueing_delay: Duration,
    /// Its number, when it is watched ([`Network::watch`]); else zero.
    pub trace_id: u64,
}

impl Network {
    /// The kind of the entities whose events are for [`Network::on_port_event`].
    pub const PORT_KIND: u8 = 0;

    /// Checks `plan` and builds it.
    ///
    /// Every packet reaches its host up to `host_jitter` later than the line says, uniformly, drawn
    /// per host from `run_seed`, order kept. Statistics start at `warmup`.
    /// Salts of ECMP and turns of spraying follow from `run_seed` too; [`Network::build_salted`] gives them
    /// a seed of their own.
    pub fn build(
        plan: &Blueprint,
        run_seed: u64,
        host_jitter: Duration,
        warmup: Duration,
    ) -> Result<Self, BlueprintError> {
        Self::build_salted(plan, run_seed, run_seed, host_jitter, warmup)
    }

    /// The same where the choice among equal ways follows from `salt_seed`.
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
        let routes = Routes::find(&edges, plan.routing, salt_seed, &[])?;
        let failures = Failures::new(plan, edges, salt_seed)?;
        let mut fails = vec![false; plan.links.len()];
        plan.failures.iter().for_each(|f| fails[f.link] = true);
        let warmup = Instant::ZERO + warmup;
        let groups = pool_layout(plan);
        let ports = plan.links.iter().zip(&fails).zip(0_u64..).flat_map(|((link, fails), i)| {
            let port = |spec: &LineSpec, to, number: u64| {
                let classes = spec.port.classes.and_then(|set| plan.class_sets.get(set.0 as usize));
                let setting = PortConfig {
                    framing: link.framing,
                    far_end: far_end(to),
                    jittered: host_jitter > Duration::ZERO && matches!(to, NodeId::Host(_)),
                    classes: classes.map(Vec::as_slice),
                    pool: groups.of_port[number as usize],
                    fails: *fails,
                    warmup,
                    run_seed,
                    number,
                };
                Port::new(spec, &setting)
            };
            [port(&link.from_a, link.b, 2 * i), port(&link.from_b, link.a, 2 * i + 1)]
        });
        let hosts = if host_jitter == Duration::ZERO { 0 } else { plan.hosts.len() as u64 };
        let lateness = (0..hosts).map(|host| Lateness {
            rng: Seed::derive(run_seed, "host", host, "arrival-jitter").rng(),
            last: Instant::ZERO,
        });
        Ok(Self {
            ports: ports.collect(),
            labels: labels(plan),
            routes,
            pool: PacketPool::default(),
            lateness: lateness.collect(),
            host_jitter,
            port_tracer: None,
            measures_queueing: false,
            by_flow: matches!(plan.routing, Routing::Ecmp { .. }),
            failures,
            buffer_pools: BufferPool::all(plan, &groups),
            switches: plan.switches.iter().map(|s| s.name.clone()).collect(),
            warmup,
            local_ports: Arc::default(),
            shard: None,
        })
    }

    /// From now on notes what becomes of the packets that these connections send
    /// ([`Packet::src_conn`]), at every port. Looking changes neither the run nor its digest. Packets that
    /// are under way already get the first numbers; what a port has decided about them is not told.
    pub fn trace(&mut self, conns: &[u32]) {
        let mut watch = PortTracer::new(conns, self.ports.len());
        for (id, packet) in self.pool.in_flight() {
            watch.on_send(id, packet.src_conn);
        }
        self.port_tracer = Some(Box::new(watch));
    }

    /// From now on notes how long packets wait, for [`Delivery::waited`].
    pub fn measure_queueing(&mut self) {
        self.measures_queueing = true;
    }

    /// From now on notes which packets are dropped or lost, for [`Network::pop_dropped`].
    pub fn record_drops(&mut self) {
        self.pool.record_drops();
    }

    /// [`Packet::src_conn`] of a packet that was dropped or lost anywhere since
    /// [`Network::record_drops`], each once, in no order: for a driver that keeps something for each packet under
    /// way.
    pub fn pop_dropped(&mut self) -> Option<u32> {
        self.pool.pop_dropped()
    }

    /// The number of the packet that was sent last; zero if nobody watches it.
    pub fn last_trace_id(&self) -> u64 {
        self.port_tracer.as_ref().map_or(0, |w| w.last())
    }

    /// Ends the watch: what was noted, in order of time.
    pub fn take_hop_records(&mut self) -> Vec<HopRecord> {
        self.port_tracer.take().map(|w| w.into_hop_records()).unwrap_or_default()
    }

    /// A host sends: the packet enters the port of `packet.src`.
    ///
    /// Returns when it will have left the host, or `None` if it was dropped there. A packet from or to
    /// a host that does not exist, or to its own host, is a mistake of the caller (a debug build says
    /// so) and is dropped.
    pub fn send(
        &mut self,
        now: Instant,
        packet: &Packet,
        sched: &mut Scheduler,
    ) -> Option<Instant> {
        self.send_segment(now, &packet.segment, packet.envelope(), sched)
    }

    /// The same for a segment that is not yet in a packet.
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
        let moving = self.pool.put(segment, envelope, flow);
        if let Some(watch) = &mut self.port_tracer {
            cold_path();
            watch.on_send(moving.id, envelope.src_conn);
        }
        self.enqueue(now, port, moving, sched)
    }

    /// Bytes of framing that each packet takes on the line of `host`.
    pub fn framing(&self, host: HostId) -> u64 {
        let port = self.routes.nic(host).and_then(|port| self.ports.get(port as usize));
        port.map_or(0, |port| port.line().overhead())
    }

    /// When a packet of `size` IP bytes, sent by `host` at `now`, will have left it if its port lets
    /// it in: for a stamp that the packet itself carries.
    pub fn departure_time(&self, now: Instant, host: HostId, size: u32) -> Option<Instant> {
        let port = self.ports.get(self.routes.nic(host)? as usize)?;
        Some(port.departure_of(now, size))
    }

    /// When the line of `host` will have sent all that its port has at `now`.
    pub fn drained_at(&self, now: Instant, host: HostId) -> Option<Instant> {
        let port = self.ports.get(self.routes.nic(host)? as usize)?;
        Some(port.drained_at(now))
    }

    /// How long a packet of `size` IP bytes is on the line of `host`.
    pub fn serialization(&self, host: HostId, size: u32) -> Option<Duration> {
        let port = self.ports.get(self.routes.nic(host)? as usize)?;
        Some(port.line().serialization(size))
    }

    /// Where the port of that number is, which has its far end here.
    #[inline]
    fn local_port(&self, number: u32) -> u32 {
        if self.local_ports.is_empty() {
            return number;
        }
        cold_path();
        self.local_ports[number as usize]
    }

    /// Brings hops and statistics up to `at`. Call it when the run has ended, before reading them.
    pub fn finish(&mut self, at: Instant) {
        for memory in 0..self.buffer_pools.len() {
            self.settle(at, memory, None);
        }
        for port in 0..self.ports.len() as u32 {
            self.finish_port(at, port);
        }
    }

    /// All output ports, by port number, with what they have seen up to [`Network::finish`].
    pub fn ports(&self) -> impl Iterator<Item = PortView<'_>> {
        self.ports.iter().zip(&self.labels).map(|(port, label)| PortView {
            name: &label.name,
            at_switch: label.at_switch,
            rate: port.line().rate(),
            stats: port.stats(),
        })
    }

    /// The length of the queue of `port` at `now`, in packets and IP bytes, as the port counts it.
    ///
    /// Looking changes neither the run nor its digest.
    pub fn queue_now(&mut self, now: Instant, port: u32) -> (u32, u64) {
        let queue = self.queue_at(now, port).unwrap_or_default();
        (queue.packets, queue.bytes)
    }

    /// Packets serialised by any port since the start, warm-up included, up to
    /// [`Network::finish`].
    pub fn hops(&self) -> u64 {
        self.ports.iter().map(Port::departures).sum()
    }

    /// Packets between a host and a host.
    pub fn in_flight(&self) -> usize {
        self.pool.len()
    }

    /// The digest of what happened at every port: time, packet and verdict of each arrival and of each
    /// packet lost with its link, ports combined by number. Where failures are planned, the same for each
    /// packet to which a switch had no way follows, switches by number.
    pub fn digest(&self) -> u64 {
        let unrouted = self.failures.iter().flat_map(|f| &f.digests).map(|d| d.value());
        Digest::combine(self.ports.iter().map(Port::digest).chain(unrouted))
    }
}

/// Every port must have an entity.
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

/// What ports are called, and where they are, by number.
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
