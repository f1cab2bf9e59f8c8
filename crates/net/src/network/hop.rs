//! The path of a packet: from the far end of a line to the next port or to its host.

use std::hint::cold_path;

use lowtide_sim::{Entity, Scheduler};
use lowtide_units::{Duration, Instant};

use super::{Delivery, Lateness, Network};
use crate::buffer_pool::PoolView;
use crate::enqueue_outcome::EnqueueOutcome;
use crate::packet::Packet;
use crate::packet_pool::PacketId;
use crate::port::{Enqueued, FarEnd};
use crate::{HostId, Occupancy};

/// A packet that has reached its host and is still in the packet pool.
#[derive(Debug)]
#[must_use = "it stays where it is until it is taken or left"]
pub struct ArrivedPacket {
    /// The host.
    pub host: HostId,
    id: PacketId,
    /// See [`Delivery::arrived_at`].
    arrived_at: Instant,
}

impl Network {
    /// Handles an event of the port with that number: its first packet arrives at the far end.
    ///
    /// Returns the packet if it has reached its host, or `None` if a switch forwarded or dropped
    /// it.
    pub fn on_port_event(
        &mut self,
        now: Instant,
        number: u32,
        sched: &mut Scheduler,
    ) -> Option<Delivery> {
        self.on_arrival(now, number, sched).map(|arrived| self.take(arrived))
    }

    /// Handles a port event as [`Network::on_port_event`] does, but leaves the packet in the pool.
    /// [`Network::take`] or [`Network::release`] must follow.
    pub fn on_arrival(
        &mut self,
        now: Instant,
        number: u32,
        sched: &mut Scheduler,
    ) -> Option<ArrivedPacket> {
        let port = self.local_port(number);
        let this = self.ports.get_mut(port as usize)?;
        let id = this.next_to_arrive();
        let packet = match self.pool.get(id) {
            Some(packet) if this.arrive_fast(id, packet) => packet,
            _ => {
                cold_path();
                return self.on_arrival_slow(now, (number, port), sched);
            }
        };
        if packet.next != PacketId::NONE {
            sched.at(packet.next_arrival, Entity::new(Self::PORT_KIND, number));
        }
        match this.far_end() {
            FarEnd::Host(host) => {
                Some(ArrivedPacket { host, id, arrived_at: packet.departure + this.delay() })
            }
            FarEnd::Switch(switch) => {
                match self.routes.port(switch, packet) {
                    Some(next) => {
                        self.enqueue(now, next, id, sched);
                    }
                    None => self.take_other_route(now, switch, id, sched),
                }
                None
            }
        }
    }

    /// Handles a port event as [`Network::on_arrival`] does, given number and index of the port.
    #[inline(never)]
    fn on_arrival_slow(
        &mut self,
        now: Instant,
        (number, port): (u32, u32),
        sched: &mut Scheduler,
    ) -> Option<ArrivedPacket> {
        let id = self.arrive_slow(now, (number, port), sched)?;
        let this = &self.ports[port as usize];
        let packet = self.pool.descriptor(id);
        if packet.lost {
            self.pool.release_lost(id);
            return None;
        }
        match this.far_end() {
            FarEnd::Host(host) => {
                Some(ArrivedPacket { host, id, arrived_at: packet.departure + this.delay() })
            }
            FarEnd::Switch(switch) => {
                match self.routes.port(switch, packet) {
                    Some(next) => self.enqueue_complete(now, next, id, sched),
                    None => self.take_other_route(now, switch, id, sched),
                }
                None
            }
        }
    }

    /// Enqueues a packet at any port and adds its queueing delay, if measured.
    #[inline]
    fn enqueue_complete(&mut self, now: Instant, next: u32, id: PacketId, sched: &mut Scheduler) {
        let departure = self.enqueue_slow(now, next, id, sched);
        if self.measures_queueing
            && let Some(departure) = departure
        {
            self.note_queueing_delay(now, next, id, departure);
        }
    }

    /// Forwards a packet for which the routing table has no port: by its flowlet, else not at all.
    #[cold]
    #[inline(never)]
    fn take_other_route(&mut self, now: Instant, switch: u32, id: PacketId, sched: &mut Scheduler) {
        match self.routes.flowlet_port(switch, self.pool.descriptor(id)) {
            Some(next) => self.enqueue_complete(now, next, id, sched),
            None => self.no_route(now, switch, id),
        }
    }

    /// Handles an event of a port, given its number and index, up to the packet that arrives.
    fn arrive_slow(
        &mut self,
        now: Instant,
        (number, port): (u32, u32),
        sched: &mut Scheduler,
    ) -> Option<PacketId> {
        let this = &mut self.ports[port as usize];
        if !this.has_simple_arrival() {
            return self.arrive_special(now, (number, port), sched);
        }
        let id = this.arrive(&self.pool)?;
        if let Some(next) = this.arrives_at(&self.pool) {
            sched.at(next, Entity::new(Self::PORT_KIND, number));
        }
        Some(id)
    }

    /// Returns a packet that has arrived.
    #[inline]
    pub fn arrived_packet(&self, arrived: &ArrivedPacket) -> &Packet {
        self.pool.packet(arrived.id)
    }

    /// Removes a packet that has arrived.
    #[expect(clippy::needless_pass_by_value, reason = "the caller must not use it again")]
    pub fn take(&mut self, arrived: ArrivedPacket) -> Delivery {
        let ArrivedPacket { host, id, arrived_at } = arrived;
        let waited = if self.measures_queueing { self.pool.descriptor(id).queueing_ns } else { 0 };
        let waited = Duration::from_ns(u64::from(waited));
        let trace_id = self.port_tracer.as_mut().map_or(0, |tracer| tracer.on_deliver(id));
        Delivery { host, packet: self.pool.take(id), arrived_at, queueing_delay: waited, trace_id }
    }

    /// Frees a packet that has arrived.
    #[expect(clippy::needless_pass_by_value, reason = "the caller must not use it again")]
    #[inline]
    pub fn release(&mut self, arrived: ArrivedPacket) {
        self.pool.release(arrived.id);
    }

    /// Adds the queueing delay of a packet that came to `port` at `now` and departs at `departure`.
    #[cold]
    fn note_queueing_delay(&mut self, now: Instant, port: u32, id: PacketId, departure: Instant) {
        let size = self.pool.descriptor(id).size;
        let service = self.ports[port as usize].line().serialization(size);
        self.pool.add_queueing(id, departure.saturating_since(now + service));
    }

    /// Enqueues a packet at `port`. Returns its departure time if known; `None` if it is dropped.
    #[expect(clippy::inline_always, reason = "every hop, and two callers")]
    #[inline(always)]
    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        port: u32,
        id: PacketId,
        sched: &mut Scheduler,
    ) -> Option<Instant> {
        let this = &mut self.ports[port as usize];
        let (lateness, jitter) = (&mut self.lateness, self.host_jitter);
        let arrival = |far_end, arrival| late_arrival(lateness, jitter, far_end, arrival);
        let Some(Enqueued { departure, event }) =
            this.enqueue_fast(now, id, self.pool.descriptors_mut(), arrival)
        else {
            cold_path();
            return self.enqueue_slow(now, port, id, sched);
        };
        if let Some(event) = event {
            sched.at(event, Entity::new(Self::PORT_KIND, self.port_number(port)));
        }
        Some(departure)
    }

    /// Enqueues a packet as [`Network::enqueue`] does, at any port.
    #[inline(never)]
    fn enqueue_slow(
        &mut self,
        now: Instant,
        port: u32,
        id: PacketId,
        sched: &mut Scheduler,
    ) -> Option<Instant> {
        if self.ports[port as usize].is_special() {
            return self.enqueue_special(now, port, id, sched);
        }
        let (entered, departure) =
            self.enqueue_with_known_departure(now, port, id, PoolView::UNSHARED, sched);
        (!matches!(entered, EnqueueOutcome::Dropped(_))).then_some(departure)
    }

    /// Enqueues a packet at a port with known departures, given the state of its shared memory.
    /// Returns the outcome and the departure time.
    #[inline]
    pub(super) fn enqueue_with_known_departure(
        &mut self,
        now: Instant,
        port: u32,
        id: PacketId,
        shared: PoolView,
        sched: &mut Scheduler,
    ) -> (EnqueueOutcome, Instant) {
        let this = &mut self.ports[port as usize];
        let packet = self.pool.descriptor(id);
        let entered = this.enqueue(now, packet, shared, &self.pool);
        let serialization = this.line().serialization(packet.size);
        match entered {
            EnqueueOutcome::Queued => {}
            EnqueueOutcome::Marked => self.pool.set_ce(id),
            EnqueueOutcome::Dropped(_) => {
                cold_path();
                let departure = this.drained_at(now, &self.pool) + serialization;
                self.pool.discard(id);
                return (entered, departure);
            }
        }
        let departure = this.drained_at(now, &self.pool) + serialization;
        let arrival = departure + this.delay();
        let (lateness, jitter) = (&mut self.lateness, self.host_jitter);
        let arrival = late_arrival(lateness, jitter, this.far_end(), arrival);
        if this.commit(id, (departure, serialization), arrival, &mut self.pool) {
            if this.is_cross_shard() {
                self.note_export(port);
            } else {
                sched.at(arrival, Entity::new(Self::PORT_KIND, this.number()));
            }
        }
        (entered, departure)
    }

    /// Traces a packet: outcome and departure time.
    #[cold]
    pub(super) fn trace_hop(
        &mut self,
        at: (Instant, u32),
        id: PacketId,
        found: Occupancy,
        entered: (EnqueueOutcome, Instant),
    ) {
        let size = self.pool.descriptor(id).size;
        let service = self.ports[at.1 as usize].line().serialization(size);
        if let Some(tracer) = &mut self.port_tracer {
            tracer.on_enqueue(at, (id, size), found, entered, service);
        }
    }

    /// Returns the queue that a traced packet finds at a port with known departures.
    #[cold]
    pub(super) fn queue_found(&mut self, now: Instant, port: u32) -> Occupancy {
        self.ports[port as usize].queue(now, &self.pool)
    }
}

/// Returns the arrival time with the jitter of the host at the far end, if there is one.
#[inline]
pub(super) fn late_arrival(
    lateness: &mut [Lateness],
    jitter: Duration,
    far_end: FarEnd,
    arrival: Instant,
) -> Instant {
    match far_end {
        FarEnd::Host(host) => match lateness.get_mut(host.0 as usize) {
            Some(late) => late.delay(arrival, jitter),
            None => arrival,
        },
        FarEnd::Switch(_) => arrival,
    }
}
