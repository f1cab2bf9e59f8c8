//! The counters of a first-in, first-out queue whose departures are known at enqueue.
//!
//! Most packets find an empty queue, so the histogram leaves out what follows from other counters:
//! the line is busy exactly while it serialises, so the time with one packet is the busy time less
//! the time with more, and the idle time is the rest. Packets that found none are those that
//! entered or were dropped, less those that found some. Packets, bytes and busy time are counted at
//! enqueue; the state of the queue at the end says what has not departed yet. The busy time follows
//! from packets and bytes if a byte takes a whole number of picoseconds.

use lowtide_rows::Queue;
use lowtide_units::{Duration, Instant};

use super::{Bin, Rejections, grow, report};
use crate::Occupancy;
use crate::line::Line;

/// Admitted packets.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Admitted {
    packets: u64,
    bytes: u64,
}

/// Packets that have departed, and the time for which the line was busy.
#[derive(Clone, Copy, Debug, Default)]
struct Departed {
    packets: u64,
    bytes: u64,
    busy_ps: u64,
}

/// The state of a queue at the time for which it is reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FifoState {
    /// Packets and bytes that have not departed.
    pub(crate) in_system: Occupancy,
    /// The time when the line becomes free.
    pub(crate) free_at: Instant,
    pub(crate) line: Line,
    /// IP bytes of the largest packet that found the port empty, if the port keeps it.
    pub(crate) largest_alone: u64,
}

/// The counters of a port without departure events. Fields in order of use.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct FifoCounters {
    admitted: Admitted,
    // Packets that find an empty queue do not touch the following.
    max_bytes: u64,
    /// Time up to which the bins are integrated; stale while fewer than two packets are in the
    /// system.
    since: Instant,
    /// Packets that found one in the system.
    arrivals_at_one: u64,
    /// By packets in the system, from two on.
    bins: Box<[Bin]>,
    rare: Box<Rare>,
}

/// Counters that most packets do not touch.
#[derive(Clone, Debug)]
struct Rare {
    rejections: Rejections,
    counting: bool,
    warmup: Instant,
    /// Serialisation time of admitted packets, if it does not follow from their bytes.
    serialization_ps: u64,
    /// Packets that had departed when the statistics started.
    before: Departed,
    /// Packets admitted until then.
    admitted_before: u64,
    /// Packets that link failures removed since then.
    removed: u64,
}

impl FifoCounters {
    /// Bytes that a packet touches that finds an empty queue.
    #[cfg(test)]
    pub(crate) const FOR_EMPTY_QUEUE: usize = std::mem::offset_of!(Self, max_bytes);

    pub(crate) fn new(warmup: Instant) -> Self {
        Self {
            admitted: Admitted::default(),
            max_bytes: 0,
            since: Instant::ZERO,
            arrivals_at_one: 0,
            bins: Box::default(),
            rare: Box::new(Rare {
                rejections: Rejections::default(),
                counting: false,
                warmup,
                serialization_ps: 0,
                before: Departed::default(),
                admitted_before: 0,
                removed: 0,
            }),
        }
    }
    /// Returns the counters of marked, dropped and lost packets.
    pub(crate) fn rejections(&mut self) -> &mut Rejections {
        &mut self.rare.rejections
    }
    /// Returns the bytes allocated outside this struct.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.bins) + size_of::<Rare>()
    }
    /// Returns true once the statistics have started.
    pub(crate) fn counting(&self) -> bool {
        self.rare.counting
    }
    /// Returns the end of the warm-up.
    pub(crate) fn warmup(&self) -> Instant {
        self.rare.warmup
    }
    /// Starts the statistics at the end of the warm-up. `queue` is its length as the port counts
    /// it.
    pub(crate) fn start(&mut self, state: FifoState, queue: Occupancy) {
        let warmup = self.rare.warmup;
        self.max_bytes = queue.bytes;
        self.since = warmup;
        self.arrivals_at_one = 0;
        self.bins.fill(Bin::default());
        *self.rare = Rare {
            rejections: Rejections::default(),
            counting: true,
            warmup,
            serialization_ps: self.rare.serialization_ps,
            before: self.departed(state, warmup),
            admitted_before: self.admitted.packets,
            removed: 0,
        };
    }
    /// Counts a departure at `at` with `in_system` packets, itself included.
    #[inline]
    pub(crate) fn departure(&mut self, at: Instant, in_system: u32) {
        if in_system > 1 {
            self.advance(at, in_system, 0);
        }
    }
    /// Counts an arrival at `at` that finds `in_system` packets, at least one.
    #[inline]
    pub(crate) fn arrival_at_busy(&mut self, at: Instant, in_system: u32) {
        if in_system > 1 {
            self.advance(at, in_system, 1);
        } else {
            self.since = at;
            self.arrivals_at_one += 1;
        }
    }
    /// Accounts for the time since the last change until `at`, with two or more packets, and for
    /// `arrivals` at its end.
    #[inline]
    fn advance(&mut self, at: Instant, in_system: u32, arrivals: u64) {
        let Some(bin) = self.bins.get_mut(in_system as usize - 2) else {
            return self.advance_longer(at, in_system, arrivals);
        };
        bin.ps += at.saturating_since(self.since).as_ps();
        bin.arrivals += arrivals;
        self.since = at;
    }
    /// Accounts for a length above all earlier ones.
    #[cold]
    fn advance_longer(&mut self, at: Instant, in_system: u32, arrivals: u64) {
        grow(&mut self.bins, in_system as usize - 2);
        self.advance(at, in_system, arrivals);
    }
    /// Counts an admitted packet.
    #[inline]
    pub(crate) fn admit(&mut self, size: u32) {
        self.admitted.packets += 1;
        self.admitted.bytes += u64::from(size);
    }
    /// Counts the serialisation time of an admitted packet, on a line for which
    /// [`Line::fast_serialization_of_all`] returns `None`.
    pub(crate) fn add_serialization(&mut self, serialization: Duration) {
        self.rare.serialization_ps += serialization.as_ps();
    }
    /// Updates the maximum; the queue will have `queue_bytes`.
    #[inline]
    pub(crate) fn update_max_bytes(&mut self, queue_bytes: u64) {
        self.max_bytes = self.max_bytes.max(queue_bytes);
    }
    /// Takes back admitted packets that a link failure removes: their number and bytes, and their
    /// part of [`FifoCounters::add_serialization`].
    pub(crate) fn remove(&mut self, removed: Occupancy, serialization: Duration) {
        self.admitted.packets -= u64::from(removed.packets);
        self.admitted.bytes -= removed.bytes;
        self.rare.serialization_ps -= serialization.as_ps();
        self.rare.removed += u64::from(removed.packets);
    }
    /// Accounts for everything up to `at`.
    pub(crate) fn finish(&mut self, at: Instant, in_system: u32) {
        if in_system > 1 {
            self.advance(at, in_system, 0);
        }
        self.since = self.since.max(at);
    }
    /// Returns the packets that have departed since time zero.
    pub(crate) const fn departures(&self, in_system: u32) -> u64 {
        self.admitted.packets - in_system as u64
    }
    /// Reads one word of the bin that an arrival touches.
    #[inline]
    pub(crate) fn prefetch_bin(&self, in_system: u32) -> u64 {
        self.bins.get((in_system as usize).wrapping_sub(2)).map_or(0, |bin| bin.ps)
    }
    /// Returns the statistics up to [`Self::finish`] without name and line; lengths include the
    /// packet in service if `with_in_service`. Without that call, counters refer to different
    /// instants.
    pub(crate) fn report(&self, state: FifoState, with_in_service: bool) -> Queue {
        let Rare { rejections, counting, warmup, before, admitted_before, removed, .. } =
            *self.rare;
        if !counting {
            return Queue::default();
        }
        let Departed { packets, bytes, busy_ps } = self.departed(state, self.since).less(before);
        let longer_ps: u64 = self.bins.iter().map(|bin| bin.ps).sum();
        let longer: u64 = self.bins.iter().map(|bin| bin.arrivals).sum();
        let Rejections { overflow_drops, aqm_drops, .. } = rejections;
        let admitted = self.admitted.packets + removed - admitted_before;
        let at_busy = self.arrivals_at_one + longer;
        let total_ps = self.since.saturating_since(warmup).as_ps();
        let idle = Bin {
            ps: total_ps.saturating_sub(busy_ps),
            arrivals: admitted + overflow_drops + aqm_drops - at_busy,
        };
        let one = Bin { ps: busy_ps.saturating_sub(longer_ps), arrivals: self.arrivals_at_one };
        let bins = [idle, one].into_iter().chain(self.bins.iter().copied());
        let max_bytes = self.max_bytes.max(state.largest_alone);
        report(bins, (packets, bytes, max_bytes), rejections, with_in_service)
    }
    /// Returns the packets that have departed at `at`, when the queue has this state.
    fn departed(&self, state: FifoState, at: Instant) -> Departed {
        let Admitted { packets, bytes } = self.admitted;
        let all = state.line.fast_serialization_of_all(packets, bytes);
        let all_ps = all.map_or(self.rare.serialization_ps, Duration::as_ps);
        Departed {
            packets: packets - u64::from(state.in_system.packets),
            bytes: bytes - state.in_system.bytes,
            busy_ps: all_ps.saturating_sub(state.free_at.saturating_since(at).as_ps()),
        }
    }
}

impl Departed {
    fn less(self, other: Self) -> Self {
        Self {
            packets: self.packets - other.packets,
            bytes: self.bytes - other.bytes,
            busy_ps: self.busy_ps.saturating_sub(other.busy_ps),
        }
    }
}
