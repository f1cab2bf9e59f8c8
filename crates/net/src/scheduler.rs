//! The service order of a port. First in, first out here; `classes` chooses among several queues.
//!
//! With constant rate and without overtaking, the departure of a packet is known at enqueue:
//! `max(now, free_at)` plus its serialisation time. So a port needs no event for the end of a
//! transmission: it processes past departures when its next event happens.

mod classes;
mod link_failure;

use std::collections::VecDeque;

use lowtide_units::{Duration, Instant};

pub(crate) use self::classes::ClassScheduler;

use crate::packet::PacketMeta;

/// A queue length in both units.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Occupancy {
    /// Packets.
    pub packets: u32,
    /// IP bytes.
    pub bytes: u64,
}

/// A packet between enqueue and the far end of the line.
#[derive(Clone, Copy, Debug, Default)]
struct FifoEntry {
    departure: Instant,
    packet: PacketMeta,
}

/// A packet at the far end of the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LineArrival {
    pub(crate) packet: PacketMeta,
    /// Time when its last bit left this end.
    pub(crate) departure: Instant,
    /// Arrival time of the next packet in flight, if any.
    pub(crate) next: Option<Instant>,
}

/// Arrival times that do not follow from the propagation delay.
#[derive(Clone, Debug, Default)]
struct Late {
    arrivals: VecDeque<Instant>,
}

/// A FIFO queue: one ring of packets from enqueue to the far end of the line, with a cursor for
/// departures and one for arrivals.
///
/// The cursors are independent: arrivals are events, departures are processed on demand, so either
/// may be ahead. Neither passes `tail`. Positions count from the last time that the ring was empty.
/// An empty ring restarts at index zero, so that a rarely busy port touches few cache lines.
///
/// A packet arrives `delay` after its departure; otherwise arrivals have a separate list.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Fifo {
    /// Length zero or a power of two.
    ring: Box<[FifoEntry]>,
    /// The next packet to arrive at the far end.
    head: u32,
    /// The packet on the line, if before `tail`.
    line: u32,
    /// The next free position.
    tail: u32,
    /// The port number; stored here because the first cache line has room.
    port: u32,
    delay: Duration,
    late: Option<Box<Late>>,
    /// The time when the line becomes free.
    pub(crate) free_at: Instant,
    /// IP bytes that have not departed.
    bytes: u64,
    /// Departures before position zero.
    before: u64,
}

impl Fifo {
    /// Positions above this are renumbered.
    const HIGH: u32 = u32::MAX / 2;
    /// Bytes that an arrival at the far end touches.
    #[cfg(test)]
    pub(crate) const WITHIN_FIRST_LINE: usize = std::mem::offset_of!(Self, free_at);

    /// Returns an empty queue with that propagation delay; `late` if packets may arrive later.
    pub(crate) fn new(port: u32, delay: Duration, late: bool) -> Self {
        Self {
            ring: Box::default(),
            head: 0,
            line: 0,
            tail: 0,
            port,
            delay,
            late: late.then(Box::default),
            free_at: Instant::ZERO,
            bytes: 0,
            before: 0,
        }
    }
    #[inline]
    fn entry(&self, position: u32) -> &FifoEntry {
        &self.ring[position as usize & (self.ring.len() - 1)]
    }
    /// Returns the port number.
    #[inline]
    pub(crate) const fn port(&self) -> u32 {
        self.port
    }
    /// Returns the packets that have not departed, including the one on the line.
    #[inline]
    pub(crate) const fn in_system(&self) -> usize {
        (self.tail - self.line) as usize
    }
    /// Returns the queue length, including the packet on the line if `with_line`.
    #[inline]
    pub(crate) fn occupancy(&self, with_line: bool) -> Occupancy {
        let packets = self.tail - self.line;
        if with_line || packets == 0 {
            Occupancy { packets, bytes: self.bytes }
        } else {
            let sending = u64::from(self.entry(self.line).packet.size);
            Occupancy { packets: packets - 1, bytes: self.bytes - sending }
        }
    }
    /// Returns size and departure time of the packet on the line if it leaves at or before `now`.
    #[inline]
    pub(crate) fn next_departure(&self, now: Instant) -> Option<(Instant, u32)> {
        if self.line == self.tail {
            return None;
        }
        let entry = self.entry(self.line);
        (entry.departure <= now).then_some((entry.departure, entry.packet.size))
    }
    /// Records the departure of the packet on the line, of `size` bytes.
    #[inline]
    pub(crate) fn depart(&mut self, size: u32) {
        self.bytes -= u64::from(size);
        self.line += 1;
    }
    /// Returns the IP bytes that have not departed, including the packet on the line.
    #[inline]
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Returns the departure time of the packet on the line.
    #[inline]
    pub(crate) fn leaves_at(&self) -> Option<Instant> {
        (self.line < self.tail).then(|| self.entry(self.line).departure)
    }
    /// Returns the next arrival time at the far end.
    #[inline]
    pub(crate) fn arrives_at(&self) -> Option<Instant> {
        if self.head == self.tail {
            return None;
        }
        match &self.late {
            None => Some(self.entry(self.head).departure + self.delay),
            Some(late) => late.arrivals.front().copied(),
        }
    }
    /// Returns the bytes allocated outside this struct.
    pub(crate) fn memory_bytes(&self) -> usize {
        let late = self.late.as_ref().map_or(0, |late| late.arrivals.capacity());
        size_of_val(&*self.ring) + late * size_of::<Instant>()
    }
    /// Returns the number of departures so far.
    pub(crate) const fn departures(&self) -> u64 {
        self.before + self.line as u64
    }
    /// Returns the propagation delay.
    #[inline]
    pub(crate) const fn delay(&self) -> Duration {
        self.delay
    }
    /// Enqueues a packet. Returns true if it is the only one between here and the far end.
    /// `arrival` is departure plus delay, unless `late` was set.
    #[expect(clippy::inline_always, reason = "every hop, and two callers")]
    #[inline(always)]
    pub(crate) fn push(
        &mut self,
        packet: PacketMeta,
        departure: Instant,
        arrival: Instant,
    ) -> bool {
        let used = self.tail - self.head.min(self.line);
        if used == 0 {
            self.before += u64::from(self.line);
            (self.head, self.line, self.tail) = (0, 0, 0);
        }
        if used as usize == self.ring.len() || self.tail > Self::HIGH {
            self.grow();
        }
        let at = self.tail as usize & (self.ring.len() - 1);
        self.ring[at] = FifoEntry { departure, packet };
        if let Some(late) = &mut self.late {
            late.arrivals.push_back(arrival);
        }
        self.free_at = departure;
        self.bytes += u64::from(packet.size);
        self.tail += 1;
        self.tail - self.head == 1
    }
    /// Takes the packet that arrives at the far end, with the next arrival time.
    #[inline]
    pub(crate) fn arrive(&mut self) -> Option<LineArrival> {
        if self.head == self.tail {
            return None;
        }
        let FifoEntry { packet, departure } = *self.entry(self.head);
        self.head += 1;
        if let Some(late) = &mut self.late {
            late.arrivals.pop_front();
        }
        Some(LineArrival { packet, departure, next: self.arrives_at() })
    }
    /// Returns the next packet to arrive at the far end.
    #[inline]
    pub(crate) fn next_to_arrive(&self) -> Option<&PacketMeta> {
        (self.head < self.tail).then(|| &self.entry(self.head).packet)
    }
    /// Reads one word of the cursors.
    #[inline]
    pub(crate) fn prefetch_cursors(&self) -> u64 {
        u64::from(self.head) ^ self.bytes
    }
    /// Reads one word of each ring entry that an enqueue touches.
    #[inline]
    pub(crate) fn prefetch(&self) -> u64 {
        let departure = |position: u32| {
            let entry = self.ring.get(position as usize & self.ring.len().wrapping_sub(1));
            entry.map_or(0, |entry| entry.departure.as_ps())
        };
        departure(self.line) ^ departure(self.tail)
    }
    /// Doubles the ring if it is full, and renumbers positions.
    #[cold]
    fn grow(&mut self) {
        let first = self.head.min(self.line);
        let used = (self.tail - first) as usize;
        let length = if used == self.ring.len() { (used * 2).max(8) } else { self.ring.len() };
        let mut ring = vec![FifoEntry::default(); length].into_boxed_slice();
        for (position, entry) in (first..self.tail).zip(&mut ring) {
            *entry = *self.entry(position);
        }
        self.before += u64::from(first);
        (self.head, self.line, self.tail) =
            (self.head - first, self.line - first, self.tail - first);
        self.ring = ring;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketPool;
    use crate::packet::tests::{any, put};

    fn at(i: usize) -> Instant {
        Instant::from_ps(i as u64)
    }

    /// A hundred packets, number `i` of `i` bytes, in a ring that has wrapped to `turn`.
    fn filled(turn: usize) -> (Fifo, Vec<PacketMeta>) {
        let mut pool = PacketPool::default();
        let ids: Vec<PacketMeta> =
            (0..100).map(|size| PacketMeta { size, ..put(&mut pool, &any(), 0) }).collect();
        let mut fifo = Fifo::new(0, Duration::from_ps(7), turn.is_multiple_of(2));
        for &id in &ids[..turn] {
            assert!(fifo.push(id, at(0), at(7)));
            fifo.depart(id.size);
            assert_eq!(
                fifo.arrive(),
                Some(LineArrival { packet: id, departure: at(0), next: None })
            );
        }
        for (i, &id) in ids.iter().enumerate() {
            assert_eq!(fifo.push(id, at(i), at(i + 7)), i == 0);
        }
        (fifo, ids)
    }

    fn all_depart(fifo: &mut Fifo) {
        for i in 0..100 {
            let rest = (i..100).sum::<usize>() as u64;
            assert_eq!(fifo.occupancy(true), Occupancy { packets: 100 - i as u32, bytes: rest });
            let waiting = Occupancy { packets: 99 - i as u32, bytes: rest - i as u64 };
            assert_eq!(fifo.occupancy(false), waiting);
            assert_eq!(fifo.next_departure(at(i)), Some((at(i), i as u32)));
            assert_eq!(fifo.next_departure(at(i.max(1) - 1)).is_none(), i > 0);
            fifo.depart(i as u32);
        }
        assert_eq!(fifo.occupancy(false), Occupancy::default());
        assert_eq!(fifo.next_departure(at(1_000)), None);
    }

    fn all_arrive(fifo: &mut Fifo, ids: &[PacketMeta]) {
        for (i, &id) in ids.iter().enumerate() {
            let next = (i < 99).then(|| at(i + 8));
            assert_eq!(fifo.arrive(), Some(LineArrival { packet: id, departure: at(i), next }));
        }
        assert_eq!(fifo.arrive(), None);
    }

    #[test]
    fn either_cursor_may_be_ahead_anywhere_in_the_ring() {
        for turn in 0..40 {
            let (mut fifo, ids) = filled(turn);
            all_depart(&mut fifo);
            all_arrive(&mut fifo, &ids);
            let (mut fifo, ids) = filled(turn);
            all_arrive(&mut fifo, &ids);
            all_depart(&mut fifo);
            assert_eq!(fifo.departures(), turn as u64 + 100);
        }
    }

    #[test]
    fn high_positions_are_renumbered() {
        let (mut fifo, ids) = filled(3);
        let far = Fifo::HIGH - 50;
        (fifo.head, fifo.line, fifo.tail) = (fifo.head + far, fifo.line + far, fifo.tail + far);
        // Each entry moves with its position in the ring.
        let turn = far as usize % fifo.ring.len();
        fifo.ring.rotate_right(turn);
        for i in 100..200 {
            let packet = PacketMeta { size: i, ..ids[0] };
            assert!(!fifo.push(packet, at(i as usize), at(i as usize + 7)));
        }
        assert!(fifo.tail < 1_000);
        for i in 0..200 {
            assert_eq!(fifo.next_departure(at(200)), Some((at(i), i as u32)));
            fifo.depart(i as u32);
        }
        assert_eq!(fifo.departures(), u64::from(far) + 203);
        all_arrive_first(&mut fifo, &ids);
    }

    fn all_arrive_first(fifo: &mut Fifo, ids: &[PacketMeta]) {
        for (i, &id) in ids.iter().enumerate() {
            let arrived = fifo.arrive().map(|a| (a.packet, a.departure, a.next));
            assert_eq!(arrived, Some((id, at(i), Some(at(i + 8)))));
        }
    }

    #[test]
    fn an_unprocessed_departure_keeps_its_entry() {
        let (mut fifo, ids) = filled(0);
        all_arrive(&mut fifo, &ids);
        for i in 100..200 {
            let packet = PacketMeta { size: i, ..ids[0] };
            assert_eq!(fifo.push(packet, at(i as usize), at(i as usize + 7)), i == 100);
        }
        for i in 0..200 {
            assert_eq!(fifo.next_departure(at(200)), Some((at(i), i as u32)));
            fifo.depart(i as u32);
        }
    }
}
