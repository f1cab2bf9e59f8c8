//! Special ports: with shared memory, marks at dequeue, several queues, late drops.
//!
//! Such a port is brought up to date before each access. An event of an event port only means
//! "process due departures", so extra events are harmless. Even an outside query may trigger a
//! departure; the pending event for that instant then schedules the arrivals.
//!
//! A pool with unprocessed departures counts too much, never too little. A packet that it admits
//! would also be admitted by the exact state, and a count below the peak is no new peak. Otherwise
//! all departures up to now are processed, switch-wide, before the decision. So decisions always
//! equal those of the exact state.

use std::hint::cold_path;

use lowtide_rows::BufferPoolRow;
use lowtide_sim::{Entity, Scheduler};
use lowtide_units::Instant;

use super::Network;
use super::hop::late_arrival;
use crate::Occupancy;
use crate::buffer_pool::PoolView;
use crate::enqueue_outcome::EnqueueOutcome;
use crate::packet_pool::PacketId;
use crate::port::Transmission;

impl Network {
    /// Enqueues a packet at a special or traced port. Returns its departure time if known.
    #[inline(never)]
    pub(super) fn enqueue_special(
        &mut self,
        now: Instant,
        port: u32,
        id: PacketId,
        sched: &mut Scheduler,
    ) -> Option<Instant> {
        let this = &self.ports[port as usize];
        let (pool, event_port) = (this.pool(), this.is_event_port());
        if let Some(pool) = pool
            && this.is_only_shared()
            && self.port_tracer.is_none()
        {
            return self.enqueue_shared(now, (port, pool), id, sched);
        }
        cold_path();
        self.catch_up(now, port);
        let mut shared = PoolView::UNSHARED;
        if let Some(pool) = pool {
            if event_port {
                self.settle(now, pool, Some(sched));
                shared.free = self.buffer_pools[pool].free();
            } else {
                let size = self.pool.descriptor(id).size;
                shared = self.pool_view(now, (port, pool), size, sched);
            }
        }
        let departure = if event_port {
            self.enqueue_event_port(now, port, id, shared.free);
            self.arm(port, sched);
            None
        } else {
            let found =
                if self.port_tracer.is_some() { Some(self.queue_found(now, port)) } else { None };
            let (entered, departure) =
                self.enqueue_with_known_departure(now, port, id, shared, sched);
            if let Some(found) = found {
                self.trace_hop((now, port), id, found, (entered, departure));
            }
            let admitted = !matches!(entered, EnqueueOutcome::Dropped(_));
            if admitted {
                let packet = self.pool.descriptor(id);
                self.ports[port as usize].push_late_mark(now, packet, &self.pool);
            }
            admitted.then_some(departure)
        };
        if let Some(pool) = pool {
            self.charge(port, pool);
        }
        departure
    }

    /// Enqueues a packet at a port that is special only by its shared memory, as in most switches.
    #[inline]
    fn enqueue_shared(
        &mut self,
        now: Instant,
        (port, pool): (u32, usize),
        id: PacketId,
        sched: &mut Scheduler,
    ) -> Option<Instant> {
        self.start_pool_stats(now, pool);
        let size = self.pool.descriptor(id).size;
        let shared = self.pool_view(now, (port, pool), size, sched);
        let (entered, departure) = self.enqueue_with_known_departure(now, port, id, shared, sched);
        self.charge(port, pool);
        (!matches!(entered, EnqueueOutcome::Dropped(_))).then_some(departure)
    }

    /// Returns the state of the pool for a packet of `size` bytes at a port without departure
    /// events.
    #[inline]
    fn pool_view(
        &mut self,
        now: Instant,
        (port, pool): (u32, usize),
        size: u32,
        sched: &mut Scheduler,
    ) -> PoolView {
        let this = &mut self.ports[port as usize];
        this.process_departures(now, &self.pool);
        let free = self.buffer_pools[pool].free();
        let fits = this.admits(size, free, &self.pool);
        if fits && !self.buffer_pools[pool].would_peak(size) {
            return PoolView { free, fits };
        }
        cold_path();
        self.settle(now, pool, Some(sched));
        let free = self.buffer_pools[pool].free();
        PoolView { free, fits: self.ports[port as usize].admits(size, free, &self.pool) }
    }

    fn enqueue_event_port(&mut self, now: Instant, port: u32, id: PacketId, free: u64) {
        let this = &mut self.ports[port as usize];
        let packet = *self.pool.descriptor(id);
        let (found, entered) = this.enqueue_event_port(now, &packet, free);
        if let Some(tracer) = &mut self.port_tracer {
            let size = packet.size;
            let service = this.line().serialization(size);
            tracer.on_enqueue((now, port), (id, size), found, (entered, now + service), service);
        }
        match entered {
            EnqueueOutcome::Queued => {}
            EnqueueOutcome::Marked => self.pool.set_ce(id),
            EnqueueOutcome::Dropped(_) => return self.pool.discard(id),
        }
        if this.push_waiting(now, id, &packet) {
            self.begin(now, port);
        }
    }

    /// Updates the pool after a port has grown.
    #[inline]
    pub(super) fn charge(&mut self, port: u32, pool: usize) {
        let (this, pool) = (&mut self.ports[port as usize], &mut self.buffer_pools[pool]);
        this.charge(pool);
        let leaves = this.leaves_at(&self.pool);
        if let (Some(share), Some(at)) = (this.pool_share(), leaves)
            && !share.listed
        {
            share.listed = true;
            pool.push_busy(port, at);
        }
    }

    /// Processes all departures from ports of this pool up to and including `now`.
    pub(super) fn settle(&mut self, now: Instant, pool: usize, sched: Option<&mut Scheduler>) {
        self.start_pool_stats(now, pool);
        self.settle_until(now, pool, sched);
    }

    /// Starts the statistics of a pool if due.
    fn start_pool_stats(&mut self, now: Instant, pool: usize) {
        if !self.buffer_pools[pool].counting() && now >= self.warmup {
            self.settle_until(self.warmup, pool, None);
            self.buffer_pools[pool].start();
        }
    }

    fn settle_until(&mut self, now: Instant, pool: usize, mut sched: Option<&mut Scheduler>) {
        while let Some(port) = self.buffer_pools[pool].due(now) {
            if self.ports[port as usize].is_event_port() {
                self.advance(now, port);
                if let Some(sched) = sched.as_deref_mut() {
                    self.arm(port, sched);
                }
            } else {
                self.ports[port as usize].process_departures(now, &self.pool);
            }
            let this = &mut self.ports[port as usize];
            this.charge(&mut self.buffer_pools[pool]);
            let listed = self.buffer_pools[pool].update_first(this.leaves_at(&self.pool));
            if let Some(share) = this.pool_share() {
                share.listed = listed;
            }
        }
    }

    /// Brings an event port up to `now`.
    #[inline]
    fn catch_up(&mut self, now: Instant, port: u32) {
        let this = &self.ports[port as usize];
        let event_port = this.is_event_port();
        if let Some(pool) = this.pool() {
            self.start_pool_stats(now, pool);
        }
        if event_port {
            self.advance(now, port);
        }
    }

    /// Processes the departures of an event port up to and including `now`.
    fn advance(&mut self, now: Instant, port: u32) {
        while let Some(at) = self.ports[port as usize].complete(now, &self.pool) {
            self.begin(at, port);
        }
    }

    /// Starts the next transmission of an event port, if any.
    fn begin(&mut self, at: Instant, port: u32) {
        let this = &mut self.ports[port as usize];
        let begun = this.begin(at, &mut self.pool, self.port_tracer.as_deref_mut());
        let Some(Transmission { packet, sojourn, departure }) = begun else { return };
        let arrival = departure + this.delay();
        let (lateness, jitter) = (&mut self.lateness, self.host_jitter);
        let arrival = late_arrival(lateness, jitter, this.far_end(), arrival);
        this.push(packet, departure, arrival, &mut self.pool);
        if self.measures_queueing {
            self.pool.add_queueing(packet, sojourn);
        }
    }

    /// Schedules the next events of an event port.
    fn arm(&mut self, port: u32, sched: &mut Scheduler) {
        let this = &mut self.ports[port as usize];
        for at in this.arm(&self.pool).into_iter().flatten() {
            sched.at(at, Entity::new(Self::PORT_KIND, this.number()));
        }
    }

    /// Handles an event of a special port, given its number and index. Returns the packet that
    /// arrives at the far end.
    #[inline(never)]
    pub(super) fn arrive_special(
        &mut self,
        now: Instant,
        (number, port): (u32, u32),
        sched: &mut Scheduler,
    ) -> Option<PacketId> {
        self.catch_up(now, port);
        let this = &mut self.ports[port as usize];
        if this.is_event_port() {
            let due = this.is_due(now, &self.pool);
            let arrived = if due { this.arrive(&self.pool) } else { None };
            self.arm(port, sched);
            return arrived;
        }
        if this.pool().is_some_and(|pool| self.buffer_pools[pool].counting()) {
            this.on_pool_started();
        }
        this.process_departures(now, &self.pool);
        let id = this.arrive(&self.pool)?;
        if let Some(next) = this.arrives_at(&self.pool) {
            sched.at(next, Entity::new(Self::PORT_KIND, number));
        }
        if this.pop_late_mark() && !self.pool.descriptor(id).lost {
            self.pool.set_ce(id);
            if let Some(tracer) = &mut self.port_tracer {
                tracer.on_mark(id);
            }
        }
        Some(id)
    }

    /// Returns the queue of a port at `now`.
    pub(super) fn queue_at(&mut self, now: Instant, port: u32) -> Option<Occupancy> {
        if !self.ports.get(port as usize)?.is_special() {
            return Some(self.ports[port as usize].queue(now, &self.pool));
        }
        self.catch_up(now, port);
        let this = &mut self.ports[port as usize];
        Some(if this.is_event_port() {
            this.event_port_queue()
        } else {
            this.queue(now, &self.pool)
        })
    }

    /// Returns the queue length of `class` of `port` at `now`, in packets and IP bytes, as the port
    /// counts it; `None` if there is no such class.
    ///
    /// Reading changes neither the run nor its digest.
    pub fn class_queue_now(&mut self, now: Instant, port: u32, class: u8) -> Option<(u32, u64)> {
        self.queue_at(now, port)?;
        let queue = self.ports.get(port as usize)?.class_queue(usize::from(class))?;
        Some((queue.packets, queue.bytes))
    }

    /// Brings the statistics of a port up to `at`; its pool is up to date.
    pub(super) fn finish_port(&mut self, at: Instant, port: u32) {
        if self.ports[port as usize].is_event_port() {
            self.advance(at, port);
            self.ports[port as usize].finish_event_port(at);
        } else {
            self.ports[port as usize].finish(at, &self.pool);
        }
    }

    /// Returns all shared memories by switch, with statistics up to [`Network::finish`].
    pub fn buffer_pools(&self) -> impl Iterator<Item = BufferPoolRow> {
        self.buffer_pools.iter().map(|pool| BufferPoolRow {
            switch: self.switches.get(pool.switch).cloned().unwrap_or_default(),
            buffer_pool: pool.group,
            size_bytes: pool.size,
            reserved_bytes: pool.reserved,
            held_bytes: pool.held(),
            peak_bytes: pool.peak(),
        })
    }
}
