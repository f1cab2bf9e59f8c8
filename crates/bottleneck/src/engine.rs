//! The network in its own time, with the bytes of its packets.
//!
//! Contract: no device, no clock. Packets come with [`Engine::arrive`] at an instant of the caller, never earlier than
//! one before; [`Engine::advance`] lets everything happen up to and with an instant and hands over what has
//! reached its host. How a port decides is `net`'s alone: the same calls at the same instants give what the simulator
//! gives.

use lowtide_net::{Blueprint, HostId, Network, Packet, PortView};
use lowtide_sim::{Entity, Scheduler, Seed};
use lowtide_units::{Duration, Instant};
use lowtide_wire::{Ecn, Segment};

use crate::address_table::AddressTable;
use crate::error::BottleneckError;
use crate::faults::{FaultCounts, FaultInjector, Faults};
use crate::header::{parse_header, set_ecn};
use crate::histogram::Histogram;
use crate::slab::Slab;

/// Events of packets that a fault holds back, by their key.
const DELAYED_KIND: u8 = 1;
/// The event of looking at the queues.
const SAMPLE_KIND: u8 = 2;
/// What [`Scheduler::pop_before`] must be told for "up to and with".
const NEXT: Duration = Duration::from_ps(1);

/// What becomes of a packet that has reached its host.
pub(crate) trait Deliver {
    /// It was due at `due`.
    fn deliver(&mut self, host: HostId, due: Instant, bytes: &[u8]);
}

/// What the network is told beside its blueprint.
#[derive(Clone, Debug)]
pub(crate) struct EngineConfig {
    pub(crate) seed: u64,
    /// Statistics begin then.
    pub(crate) warmup: Duration,
    /// The most packets under way.
    pub(crate) max_packets: usize,
    /// How often queues are looked at; zero for never.
    pub(crate) sample_interval: Duration,
    pub(crate) faults: Vec<(HostId, Faults)>,
}

/// Packets that never met the network, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IngressDrops {
    /// No IP packets.
    pub malformed: u64,
    /// For addresses of no host.
    pub unknown_destination: u64,
    /// For a group, which nobody here joins: routers and neighbours that hosts look for.
    pub multicast: u64,
    /// For the host that sent them.
    pub to_self: u64,
    /// That found no room for their bytes: more were under way than [`crate::BottleneckSettings::max_packets`].
    pub no_buffer: u64,
}

/// The queue of a port at an instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortQueueSample {
    /// Since the start.
    pub at: Instant,
    /// Number of the port, as [`Network::ports`] counts.
    pub port: u32,
    /// Packets, as the port counts them.
    pub packets: u32,
    /// IP bytes, as the port counts them.
    pub bytes: u64,
}

/// What one host has sent and got.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostCounters {
    pub(crate) sent: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) delivered: u64,
    pub(crate) delivered_bytes: u64,
    /// Nanoseconds in queues of switches of each packet that it got.
    pub(crate) queueing_delay: Histogram,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    network: Network,
    sched: Scheduler,
    slab: Slab,
    table: AddressTable,
    fault_injectors: Vec<Option<Box<FaultInjector>>>,
    counters: Vec<HostCounters>,
    ingress_drops: IngressDrops,
    /// Packets that a fault holds back, by key.
    delayed: Vec<Option<Packet>>,
    /// Ports whose queues are looked at.
    sampled: Vec<u32>,
    sample_interval: Duration,
    samples: Vec<PortQueueSample>,
}

impl Engine {
    pub(crate) fn new(
        blueprint: &Blueprint,
        plan: &EngineConfig,
        table: AddressTable,
    ) -> Result<Self, BottleneckError> {
        let mut blueprint = blueprint.clone();
        let hosts = blueprint.hosts.len();
        let mut faulty: Vec<Option<Box<FaultInjector>>> = vec![None; hosts];
        for (host, faults) in &plan.faults {
            let Some(place) = faulty.get_mut(host.0 as usize) else {
                return Err(BottleneckError::NoHost { host: host.0, hosts });
            };
            *place = FaultInjector::new(faults, plan.seed, host.0);
            let lines = blueprint.links.iter_mut().flat_map(|link| {
                let (a, b) = (link.a, link.b);
                [(a, &mut link.from_a), (b, &mut link.from_b)]
            });
            let own = lines.filter(|(node, _)| *node == lowtide_net::NodeId::Host(*host));
            // Without a word of faults a line keeps the loss of its scenario.
            own.filter(|_| faults.loss.as_ppb() > 0).for_each(|(_, line)| line.loss = faults.loss);
        }
        let mut network = Network::build(&blueprint, plan.seed, Duration::ZERO, plan.warmup)?;
        network.record_drops();
        network.measure_queueing();
        let mut sched = Scheduler::new(Seed::derive(plan.seed, "bottleneck", 0, "order"));
        network.prime(&mut sched);
        let mut sampled = Vec::new();
        if plan.sample_interval > Duration::ZERO {
            let ports = network.ports().zip(0..);
            sampled.extend(ports.filter(|(port, _)| port.at_switch).map(|(_, i)| i));
            sched.at(Instant::ZERO + plan.sample_interval, Entity::new(SAMPLE_KIND, 0));
        }
        Ok(Self {
            network,
            sched,
            slab: Slab::new(plan.max_packets),
            table,
            fault_injectors: faulty,
            counters: vec![HostCounters::default(); hosts],
            ingress_drops: IngressDrops::default(),
            delayed: Vec::new(),
            sampled,
            sample_interval: plan.sample_interval,
            samples: Vec::new(),
        })
    }

    /// A packet comes from the device of `from`. Whatever was due before `now` must have been let happen.
    pub(crate) fn arrive(&mut self, now: Instant, from: HostId, bytes: &[u8]) {
        let Some(seen) = parse_header(bytes) else {
            self.ingress_drops.malformed += 1;
            return;
        };
        let Some(dst) = self.table.find(seen.dst).filter(|_| !seen.dst.is_multicast()) else {
            let group = seen.dst.is_multicast();
            let count = if group {
                &mut self.ingress_drops.multicast
            } else {
                &mut self.ingress_drops.unknown_destination
            };
            *count += 1;
            return;
        };
        if dst == from {
            self.ingress_drops.to_self += 1;
            return;
        }
        let Some(key) = self.store(bytes) else { return };
        if let Some(tally) = self.counters.get_mut(from.0 as usize) {
            tally.sent += 1;
            tally.sent_bytes += seen.len as u64;
        }
        let mut ecn = seen.ecn;
        let mut fate = crate::faults::FaultOutcome::default();
        if let Some(faulty) = self.fault_injectors.get_mut(from.0 as usize).and_then(Option::as_mut)
        {
            let place = self.slab.get(key);
            let ip = place.get_mut(..seen.len).unwrap_or_default();
            (ecn, fate) = faulty.apply(ip, ecn);
        }
        let packet = Packet {
            segment: Segment {
                ecn,
                src_port: seen.src_port,
                dst_port: seen.dst_port,
                ..Segment::default()
            },
            src: from,
            dst,
            size: seen.len as u32,
            src_conn: key,
            dst_conn: 0,
            class: seen.dscp,
        };
        if fate.duplicate {
            let again = self.slab.get(key).to_vec();
            if let Some(key) = self.store(&again) {
                self.enter_network(now, &Packet { src_conn: key, ..packet }, fate.delay);
            }
        }
        self.enter_network(now, &packet, fate.delay);
    }

    fn store(&mut self, bytes: &[u8]) -> Option<u32> {
        let key = self.slab.put(bytes);
        self.ingress_drops.no_buffer += u64::from(key.is_none());
        key
    }

    /// The packet meets its host's line, now or later.
    fn enter_network(&mut self, now: Instant, packet: &Packet, late: Option<Duration>) {
        let Some(late) = late else { return self.send(now, packet) };
        let place = packet.src_conn as usize;
        if place >= self.delayed.len() {
            self.delayed.resize(place + 1, None);
        }
        self.delayed[place] = Some(*packet);
        self.sched.at(now + late, Entity::new(DELAYED_KIND, packet.src_conn));
    }

    fn send(&mut self, now: Instant, packet: &Packet) {
        // Whether it was dropped is told with all the others.
        let _ = self.network.send(now, packet, &mut self.sched);
        self.release_dropped();
    }

    fn release_dropped(&mut self) {
        while let Some(key) = self.network.pop_dropped() {
            self.slab.forget(key);
        }
    }

    /// Lets everything happen up to and with `now`.
    pub(crate) fn advance(&mut self, now: Instant, out: &mut impl Deliver) {
        while let Some((at, entity)) = self.sched.pop_before(now + NEXT) {
            match entity.kind() {
                Network::PORT_KIND => {
                    let reached = self.network.on_port_event(at, entity.index(), &mut self.sched);
                    if let Some(delivery) = reached {
                        self.deliver(at, &delivery, out);
                    }
                }
                Network::LINK_KIND => self.network.on_link_event(at, entity.index()),
                DELAYED_KIND => {
                    let held = self.delayed.get_mut(entity.index() as usize).and_then(Option::take);
                    if let Some(packet) = held {
                        self.send(at, &packet);
                    }
                }
                SAMPLE_KIND => self.sample_queues(at),
                _ => {}
            }
            self.release_dropped();
        }
    }

    fn deliver(&mut self, due: Instant, delivery: &lowtide_net::Delivery, out: &mut impl Deliver) {
        let packet = &delivery.packet;
        let bytes = self.slab.get(packet.src_conn);
        if packet.segment.ecn == Ecn::Ce {
            set_ecn(bytes, Ecn::Ce);
        }
        if let Some(tally) = self.counters.get_mut(delivery.host.0 as usize) {
            tally.delivered += 1;
            tally.delivered_bytes += u64::from(packet.size);
            tally.queueing_delay.add(delivery.queueing_delay.as_ns());
        }
        out.deliver(delivery.host, due, bytes);
        self.slab.forget(packet.src_conn);
    }

    fn sample_queues(&mut self, at: Instant) {
        for i in 0..self.sampled.len() {
            let port = self.sampled[i];
            let (packets, bytes) = self.network.queue_now(at, port);
            self.samples.push(PortQueueSample { at, port, packets, bytes });
        }
        self.sched.at(at + self.sample_interval, Entity::new(SAMPLE_KIND, 0));
    }

    /// When something happens next.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.sched.peek_time()
    }

    /// Packets whose bytes are kept: those under way.
    pub(crate) fn in_transit(&self) -> usize {
        self.slab.len()
    }

    pub(crate) fn ingress_drops(&self) -> IngressDrops {
        self.ingress_drops
    }

    pub(crate) fn counters(&self) -> &[HostCounters] {
        &self.counters
    }

    pub(crate) fn faults(&self) -> impl Iterator<Item = FaultCounts> {
        self.fault_injectors
            .iter()
            .map(|f| f.as_ref().map_or_else(FaultCounts::default, |f| f.counts))
    }

    pub(crate) fn samples(&self) -> &[PortQueueSample] {
        &self.samples
    }

    /// A copy of the network with its figures brought up to `at`, which nothing due is before.
    pub(crate) fn snapshot(&self, at: Instant) -> NetworkSnapshot {
        let mut network = self.network.clone();
        network.finish(at);
        NetworkSnapshot(network)
    }
}

/// What ports have seen up to an instant.
pub(crate) struct NetworkSnapshot(Network);

impl NetworkSnapshot {
    pub(crate) fn ports(&self) -> impl Iterator<Item = PortView<'_>> {
        self.0.ports()
    }

    pub(crate) fn no_route_drops(&self) -> u64 {
        self.0.no_route_drops()
    }
}
