//! Queues before the line, where each departure is an event: several classes, or drops at dequeue.
//!
//! Contract: the owner calls [`Port::complete`] until nothing is left up to `now`, and after each
//! departure [`Port::begin`], before it looks at the port or lets a packet in. Then what holds for the
//! other kind holds here: a departure precedes an arrival of its instant, and the packet that the line
//! takes next is chosen before those that arrive at that instant.

use std::collections::VecDeque;

use lowtide_units::{Duration, Instant};

use super::{
    DROPPED_BY_MARKER, DROPPED_FULL, DROPPED_LEAVING, DropReason, ENQUEUED, EnqueueOutcome, MARKED,
    MARKED_LEAVING, Port, PortConfig, Special,
};
use crate::aqm::{Aqm, AqmVerdict, DequeueInfo, EnqueueInfo, Marker};
use crate::buffer::{Admission, AdmissionRequest, Buffer};
use crate::line::Line;
use crate::loss::Loss;
use crate::packet::{PacketId, PacketMeta, PacketPool, PacketState};
use crate::port_tracer::PortTracer;
use crate::scheduler::{ClassScheduler, Occupancy};
use crate::stats::{ClassStats, Counters};
use crate::{ClassSpec, PortSpec, Service};

/// The queues of a port.
#[derive(Clone, Debug)]
pub(crate) struct EventPort {
    queues: Vec<Queue>,
    /// They were asked for as classes.
    classes: bool,
    /// The class of the packet on the line.
    sending: usize,
    class_scheduler: ClassScheduler,
    /// In all queues, without the packet on the line.
    waiting: Occupancy,
    /// For when events of this port are pending: the departure and the arrival at the far end.
    armed: [Option<Instant>; 2],
}

#[derive(Clone, Debug)]
struct Queue {
    ring: VecDeque<QueuedPacket>,
    bytes: u64,
    /// When it had sent all there was.
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

/// A packet that the line begins to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transmission {
    pub(crate) packet: PacketMeta,
    pub(crate) sojourn: Duration,
    pub(crate) departure: Instant,
}

impl Queue {
    /// Its length, with the packet of `tx_start` IP bytes that is its own.
    fn occupancy(&self, on_line: Option<u64>) -> Occupancy {
        Occupancy {
            packets: self.ring.len() as u32 + u32::from(on_line.is_some()),
            bytes: self.bytes + on_line.unwrap_or(0),
        }
    }
    /// It has been as long as this until `at`.
    fn advance(&mut self, at: Instant, queue: Occupancy) {
        self.marker.advance(at, queue);
        if self.counters.counting() {
            self.counters.advance(at, queue.packets as usize);
        }
    }
}

impl EventPort {
    pub(super) fn new(spec: &PortSpec, line: &Line, setting: &PortConfig<'_>) -> Self {
        let queue = |(i, class): (u64, &ClassSpec)| Queue {
            ring: VecDeque::new(),
            bytes: 0,
            idle_since: Instant::ZERO,
            buffer: Admission::new(&class.buffer),
            marker: Marker::new(&class.mark, line, setting.seed(i)),
            counters: Counters::new(setting.warmup),
        };
        let only = [ClassSpec { service: Service::Strict, buffer: spec.buffer, mark: spec.mark }];
        let classes = setting.classes.unwrap_or(&only);
        Self {
            queues: (0..).zip(classes).map(queue).collect(),
            classes: setting.classes.is_some(),
            sending: 0,
            class_scheduler: ClassScheduler::new(
                classes.iter().map(|class| class.service).collect(),
            ),
            waiting: Occupancy::default(),
            armed: [None; 2],
        }
    }
    /// The figures of each class; none if there are no classes.
    pub(super) fn stats(&self) -> Vec<ClassStats> {
        let queues = if self.classes { &self.queues[..] } else { &[] };
        queues.iter().map(|q| q.counters.report_class()).collect()
    }
    /// The line died at `now`: all that waits is lost, and added to `lost`.
    pub(super) fn link_down(&mut self, now: Instant, lost: &mut Vec<(PacketId, u32)>) {
        for queue in self.queues.iter_mut().filter(|q| !q.ring.is_empty()) {
            lost.extend(queue.ring.drain(..).map(|waiting| (waiting.packet, waiting.size)));
            queue.bytes = 0;
            queue.idle_since = now;
            queue.marker.on_empty();
        }
        self.waiting = Occupancy::default();
    }
    /// What a queue has in memory, `tx_start` bytes being on the line.
    pub(super) fn bytes_held(&self, queue: usize, on_line: u64) -> u64 {
        let sending = if queue == self.sending { on_line } else { 0 };
        self.queues.get(queue).map_or(0, |q| q.bytes) + sending
    }
}

impl Port {
    /// Lets the packet on the line leave if that is not after `now`; when it did.
    pub(crate) fn complete(&mut self, now: Instant) -> Option<Instant> {
        let Some((at, size)) = self.fifo.next_departure(now) else {
            self.start_event_port_stats(now, true);
            return None;
        };
        self.start_event_port_stats(at, false);
        let on_line = self.count_in_service.then_some(u64::from(size));
        let Some(Special { event_port: Some(staged), .. }) = self.special.as_deref_mut() else {
            return None;
        };
        let queue = &mut staged.queues[staged.sending];
        queue.advance(at, queue.occupancy(on_line));
        if self.counters.counting() {
            let in_system = staged.waiting.packets as usize + self.fifo.in_system();
            self.counters.departure(at, in_system, size);
            queue.counters.sent(size);
        }
        self.fifo.depart(size);
        if queue.ring.is_empty() {
            queue.idle_since = at;
        }
        Some(at)
    }
    /// The line is free at `at` and takes the next packet. [`Port::commit`] must follow.
    pub(crate) fn begin(
        &mut self,
        at: Instant,
        pool: &mut PacketPool,
        mut watch: Option<&mut PortTracer>,
    ) -> Option<Transmission> {
        let with_line = self.count_in_service;
        let Special { event_port: Some(staged), .. } = self.special.as_deref_mut()? else {
            return None;
        };
        loop {
            let EventPort { queues, class_scheduler: turns, .. } = staged;
            let chosen = turns.pick(|class| queues[class].ring.front().map(|next| next.size))?;
            let queue = &mut queues[chosen];
            queue.advance(at, queue.occupancy(None));
            let QueuedPacket { packet, size, enqueued_at: came } = queue.ring.pop_front()?;
            queue.bytes -= u64::from(size);
            let left = queue.occupancy(with_line.then_some(u64::from(size)));
            let &PacketState { ecn, meta: PacketMeta { identity, .. }, .. } = pool.state(packet);
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
                self.counters.judged(verdict);
                queue.counters.judged(verdict);
                self.digest.update(at.as_ps());
                self.digest.update(identity.wrapping_add(code));
            }
            let departure = at + self.line.serialization(size);
            if let Some(watch) = &mut watch {
                watch.on_dequeue(packet, at, departure, verdict);
            }
            if verdict == AqmVerdict::Drop {
                if self.counters.counting() {
                    self.counters.advance(at, staged.waiting.packets as usize);
                }
                if queue.ring.is_empty() {
                    queue.marker.on_empty();
                    queue.idle_since = at;
                }
            }
            staged.waiting.packets -= 1;
            staged.waiting.bytes -= u64::from(size);
            if verdict == AqmVerdict::Drop {
                pool.discard(packet);
                continue;
            }
            if verdict == AqmVerdict::Mark {
                pool.set_ce(packet);
            }
            staged.class_scheduler.sent(chosen, size, queue.ring.is_empty());
            staged.sending = chosen;
            return Some(Transmission {
                packet: pool.state(packet).meta,
                sojourn: waited,
                departure,
            });
        }
    }
    /// A packet arrives: memory, then marker; also the queue that it finds. [`Port::place`] must follow if
    /// it is let in.
    pub(crate) fn enqueue_event_port(
        &mut self,
        now: Instant,
        head: &PacketState,
        free: u64,
    ) -> (Occupancy, EnqueueOutcome) {
        if self.rules.loss.as_mut().is_some_and(Loss::drops_next) {
            self.note_lost(now, &head.meta);
            return (self.event_port_queue(), EnqueueOutcome::Dropped(DropReason::Lost));
        }
        let (with_line, on_line) = (self.count_in_service, self.fifo.bytes());
        let busy = self.fifo.in_system() > 0;
        let dropped = |why| EnqueueOutcome::Dropped(why);
        let Some(Special { event_port: Some(staged), .. }) = self.special.as_deref_mut() else {
            return (Occupancy::default(), dropped(DropReason::BufferFull));
        };
        let class = usize::from(head.class).min(staged.queues.len() - 1);
        let held = staged.bytes_held(class, on_line);
        let own_on_line = busy && class == staged.sending;
        let queue = &mut staged.queues[class];
        let found = queue.occupancy((with_line && own_on_line).then_some(on_line));
        // Departures of this instant have been, arrivals of it come.
        queue.marker.advance(now + Duration::from_ps(1), found);
        self.counters.arrival(now, staged.waiting.packets as usize + usize::from(busy));
        queue.counters.arrival(now, found.packets as usize);
        self.digest.update(now.as_ps());
        if !queue.buffer.admits(&AdmissionRequest {
            backlog: found,
            size: head.meta.size,
            held,
            free,
        }) {
            self.counters.count_overflow();
            queue.counters.count_overflow();
            self.digest.update(head.meta.identity.wrapping_add(DROPPED_FULL));
            return (found, dropped(DropReason::BufferFull));
        }
        let empty = queue.ring.is_empty() && !own_on_line;
        let idle_since = if empty { queue.idle_since } else { now };
        let packet = EnqueueInfo {
            backlog: found,
            size: head.meta.size,
            ecn: head.ecn,
            tx_start: now,
            idle_since,
        };
        let verdict = queue.marker.on_enqueue(now, &packet);
        self.counters.judged(verdict);
        queue.counters.judged(verdict);
        let code = match verdict {
            AqmVerdict::Forward => ENQUEUED,
            AqmVerdict::Mark => MARKED,
            AqmVerdict::Drop => DROPPED_BY_MARKER,
        };
        self.digest.update(head.meta.identity.wrapping_add(code));
        if verdict == AqmVerdict::Drop {
            return (found, dropped(DropReason::Marker));
        }
        if with_line || busy {
            let size = u64::from(head.meta.size);
            let all = staged.waiting.bytes + if with_line { on_line } else { 0 };
            self.counters.update_max_bytes(all + size);
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
    /// The packet that was let in takes its place. True when the line is free for it.
    pub(crate) fn push_waiting(
        &mut self,
        now: Instant,
        packet: PacketId,
        head: &PacketState,
    ) -> bool {
        let Some(Special { event_port: Some(staged), .. }) = self.special.as_deref_mut() else {
            return false;
        };
        let class = usize::from(head.class).min(staged.queues.len() - 1);
        let size = head.meta.size;
        staged.queues[class].ring.push_back(QueuedPacket { packet, size, enqueued_at: now });
        staged.queues[class].bytes += u64::from(size);
        staged.waiting.packets += 1;
        staged.waiting.bytes += u64::from(size);
        self.fifo.in_system() == 0
    }
    /// The length of all queues together, as the port counts it.
    pub(crate) fn event_port_queue(&self) -> Occupancy {
        let Some(Special { event_port: Some(staged), .. }) = self.special.as_deref() else {
            return Occupancy::default();
        };
        let mut all = staged.waiting;
        if self.count_in_service {
            all.packets += self.fifo.in_system() as u32;
            all.bytes += self.fifo.bytes();
        }
        all
    }
    /// The length of one queue, as the port counts it.
    fn queue_of(&self, class: usize) -> Option<Occupancy> {
        let Special { event_port: Some(staged), .. } = self.special.as_deref()? else {
            return None;
        };
        let busy = self.fifo.in_system() > 0 && class == staged.sending;
        let on_line = (self.count_in_service && busy).then_some(self.fifo.bytes());
        Some(staged.queues.get(class)?.occupancy(on_line))
    }
    /// The length of the queue of a class, as the port counts it; `None` where there are no classes.
    pub(crate) fn class_queue(&self, class: usize) -> Option<Occupancy> {
        let Special { event_port: Some(staged), .. } = self.special.as_deref()? else {
            return None;
        };
        if staged.classes { self.queue_of(class) } else { None }
    }
    fn start_event_port_stats(&mut self, at: Instant, with: bool) {
        let warmup = self.counters.warmup();
        if self.counters.counting() || at < warmup || (at == warmup && !with) {
            return;
        }
        self.counters.start(self.event_port_queue());
        self.slow_retire = false;
        for class in 0.. {
            let Some(queue) = self.queue_of(class) else { return };
            if let Some(Special { event_port: Some(staged), .. }) = self.special.as_deref_mut() {
                staged.queues[class].counters.start(queue);
            }
        }
    }
    /// Accounts for the time up to `at`, the port having been brought there.
    pub(crate) fn finish_event_port(&mut self, at: Instant) {
        for class in 0.. {
            let Some(queue) = self.queue_of(class) else { break };
            if let Some(Special { event_port: Some(staged), .. }) = self.special.as_deref_mut() {
                staged.queues[class].advance(at, queue);
            }
        }
        let Some(Special { event_port: Some(staged), .. }) = self.special.as_deref() else {
            return;
        };
        self.counters.advance(at, staged.waiting.packets as usize + self.fifo.in_system());
    }
    /// Whether a packet arrives at the far end at `now`; if so the next event is to be armed anew.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        let due = self.fifo.arrives_at().is_some_and(|at| at <= now);
        if let Some(Special { event_port: Some(staged), .. }) = self.special.as_deref_mut()
            && due
        {
            staged.armed[1] = None;
        }
        due
    }
    /// The events that are to be scheduled, once each.
    pub(crate) fn arm(&mut self) -> [Option<Instant>; 2] {
        let wanted = [self.fifo.leaves_at(), self.fifo.arrives_at()];
        let Some(Special { event_port: Some(staged), .. }) = self.special.as_deref_mut() else {
            return [None; 2];
        };
        let mut new = [None; 2];
        for ((armed, wanted), new) in staged.armed.iter_mut().zip(wanted).zip(&mut new) {
            if wanted.is_some() && *armed != wanted {
                *armed = wanted;
                *new = wanted;
            }
        }
        new
    }
}
