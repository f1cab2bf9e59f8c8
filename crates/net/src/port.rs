//! An output port: admission, marker, queue and line.
//!
//! There are two kinds. If departures are known at enqueue, the port has one queue and takes one
//! event per packet; [`late_mark`] adds marking at dequeue. Otherwise (several queues, drops at
//! dequeue) packets wait in an [`event_port`] and each departure is an event. Most packets take the
//! [`fast_path`]. Tests check that all of them behave identically.

mod constants;
mod cross_shard;
mod event_port;
mod fast_path;
mod late_mark;
mod link_failure;

use std::hint::cold_path;
use std::sync::Arc;

use lowtide_rows::Queue;
use lowtide_sim::{Digest, Seed};
use lowtide_units::{Duration, Instant};

use self::constants::PortConstants;
pub(crate) use self::constants::SharedConstants;
use self::event_port::EventPort;
pub(crate) use self::event_port::Transmission;
pub(crate) use self::fast_path::Enqueued;
use self::late_mark::LateMark;
use crate::aqm::{Aqm, AqmVerdict, DecisionPoint, EnqueueInfo, Marker, MarkerSetup};
use crate::buffer::{Admission, AdmissionRequest, Buffer};
use crate::buffer_pool::{BufferPool, PoolShare, PoolView};
use crate::enqueue_outcome::{DropReason, EnqueueOutcome};
use crate::fifo::{Fifo, Occupancy};
use crate::limit::Limit;
use crate::line::Line;
use crate::loss::Loss;
use crate::packet_pool::{Descriptor, PacketId, PacketPool};
use crate::stats::{FifoCounters, FifoState, Rejections};
use crate::{ClassSpec, Framing, HostId, LineSpec, QueueLength};

/// The node at the end of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FarEnd {
    Host(HostId),
    Switch(u32),
}

/// A [`FarEnd`] in four bytes: the highest bit says that it is a host.
#[derive(Clone, Copy, Debug)]
struct PackedFarEnd(u32);

impl PackedFarEnd {
    const HOST: u32 = 1 << 31;

    const fn new(node: FarEnd) -> Self {
        match node {
            FarEnd::Host(host) => Self(host.0 | Self::HOST),
            FarEnd::Switch(switch) => Self(switch),
        }
    }
    #[inline]
    const fn node(self) -> FarEnd {
        match self.0 & Self::HOST {
            0 => FarEnd::Switch(self.0),
            _ => FarEnd::Host(HostId(self.0 & !Self::HOST)),
        }
    }
}

/// Digest codes of outcomes, added to the packet identity.
const ENQUEUED: u64 = 0;
const MARKED: u64 = 1;
const DROPPED_FULL: u64 = 2;
const DROPPED_BY_MARKER: u64 = 3;
const LOST: u64 = 4;
const MARKED_LEAVING: u64 = 5;
const DROPPED_LEAVING: u64 = 6;
const LINK_DOWN: u64 = 15;

/// Fields in order of use. An arrival at the far end or at an empty queue touches the first cache
/// line, an arrival at a queue that is not empty the second too. The size is three lines: an odd
/// number spreads the first lines of all ports over all sets of a cache. With two lines the
/// permutation of 1024 hosts took 4 % longer.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Port {
    fifo: Fifo,
    constants: Arc<PortConstants>,
    digest: Digest,
    far_end: PackedFarEnd,
    /// [`Port::arrive_fast`] does all that an arrival at the far end needs.
    fast_arrival: bool,
    /// [`Port::enqueue_fast`] does all that an enqueue needs within the [`ForwardLimit`].
    fast_enqueue: bool,
    /// IP bytes of the largest packet that found the port empty, if packets in service count; sizes
    /// above 65,535 B are in the counters. Here so that such packets do not touch the second cache
    /// line.
    largest_alone: u16,
    counters: FifoCounters,
    rules: Box<Rules>,
    /// State of special ports; usually none.
    special: Option<Box<Special>>,
    /// The port number.
    number: u32,
    flags: Flags,
    /// The last departure that the complete path has processed: when the line became free, for
    /// markers that use it. Their ports take no other path; it is stale at others. After
    /// [`Port::leave_pool`] the time when the line becomes free.
    idle_since: Instant,
}

/// Properties that decide between the fast paths and the complete one.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent properties")]
struct Flags {
    /// There is [`Special`] state.
    special: bool,
    /// A packet that arrives at the far end needs no further processing.
    simple_arrival: bool,
    /// The line loses packets or may fail, or [`ForwardLimit`] and the shared memory do not decide
    /// on a packet.
    slow_admission: bool,
    /// A departure needs more than counting: the warm-up is not over, or CE is set at dequeue.
    slow_departures: bool,
    /// The far end is in another shard: packets are exported.
    cross_shard: bool,
    /// Its packets are traced.
    traced: bool,
    /// Arrivals take the complete path, which knows lost packets and measures queueing delays.
    complete_arrivals: bool,
}

/// The longest system (queue plus packet in service) at which a packet is surely enqueued without
/// a mark.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct ForwardLimit {
    /// IP bytes in the system, with the arriving packet.
    bytes: u64,
    /// Packets in the system, without the arriving packet.
    packets: u32,
}

impl ForwardLimit {
    /// Returns the limit for a buffer of this size and a marker that marks above this length; no
    /// limit where there is none. Both lengths include the packet in service if `with_in_service`.
    /// Returns `None` if no packet ever fits.
    fn new(
        room: Option<QueueLength>,
        unmarked: Option<QueueLength>,
        with_in_service: bool,
    ) -> Option<Self> {
        let mut limit = Self { bytes: u64::MAX, packets: u32::MAX };
        match room {
            None => {}
            Some(QueueLength::Packets(most)) => limit.least_packets(most.checked_sub(1)?),
            Some(QueueLength::Bytes(most)) => limit.bytes = most.as_u64(),
        }
        match unmarked {
            None => {}
            Some(QueueLength::Packets(k)) => limit.least_packets(k),
            // A queue that does not exceed it with the packet does not exceed it without.
            Some(QueueLength::Bytes(k)) => limit.bytes = limit.bytes.min(k.as_u64()),
        }
        limit.packets = limit.packets.saturating_add(u32::from(!with_in_service));
        Some(limit)
    }
    fn least_packets(&mut self, packets: u64) {
        self.packets = self.packets.min(u32::try_from(packets).unwrap_or(u32::MAX));
    }
    #[inline]
    const fn holds(self, in_system: Occupancy, size: u32) -> bool {
        in_system.packets <= self.packets && in_system.bytes + size as u64 <= self.bytes
    }
}

/// The rules for packets on the complete path.
#[derive(Clone, Debug)]
struct Rules {
    aqm: Marker,
    buffer: Admission,
    /// Most lines lose nothing.
    loss: Option<Loss>,
}

/// State that only some ports have.
#[derive(Clone, Debug, Default)]
struct Special {
    /// Marks decided at dequeue.
    late_mark: Option<LateMark>,
    /// Queues with departure events.
    event_port: Option<EventPort>,
    /// The share in a buffer pool.
    pool_share: Option<PoolShare>,
}

impl Special {
    const fn is_none(&self) -> bool {
        self.is_only_shared() && self.pool_share.is_none()
    }
    /// Returns true if the port is special at most by its shared memory.
    const fn is_only_shared(&self) -> bool {
        self.late_mark.is_none() && self.event_port.is_none()
    }
}

/// The configuration of a port besides its line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortConfig<'a> {
    pub(crate) framing: Framing,
    pub(crate) far_end: FarEnd,
    pub(crate) classes: Option<&'a [ClassSpec]>,
    /// The number of its buffer pool.
    pub(crate) pool: Option<u32>,
    /// A failure of its link is planned.
    pub(crate) fails: bool,
    pub(crate) warmup: Instant,
    pub(crate) run_seed: u64,
    /// Port number.
    pub(crate) number: u64,
}

impl PortConfig<'_> {
    /// Returns the random seed of the marker of class `class`.
    fn seed(&self, class: u64) -> Seed {
        match class {
            0 => Seed::derive(self.run_seed, "port", self.number, "marker"),
            _ => Seed::derive(self.run_seed, "class", self.number << 8 | class, "marker"),
        }
    }
}

impl Port {
    pub(crate) fn new(
        spec: &LineSpec,
        config: &PortConfig<'_>,
        shared: &mut SharedConstants,
    ) -> Self {
        let line = if config.fails {
            Line::changeable(spec.rate, config.framing.overhead())
        } else {
            Line::new(spec.rate, config.framing)
        };
        let delay = spec.delay;
        let loss = Loss::new(spec.loss, config.fails, config.run_seed, config.number);
        let spec = &spec.port;
        let event_port = (config.classes.is_some() || spec.mark.needs_departure_events())
            .then(|| EventPort::new(spec, &line, config));
        let marker = spec.mark.config();
        let late = marker.decision_point() == DecisionPoint::DequeueMark && event_port.is_none();
        let late_mark = late.then(LateMark::default);
        let pool_share = config.pool.and_then(|m| PoolShare::new(m, spec, config.classes));
        let special = Special { late_mark, event_port, pool_share };
        let is_special = !special.is_none();
        let aqm = marker.start(&MarkerSetup::of_line(line, config.seed(0)));
        let buffer = Admission::new(&spec.buffer);
        let (room, unmarked) = (buffer.static_limit().map(Limit::length), aqm.unmarked_limit());
        let decided = unmarked.is_some() && (room.is_some() || special.pool_share.is_some());
        let forward_limit = ForwardLimit::new(room, unmarked, spec.count_in_service);
        let slow_admission = loss.is_some() || !decided || forward_limit.is_none();
        let constants = shared.share(PortConstants {
            line,
            delay,
            forward_limit: forward_limit.unwrap_or(ForwardLimit { bytes: 0, packets: 0 }),
            count_in_service: spec.count_in_service,
        });
        let flags = Flags {
            special: is_special,
            simple_arrival: !is_special,
            slow_admission,
            slow_departures: true,
            cross_shard: false,
            traced: false,
            complete_arrivals: false,
        };
        Self {
            fifo: Fifo::new(),
            constants,
            digest: Digest::new(),
            far_end: PackedFarEnd::new(config.far_end),
            fast_arrival: false,
            fast_enqueue: false,
            largest_alone: 0,
            counters: FifoCounters::new(config.warmup),
            rules: Box::new(Rules { aqm, buffer, loss }),
            special: is_special.then(|| Box::new(special)),
            number: config.number as u32,
            flags,
            idle_since: Instant::ZERO,
        }
    }
    /// Updates the conditions of the fast paths.
    fn select_paths(&mut self) {
        let flags = self.flags;
        // The complete path keeps `Port::idle_since`, so a port with slow admission takes no other.
        let fast = !flags.slow_admission && !flags.slow_departures;
        self.fast_arrival = fast && flags.simple_arrival && !flags.complete_arrivals;
        self.fast_enqueue = fast
            && !flags.special
            && !flags.cross_shard
            && !flags.traced
            && self.line().has_fast_serialization();
    }
    /// Returns true if an enqueue needs [`Special`] state or is traced.
    #[inline]
    pub(crate) fn is_special(&self) -> bool {
        self.flags.special || self.flags.traced
    }
    /// Returns true if an arrival at the far end needs no further processing.
    #[inline]
    pub(crate) fn has_simple_arrival(&self) -> bool {
        self.flags.simple_arrival
    }
    /// Returns true if it is special at most by its shared memory.
    pub(crate) fn is_only_shared(&self) -> bool {
        self.special.as_deref().is_none_or(Special::is_only_shared)
    }
    /// The statistics of its shared memory have started, so arrivals at the far end no longer touch
    /// it.
    pub(crate) fn on_pool_started(&mut self) {
        self.flags.simple_arrival = self.is_only_shared();
        self.select_paths();
    }
    /// Makes arrivals take the complete path.
    pub(crate) fn take_complete_arrivals(&mut self) {
        self.flags.complete_arrivals = true;
        self.select_paths();
    }
    /// Sets whether its packets are traced.
    pub(crate) fn set_traced(&mut self, traced: bool) {
        self.flags.traced = traced;
        self.select_paths();
    }
    /// Returns its number in the whole network.
    #[inline]
    pub(crate) fn number(&self) -> u32 {
        self.number
    }
    /// Returns true if the far end is in another shard.
    #[inline]
    pub(crate) fn is_cross_shard(&self) -> bool {
        self.flags.cross_shard
    }
    /// Returns true if each departure is an event.
    pub(crate) fn is_event_port(&self) -> bool {
        self.special.as_ref().is_some_and(|s| s.event_port.is_some())
    }
    /// Returns the number of its buffer pool.
    pub(crate) fn pool(&self) -> Option<usize> {
        self.special.as_ref()?.pool_share.as_ref().map(PoolShare::pool)
    }
    pub(crate) const fn far_end(&self) -> FarEnd {
        self.far_end.node()
    }
    pub(crate) fn line(&self) -> &Line {
        &self.constants.line
    }
    /// Returns the propagation delay.
    #[inline]
    pub(crate) fn delay(&self) -> Duration {
        self.constants.delay
    }
    /// Returns the packets that have departed since time zero.
    pub(crate) fn departures(&self) -> u64 {
        match self.special.as_deref() {
            Some(Special { event_port: Some(event_port), .. }) => event_port.departures(),
            _ => self.counters.departures(self.fifo.in_system().packets),
        }
    }
    pub(crate) const fn digest(&self) -> u64 {
        self.digest.value()
    }
    /// Returns its size in bytes: this struct, its rules, histogram and special state.
    pub(crate) fn memory_bytes(&self) -> usize {
        let special = if self.special.is_some() { size_of::<Special>() } else { 0 };
        size_of::<Self>() + size_of::<Rules>() + self.counters.memory_bytes() + special
    }
    /// Returns the queue without its name.
    pub(crate) fn stats(&self, pool: &PacketPool) -> Queue {
        let with_in_service = self.constants.count_in_service;
        let mut queue = match self.special.as_deref() {
            Some(Special { event_port: Some(event_port), .. }) => event_port.stats(with_in_service),
            _ => self.counters.report(self.state(pool), with_in_service),
        };
        queue.rate_bps = self.line().rate().as_bps();
        queue
    }
    fn state(&self, pool: &PacketPool) -> FifoState {
        FifoState {
            in_system: self.fifo.in_system(),
            free_at: self.fifo.free_at(pool.descriptors()).unwrap_or(self.idle_since),
            line: *self.line(),
            largest_alone: u64::from(self.largest_alone),
        }
    }
    /// Keeps when the line becomes free, for [`Port::stats`]: the pool of its packets is left.
    pub(crate) fn leave_pool(&mut self, pool: &PacketPool) {
        self.idle_since = self.state(pool).free_at;
    }
    fn occupancy(&self, pool: &PacketPool) -> Occupancy {
        self.fifo.occupancy(self.constants.count_in_service, pool)
    }
    /// Processes all departures up to and including `now`.
    #[inline]
    pub(crate) fn process_departures(&mut self, now: Instant, pool: &PacketPool) {
        if self.flags.slow_departures {
            cold_path();
            return self.process_departures_slow(now, pool);
        }
        while let Some(sending) = self.fifo.next_departure(now, pool) {
            self.depart(sending);
        }
    }
    /// Counts and records the departure of the packet in service.
    #[inline]
    fn depart(&mut self, sending: &Descriptor) {
        self.counters.departure(sending.departure, self.fifo.in_system().packets);
        self.fifo.depart(sending);
        self.idle_since = sending.departure;
    }
    /// Processes departures before the statistics start, starts them if due, and runs a marker at
    /// dequeue.
    #[inline(never)]
    fn process_departures_slow(&mut self, now: Instant, pool: &PacketPool) {
        while let Some(sending) = self.fifo.next_departure(now, pool) {
            let at = sending.departure;
            self.start_stats(at, false, pool);
            self.depart(sending);
            self.decide_late_mark(at, pool);
        }
        self.start_stats(now, true, pool);
    }
    /// Starts the statistics if the warm-up ended before `at`, or at `at` if `inclusive`.
    fn start_stats(&mut self, at: Instant, inclusive: bool, pool: &PacketPool) {
        let warmup = self.counters.warmup();
        if self.counters.counting() || at < warmup || (at == warmup && !inclusive) {
            return;
        }
        self.counters.start(self.state(pool), self.occupancy(pool));
        self.largest_alone = 0;
        self.flags.slow_departures = self.special.as_ref().is_some_and(|s| s.late_mark.is_some());
        self.select_paths();
    }
    /// Returns the queue at `now`, as the port counts it.
    pub(crate) fn queue(&mut self, now: Instant, pool: &PacketPool) -> Occupancy {
        self.process_departures(now, pool);
        self.occupancy(pool)
    }
    /// Accounts for everything up to `at`.
    pub(crate) fn finish(&mut self, at: Instant, pool: &PacketPool) {
        self.process_departures(at, pool);
        self.counters.finish(at, self.fifo.in_system().packets);
    }
    /// Decides on an arriving packet: admission (own and shared memory), then marker.
    /// [`Port::commit`] must follow if it is admitted.
    pub(crate) fn enqueue(
        &mut self,
        now: Instant,
        packet: &Descriptor,
        shared: PoolView,
        pool: &PacketPool,
    ) -> EnqueueOutcome {
        if self.flags.slow_admission {
            cold_path();
            if self.rules.loss.as_mut().is_some_and(Loss::drops_next) {
                return self.lose(now, packet, pool);
            }
        }
        self.process_departures(now, pool);
        let in_system = self.fifo.in_system().packets;
        let found = self.occupancy(pool);
        let forwards = !self.flags.slow_admission
            && shared.fits
            && self.constants.forward_limit.holds(self.fifo.in_system(), packet.size);
        let entered = if forwards {
            EnqueueOutcome::Queued
        } else {
            self.decide(now, packet, (found, shared.free), pool)
        };
        if in_system > 0 {
            self.counters.arrival_at_busy(now, in_system);
        }
        self.digest.update(now.as_ps());
        let code = match entered {
            EnqueueOutcome::Queued => ENQUEUED,
            EnqueueOutcome::Marked => MARKED,
            EnqueueOutcome::Dropped(DropReason::BufferFull) => DROPPED_FULL,
            EnqueueOutcome::Dropped(_) => DROPPED_BY_MARKER,
        };
        self.digest.update(packet.identity.wrapping_add(code));
        let waits = self.constants.count_in_service || in_system > 0;
        if waits && !matches!(entered, EnqueueOutcome::Dropped(_)) {
            self.counters.update_max_bytes(found.bytes + u64::from(packet.size));
        }
        entered
    }
    /// Decides on a packet that finds this queue and so many bytes of free shared memory.
    #[inline(never)]
    fn decide(
        &mut self,
        now: Instant,
        packet: &Descriptor,
        (found, free): (Occupancy, u64),
        pool: &PacketPool,
    ) -> EnqueueOutcome {
        let size = packet.size;
        if !self.rules.buffer.admits(&AdmissionRequest {
            backlog: found,
            size,
            held: self.fifo.in_system().bytes,
            free,
        }) {
            self.counters.rejections().overflow_drops += 1;
            return EnqueueOutcome::Dropped(DropReason::BufferFull);
        }
        let busy_until = self.fifo.free_at(pool.descriptors());
        let idle_since = busy_until.unwrap_or(self.idle_since);
        let tx_start = now.max(idle_since);
        let arriving = EnqueueInfo { backlog: found, size, ecn: packet.ecn, tx_start, idle_since };
        let verdict = self.rules.aqm.on_enqueue(now, &arriving);
        self.counters.rejections().judged(verdict);
        match verdict {
            AqmVerdict::Forward => EnqueueOutcome::Queued,
            AqmVerdict::Mark => EnqueueOutcome::Marked,
            AqmVerdict::Drop => EnqueueOutcome::Dropped(DropReason::Marker),
        }
    }
    /// Loses a packet before it enters the queue.
    #[cold]
    fn lose(&mut self, now: Instant, packet: &Descriptor, pool: &PacketPool) -> EnqueueOutcome {
        self.process_departures(now, pool);
        self.note_lost(now, packet);
        EnqueueOutcome::Dropped(DropReason::Lost)
    }
    fn note_lost(&mut self, now: Instant, packet: &Descriptor) {
        let code = if self.rules.loss.as_ref().is_some_and(Loss::is_down) {
            self.rejections().link_down_drops += 1;
            LINK_DOWN
        } else {
            self.rejections().lost += 1;
            LOST
        };
        self.digest.update(now.as_ps());
        self.digest.update(packet.identity.wrapping_add(code));
    }
    /// Returns the counters of marked, dropped and lost packets.
    fn rejections(&mut self) -> &mut Rejections {
        match self.special.as_deref_mut() {
            Some(Special { event_port: Some(event_port), .. }) => event_port.rejections(),
            _ => self.counters.rejections(),
        }
    }
    /// Returns the departure time of a packet of `size` bytes enqueued at `now`.
    #[inline]
    pub(crate) fn departure_of(&self, now: Instant, size: u32, pool: &PacketPool) -> Instant {
        self.drained_at(now, pool) + self.line().serialization(size)
    }
    /// Returns the time at which all packets of `now` have left.
    pub(crate) fn drained_at(&self, now: Instant, pool: &PacketPool) -> Instant {
        self.fifo.free_at(pool.descriptors()).map_or(now, |free_at| now.max(free_at))
    }
    /// Enqueues an admitted packet, given its departure and its serialisation time. Returns true if
    /// its arrival must be scheduled.
    #[inline]
    pub(crate) fn commit(
        &mut self,
        id: PacketId,
        (departure, serialization): (Instant, Duration),
        arrival: Instant,
        pool: &mut PacketPool,
    ) -> bool {
        self.counters.admit(pool.descriptor(id).size);
        if !self.line().has_fast_serialization() {
            self.counters.add_serialization(serialization);
        }
        self.fifo.push(id, departure, arrival, pool)
    }
    /// Takes the next packet at the far end, whose departure is processed first.
    #[inline]
    pub(crate) fn arrive(&mut self, pool: &PacketPool) -> Option<PacketId> {
        let id = self.fifo.next_to_arrive();
        let arrived = pool.get(id)?;
        if self.fifo.in_service() == id {
            self.process_departures(arrived.departure, pool);
        }
        self.fifo.arrive(arrived);
        Some(id)
    }
    /// Returns the arrival time of the next packet at the far end.
    #[inline]
    pub(crate) fn arrives_at(&self, pool: &PacketPool) -> Option<Instant> {
        self.fifo.arrives_at(pool)
    }
    /// Returns true if a packet of `size` bytes would be admitted with `free` bytes of shared
    /// memory. The port must be up to date.
    #[inline]
    pub(crate) fn admits(&self, size: u32, free: u64, pool: &PacketPool) -> bool {
        self.rules.buffer.admits(&AdmissionRequest {
            backlog: self.occupancy(pool),
            size,
            held: self.fifo.in_system().bytes,
            free,
        })
    }
    /// Returns the next packet to arrive at the far end.
    #[inline]
    pub(crate) const fn next_to_arrive(&self) -> PacketId {
        self.fifo.next_to_arrive()
    }
    /// Returns the packet that departs next.
    #[inline]
    pub(crate) const fn in_service(&self) -> PacketId {
        self.fifo.in_service()
    }
    /// Reads one word of the first cache line.
    #[inline]
    pub(crate) const fn prefetch(&self) -> u64 {
        self.digest.value()
    }
    /// Reads a word of the second cache line, of the histogram and of the packet in service, all of
    /// which an enqueue at a queue that is not empty touches.
    #[inline]
    pub(crate) fn prefetch_queue(&self, pool: &PacketPool) -> u64 {
        let word = |id| pool.get(id).map_or(0, |packet| packet.identity);
        self.counters.prefetch_bin(self.fifo.in_system().packets) ^ word(self.fifo.in_service())
    }
    /// Returns the departure time of the packet in service.
    pub(crate) fn leaves_at(&self, pool: &PacketPool) -> Option<Instant> {
        self.fifo.leaves_at(pool)
    }
    /// Reports the bytes of its queues to the buffer pool.
    #[inline]
    pub(crate) fn charge(&mut self, buffer_pool: &mut BufferPool) {
        let Some(special) = self.special.as_deref_mut() else { return };
        let Some(pool_share) = &mut special.pool_share else { return };
        let Some(event_port) = &special.event_port else {
            return buffer_pool.change(&mut pool_share.first, self.fifo.in_system().bytes);
        };
        for charge in pool_share.charges() {
            buffer_pool
                .change(charge, event_port.bytes_held(charge.queue(), self.fifo.in_system().bytes));
        }
    }
    /// Returns its share in a buffer pool.
    pub(crate) fn pool_share(&mut self) -> Option<&mut PoolShare> {
        self.special.as_deref_mut()?.pool_share.as_mut()
    }
}

#[cfg(test)]
mod tests {
    use lowtide_units::Bytes;

    use super::*;

    /// At a thousand hosts the speed depends on the number of cache lines that a hop touches.
    #[test]
    fn a_packet_that_finds_none_touches_one_cache_line_of_a_port() {
        assert_eq!((size_of::<Port>(), align_of::<Port>()), (192, 64));
        let end = std::mem::offset_of!(Port, counters) + FifoCounters::FOR_EMPTY_QUEUE;
        assert_eq!(end, 64);
    }

    /// It is exact in packets, and conservative in bytes if the packet in service does not count.
    #[test]
    fn the_forward_limit_contradicts_neither_buffer_nor_marker() {
        let packets = |n| Some(QueueLength::Packets(n));
        let bytes = |n| Some(QueueLength::Bytes(Bytes::new(n)));
        assert!(ForwardLimit::new(packets(0), None, true).is_none());
        let system = |packets, bytes| Occupancy { packets, bytes };
        for with_in_service in [false, true] {
            let limit =
                |room, unmarked| ForwardLimit::new(room, unmarked, with_in_service).unwrap();
            let line = u32::from(!with_in_service);
            assert!(limit(packets(3), None).holds(system(2 + line, 1 << 40), 1_500));
            assert!(!limit(packets(3), None).holds(system(3 + line, 0), 40));
            assert!(limit(packets(3), packets(1)).holds(system(1 + line, 0), 1_500));
            assert!(!limit(packets(3), packets(1)).holds(system(2 + line, 0), 40));
            assert!(limit(bytes(3_000), packets(9)).holds(system(9 + line, 1_500), 1_500));
            assert!(!limit(bytes(3_000), packets(9)).holds(system(1, 1_501), 1_500));
            assert!(!limit(None, bytes(3_000)).holds(system(1, 2_961), 40));
            assert!(limit(packets(u64::MAX), None).holds(system(u32::MAX, 1 << 60), 40));
        }
    }
}
