//! An output port: admission, marker, queue and line.
//!
//! There are two kinds. If departures are known at enqueue, the port has one queue and takes one
//! event per packet; [`late_mark`] adds marking at dequeue. Otherwise (several queues, drops at
//! dequeue) packets wait in an [`event_port`] and each departure is an event. A test checks that
//! both behave identically.

mod cross_shard;
mod event_port;
mod late_mark;
mod link_failure;

use std::hint::cold_path;

use lowtide_rows::Queue;
use lowtide_sim::{Digest, Seed};
use lowtide_units::{Duration, Instant};

use self::event_port::EventPort;
pub(crate) use self::event_port::Transmission;
use self::late_mark::LateMark;
use crate::aqm::{Aqm, AqmVerdict, DecisionPoint, EnqueueInfo, Marker, MarkerSetup};
use crate::buffer::{Admission, AdmissionRequest, Buffer};
use crate::buffer_pool::{BufferPool, PoolShare, PoolView};
use crate::enqueue_outcome::{DropReason, EnqueueOutcome};
use crate::limit::Limit;
use crate::line::Line;
use crate::loss::Loss;
use crate::packet::{PacketMeta, PacketPool};
use crate::scheduler::{Fifo, LineArrival, Occupancy};
use crate::stats::Counters;
use crate::{ClassSpec, Framing, HostId, LineSpec};

/// The node at the end of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FarEnd {
    Host(HostId),
    Switch(u32),
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

/// Fields in order of use: four cache lines. An enqueue touches three; an arrival at the far end
/// touches one.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Port {
    far_end: FarEnd,
    count_in_service: bool,
    /// A departure needs more than counting: the warm-up is not over, or CE is set at dequeue.
    slow_retire: bool,
    /// All state for an enqueue is in this struct.
    plain: bool,
    /// A packet that arrives at the far end needs no further processing.
    plain_far: bool,
    /// The line loses packets or may fail, or the limits below and the shared memory do not decide
    /// on a packet.
    slow_admission: bool,
    /// The far end is in another shard: packets are exported.
    cross_shard: bool,
    /// An arrival at the far end touches only the first cursors of this.
    fifo: Fifo,
    line: Line,
    digest: Digest,
    /// A packet that fits behind the queue within this limit is admitted.
    admit_limit: Limit,
    /// A packet that finds a queue within this limit is not marked.
    unmarked_limit: Limit,
    counters: Counters,
    rules: Box<Rules>,
    /// State of special ports; usually none.
    special: Option<Box<Special>>,
}

/// The rules for packets on the slow path.
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

/// The configuration of a port besides its line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortConfig<'a> {
    pub(crate) framing: Framing,
    pub(crate) far_end: FarEnd,
    /// Packets may arrive at the far end later than by propagation alone.
    pub(crate) jittered: bool,
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
    pub(crate) fn new(spec: &LineSpec, config: &PortConfig<'_>) -> Self {
        let line = Line::new(spec.rate, config.framing);
        let fifo = Fifo::new(config.number as u32, spec.delay, config.jittered);
        let loss = Loss::new(spec.loss, config.fails, config.run_seed, config.number);
        let spec = &spec.port;
        let event_port = (config.classes.is_some() || spec.mark.needs_departure_events())
            .then(|| EventPort::new(spec, &line, config));
        let marker = spec.mark.config();
        let late = marker.decision_point() == DecisionPoint::DequeueMark && event_port.is_none();
        let late_mark = late.then(LateMark::default);
        let pool_share = config.pool.and_then(|m| PoolShare::new(m, spec, config.classes));
        let special = Special { late_mark, event_port, pool_share };
        let plain_far = special.late_mark.is_none() && special.event_port.is_none();
        let plain = plain_far && special.pool_share.is_none();
        let aqm = marker.start(&MarkerSetup::of_line(line, config.seed(0)));
        let buffer = Admission::new(&spec.buffer);
        let (room, unmarked) = (buffer.static_limit(), aqm.unmarked_limit().map(Limit::new));
        Self {
            far_end: config.far_end,
            count_in_service: spec.count_in_service,
            slow_retire: true,
            plain,
            plain_far,
            slow_admission: loss.is_some()
                || unmarked.is_none()
                || (room.is_none() && special.pool_share.is_none()),
            cross_shard: false,
            fifo,
            line,
            digest: Digest::new(),
            admit_limit: room.unwrap_or(Limit::NONE),
            unmarked_limit: unmarked.unwrap_or(Limit::NONE),
            counters: Counters::new(config.warmup),
            rules: Box::new(Rules { aqm, buffer, loss }),
            special: (!plain).then(|| Box::new(special)),
        }
    }
    /// Returns true if all state for an enqueue is in this struct.
    #[inline]
    pub(crate) const fn is_plain(&self) -> bool {
        self.plain
    }
    /// Returns true if an arrival at the far end needs no further processing.
    #[inline]
    pub(crate) const fn is_plain_far(&self) -> bool {
        self.plain_far
    }
    /// Returns its number in the whole network.
    #[inline]
    pub(crate) const fn number(&self) -> u32 {
        self.fifo.port()
    }
    /// Returns true if the far end is in another shard.
    #[inline]
    pub(crate) const fn is_cross_shard(&self) -> bool {
        self.cross_shard
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
        self.far_end
    }
    pub(crate) const fn line(&self) -> &Line {
        &self.line
    }
    /// Returns the propagation delay.
    #[inline]
    pub(crate) const fn delay(&self) -> Duration {
        self.fifo.delay()
    }
    pub(crate) const fn departures(&self) -> u64 {
        self.fifo.departures()
    }
    pub(crate) const fn digest(&self) -> u64 {
        self.digest.value()
    }
    /// Returns its size in bytes: this struct, its rules, ring, histogram and special state.
    pub(crate) fn memory_bytes(&self) -> usize {
        let special = if self.special.is_some() { size_of::<Special>() } else { 0 };
        size_of::<Self>()
            + size_of::<Rules>()
            + self.fifo.memory_bytes()
            + self.counters.memory_bytes()
            + special
    }
    /// Returns the queue without its name.
    pub(crate) fn stats(&self) -> Queue {
        let mut queue = self.counters.report(self.count_in_service);
        queue.rate_bps = self.line().rate().as_bps();
        if let Some(Special { event_port: Some(event_port), .. }) = self.special.as_deref() {
            queue.classes = event_port.stats();
        }
        queue
    }
    /// Processes all departures up to and including `now`.
    #[expect(clippy::inline_always, reason = "every hop, and a call costs as much as the rest")]
    #[inline(always)]
    pub(crate) fn retire(&mut self, now: Instant) {
        if self.slow_retire {
            cold_path();
            return self.retire_slow(now);
        }
        while let Some((at, size)) = self.fifo.next_departure(now) {
            self.counters.departure(at, self.fifo.in_system(), size);
            self.fifo.depart(size);
        }
    }
    /// Processes departures before the statistics start, starts them if due, and runs a marker at
    /// dequeue.
    #[inline(never)]
    fn retire_slow(&mut self, now: Instant) {
        while let Some((at, size)) = self.fifo.next_departure(now) {
            self.start_stats(at, false);
            if self.counters.counting() {
                self.counters.departure(at, self.fifo.in_system(), size);
            }
            self.fifo.depart(size);
            self.decide_late_mark(at);
        }
        self.start_stats(now, true);
    }
    /// Starts the statistics if the warm-up ended before `at`, or at `at` if `with`.
    fn start_stats(&mut self, at: Instant, with: bool) {
        let warmup = self.counters.warmup();
        if self.counters.counting() || at < warmup || (at == warmup && !with) {
            return;
        }
        self.counters.start(self.fifo.occupancy(self.count_in_service));
        self.slow_retire = self.special.as_ref().is_some_and(|s| s.late_mark.is_some());
    }
    /// Returns the queue at `now`, as the port counts it.
    pub(crate) fn queue(&mut self, now: Instant) -> Occupancy {
        self.retire(now);
        self.fifo.occupancy(self.count_in_service)
    }
    /// Accounts for everything up to `at`.
    pub(crate) fn finish(&mut self, at: Instant) {
        self.retire(at);
        self.counters.advance(at, self.fifo.in_system());
    }
    /// Decides on an arriving packet: admission (own and shared memory), then marker.
    /// [`Port::commit`] must follow if it is admitted.
    #[expect(clippy::inline_always, reason = "every hop, called from one place")]
    #[inline(always)]
    pub(crate) fn enqueue(
        &mut self,
        now: Instant,
        packet: PacketMeta,
        shared: PoolView,
        pool: &PacketPool,
    ) -> EnqueueOutcome {
        if self.slow_admission {
            cold_path();
            if self.rules.loss.as_mut().is_some_and(Loss::drops_next) {
                return self.lose(now, packet);
            }
        }
        self.retire(now);
        let found = self.fifo.occupancy(self.count_in_service);
        let calm = !self.slow_admission
            && shared.fits
            && self.admit_limit.fits(found, packet.size)
            && !self.unmarked_limit.is_exceeded(found);
        let entered = if calm {
            EnqueueOutcome::Queued
        } else {
            self.decide(now, packet, (found, shared.free), pool)
        };
        self.counters.arrival(now, self.fifo.in_system());
        self.digest.update(now.as_ps());
        let code = match entered {
            EnqueueOutcome::Queued => ENQUEUED,
            EnqueueOutcome::Marked => MARKED,
            EnqueueOutcome::Dropped(DropReason::BufferFull) => DROPPED_FULL,
            EnqueueOutcome::Dropped(_) => DROPPED_BY_MARKER,
        };
        self.digest.update(packet.identity.wrapping_add(code));
        // Without unpredictable branches.
        let waits = self.count_in_service | (self.fifo.in_system() > 0);
        if waits & !matches!(entered, EnqueueOutcome::Dropped(_)) {
            self.counters.update_max_bytes(found.bytes + u64::from(packet.size));
        }
        entered
    }
    /// Decides on a packet that finds this queue and so much free shared memory.
    #[inline(never)]
    fn decide(
        &mut self,
        now: Instant,
        packet: PacketMeta,
        (found, free): (Occupancy, u64),
        pool: &PacketPool,
    ) -> EnqueueOutcome {
        let size = packet.size;
        if !self.rules.buffer.admits(&AdmissionRequest {
            backlog: found,
            size,
            held: self.fifo.bytes(),
            free,
        }) {
            self.counters.count_overflow();
            return EnqueueOutcome::Dropped(DropReason::BufferFull);
        }
        let ecn = pool.state(packet.id).ecn;
        let idle_since = self.fifo.free_at;
        let on_line = now.max(idle_since);
        let arriving = EnqueueInfo { backlog: found, size, ecn, tx_start: on_line, idle_since };
        let verdict = self.rules.aqm.on_enqueue(now, &arriving);
        self.counters.judged(verdict);
        match verdict {
            AqmVerdict::Forward => EnqueueOutcome::Queued,
            AqmVerdict::Mark => EnqueueOutcome::Marked,
            AqmVerdict::Drop => EnqueueOutcome::Dropped(DropReason::Marker),
        }
    }
    /// Loses a packet before it enters the queue.
    #[cold]
    #[inline(never)]
    fn lose(&mut self, now: Instant, packet: PacketMeta) -> EnqueueOutcome {
        self.retire(now);
        self.note_lost(now, &packet);
        EnqueueOutcome::Dropped(DropReason::Lost)
    }
    fn note_lost(&mut self, now: Instant, packet: &PacketMeta) {
        let code = if self.rules.loss.as_ref().is_some_and(Loss::is_down) {
            self.counters.count_link_down_drop();
            LINK_DOWN
        } else {
            self.counters.lost();
            LOST
        };
        self.digest.update(now.as_ps());
        self.digest.update(packet.identity.wrapping_add(code));
    }
    /// Returns the departure time of a packet of `size` bytes enqueued at `now`.
    #[inline]
    pub(crate) fn departure_of(&self, now: Instant, size: u32) -> Instant {
        now.max(self.fifo.free_at) + self.line.serialization(size)
    }
    /// Returns the time at which all packets of `now` have left.
    pub(crate) fn drained_at(&self, now: Instant) -> Instant {
        now.max(self.fifo.free_at)
    }
    /// Enqueues an admitted packet. Returns true if its arrival must be scheduled.
    #[inline]
    pub(crate) fn commit(
        &mut self,
        packet: PacketMeta,
        departure: Instant,
        arrival: Instant,
    ) -> bool {
        self.fifo.push(packet, departure, arrival)
    }
    /// Takes the next packet at the far end.
    #[inline]
    pub(crate) fn arrive(&mut self) -> Option<LineArrival> {
        self.fifo.arrive()
    }
    /// Returns true if a packet of `size` bytes would be admitted with `free` bytes of shared
    /// memory. The port must be up to date.
    #[inline]
    pub(crate) fn admits(&self, size: u32, free: u64) -> bool {
        let found = self.fifo.occupancy(self.count_in_service);
        self.rules.buffer.admits(&AdmissionRequest {
            backlog: found,
            size,
            held: self.fifo.bytes(),
            free,
        })
    }
    /// Returns the next packet to arrive at the far end.
    #[inline]
    pub(crate) fn next_to_arrive(&self) -> Option<&PacketMeta> {
        self.fifo.next_to_arrive()
    }
    /// Reads one word of each cache line of this struct that an arrival touches.
    #[inline]
    pub(crate) fn prefetch_far_end(&self) -> u64 {
        self.fifo.prefetch_cursors() ^ self.digest.value() ^ self.counters.prefetch_counters()
    }
    /// Reads one word of each location outside this struct that an enqueue touches.
    #[inline]
    pub(crate) fn prefetch(&self) -> u64 {
        self.fifo.prefetch() ^ self.counters.prefetch(self.fifo.in_system())
    }
    /// Returns the departure time of the packet on the line.
    pub(crate) fn leaves_at(&self) -> Option<Instant> {
        self.fifo.leaves_at()
    }
    /// Reports the bytes of its queues to the buffer pool.
    #[inline]
    pub(crate) fn charge(&mut self, buffer_pool: &mut BufferPool) {
        let Some(special) = self.special.as_deref_mut() else { return };
        let Some(pool_share) = &mut special.pool_share else { return };
        let Some(event_port) = &special.event_port else {
            return buffer_pool.change(&mut pool_share.first, self.fifo.bytes());
        };
        for charge in pool_share.charges() {
            buffer_pool.change(charge, event_port.bytes_held(charge.queue(), self.fifo.bytes()));
        }
    }
    /// Returns its share in a buffer pool.
    pub(crate) fn pool_share(&mut self) -> Option<&mut PoolShare> {
        self.special.as_deref_mut()?.pool_share.as_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketState;

    /// At a thousand hosts the speed depends on the number of cache lines that a hop touches.
    #[test]
    fn a_port_is_four_cache_lines() {
        assert_eq!((size_of::<Port>(), align_of::<Port>()), (256, 64));
        assert_eq!(std::mem::offset_of!(Port, fifo) + Fifo::WITHIN_FIRST_LINE, 64);
        assert_eq!(std::mem::offset_of!(Port, counters), 128);
        assert_eq!(Counters::FOR_MOST_PACKETS, 48);
        assert_eq!((size_of::<PacketMeta>(), size_of::<PacketState>()), (24, 32));
    }
}
