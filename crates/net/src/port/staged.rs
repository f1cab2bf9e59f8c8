//! Queues before the line, where each departure is an event: several classes, or drops at dequeue.
//!
//! Contract: the owner calls [`Port::complete`] until nothing is left up to `now`, and after each
//! departure [`Port::begin`], before it looks at the port or lets a packet in. Then what holds for the
//! other kind holds here: a departure precedes an arrival of its instant, and the packet that the line
//! takes next is chosen before those that arrive at that instant.

use std::collections::VecDeque;

use lowtide_units::{Duration, Instant};

use super::{
    DROPPED_BY_MARKER, DROPPED_FULL, DROPPED_LEAVING, ENQUEUED, Entered, MARKED, MARKED_LEAVING,
    Port, Refusal, Setting, Special,
};
use crate::aqm::{Aqm, Arriving, Leaving, Marker, Verdict};
use crate::buffer::{Admission, Buffer, Room};
use crate::line::Line;
use crate::loss::Loss;
use crate::packet::{Head, Moving, PacketId, Pool};
use crate::scheduler::{Occupancy, Turns};
use crate::stats::{ClassStats, Counters};
use crate::watch::Watch;
use crate::{ClassSpec, PortSpec, Service};

/// The queues of a port.
#[derive(Clone, Debug)]
pub(crate) struct Staged {
    queues: Vec<Queue>,
    /// They were asked for as classes.
    classes: bool,
    /// The class of the packet on the line.
    sending: usize,
    turns: Turns,
    /// In all queues, without the packet on the line.
    waiting: Occupancy,
    /// For when events of this port are pending: the departure and the arrival at the far end.
    armed: [Option<Instant>; 2],
}

#[derive(Clone, Debug)]
struct Queue {
    ring: VecDeque<Waiting>,
    bytes: u64,
    /// When it had sent all there was.
    idle_since: Instant,
    buffer: Admission,
    marker: Marker,
    counters: Counters,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    packet: PacketId,
    size: u32,
    came: Instant,
}

/// A packet that the line begins to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    pub(crate) packet: Moving,
    pub(crate) waited: Duration,
    pub(crate) departure: Instant,
}

impl Queue {
    /// Its length, with the packet of `on_line` IP bytes that is its own.
    fn occupancy(&self, on_line: Option<u64>) -> Occupancy {
        Occupancy {
            packets: self.ring.len() as u32 + u32::from(on_line.is_some()),
            bytes: self.bytes + on_line.unwrap_or(0),
        }
    }
    /// It has been as long as this until `at`.
    fn pass(&mut self, at: Instant, queue: Occupancy) {
        self.marker.pass(at, queue);
        if self.counters.counting() {
            self.counters.pass(at, queue.packets as usize);
        }
    }
}

impl Staged {
    pub(super) fn new(spec: &PortSpec, line: &Line, setting: &Setting<'_>) -> Self {
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
            turns: Turns::new(classes.iter().map(|class| class.service).collect()),
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
    pub(super) fn cut(&mut self, now: Instant, lost: &mut Vec<(PacketId, u32)>) {
        for queue in self.queues.iter_mut().filter(|q| !q.ring.is_empty()) {
            lost.extend(queue.ring.drain(..).map(|waiting| (waiting.packet, waiting.size)));
            queue.bytes = 0;
            queue.idle_since = now;
            queue.marker.on_empty();
        }
        self.waiting = Occupancy::default();
    }
    /// What a queue has in memory, `on_line` bytes being on the line.
    pub(super) fn holds(&self, queue: usize, on_line: u64) -> u64 {
        let sending = if queue == self.sending { on_line } else { 0 };
        self.queues.get(queue).map_or(0, |q| q.bytes) + sending
    }
}

impl Port {
    /// Lets the packet on the line leave if that is not after `now`; when it did.
    pub(crate) fn complete(&mut self, now: Instant) -> Option<Instant> {
        let Some((at, size)) = self.fifo.next_departure(now) else {
            self.count_staged_from(now, true);
            return None;
        };
        self.count_staged_from(at, false);
        let on_line = self.count_in_service.then_some(u64::from(size));
        let Some(Special { staged: Some(staged), .. }) = self.special.as_deref_mut() else {
            return None;
        };
        let queue = &mut staged.queues[staged.sending];
        queue.pass(at, queue.occupancy(on_line));
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
        pool: &mut Pool,
        mut watch: Option<&mut Watch>,
    ) -> Option<Begun> {
        let with_line = self.count_in_service;
        let Special { staged: Some(staged), .. } = self.special.as_deref_mut()? else {
            return None;
        };
        loop {
            let Staged { queues, turns, .. } = staged;
            let chosen = turns.pick(|class| queues[class].ring.front().map(|next| next.size))?;
            let queue = &mut queues[chosen];
            queue.pass(at, queue.occupancy(None));
            let Waiting { packet, size, came } = queue.ring.pop_front()?;
            queue.bytes -= u64::from(size);
            let left = queue.occupancy(with_line.then_some(u64::from(size)));
            let &Head { ecn, moving: Moving { identity, .. }, .. } = pool.head(packet);
            let waited = at.saturating_since(came);
            let verdict = queue.marker.on_dequeue(at, &Leaving { left, waited, size, ecn });
            let code = match verdict {
                Verdict::Forward => None,
                Verdict::Mark => Some(MARKED_LEAVING),
                Verdict::Drop => Some(DROPPED_LEAVING),
            };
            if let Some(code) = code {
                self.counters.judged(verdict);
                queue.counters.judged(verdict);
                self.digest.update(at.as_ps());
                self.digest.update(identity.wrapping_add(code));
            }
            let departure = at + self.line.serialization(size);
            if let Some(watch) = &mut watch {
                watch.begins(packet, at, departure, verdict);
            }
            if verdict == Verdict::Drop {
                if self.counters.counting() {
                    self.counters.pass(at, staged.waiting.packets as usize);
                }
                if queue.ring.is_empty() {
                    queue.marker.on_empty();
                    queue.idle_since = at;
                }
            }
            staged.waiting.packets -= 1;
            staged.waiting.bytes -= u64::from(size);
            if verdict == Verdict::Drop {
                pool.discard(packet);
                continue;
            }
            if verdict == Verdict::Mark {
                pool.set_ce(packet);
            }
            staged.turns.sent(chosen, size, queue.ring.is_empty());
            staged.sending = chosen;
            return Some(Begun { packet: pool.head(packet).moving, waited, departure });
        }
    }
    /// A packet arrives: memory, then marker; also the queue that it finds. [`Port::place`] must follow if
    /// it is let in.
    pub(crate) fn enter_staged(
        &mut self,
        now: Instant,
        head: &Head,
        free: u64,
    ) -> (Occupancy, Entered) {
        if self.rules.loss.as_mut().is_some_and(Loss::takes_one) {
            self.note_lost(now, &head.moving);
            return (self.queue_staged(), Entered::Dropped(Refusal::Lost));
        }
        let (with_line, on_line) = (self.count_in_service, self.fifo.bytes());
        let busy = self.fifo.in_system() > 0;
        let dropped = |why| Entered::Dropped(why);
        let Some(Special { staged: Some(staged), .. }) = self.special.as_deref_mut() else {
            return (Occupancy::default(), dropped(Refusal::Full));
        };
        let class = usize::from(head.class).min(staged.queues.len() - 1);
        let held = staged.holds(class, on_line);
        let own_on_line = busy && class == staged.sending;
        let queue = &mut staged.queues[class];
        let found = queue.occupancy((with_line && own_on_line).then_some(on_line));
        // Departures of this instant have been, arrivals of it come.
        queue.marker.pass(now + Duration::from_ps(1), found);
        self.counters.arrival(now, staged.waiting.packets as usize + usize::from(busy));
        queue.counters.arrival(now, found.packets as usize);
        self.digest.update(now.as_ps());
        if !queue.buffer.admits(&Room { found, size: head.moving.size, held, free }) {
            self.counters.full();
            queue.counters.full();
            self.digest.update(head.moving.identity.wrapping_add(DROPPED_FULL));
            return (found, dropped(Refusal::Full));
        }
        let empty = queue.ring.is_empty() && !own_on_line;
        let idle_since = if empty { queue.idle_since } else { now };
        let packet =
            Arriving { found, size: head.moving.size, ecn: head.ecn, on_line: now, idle_since };
        let verdict = queue.marker.on_enqueue(now, &packet);
        self.counters.judged(verdict);
        queue.counters.judged(verdict);
        let code = match verdict {
            Verdict::Forward => ENQUEUED,
            Verdict::Mark => MARKED,
            Verdict::Drop => DROPPED_BY_MARKER,
        };
        self.digest.update(head.moving.identity.wrapping_add(code));
        if verdict == Verdict::Drop {
            return (found, dropped(Refusal::Marker));
        }
        if with_line || busy {
            let size = u64::from(head.moving.size);
            let all = staged.waiting.bytes + if with_line { on_line } else { 0 };
            self.counters.queued(all + size);
            queue.counters.queued(found.bytes + size);
        }
        (found, if verdict == Verdict::Mark { Entered::Marked } else { Entered::Queued })
    }
    /// The packet that was let in takes its place. True when the line is free for it.
    pub(crate) fn place(&mut self, now: Instant, packet: PacketId, head: &Head) -> bool {
        let Some(Special { staged: Some(staged), .. }) = self.special.as_deref_mut() else {
            return false;
        };
        let class = usize::from(head.class).min(staged.queues.len() - 1);
        let size = head.moving.size;
        staged.queues[class].ring.push_back(Waiting { packet, size, came: now });
        staged.queues[class].bytes += u64::from(size);
        staged.waiting.packets += 1;
        staged.waiting.bytes += u64::from(size);
        self.fifo.in_system() == 0
    }
    /// The length of all queues together, as the port counts it.
    pub(crate) fn queue_staged(&self) -> Occupancy {
        let Some(Special { staged: Some(staged), .. }) = self.special.as_deref() else {
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
        let Special { staged: Some(staged), .. } = self.special.as_deref()? else { return None };
        let busy = self.fifo.in_system() > 0 && class == staged.sending;
        let on_line = (self.count_in_service && busy).then_some(self.fifo.bytes());
        Some(staged.queues.get(class)?.occupancy(on_line))
    }
    /// The length of the queue of a class, as the port counts it; `None` where there are no classes.
    pub(crate) fn class_queue(&self, class: usize) -> Option<Occupancy> {
        let Special { staged: Some(staged), .. } = self.special.as_deref()? else { return None };
        if staged.classes { self.queue_of(class) } else { None }
    }
    fn count_staged_from(&mut self, at: Instant, with: bool) {
        let warmup = self.counters.warmup();
        if self.counters.counting() || at < warmup || (at == warmup && !with) {
            return;
        }
        self.counters.start(self.queue_staged());
        self.careful = false;
        for class in 0.. {
            let Some(queue) = self.queue_of(class) else { return };
            if let Some(Special { staged: Some(staged), .. }) = self.special.as_deref_mut() {
                staged.queues[class].counters.start(queue);
            }
        }
    }
    /// Accounts for the time up to `at`, the port having been brought there.
    pub(crate) fn finish_staged(&mut self, at: Instant) {
        for class in 0.. {
            let Some(queue) = self.queue_of(class) else { break };
            if let Some(Special { staged: Some(staged), .. }) = self.special.as_deref_mut() {
                staged.queues[class].pass(at, queue);
            }
        }
        let Some(Special { staged: Some(staged), .. }) = self.special.as_deref() else { return };
        self.counters.pass(at, staged.waiting.packets as usize + self.fifo.in_system());
    }
    /// Whether a packet arrives at the far end at `now`; if so the next event is to be armed anew.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        let due = self.fifo.arrives_at().is_some_and(|at| at <= now);
        if let Some(Special { staged: Some(staged), .. }) = self.special.as_deref_mut()
            && due
        {
            staged.armed[1] = None;
        }
        due
    }
    /// The events that are to be scheduled, once each.
    pub(crate) fn arm(&mut self) -> [Option<Instant>; 2] {
        let wanted = [self.fifo.leaves_at(), self.fifo.arrives_at()];
        let Some(Special { staged: Some(staged), .. }) = self.special.as_deref_mut() else {
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
