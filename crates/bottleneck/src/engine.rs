//! The network in virtual time, with the bytes of its packets.
//!
//! Contract: no device, no clock. Packets enter through [`Engine::arrive`] at increasing instants.
//! [`Engine::advance`] handles all events up to and including an instant and delivers packets that
//! have reached their host. All port decisions are made by `net`: equal calls at equal instants
//! give the simulator's results.

use std::sync::Arc;

use lowtide_net::{Blueprint, HostId, Network, Packet};
use lowtide_rows::{Queue, QueueSampleRow};
use lowtide_sim::{Entity, Scheduler, Seed};
use lowtide_units::{Duration, Instant, LogHistogram};
use lowtide_wire::{Ecn, Segment};

use crate::address_table::AddressTable;
use crate::error::BottleneckError;
use crate::faults::{FaultCounts, FaultInjector, Faults};
use crate::header::{parse_header, set_ecn};
use crate::slab::Slab;

/// Event kind: release of a packet delayed by a fault, by its key.
const DELAYED_KIND: u8 = 1;
/// Event kind: sampling of the queues.
const SAMPLE_KIND: u8 = 2;
/// Makes the exclusive bound of [`Scheduler::pop_before`] inclusive.
const NEXT: Duration = Duration::from_ps(1);

/// Receives packets that have reached their host.
pub(crate) trait Deliver {
    /// Delivers a packet that was due at `due`.
    fn deliver(&mut self, host: HostId, due: Instant, bytes: &[u8]);
}

/// Configuration of the engine beside its blueprint.
#[derive(Clone, Debug)]
pub(crate) struct EngineConfig {
    pub(crate) seed: u64,
    /// Delay of the statistics after the start.
    pub(crate) warmup: Duration,
    /// Most packets in transit.
    pub(crate) max_packets: usize,
    /// Interval of sampling queues; zero for never.
    pub(crate) sample_interval: Duration,
    pub(crate) faults: Vec<(HostId, Faults)>,
}

/// Packets dropped before they entered the network, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IngressDrops {
    /// Not IP packets.
    pub malformed: u64,
    /// To addresses of no host.
    pub unknown_destination: u64,
    /// To multicast addresses, which no host joins: router and neighbour discovery.
    pub multicast: u64,
    /// To the host that sent them.
    pub to_self: u64,
    /// Without a buffer: more than [`crate::BottleneckSettings::max_packets`] were in transit.
    pub no_buffer: u64,
}

/// Packets sent and received by a host.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostCounters {
    pub(crate) sent: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) delivered: u64,
    pub(crate) delivered_bytes: u64,
    /// Queueing delay in switches of each packet delivered to the host, ns.
    pub(crate) queueing_delay: LogHistogram,
}

/// The network and the bytes of its packets.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    network: Network,
    sched: Scheduler,
    slab: Slab,
    table: AddressTable,
    fault_injectors: Vec<Option<Box<FaultInjector>>>,
    counters: Vec<HostCounters>,
    ingress_drops: IngressDrops,
    /// Packets delayed by a fault, by key.
    delayed: Vec<Option<Packet>>,
    /// Number and name of the ports whose queues are sampled.
    sampled: Vec<(u32, Arc<str>)>,
    sample_interval: Duration,
    samples: Vec<QueueSampleRow>,
}

impl Engine {
    pub(crate) fn new(
        blueprint: &Blueprint,
        config: &EngineConfig,
        table: AddressTable,
    ) -> Result<Self, BottleneckError> {
        let mut blueprint = blueprint.clone();
        let hosts = blueprint.hosts.len();
        let mut fault_injectors: Vec<Option<Box<FaultInjector>>> = vec![None; hosts];
        for (host, faults) in &config.faults {
            let Some(slot) = fault_injectors.get_mut(host.0 as usize) else {
                return Err(BottleneckError::NoHost { host: host.0, hosts });
            };
            *slot = FaultInjector::new(faults, config.seed, host.0);
            let lines = blueprint.links.iter_mut().flat_map(|link| {
                let (a, b) = (link.a, link.b);
                [(a, &mut link.from_a), (b, &mut link.from_b)]
            });
            let own = lines.filter(|(node, _)| *node == lowtide_net::NodeId::Host(*host));
            // Without a loss fault a link keeps the loss of its scenario.
            own.filter(|_| faults.loss.as_ppb() > 0).for_each(|(_, line)| line.loss = faults.loss);
        }
        let mut network = Network::build(&blueprint, config.seed, Duration::ZERO, config.warmup)?;
        network.record_drops();
        network.measure_queueing();
        let mut sched = Scheduler::new(Seed::derive(config.seed, "bottleneck", 0, "order"));
        network.prime(&mut sched);
        let mut sampled = Vec::new();
        if config.sample_interval > Duration::ZERO {
            let ports = network.ports().zip(0..);
            let at_switches = ports.filter(|(port, _)| port.at_switch);
            sampled.extend(at_switches.map(|(port, i)| (i, port.name.into())));
            sched.at(Instant::ZERO + config.sample_interval, Entity::new(SAMPLE_KIND, 0));
        }
        Ok(Self {
            network,
            sched,
            slab: Slab::new(config.max_packets),
            table,
            fault_injectors,
            counters: vec![HostCounters::default(); hosts],
            ingress_drops: IngressDrops::default(),
            delayed: Vec::new(),
            sampled,
            sample_interval: config.sample_interval,
            samples: Vec::new(),
        })
    }

    /// Handles a packet from the device of `from`. All events before `now` must have been handled.
    pub(crate) fn arrive(&mut self, now: Instant, from: HostId, bytes: &[u8]) {
        let Some(header) = parse_header(bytes) else {
            self.ingress_drops.malformed += 1;
            return;
        };
        let Some(dst) = self.table.find(header.dst).filter(|_| !header.dst.is_multicast()) else {
            let multicast = header.dst.is_multicast();
            let count = if multicast {
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
        if let Some(counters) = self.counters.get_mut(from.0 as usize) {
            counters.sent += 1;
            counters.sent_bytes += header.len as u64;
        }
        let mut ecn = header.ecn;
        let mut outcome = crate::faults::FaultOutcome::default();
        if let Some(injector) =
            self.fault_injectors.get_mut(from.0 as usize).and_then(Option::as_mut)
        {
            let buffer = self.slab.get(key);
            let ip = buffer.get_mut(..header.len).unwrap_or_default();
            (ecn, outcome) = injector.apply(ip, ecn);
        }
        let packet = Packet {
            segment: Segment {
                ecn,
                src_port: header.src_port,
                dst_port: header.dst_port,
                ..Segment::default()
            },
            src: from,
            dst,
            size: header.len as u32,
            src_conn: key,
            dst_conn: 0,
            class: header.dscp,
        };
        if outcome.duplicate {
            let copy = self.slab.get(key).to_vec();
            if let Some(key) = self.store(&copy) {
                self.enter_network(now, &Packet { src_conn: key, ..packet }, outcome.delay);
            }
        }
        self.enter_network(now, &packet, outcome.delay);
    }

    fn store(&mut self, bytes: &[u8]) -> Option<u32> {
        let key = self.slab.put(bytes);
        self.ingress_drops.no_buffer += u64::from(key.is_none());
        key
    }

    /// Sends a packet into its host's link, now or after `late`.
    fn enter_network(&mut self, now: Instant, packet: &Packet, late: Option<Duration>) {
        let Some(late) = late else { return self.send(now, packet) };
        let index = packet.src_conn as usize;
        if index >= self.delayed.len() {
            self.delayed.resize(index + 1, None);
        }
        self.delayed[index] = Some(*packet);
        self.sched.at(now + late, Entity::new(DELAYED_KIND, packet.src_conn));
    }

    fn send(&mut self, now: Instant, packet: &Packet) {
        // Drops are collected from the network below.
        let _ = self.network.send(now, packet, &mut self.sched);
        self.release_dropped();
    }

    fn release_dropped(&mut self) {
        while let Some(key) = self.network.pop_dropped() {
            self.slab.forget(key);
        }
    }

    /// Handles all events up to and including `now`.
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
        if let Some(counters) = self.counters.get_mut(delivery.host.0 as usize) {
            counters.delivered += 1;
            counters.delivered_bytes += u64::from(packet.size);
            counters.queueing_delay.add(delivery.queueing_delay.as_ns());
        }
        out.deliver(delivery.host, due, bytes);
        self.slab.forget(packet.src_conn);
    }

    fn sample_queues(&mut self, at: Instant) {
        for i in 0..self.sampled.len() {
            let (queue, name) = self.sampled[i].clone();
            let (packets, bytes) = self.network.queue_now(at, queue);
            self.samples.push(QueueSampleRow { time_ps: at.as_ps(), queue, name, packets, bytes });
        }
        self.sched.at(at + self.sample_interval, Entity::new(SAMPLE_KIND, 0));
    }

    /// Time of the next event.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.sched.peek_time()
    }

    /// Packets in transit, whose bytes are kept.
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

    pub(crate) fn samples(&self) -> &[QueueSampleRow] {
        &self.samples
    }

    /// A copy of the network with its statistics brought up to `at`; no event may be due before.
    pub(crate) fn snapshot(&self, at: Instant) -> NetworkSnapshot {
        let mut network = self.network.clone();
        network.finish(at);
        NetworkSnapshot(network)
    }
}

/// Port statistics up to an instant.
pub(crate) struct NetworkSnapshot(Network);

impl NetworkSnapshot {
    pub(crate) fn ports(&self) -> impl Iterator<Item = Queue> {
        self.0.ports()
    }

    pub(crate) fn no_route_drops(&self) -> u64 {
        self.0.no_route_drops()
    }
}
