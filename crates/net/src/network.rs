//! The network that runs.

mod cross;
mod foresee;
mod links;
mod parts;
mod seen;
mod special;
mod ways;

use std::sync::Arc;

use lowtide_sim::{Digest, Entity, Rng, Scheduler, Seed};
use lowtide_units::{Duration, Instant};

pub use self::cross::Crossing;
use self::parts::Part;
use crate::check::check;
use crate::entered::Entered;
use crate::failure::Failures;
use crate::memory::{Memory, groups};
use crate::packet::{Moving, Packet, PacketId, Pool};
use crate::port::{Far, Port, Setting};
use crate::route::{Edges, Routes};
use crate::scheduler::Arrived;
use crate::watch::{Passage, Watch};
use crate::{Blueprint, BlueprintError, HostId, LineSpec, NodeId, Occupancy, PortView, Routing};

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
    pool: Pool,
    /// Per host; empty without jitter.
    lateness: Vec<Lateness>,
    host_jitter: Duration,
    /// For traces; most runs have none.
    watch: Option<Box<Watch>>,
    /// Each packet knows how long it has waited.
    waits: bool,
    /// Ways are chosen by a hash of each connection.
    by_flow: bool,
    /// Most networks have none.
    failures: Option<Box<Failures>>,
    /// What queues share.
    memories: Vec<Memory>,
    /// Names.
    switches: Vec<String>,
    warmup: Instant,
    /// Where each port of the whole network is whose far end is here; empty where this is the whole.
    places: Arc<[u32]>,
    part: Option<Box<Part>>,
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
    pub came: Instant,
    /// How long it waited in queues of switches, in whole nanoseconds for each; zero unless
    /// [`Network::measure_waits`] asked. For whoever compares a measurement with the truth: no host can
    /// know it.
    pub waited: Duration,
    /// Its number, when it is watched ([`Network::watch`]); else zero.
    pub watched: u64,
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
        let groups = groups(plan);
        let ports = plan.links.iter().zip(&fails).zip(0_u64..).flat_map(|((link, fails), i)| {
            let port = |spec: &LineSpec, to, number: u64| {
                let classes = spec.port.classes.and_then(|set| plan.class_sets.get(set.0 as usize));
                let setting = Setting {
                    framing: link.framing,
                    far: far(to),
                    late: host_jitter > Duration::ZERO && matches!(to, NodeId::Host(_)),
                    classes: classes.map(Vec::as_slice),
                    memory: groups.of_port[number as usize],
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
            pool: Pool::default(),
            lateness: lateness.collect(),
            host_jitter,
            watch: None,
            waits: false,
            by_flow: matches!(plan.routing, Routing::Ecmp { .. }),
            failures,
            memories: Memory::all(plan, &groups),
            switches: plan.switches.iter().map(|s| s.name.clone()).collect(),
            warmup,
            places: Arc::default(),
            part: None,
        })
    }

    /// From now on notes what becomes of the packets that these connections send
    /// ([`Packet::src_conn`]), at every port. Looking changes neither the run nor its digest. Packets that
    /// are under way already get the first numbers; what a port has decided about them is not told.
    pub fn watch(&mut self, conns: &[u32]) {
        let mut watch = Watch::new(conns, self.ports.len());
        for (id, packet) in self.pool.under_way() {
            watch.enters(id, packet.src_conn);
        }
        self.watch = Some(Box::new(watch));
    }

    /// From now on notes how long packets wait, for [`Delivery::waited`].
    pub fn measure_waits(&mut self) {
        self.waits = true;
    }

    /// From now on notes which packets are dropped or lost, for [`Network::pop_dropped`].
    pub fn note_dropped(&mut self) {
        self.pool.note_forgotten();
    }

    /// [`Packet::src_conn`] of a packet that was dropped or lost anywhere since
    /// [`Network::note_dropped`], each once, in no order: for a driver that keeps something for each packet under
    /// way.
    pub fn pop_dropped(&mut self) -> Option<u32> {
        self.pool.pop_forgotten()
    }

    /// The number of the packet that was sent last; zero if nobody watches it.
    pub fn watched_packet(&self) -> u64 {
        self.watch.as_ref().map_or(0, |w| w.last())
    }

    /// Ends the watch: what was noted, in order of time.
    pub fn take_passages(&mut self) -> Vec<Passage> {
        self.watch.take().map(|w| w.into_passages()).unwrap_or_default()
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
        let known = self.routes.nic(packet.dst).is_some() && packet.src != packet.dst;
        debug_assert!(known, "{:?} sends to {:?}", packet.src, packet.dst);
        let port = self.routes.nic(packet.src).filter(|_| known)?;
        let moving = self.pool.put(packet, if self.by_flow { packet.flow() } else { 0 });
        if let Some(watch) = &mut self.watch {
            watch.enters(moving.id, packet.src_conn);
        }
        self.enqueue(now, port, &moving, sched)
    }

    /// Bytes of framing that each packet takes on the line of `host`.
    pub fn framing(&self, host: HostId) -> u64 {
        let port = self.routes.nic(host).and_then(|port| self.ports.get(port as usize));
        port.map_or(0, |port| port.line().overhead())
    }

    /// When a packet of `size` IP bytes, sent by `host` at `now`, will have left it if its port lets
    /// it in: for a stamp that the packet itself carries.
    pub fn would_leave(&self, now: Instant, host: HostId, size: u32) -> Option<Instant> {
        let port = self.ports.get(self.routes.nic(host)? as usize)?;
        Some(port.departure_of(now, size))
    }

    /// When the line of `host` will have sent all that its port has at `now`.
    pub fn all_sent(&self, now: Instant, host: HostId) -> Option<Instant> {
        let port = self.ports.get(self.routes.nic(host)? as usize)?;
        Some(port.all_sent(now))
    }

    /// How long a packet of `size` IP bytes is on the line of `host`.
    pub fn serialization(&self, host: HostId, size: u32) -> Option<Duration> {
        let port = self.ports.get(self.routes.nic(host)? as usize)?;
        Some(port.line().serialization(size))
    }

    /// The event of the port of that number has come: its first packet arrives at the far end of the line.
    ///
    /// Returns it when it has reached its host, or `None` when it went on from a switch (or was
    /// dropped there).
    #[inline]
    pub fn on_port_event(
        &mut self,
        now: Instant,
        number: u32,
        sched: &mut Scheduler,
    ) -> Option<Delivery> {
        let port = self.place(number);
        let this = self.ports.get_mut(port as usize)?;
        let Arrived { packet, departure, next } = if this.is_plain_far() {
            this.arrive()?
        } else {
            self.arrive_special(now, port, sched)?
        };
        if let Some(next) = next {
            sched.at(next, Entity::new(Self::PORT_KIND, number));
        }
        let id = packet.id;
        if id == PacketId::GONE {
            return None;
        }
        let this = &self.ports[port as usize];
        match this.far() {
            Far::Host(host) => {
                let came = departure + this.delay();
                let waited = if self.waits { self.pool.head(id).waited } else { 0 };
                let waited = Duration::from_ns(u64::from(waited));
                let watched = self.watch.as_mut().map_or(0, |watch| watch.leaves(id));
                Some(Delivery { host, packet: self.pool.take(id), came, waited, watched })
            }
            Far::Switch(switch) => {
                let Some(next) = self.routes.port(switch, &packet) else {
                    self.no_way(now, switch, id);
                    return None;
                };
                let departure = self.enqueue(now, next, &packet, sched);
                if self.waits
                    && let Some(departure) = departure
                {
                    self.note_wait(now, next, &packet, departure);
                }
                None
            }
        }
    }

    /// The packet came to `port` and will have left at `departure`: the rest of that time it waits.
    #[cold]
    fn note_wait(&mut self, now: Instant, port: u32, packet: &Moving, departure: Instant) {
        let on_line = self.ports[port as usize].line().serialization(packet.size);
        self.pool.wait(packet.id, departure.saturating_since(now + on_line));
    }

    /// A packet comes to `port`. When it will have left, if that is known, or `None` if it is dropped.
    #[inline]
    fn enqueue(
        &mut self,
        now: Instant,
        port: u32,
        packet: &Moving,
        sched: &mut Scheduler,
    ) -> Option<Instant> {
        if !self.ports[port as usize].is_plain() {
            return self.enqueue_special(now, port, packet, sched);
        }
        self.take_in(now, port, packet, 0, sched)
    }

    /// A packet comes to a port where its departure is known; `free` bytes of shared memory are.
    #[expect(
        clippy::inline_always,
        reason = "every hop: one copy for plain ports, one for the others"
    )]
    #[inline(always)]
    fn take_in(
        &mut self,
        now: Instant,
        port: u32,
        packet: &Moving,
        free: u64,
        sched: &mut Scheduler,
    ) -> Option<Instant> {
        let found = if self.watch.is_some() { Some(self.found(now, port)) } else { None };
        let this = &mut self.ports[port as usize];
        let &Moving { id, size, .. } = packet;
        let entered = this.enter(now, packet, free, &self.pool);
        if let (Some(watch), Some(found)) = (&mut self.watch, found) {
            let service = this.line().serialization(size);
            watch.passes((now, port), (id, size), found, &entered, service);
        }
        let Entered::Queued { departure, marked } = entered else {
            self.pool.discard(id);
            return None;
        };
        if marked {
            self.pool.set_ce(id);
        }
        let mut arrival = departure + this.delay();
        if let Far::Host(host) = this.far()
            && let Some(late) = self.lateness.get_mut(host.0 as usize)
        {
            arrival = late.delay(arrival, self.host_jitter);
        }
        if this.commit(*packet, departure, arrival) {
            if this.crosses() {
                self.awaits_hand_over(port);
            } else {
                sched.at(arrival, Entity::new(Self::PORT_KIND, this.number()));
            }
        }
        Some(departure)
    }

    /// Where the port of that number is, which has its far end here.
    #[inline]
    fn place(&self, number: u32) -> u32 {
        if self.places.is_empty() { number } else { self.places[number as usize] }
    }

    /// The queue that a packet finds which is watched, in a port where its departure is known.
    #[cold]
    fn found(&mut self, now: Instant, port: u32) -> Occupancy {
        self.ports[port as usize].queue(now)
    }

    /// Brings hops and statistics up to `at`. Call it when the run has ended, before reading them.
    pub fn finish(&mut self, at: Instant) {
        for memory in 0..self.memories.len() {
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
        let queue = self.look(now, port).unwrap_or_default();
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

fn far(node: NodeId) -> Far {
    match node {
        NodeId::Host(host) => Far::Host(host),
        NodeId::Switch(switch) => Far::Switch(switch),
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
