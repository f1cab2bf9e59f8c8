//! Queues with departure events: several classes, or drops at dequeue.
//!
//! Contract: before any access to the port or enqueue, the owner calls [`Port::complete`] until no
//! departure up to `now` is left, and [`Port::begin`] after each departure. Then the rules of other
//! ports hold: a departure precedes an arrival at the same instant, and the next packet is selected
//! before the arrivals of that instant.

use std::collections::VecDeque;

use lowtide_rows::ClassQueue;
use lowtide_units::{Duration, Instant};

use super::{
    DROPPED_BY_MARKER, DROPPED_FULL, DROPPED_LEAVING, DropReason, ENQUEUED, EnqueueOutcome, MARKED,
    MARKED_LEAVING, Port, PortConfig, Special,
};
use crate::aqm::{Aqm, AqmVerdict, DequeueInfo, EnqueueInfo, Marker, MarkerSetup};
use crate::buffer::{Admission, AdmissionRequest, Buffer};
use crate::class_scheduler::ClassScheduler;
use crate::fifo::Occupancy;
use crate::line::Line;
use crate::loss::Loss;
use crate::packet_pool::{Descriptor, PacketId, PacketPool};
use crate::port_tracer::PortTracer;
use crate::stats::{Counters, Rejections};
use crate::{ClassSpec, PortSpec, Service};

/// The queues of a port.
#[derive(Clone, Debug)]
pub(crate) struct EventPort {
    queues: Vec<Queue>,
    /// True if configured as classes.
    classes: bool,
    /// The class of the packet in service.
    sending: usize,
    class_scheduler: ClassScheduler,
    /// Occupancy of all queues, without the packet in service.
    waiting: Occupancy,
    /// Pending events of this port: the departure and the arrival at the far end.
    armed: [Option<Instant>; 2],
    /// Those of the port; each queue has its own.
    counters: Counters,
    /// Since time zero.
    departures: u64,
}

#[derive(Clone, Debug)]
struct Queue {
    ring: VecDeque<QueuedPacket>,
    bytes: u64,
    /// Start of its idle period.
    idle_since: Instant,
    buffer: Admission,
    marker: Marker,
    counters: Counters,
}

#[derive(Clone, Copy, Debug)]
struct QueuedPacket {
    packet: PacketId,
    size: u32,
    enqueued_at: Instant,
}

/// A packet whose transmission starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transmission {
    pub(crate) packet: PacketId,
    pub(crate) sojourn: Duration,
    pub(crate) departure: Instant,
}

impl Queue {
    /// Returns its length, including its packet in service, of `in_service` IP bytes, if any.
    fn occupancy(&self, in_service: Option<u64>) -> Occupancy {
        Occupancy {
            packets: self.ring.len() as u32 + u32::from(in_service.is_some()),
            bytes: self.bytes + in_service.unwrap_or(0),
        }
    }
    /// Accounts for a queue of this length until `at`.
    fn advance(&mut self, at: Instant, queue: Occupancy) {
        self.marker.advance(at, queue);
        self.counters.advance(at, queue.packets as usize);
    }
}

impl EventPort {
    pub(super) fn new(spec: &PortSpec, line: &Line, config: &PortConfig<'_>) -> Self {
        let queue = |(i, class): (u64, &ClassSpec)| Queue {
            ring: VecDeque::new(),
            bytes: 0,
            idle_since: Instant::ZERO,
            buffer: Admission::new(&class.buffer),
            marker: class.mark.config().start(&MarkerSetup::of_line(*line, config.seed(i))),
            counters: Counters::new(config.warmup),
        };
        let mark = spec.mark.clone();
        let only = [ClassSpec { service: Service::Strict, buffer: spec.buffer, mark }];
        let classes = config.classes.unwrap_or(&only);
        Self {
            queues: (0..).zip(classes).map(queue).collect(),
            classes: config.classes.is_some(),
            sending: 0,
            class_scheduler: ClassScheduler::new(
                classes.iter().map(|class| class.service).collect(),
            ),
            waiting: Occupancy::default(),
            armed: [None; 2],
            counters: Counters::new(config.warmup),
            departures: 0,
        }
    }
    /// Returns the statistics of the port, and of each class if it has classes.
    pub(super) fn stats(&self, with_in_service: bool) -> lowtide_rows::Queue {
        let queues = if self.classes { &self.queues[..] } else { &[] };
        let classes: Vec<ClassQueue> = queues.iter().map(|q| q.counters.report_class()).collect();
        lowtide_rows::Queue { classes, ..self.counters.report(with_in_service) }
    }
    /// Returns the departures since time zero.
    pub(super) const fn departures(&self) -> u64 {
        self.departures
    }
    /// Returns the counters of marked, dropped and lost packets of the port.
    pub(super) const fn rejections(&mut self) -> &mut Rejections {
        &mut self.counters.rejections
    }
    /// Loses all waiting packets at a link failure at `now`, and adds them to `lost`.
    pub(super) fn link_down(&mut self, now: Instant, lost: &mut Vec<(PacketId, u32)>) {
        for queue in self.queues.iter_mut().filter(|q| !q.ring.is_empty()) {
            lost.extend(queue.ring.drain(..).map(|waiting| (waiting.packet, waiting.size)));
            queue.bytes = 0;
            queue.idle_since = now;
            queue.marker.on_empty();
        }
        self.waiting = Occupancy::default();
    }
    /// Returns the bytes that a queue holds in memory, with `in_service` bytes in service.
    pub(super) fn bytes_held(&self, queue: usize, in_service: u64) -> u64 {
        let sending = if queue == self.sending { in_service } else { 0 };
        self.queues.get(queue).map_or(0, |q| q.bytes) + sending
    }
}

impl Port {
    /// Completes the transmission if it ends at or before `now`. Returns its end.
    pub(crate) fn complete(&mut self, now: Instant, pool: &PacketPool) -> Option<Instant> {
        let Some(sending) = self.fifo.next_departure(now, pool) else {
            self.start_event_port_stats(now, true);
            return None;
        };
        let (at, size) = (sending.departure, sending.size);
        self.start_event_port_stats(at, false);
        let in_service = self.constants.count_in_service.then_some(u64::from(size));
        let Some(Special { event_port: Some(event_port), .. }) = self.special.as_deref_mut() else {
            return None;
        };
        let queue = &mut event_port.queues[event_port.sending];
        queue.advance(at, queue.occupancy(in_service));
        let in_system = event_port.waiting.packets + self.fifo.in_system().packets;
        event_port.counters.departure(at, in_system as usize, size);
        event_port.departures += 1;
        queue.counters.sent(size);
        self.fifo.depart(sending);
        if queue.ring.is_empty() {
            queue.idle_since = at;
        }
        Some(at)
    }
    /// Starts the next transmission at `at`. [`Port::commit`] must follow.
    pub(crate) fn begin(
        &mut self,
        at: Instant,
        pool: &mut PacketPool,
        mut tracer: Option<&mut PortTracer>,
    ) -> Option<Transmission> {
        let with_in_service = self.constants.count_in_service;
        let Special { event_port: Some(event_port), .. } = self.special.as_deref_mut()? else {
            return None;
        };
        loop {
            let EventPort { queues, class_scheduler: turns, counters, .. } = event_port;
            let chosen = turns.pick(|class| queues[class].ring.front().map(|next| next.size))?;
            let queue = &mut queues[chosen];
            queue.advance(at, queue.occupancy(None));
            let QueuedPacket { packet, size, enqueued_at: came } = queue.ring.pop_front()?;
            queue.bytes -= u64::from(size);
            let left = queue.occupancy(with_in_service.then_some(u64::from(size)));
            let &Descriptor { ecn, identity, .. } = pool.descriptor(packet);
            let waited = at.saturating_since(came);
            let verdict = queue
                .marker
                .on_dequeue(at, &DequeueInfo { backlog: left, sojourn: waited, size, ecn });
            let code = match verdict {
                AqmVerdict::Forward => None,
                AqmVerdict::Mark => Some(MARKED_LEAVING),
                AqmVerdict::Drop => Some(DROPPED_LEAVING),
            };
            if let Some(code) = code {
                counters.rejections.judged(verdict);
                queue.counters.rejections.judged(verdict);
                self.digest.update(at.as_ps());
                self.digest.update(identity.wrapping_add(code));
            }
            let departure = at + self.constants.line.serialization(size);
            if let Some(tracer) = &mut tracer {
                tracer.on_dequeue(packet, at, departure, verdict);
            }
            if verdict == AqmVerdict::Drop {
                counters.advance(at, event_port.waiting.packets as usize);
                if queue.ring.is_empty() {
                    queue.marker.on_empty();
                    queue.idle_since = at;
                }
            }
            event_port.waiting.packets -= 1;
            event_port.waiting.bytes -= u64::from(size);
            if verdict == AqmVerdict::Drop {
                pool.discard(packet);
                continue;
            }
            if verdict == AqmVerdict::Mark {
                pool.set_ce(packet);
            }
            event_port.class_scheduler.sent(chosen, size, queue.ring.is_empty());
            event_port.sending = chosen;
            return Some(Transmission { packet, sojourn: waited, departure });
        }
    }
    /// Decides on an arriving packet: admission, then marker. Returns the queue that it finds, and
    /// the outcome. [`Port::push_waiting`] must follow if it is admitted.
    pub(crate) fn enqueue_event_port(
        &mut self,
        now: Instant,
        packet: &Descriptor,
        free: u64,
    ) -> (Occupancy, EnqueueOutcome) {
        if self.rules.loss.as_mut().is_some_and(Loss::drops_next) {
            self.note_lost(now, packet);
            return (self.event_port_queue(), EnqueueOutcome::Dropped(DropReason::Lost));
        }
        let (with_in_service, in_service) =
            (self.constants.count_in_service, self.fifo.in_system().bytes);
        let busy = self.fifo.in_system().packets > 0;
        let dropped = |why| EnqueueOutcome::Dropped(why);
        let Some(Special { event_port: Some(event_port), .. }) = self.special.as_deref_mut() else {
            return (Occupancy::default(), dropped(DropReason::BufferFull));
        };
        let class = usize::from(packet.class).min(event_port.queues.len() - 1);
        let held = event_port.bytes_held(class, in_service);
        let own_in_service = busy && class == event_port.sending;
        let queue = &mut event_port.queues[class];
        let found = queue.occupancy((with_in_service && own_in_service).then_some(in_service));
        // Departures of this instant are done; its arrivals follow.
        queue.marker.advance(now + Duration::from_ps(1), found);
        let counters = &mut event_port.counters;
        counters.arrival(now, event_port.waiting.packets as usize + usize::from(busy));
        queue.counters.arrival(now, found.packets as usize);
        self.digest.update(now.as_ps());
        if !queue.buffer.admits(&AdmissionRequest { backlog: found, size: packet.size, held, free })
        {
            counters.rejections.overflow_drops += 1;
            queue.counters.rejections.overflow_drops += 1;
            self.digest.update(packet.identity.wrapping_add(DROPPED_FULL));
            return (found, dropped(DropReason::BufferFull));
        }
        let empty = queue.ring.is_empty() && !own_in_service;
        let idle_since = if empty { queue.idle_since } else { now };
        let arriving = EnqueueInfo {
            backlog: found,
            size: packet.size,
            ecn: packet.ecn,
            tx_start: now,
            idle_since,
        };
        let verdict = queue.marker.on_enqueue(now, &arriving);
        counters.rejections.judged(verdict);
        queue.counters.rejections.judged(verdict);
        let code = match verdict {
            AqmVerdict::Forward => ENQUEUED,
            AqmVerdict::Mark => MARKED,
            AqmVerdict::Drop => DROPPED_BY_MARKER,
        };
        self.digest.update(packet.identity.wrapping_add(code));
        if verdict == AqmVerdict::Drop {
            return (found, dropped(DropReason::Marker));
        }
        if with_in_service || busy {
            let size = u64::from(packet.size);
            let all = event_port.waiting.bytes + if with_in_service { in_service } else { 0 };
            counters.update_max_bytes(all + size);
            queue.counters.update_max_bytes(found.bytes + size);
        }
        (
            found,
            if verdict == AqmVerdict::Mark {
                EnqueueOutcome::Marked
            } else {
                EnqueueOutcome::Queued
            },
        )
    }
    /// Enqueues an admitted packet. Returns true if the line is free for it.
    pub(crate) fn push_waiting(&mut self, now: Instant, id: PacketId, packet: &Descriptor) -> bool {
        let Some(Special { event_port: Some(event_port), .. }) = self.special.as_deref_mut() else {
            return false;
        };
        let class = usize::from(packet.class).min(event_port.queues.len() - 1);
        let size = packet.size;
        let queued = QueuedPacket { packet: id, size, enqueued_at: now };
        event_port.queues[class].ring.push_back(queued);
        event_port.queues[class].bytes += u64::from(size);
        event_port.waiting.packets += 1;
        event_port.waiting.bytes += u64::from(size);
        self.fifo.in_system().packets == 0
    }
    /// Puts a packet in service.
    pub(crate) fn push(
        &mut self,
        id: PacketId,
        departure: Instant,
        arrival: Instant,
        pool: &mut PacketPool,
    ) {
        self.fifo.push(id, departure, arrival, pool);
    }
    /// Returns the length of all queues together, as the port counts it.
    pub(crate) fn event_port_queue(&self) -> Occupancy {
        let Some(Special { event_port: Some(event_port), .. }) = self.special.as_deref() else {
            return Occupancy::default();
        };
        let mut all = event_port.waiting;
        if self.constants.count_in_service {
            all.packets += self.fifo.in_system().packets;
            all.bytes += self.fifo.in_system().bytes;
        }
        all
    }
    /// Returns the length of one queue, as the port counts it.
    fn queue_of(&self, class: usize) -> Option<Occupancy> {
        let Special { event_port: Some(event_port), .. } = self.special.as_deref()? else {
            return None;
        };
        let busy = self.fifo.in_system().packets > 0 && class == event_port.sending;
        let in_service =
            (self.constants.count_in_service && busy).then_some(self.fifo.in_system().bytes);
        Some(event_port.queues.get(class)?.occupancy(in_service))
    }
    /// Returns the length of the queue of a class, as the port counts it; `None` without classes.
    pub(crate) fn class_queue(&self, class: usize) -> Option<Occupancy> {
        let Special { event_port: Some(event_port), .. } = self.special.as_deref()? else {
            return None;
        };
        if event_port.classes { self.queue_of(class) } else { None }
    }
    fn start_event_port_stats(&mut self, at: Instant, with: bool) {
        let Some(Special { event_port: Some(event_port), .. }) = self.special.as_deref() else {
            return;
        };
        let (counters, warmup) = (&event_port.counters, event_port.counters.warmup());
        if counters.counting() || at < warmup || (at == warmup && !with) {
            return;
        }
        let all = self.event_port_queue();
        let found: Vec<_> = (0..).map_while(|class| self.queue_of(class)).collect();
        let Some(Special { event_port: Some(event_port), .. }) = self.special.as_deref_mut() else {
            return;
        };
        event_port.counters.start(all);
        for (queue, found) in event_port.queues.iter_mut().zip(found) {
            queue.counters.start(found);
        }
    }
    /// Accounts for the time up to `at`; the port is up to date.
    pub(crate) fn finish_event_port(&mut self, at: Instant) {
        let found: Vec<_> = (0..).map_while(|class| self.queue_of(class)).collect();
        let Some(Special { event_port: Some(event_port), .. }) = self.special.as_deref_mut() else {
            return;
        };
        for (queue, found) in event_port.queues.iter_mut().zip(found) {
            queue.advance(at, found);
        }
        let in_system = event_port.waiting.packets + self.fifo.in_system().packets;
        event_port.counters.advance(at, in_system as usize);
    }
    /// Returns true if a packet arrives at the far end at `now`; its event must then be
    /// rescheduled.
    pub(crate) fn is_due(&mut self, now: Instant, pool: &PacketPool) -> bool {
        let due = self.fifo.arrives_at(pool).is_some_and(|at| at <= now);
        if let Some(Special { event_port: Some(event_port), .. }) = self.special.as_deref_mut()
            && due
        {
            event_port.armed[1] = None;
        }
        due
    }
    /// Returns the events to schedule, each once.
    pub(crate) fn arm(&mut self, pool: &PacketPool) -> [Option<Instant>; 2] {
        let wanted = [self.fifo.leaves_at(pool), self.fifo.arrives_at(pool)];
        let Some(Special { event_port: Some(event_port), .. }) = self.special.as_deref_mut() else {
            return [None; 2];
        };
        let mut new = [None; 2];
        for ((armed, wanted), new) in event_port.armed.iter_mut().zip(wanted).zip(&mut new) {
            if wanted.is_some() && *armed != wanted {
                *armed = wanted;
                *new = wanted;
            }
        }
        new
    }
}
