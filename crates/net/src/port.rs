//! An output port: memory, marker, queue and line, put together.
//!
//! Two kinds. Where a packet's departure is known when it takes its place, the port has one queue and
//! takes one event per packet; [`bound`] is what a marker at dequeue adds. Where it is not (several
//! queues, drops at dequeue), packets wait in [`staged`] queues and each departure is an event. Both
//! kinds do the same where both can: a test holds them to it.

mod cross_shard;
mod event_port;
mod late_mark;
mod link_failure;

use std::hint::cold_path;

use lowtide_sim::{Digest, Seed};
use lowtide_units::{Duration, Instant};

use self::event_port::EventPort;
pub(crate) use self::event_port::Transmission;
use self::late_mark::LateMark;
use crate::aqm::{Aqm, AqmVerdict, EnqueueInfo, Marker};
use crate::buffer::{Admission, AdmissionRequest, Buffer};
use crate::buffer_pool::{BufferPool, PoolShare, PoolView};
use crate::enqueue_outcome::{DropReason, EnqueueOutcome};
use crate::limit::Limit;
use crate::line::Line;
use crate::loss::Loss;
use crate::packet::{PacketMeta, PacketPool};
use crate::scheduler::{Fifo, LineArrival, Occupancy};
use crate::stats::{Counters, PortStats};
use crate::{ClassSpec, Framing, HostId, LineSpec, MarkSpec};

/// Where a line ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FarEnd {
    Host(HostId),
    Switch(u32),
}

/// What the digest takes in of a verdict, added to the packet's identity.
const ENQUEUED: u64 = 0;
const MARKED: u64 = 1;
const DROPPED_FULL: u64 = 2;
const DROPPED_BY_MARKER: u64 = 3;
const LOST: u64 = 4;
const MARKED_LEAVING: u64 = 5;
const DROPPED_LEAVING: u64 = 6;
const LINK_DOWN: u64 = 15;

/// In order of use: four lines of the cache, of which a packet that enters touches three and one that arrives
/// at the far end one.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Port {
    far_end: FarEnd,
    count_in_service: bool,
    /// A departure takes more than counting it: the warm-up is not over, or CE is bound at dequeue.
    slow_retire: bool,
    /// What a packet meets here is all in this struct.
    plain: bool,
    /// No more is to be done with a packet that arrives at the far end.
    plain_far: bool,
    /// The line loses packets or may fail, or `room`, the memory it shares and `unmarked` do not say what
    /// becomes of a packet.
    slow_admission: bool,
    /// The far end is in another part of the network: packets are handed over, not awaited.
    cross_shard: bool,
    /// A packet that arrives at the far end touches nothing behind the first cursors of this.
    fifo: Fifo,
    line: Line,
    digest: Digest,
    /// A packet that fits here behind what it finds is let in,
    admit_limit: Limit,
    /// and is not marked if it finds no more than this.
    unmarked_limit: Limit,
    counters: Counters,
    rules: Box<Rules>,
    /// Most ports have nothing of it.
    special: Option<Box<Special>>,
}

/// What becomes of a packet, where that is not known at a glance.
#[derive(Clone, Debug)]
struct Rules {
    aqm: Marker,
    buffer: Admission,
    /// Most lines lose nothing.
    loss: Option<Loss>,
}

/// What only some ports have.
#[derive(Clone, Debug, Default)]
struct Special {
    /// Marks that are bound when a packet is handed over.
    late_mark: Option<LateMark>,
    /// Queues before the line, each departure an event.
    event_port: Option<EventPort>,
    /// The part in a shared memory.
    pool_share: Option<PoolShare>,
}

/// What a port is made of beside its line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortConfig<'a> {
    pub(crate) framing: Framing,
    pub(crate) far_end: FarEnd,
    /// Packets may reach the far end later than the line says.
    pub(crate) jittered: bool,
    pub(crate) classes: Option<&'a [ClassSpec]>,
    /// The number of the memory that it shares.
    pub(crate) pool: Option<u32>,
    /// Its link is planned to fail.
    pub(crate) fails: bool,
    pub(crate) warmup: Instant,
    pub(crate) run_seed: u64,
    /// Number of the port.
    pub(crate) number: u64,
}

impl PortConfig<'_> {
    /// Where the chance of the marker of class `class` comes from.
    fn seed(&self, class: u64) -> Seed {
        match class {
            0 => Seed::derive(self.run_seed, "port", self.number, "marker"),
            _ => Seed::derive(self.run_seed, "class", self.number << 8 | class, "marker"),
        }
    }
}

impl Port {
    pub(crate) fn new(spec: &LineSpec, setting: &PortConfig<'_>) -> Self {
        let line = Line::new(spec.rate, setting.framing);
        let fifo = Fifo::new(setting.number as u32, spec.delay, setting.jittered);
        let loss = Loss::new(spec.loss, setting.fails, setting.run_seed, setting.number);
        let spec = &spec.port;
        let staged = (setting.classes.is_some() || spec.mark.needs_departure_events())
            .then(|| EventPort::new(spec, &line, setting));
        let late = matches!(spec.mark, MarkSpec::StepDequeue { .. }) && staged.is_none();
        let bound = late.then(LateMark::default);
        let seat = setting.pool.and_then(|m| PoolShare::new(m, spec, setting.classes));
        let special = Special { late_mark: bound, event_port: staged, pool_share: seat };
        let plain_far = special.late_mark.is_none() && special.event_port.is_none();
        let plain = plain_far && special.pool_share.is_none();
        let aqm = Marker::new(&spec.mark, &line, setting.seed(0));
        let buffer = Admission::new(&spec.buffer);
        let (room, unmarked) = (buffer.static_limit(), aqm.unmarked_limit());
        Self {
            far_end: setting.far_end,
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
            counters: Counters::new(setting.warmup),
            rules: Box::new(Rules { aqm, buffer, loss }),
            special: (!plain).then(|| Box::new(special)),
        }
    }
    /// Whether all that a packet meets here is in this struct.
    #[inline]
    pub(crate) const fn is_plain(&self) -> bool {
        self.plain
    }
    /// Whether a packet that arrives at the far end is to be handed over as it is.
    #[inline]
    pub(crate) const fn is_plain_far(&self) -> bool {
        self.plain_far
    }
    /// Its number in the whole network.
    #[inline]
    pub(crate) const fn number(&self) -> u32 {
        self.fifo.port()
    }
    /// Whether the far end is in another part of the network.
    #[inline]
    pub(crate) const fn is_cross_shard(&self) -> bool {
        self.cross_shard
    }
    /// Whether each departure is an event.
    pub(crate) fn is_event_port(&self) -> bool {
        self.special.as_ref().is_some_and(|s| s.event_port.is_some())
    }
    /// The number of the memory that it shares.
    pub(crate) fn pool(&self) -> Option<usize> {
        self.special.as_ref()?.pool_share.as_ref().map(PoolShare::pool)
    }
    pub(crate) const fn far_end(&self) -> FarEnd {
        self.far_end
    }
    pub(crate) const fn line(&self) -> &Line {
        &self.line
    }
    /// How long a packet is under way when it has left.
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
    /// Bytes of memory: this record, its rules, its ring, its histogram, the record of what only some ports have.
    pub(crate) fn memory_bytes(&self) -> usize {
        let special = if self.special.is_some() { size_of::<Special>() } else { 0 };
        size_of::<Self>()
            + size_of::<Rules>()
            + self.fifo.memory_bytes()
            + self.counters.memory_bytes()
            + special
    }
    pub(crate) fn stats(&self) -> PortStats {
        let mut stats = self.counters.report(self.count_in_service);
        if let Some(Special { event_port: Some(staged), .. }) = self.special.as_deref() {
            stats.classes = staged.stats();
        }
        stats
    }
    /// Looks back on all departures up to and with `now`.
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
    /// Lets pass what leaves before the statistics begin, begins them if it is time, and lets a marker at
    /// dequeue decide.
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
    /// Begins the statistics if the warm-up ended before `at`, or (`with` it) at that instant.
    fn start_stats(&mut self, at: Instant, with: bool) {
        let warmup = self.counters.warmup();
        if self.counters.counting() || at < warmup || (at == warmup && !with) {
            return;
        }
        self.counters.start(self.fifo.occupancy(self.count_in_service));
        self.slow_retire = self.special.as_ref().is_some_and(|s| s.late_mark.is_some());
    }
    /// The queue at `now`, as the port counts it.
    pub(crate) fn queue(&mut self, now: Instant) -> Occupancy {
        self.retire(now);
        self.fifo.occupancy(self.count_in_service)
    }
    /// Accounts for everything up to `at`.
    pub(crate) fn finish(&mut self, at: Instant) {
        self.retire(at);
        self.counters.advance(at, self.fifo.in_system());
    }
    /// A packet arrives: memory, also what it finds of the shared one, then marker.
    /// [`Port::commit`] must follow if it is let in.
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
        // Without branches one by one, which nobody could foretell.
        let waits = self.count_in_service | (self.fifo.in_system() > 0);
        if waits & !matches!(entered, EnqueueOutcome::Dropped(_)) {
            self.counters.update_max_bytes(found.bytes + u64::from(packet.size));
        }
        entered
    }
    /// What becomes of a packet that finds this queue, and so much of the shared memory free.
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
    /// A packet is lost before it meets the queue.
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
    /// When a packet of `size` bytes that takes its place at `now` will have left.
    #[inline]
    pub(crate) fn departure_of(&self, now: Instant, size: u32) -> Instant {
        now.max(self.fifo.free_at) + self.line.serialization(size)
    }
    /// When all that is here now will have left.
    pub(crate) fn drained_at(&self, now: Instant) -> Instant {
        now.max(self.fifo.free_at)
    }
    /// The packet that was let in takes its place. True when its arrival is to be scheduled.
    #[inline]
    pub(crate) fn commit(
        &mut self,
        packet: PacketMeta,
        departure: Instant,
        arrival: Instant,
    ) -> bool {
        self.fifo.push(packet, departure, arrival)
    }
    /// The first packet on its way arrives at the far end.
    #[inline]
    pub(crate) fn arrive(&mut self) -> Option<LineArrival> {
        self.fifo.arrive()
    }
    /// Whether a packet of `size` bytes would be admitted while `free` bytes of the shared memory are, the
    /// port having been brought up to now.
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
    /// The packet that arrives next at the far end.
    #[inline]
    pub(crate) fn next_to_arrive(&self) -> Option<&PacketMeta> {
        self.fifo.next_to_arrive()
    }
    /// Reads a word of each line of the cache that this struct has for a packet.
    #[inline]
    pub(crate) fn prefetch_far_end(&self) -> u64 {
        self.fifo.prefetch_cursors() ^ self.digest.value() ^ self.counters.prefetch_counters()
    }
    /// Reads a word of each place outside of this struct that a packet touches which comes here.
    #[inline]
    pub(crate) fn prefetch(&self) -> u64 {
        self.fifo.prefetch() ^ self.counters.prefetch(self.fifo.in_system())
    }
    /// When the packet on the line leaves.
    pub(crate) fn leaves_at(&self) -> Option<Instant> {
        self.fifo.leaves_at()
    }
    /// Tells the shared memory what its queues hold now.
    #[inline]
    pub(crate) fn charge(&mut self, memory: &mut BufferPool) {
        let Some(special) = self.special.as_deref_mut() else { return };
        let Some(seat) = &mut special.pool_share else { return };
        let Some(staged) = &special.event_port else {
            return memory.change(&mut seat.first, self.fifo.bytes());
        };
        for charge in seat.charges() {
            memory.change(charge, staged.bytes_held(charge.queue(), self.fifo.bytes()));
        }
    }
    /// Its part in a shared memory.
    pub(crate) fn pool_share(&mut self) -> Option<&mut PoolShare> {
        self.special.as_deref_mut()?.pool_share.as_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketState;

    /// Speed at a thousand hosts hangs on how many lines of the cache a hop touches.
    #[test]
    fn a_port_is_four_cache_lines() {
        assert_eq!((size_of::<Port>(), align_of::<Port>()), (256, 64));
        assert_eq!(std::mem::offset_of!(Port, fifo) + Fifo::WITHIN_FIRST_LINE, 64);
        assert_eq!(std::mem::offset_of!(Port, counters), 128);
        assert_eq!(Counters::FOR_MOST_PACKETS, 48);
        assert_eq!((size_of::<PacketMeta>(), size_of::<PacketState>()), (24, 32));
    }
}
