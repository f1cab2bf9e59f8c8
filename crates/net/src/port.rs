//! An output port: memory, marker, queue and line, put together.

mod cut;

use lowtide_sim::Digest;
use lowtide_units::Instant;

use crate::aqm::{Aqm, Arriving, Marker, Verdict};
use crate::buffer::{Admission, Buffer};
use crate::line::Line;
use crate::loss::Loss;
use crate::packet::{Head, PacketId};
use crate::scheduler::{Arrived, Fifo, Occupancy};
use crate::stats::{Counters, PortStats};
use crate::{Framing, HostId, LineSpec};

/// Where a line ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Far {
    Host(HostId),
    Switch(u32),
}

/// What the digest takes in of a verdict, added to the packet's identity.
const ENQUEUED: u64 = 0;
const MARKED: u64 = 1;
const DROPPED_FULL: u64 = 2;
const DROPPED_BY_MARKER: u64 = 3;
const LOST: u64 = 4;
const CUT: u64 = 15;

/// What became of a packet that came to a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Entered {
    /// It will leave at this time.
    Queued { departure: Instant, marked: bool },
    /// It is gone.
    Dropped(Refusal),
}

/// Who dropped a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// The buffer had no room.
    Full,
    /// The marker.
    Marker,
    /// Nobody: the line loses packets at random, or is dead.
    Lost,
}

/// In order of use and on a line of the cache of its own.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Port {
    fifo: Fifo,
    line: Line,
    far: Far,
    count_in_service: bool,
    aqm: Marker,
    buffer: Admission,
    /// Most lines lose nothing.
    loss: Option<Box<Loss>>,
    digest: Digest,
    counters: Counters,
}

impl Port {
    pub(crate) fn new(
        spec: &LineSpec,
        framing: Framing,
        loss: Option<Box<Loss>>,
        far: Far,
        warmup: Instant,
    ) -> Self {
        let line = Line::new(spec.rate, framing, spec.delay);
        let spec = &spec.port;
        Self {
            fifo: Fifo::default(),
            line,
            far,
            count_in_service: spec.count_in_service,
            aqm: Marker::new(&spec.mark, &line),
            buffer: Admission::new(&spec.buffer),
            loss,
            digest: Digest::new(),
            counters: Counters::new(warmup),
        }
    }
    pub(crate) const fn far(&self) -> Far {
        self.far
    }
    pub(crate) const fn line(&self) -> &Line {
        &self.line
    }
    pub(crate) const fn departures(&self) -> u64 {
        self.fifo.departures()
    }
    pub(crate) const fn digest(&self) -> u64 {
        self.digest.value()
    }
    pub(crate) fn stats(&self) -> PortStats {
        self.counters.report(self.count_in_service)
    }
    /// Looks back on all departures up to and with `now`.
    #[inline]
    fn retire(&mut self, now: Instant) {
        if !self.counters.counting() {
            self.warm_up(now);
        }
        while let Some((at, size)) = self.fifo.next_departure(now) {
            self.counters.departure(at, self.fifo.in_system(), size);
            self.fifo.depart(size);
        }
    }
    /// Lets pass what leaves before the statistics begin, and begins them if it is time.
    #[inline(never)]
    fn warm_up(&mut self, now: Instant) {
        let until = now.min(self.counters.warmup());
        while let Some((_, size)) = self.fifo.next_departure(until) {
            self.fifo.depart(size);
        }
        if now >= self.counters.warmup() {
            self.counters.start(self.fifo.occupancy(self.count_in_service));
        }
    }
    /// The queue at `now`, as the port counts it.
    pub(crate) fn queue(&mut self, now: Instant) -> Occupancy {
        self.retire(now);
        self.fifo.occupancy(self.count_in_service)
    }
    /// Accounts for everything up to `at`.
    pub(crate) fn finish(&mut self, at: Instant) {
        self.retire(at);
        self.counters.pass(at, self.fifo.in_system());
    }
    /// A packet arrives: memory, then marker. [`Port::commit`] must follow if it is let in.
    #[expect(clippy::inline_always, reason = "every hop, called from one place")]
    #[inline(always)]
    pub(crate) fn enter(&mut self, now: Instant, head: &Head) -> Entered {
        if self.loss.as_mut().is_some_and(|loss| loss.takes_one()) {
            return self.lose(now, head);
        }
        let found = self.queue(now);
        self.counters.arrival(now, self.fifo.in_system());
        self.digest.update(now.as_ps());
        if !self.buffer.admits(found, head.size) {
            self.counters.full();
            self.digest.update(head.identity.wrapping_add(DROPPED_FULL));
            return Entered::Dropped(Refusal::Full);
        }
        let on_line = now.max(self.fifo.free_at);
        let packet = Arriving { found, size: head.size, ecn: head.ecn, on_line };
        let verdict = self.aqm.on_enqueue(now, &packet);
        self.counters.judged(verdict);
        let code = match verdict {
            Verdict::Forward => ENQUEUED,
            Verdict::Mark => MARKED,
            Verdict::Drop => DROPPED_BY_MARKER,
        };
        self.digest.update(head.identity.wrapping_add(code));
        if verdict == Verdict::Drop {
            return Entered::Dropped(Refusal::Marker);
        }
        if self.count_in_service || self.fifo.in_system() > 0 {
            self.counters.queued(found.bytes + u64::from(head.size));
        }
        let departure = self.departure_of(now, head.size);
        Entered::Queued { departure, marked: verdict == Verdict::Mark }
    }
    /// A packet is lost before it meets the queue.
    #[cold]
    #[inline(never)]
    fn lose(&mut self, now: Instant, head: &Head) -> Entered {
        self.retire(now);
        let code = if self.loss.as_ref().is_some_and(|loss| loss.is_down()) {
            self.counters.cut();
            CUT
        } else {
            self.counters.lost();
            LOST
        };
        self.digest.update(now.as_ps());
        self.digest.update(head.identity.wrapping_add(code));
        Entered::Dropped(Refusal::Lost)
    }
    /// When a packet of `size` bytes that takes its place at `now` will have left.
    #[inline]
    pub(crate) fn departure_of(&self, now: Instant, size: u32) -> Instant {
        now.max(self.fifo.free_at) + self.line.serialization(size)
    }
    /// The packet that was let in takes its place. True when its arrival is to be scheduled.
    #[inline]
    pub(crate) fn commit(
        &mut self,
        id: PacketId,
        size: u32,
        departure: Instant,
        arrival: Instant,
    ) -> bool {
        self.fifo.push(id, size, departure, arrival)
    }
    /// The first packet on its way arrives at the far end.
    #[inline]
    pub(crate) fn arrive(&mut self) -> Option<Arrived> {
        self.fifo.arrive()
    }
}
