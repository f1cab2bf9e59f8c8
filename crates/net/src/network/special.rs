//! Ports that are not plain: with shared memory, marks bound at dequeue, several queues, late drops.
//!
//! Such a port is brought up to now before anything is asked of it. An event of a staged port says only
//! "see what is due", so an event too many does nothing, and looking at a port from outside may be what
//! lets a packet leave: the event that is pending for that instant does the scheduling.
//!
//! A memory that has not been told of all departures holds too much, never too little. Whoever is admitted
//! all the same would be admitted anyway, and what does not exceed the peak is no new peak. Only otherwise
//! are all departures up to now counted, switch-wide, before the decision: it is always that of the true
//! state.

use std::hint::cold_path;

use lowtide_sim::{Entity, Scheduler};
use lowtide_units::Instant;

use super::Network;
use crate::buffer_pool::PoolView;
use crate::enqueue_outcome::EnqueueOutcome;
use crate::packet::{PacketId, PacketMeta};
use crate::port::{FarEnd, Transmission};
use crate::scheduler::LineArrival;
use crate::{BufferPoolStats, Occupancy};

impl Network {
    /// A packet comes to a port that is not plain, or may be watched. When it will have left, if that is known.
    #[inline(never)]
    pub(super) fn enqueue_special(
        &mut self,
        now: Instant,
        port: u32,
        packet: PacketMeta,
        sched: &mut Scheduler,
    ) -> Option<Instant> {
        let this = &self.ports[port as usize];
        let (memory, staged) = (this.pool(), this.is_event_port());
        if let Some(memory) = memory
            && this.is_plain_far()
            && self.port_tracer.is_none()
        {
            return self.enqueue_shared(now, (port, memory), packet, sched);
        }
        cold_path();
        self.catch_up(now, port);
        let mut shared = PoolView::UNSHARED;
        if let Some(memory) = memory {
            if staged {
                self.ports[port as usize].retire(now);
                self.settle(now, memory, Some(sched));
                shared.free = self.buffer_pools[memory].free();
            } else {
                shared = self.pool_view(now, (port, memory), packet.size, sched);
            }
        }
        let departure = if staged {
            self.enqueue_event_port(now, port, packet.id, shared.free);
            self.arm(port, sched);
            None
        } else {
            let found =
                if self.port_tracer.is_some() { Some(self.plain_queue(now, port)) } else { None };
            let (entered, departure) = self.enqueue_plain(now, port, packet, shared, sched);
            if let Some(found) = found {
                self.trace_hop((now, port), packet, found, (entered, departure));
            }
            let stays = !matches!(entered, EnqueueOutcome::Dropped(_));
            if stays {
                self.ports[port as usize].push_late_mark(now, self.pool.state(packet.id));
            }
            stays.then_some(departure)
        };
        if let Some(memory) = memory {
            self.charge(port, memory);
        }
        departure
    }

    /// The same where all that is not plain is that memory is shared, as in most switches.
    #[inline]
    fn enqueue_shared(
        &mut self,
        now: Instant,
        (port, memory): (u32, usize),
        packet: PacketMeta,
        sched: &mut Scheduler,
    ) -> Option<Instant> {
        self.start_pool_stats(now, memory);
        let shared = self.pool_view(now, (port, memory), packet.size, sched);
        let (entered, departure) = self.enqueue_plain(now, port, packet, shared, sched);
        self.charge(port, memory);
        (!matches!(entered, EnqueueOutcome::Dropped(_))).then_some(departure)
    }

    /// What a packet of `size` bytes finds of the memory of a port whose departures are no events.
    #[inline]
    fn pool_view(
        &mut self,
        now: Instant,
        (port, memory): (u32, usize),
        size: u32,
        sched: &mut Scheduler,
    ) -> PoolView {
        let this = &mut self.ports[port as usize];
        this.retire(now);
        let free = self.buffer_pools[memory].free();
        let fits = this.admits(size, free);
        if fits && !self.buffer_pools[memory].would_peak(size) {
            return PoolView { free, fits };
        }
        cold_path();
        self.settle(now, memory, Some(sched));
        let free = self.buffer_pools[memory].free();
        PoolView { free, fits: self.ports[port as usize].admits(size, free) }
    }

    fn enqueue_event_port(&mut self, now: Instant, port: u32, id: PacketId, free: u64) {
        let this = &mut self.ports[port as usize];
        let head = *self.pool.state(id);
        let (found, entered) = this.enqueue_event_port(now, &head, free);
        if let Some(watch) = &mut self.port_tracer {
            let size = head.meta.size;
            let service = this.line().serialization(size);
            watch.on_enqueue((now, port), (id, size), found, (entered, now + service), service);
        }
        match entered {
            EnqueueOutcome::Queued => {}
            EnqueueOutcome::Marked => self.pool.set_ce(id),
            EnqueueOutcome::Dropped(_) => return self.pool.discard(id),
        }
        if this.push_waiting(now, id, &head) {
            self.begin(now, port);
        }
    }

    /// What a port holds has grown: its memory takes note.
    #[inline]
    pub(super) fn charge(&mut self, port: u32, memory: usize) {
        let (this, memory) = (&mut self.ports[port as usize], &mut self.buffer_pools[memory]);
        this.charge(memory);
        let leaves = this.leaves_at();
        if let (Some(seat), Some(at)) = (this.pool_share(), leaves)
            && !seat.listed
        {
            seat.listed = true;
            memory.push_busy(port, at);
        }
    }

    /// All that left a port of this memory up to and with `now` gives its part back.
    pub(super) fn settle(&mut self, now: Instant, memory: usize, sched: Option<&mut Scheduler>) {
        self.start_pool_stats(now, memory);
        self.settle_until(now, memory, sched);
    }

    /// Begins the statistics of a memory if it is time.
    fn start_pool_stats(&mut self, now: Instant, memory: usize) {
        if !self.buffer_pools[memory].counting() && now >= self.warmup {
            self.settle_until(self.warmup, memory, None);
            self.buffer_pools[memory].start();
        }
    }

    fn settle_until(&mut self, now: Instant, memory: usize, mut sched: Option<&mut Scheduler>) {
        while let Some(port) = self.buffer_pools[memory].due(now) {
            if self.ports[port as usize].is_event_port() {
                self.advance(now, port);
                if let Some(sched) = sched.as_deref_mut() {
                    self.arm(port, sched);
                }
            } else {
                self.ports[port as usize].retire(now);
            }
            let this = &mut self.ports[port as usize];
            this.charge(&mut self.buffer_pools[memory]);
            let listed = self.buffer_pools[memory].update_first(this.leaves_at());
            if let Some(seat) = this.pool_share() {
                seat.listed = listed;
            }
        }
    }

    /// Brings a port up to `now`, if its departures are events.
    #[inline]
    fn catch_up(&mut self, now: Instant, port: u32) {
        let this = &self.ports[port as usize];
        let staged = this.is_event_port();
        if let Some(memory) = this.pool() {
            self.start_pool_stats(now, memory);
        }
        if staged {
            self.advance(now, port);
        }
    }

    /// Lets leave what leaves a staged port up to and with `now`.
    fn advance(&mut self, now: Instant, port: u32) {
        while let Some(at) = self.ports[port as usize].complete(now) {
            self.begin(at, port);
        }
    }

    /// The line of a staged port takes its next packet, if there is one.
    fn begin(&mut self, at: Instant, port: u32) {
        let this = &mut self.ports[port as usize];
        let begun = this.begin(at, &mut self.pool, self.port_tracer.as_deref_mut());
        let Some(Transmission { packet, sojourn: waited, departure }) = begun else { return };
        let mut arrival = departure + this.delay();
        if let FarEnd::Host(host) = this.far_end()
            && let Some(late) = self.lateness.get_mut(host.0 as usize)
        {
            arrival = late.delay(arrival, self.host_jitter);
        }
        this.commit(packet, departure, arrival);
        if self.measures_queueing {
            self.pool.add_queueing(packet.id, waited);
        }
    }

    /// Schedules what a staged port waits for.
    fn arm(&mut self, port: u32, sched: &mut Scheduler) {
        let this = &mut self.ports[port as usize];
        for at in this.arm().into_iter().flatten() {
            sched.at(at, Entity::new(Self::PORT_KIND, this.number()));
        }
    }

    /// An event of a port with more to do than to hand a packet over; what it hands over.
    #[inline(never)]
    pub(super) fn arrive_special(
        &mut self,
        now: Instant,
        port: u32,
        sched: &mut Scheduler,
    ) -> Option<LineArrival> {
        self.catch_up(now, port);
        if self.ports[port as usize].is_event_port() {
            let due = self.ports[port as usize].is_due(now);
            let arrived = if due { self.ports[port as usize].arrive() } else { None };
            self.arm(port, sched);
            return arrived.map(|a| LineArrival { next: None, ..a });
        }
        let this = &mut self.ports[port as usize];
        this.retire(now);
        let arrived = this.arrive()?;
        if this.pop_late_mark() && arrived.packet.id != PacketId::GONE {
            self.pool.set_ce(arrived.packet.id);
            if let Some(watch) = &mut self.port_tracer {
                watch.on_mark(arrived.packet.id);
            }
        }
        Some(arrived)
    }

    /// The queue of a port at `now`.
    pub(super) fn queue_at(&mut self, now: Instant, port: u32) -> Option<Occupancy> {
        if self.ports.get(port as usize)?.is_plain() {
            return Some(self.ports[port as usize].queue(now));
        }
        self.catch_up(now, port);
        let this = &mut self.ports[port as usize];
        Some(if this.is_event_port() { this.event_port_queue() } else { this.queue(now) })
    }

    /// The length of the queue of `class` of `port` at `now`, in packets and IP bytes, as the port counts
    /// it; `None` where there is no such class.
    ///
    /// Looking changes neither the run nor its digest.
    pub fn class_queue_now(&mut self, now: Instant, port: u32, class: u8) -> Option<(u32, u64)> {
        self.queue_at(now, port)?;
        let queue = self.ports.get(port as usize)?.class_queue(usize::from(class))?;
        Some((queue.packets, queue.bytes))
    }

    /// Brings the figures of a port up to `at`; its memory is there.
    pub(super) fn finish_port(&mut self, at: Instant, port: u32) {
        if self.ports[port as usize].is_event_port() {
            self.advance(at, port);
            self.ports[port as usize].finish_event_port(at);
        } else {
            self.ports[port as usize].finish(at);
        }
    }

    /// All memories that queues share, by switch, with what they have seen up to
    /// [`Network::finish`].
    pub fn buffer_pools(&self) -> impl Iterator<Item = BufferPoolStats<'_>> {
        self.buffer_pools.iter().map(|memory| BufferPoolStats {
            switch: self.switches.get(memory.switch).map_or("", String::as_str),
            group: memory.group,
            size: memory.size,
            reserved: memory.reserved,
            held: memory.held(),
            peak: memory.peak(),
        })
    }
}
