//! Port counters, always on, from the end of the warm-up.
//!
//! Exact: departures are processed late (at the next event of the port) but accounted at their own
//! times. A time boundary (end of warm-up, end of run) lies after the departures and before the
//! arrivals of its instant.

use lowtide_rows::{ClassQueue, Level, LossCounters, Queue, ServedCounters};
use lowtide_units::Instant;

use crate::Occupancy;
use crate::aqm::AqmVerdict;

/// One length of the system (queue plus packet on the line).
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    ps: u64,
    arrivals: u64,
}

/// The counters of a port at run time.
///
/// The histogram counts packets in the system; both queue definitions and the busy time follow from
/// it. So the fast path pays for one histogram only.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Counters {
    /// Time is accounted for up to here; [`Instant::FAR_FUTURE`] until the warm-up is over.
    since: Instant,
    bins: Box<[Bin]>,
    packets: u64,
    bytes: u64,
    max_bytes: u64,
    // Not touched by most packets.
    marks: u64,
    drops: u64,
    aqm_drops: u64,
    lost: u64,
    link_down_drops: u64,
    warmup: Instant,
}

impl Counters {
    /// Bytes that a packet touches that is neither marked nor dropped.
    #[cfg(test)]
    pub(crate) const FOR_MOST_PACKETS: usize = std::mem::offset_of!(Self, marks);
    /// Returns the bytes allocated outside this struct.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.bins)
    }
    pub(crate) fn new(warmup: Instant) -> Self {
        Self {
            since: Instant::FAR_FUTURE,
            bins: Box::default(),
            packets: 0,
            bytes: 0,
            max_bytes: 0,
            marks: 0,
            drops: 0,
            aqm_drops: 0,
            lost: 0,
            link_down_drops: 0,
            warmup,
        }
    }
    /// Returns true after the warm-up.
    #[inline]
    pub(crate) fn counting(&self) -> bool {
        self.since < Instant::FAR_FUTURE
    }
    /// Returns the end of the warm-up.
    pub(crate) const fn warmup(&self) -> Instant {
        self.warmup
    }
    /// Starts counting at the end of the warm-up with this queue.
    pub(crate) fn start(&mut self, queue: Occupancy) {
        self.since = self.warmup;
        self.max_bytes = queue.bytes;
    }
    /// Accounts for the time since the last change until `at`, with `in_system` packets.
    #[inline]
    pub(crate) fn advance(&mut self, at: Instant, in_system: usize) {
        self.account(at, in_system, 0);
    }
    /// Accounts for the time, and for `arrivals` at its end.
    #[inline]
    fn account(&mut self, at: Instant, in_system: usize, arrivals: u64) {
        let Some(bin) = self.bins.get_mut(in_system) else {
            return self.account_higher(at, in_system, arrivals);
        };
        bin.ps += at.saturating_since(self.since).as_ps();
        bin.arrivals += arrivals;
        self.since = self.since.max(at);
    }
    /// Accounts for a length above all earlier ones.
    #[cold]
    #[inline(never)]
    fn account_higher(&mut self, at: Instant, in_system: usize, arrivals: u64) {
        self.grow(in_system);
        self.account(at, in_system, arrivals);
    }
    /// Counts the departure of a packet of `size` bytes at `at`; `in_system` includes it.
    #[inline]
    pub(crate) fn departure(&mut self, at: Instant, in_system: usize, size: u32) {
        self.advance(at, in_system);
        self.packets += 1;
        self.bytes += u64::from(size);
    }
    /// Counts an arrival at `at` that finds `in_system` packets.
    #[inline]
    pub(crate) fn arrival(&mut self, at: Instant, in_system: usize) {
        if self.counting() {
            self.account(at, in_system, 1);
        }
    }
    /// Counts a departure of `size` bytes whose time is accounted for.
    pub(crate) fn sent(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }
    /// Reads one word of the counters.
    #[inline]
    pub(crate) fn prefetch_counters(&self) -> u64 {
        self.packets
    }
    /// Reads one word of the histogram that an arrival touches.
    #[inline]
    pub(crate) fn prefetch(&self, in_system: usize) -> u64 {
        self.bins.get(in_system).map_or(0, |bin| bin.ps)
    }
    fn grow(&mut self, in_system: usize) {
        let mut bins = vec![Bin::default(); (in_system + 1).next_power_of_two()];
        for (new, old) in bins.iter_mut().zip(&self.bins) {
            *new = *old;
        }
        self.bins = bins.into_boxed_slice();
    }
    /// Counts a random loss.
    pub(crate) fn lost(&mut self) {
        self.lost += u64::from(self.counting());
    }
    /// Counts a loss to a link failure.
    pub(crate) fn count_link_down_drop(&mut self) {
        self.link_down_drops += u64::from(self.counting());
    }
    /// Counts a drop by a full buffer.
    pub(crate) fn count_overflow(&mut self) {
        self.drops += u64::from(self.counting());
    }
    /// Counts the verdict of the marker.
    #[inline]
    pub(crate) fn judged(&mut self, verdict: AqmVerdict) {
        match verdict {
            AqmVerdict::Forward => {}
            AqmVerdict::Mark => self.marks += u64::from(self.counting()),
            AqmVerdict::Drop => self.aqm_drops += u64::from(self.counting()),
        }
    }
    /// Updates the maximum; the queue will have `queue_bytes`.
    #[inline]
    pub(crate) fn update_max_bytes(&mut self, queue_bytes: u64) {
        if self.counting() {
            self.max_bytes = self.max_bytes.max(queue_bytes);
        }
    }
    /// Returns the counters of a queue without its name and line; lengths include the packet on the
    /// line if `with_line`.
    pub(crate) fn report(&self, with_line: bool) -> Queue {
        let mut levels: Vec<Level> = Vec::new();
        let mut busy_ps = 0;
        for (in_system, bin) in (0_u32..).zip(&*self.bins) {
            if in_system > 0 {
                busy_ps += bin.ps;
            }
            if bin.ps == 0 && bin.arrivals == 0 {
                continue;
            }
            let packets = if with_line { in_system } else { in_system.saturating_sub(1) };
            match levels.last_mut() {
                Some(last) if last.packets == packets => {
                    last.time_ps += bin.ps;
                    last.arrivals += bin.arrivals;
                }
                _ => levels.push(Level { packets, time_ps: bin.ps, arrivals: bin.arrivals }),
            }
        }
        Queue {
            served: ServedCounters {
                packets: self.packets,
                bytes: self.bytes,
                marks: self.marks,
                drops: self.drops,
                aqm_drops: self.aqm_drops,
            },
            losses: LossCounters { lost: self.lost, link_down_drops: self.link_down_drops },
            busy_ps,
            max_bytes: self.max_bytes,
            levels,
            ..Queue::default()
        }
    }
    /// Returns the counters of a class, whose lengths are as the port counts them.
    pub(crate) fn report_class(&self) -> ClassQueue {
        let Queue { served, max_bytes, levels, .. } = self.report(true);
        ClassQueue { served, max_bytes, levels }
    }
}
