//! What a port counts, always on, from the end of the warm-up.
//!
//! Exact: departures are noticed late (when the next thing happens to the port) but accounted at
//! their own times. A boundary in time (end of warm-up, end of run) lies after the departures and
//! before the arrivals of its instant.

use lowtide_units::{Duration, Instant, Rate};

use crate::Occupancy;
use crate::aqm::AqmVerdict;

/// Time and arrivals at one length of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LevelStats {
    /// Length in packets, as the port counts it.
    pub packets: u32,
    /// How long the queue had this length.
    pub time: Duration,
    /// How many arriving packets, dropped ones included, found it at this length.
    pub arrivals: u64,
}

/// What one port has seen since the warm-up.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PortStats {
    /// Packets whose transmission ended.
    pub packets: u64,
    /// Their IP bytes.
    pub bytes: u64,
    /// Packets marked here. One that had CE already counts too.
    pub marks: u64,
    /// Packets dropped for want of memory.
    pub drops: u64,
    /// Packets dropped by the marker.
    pub aqm_drops: u64,
    /// Packets lost at random before they met the queue.
    pub lost: u64,
    /// Packets lost because the link failed: in its queue, on the line or in flight at that time, or
    /// come while it was dead. What was on the line or in flight is among `packets` too.
    pub link_down_drops: u64,
    /// Time that the line was busy, framing included.
    pub busy: Duration,
    /// The longest the queue was, in bytes, as the port counts it.
    pub max_bytes: u64,
    /// The queue by its length in packets; only lengths that occurred, ascending. The times add up
    /// to the time observed, the arrivals to packets forwarded, marked and dropped.
    pub levels: Vec<LevelStats>,
    /// By class, in the order of the list; empty where there are none. Sums are those of the port, but
    /// for `lost` and for packets under way at the end of the warm-up.
    pub classes: Vec<ClassStats>,
}

/// What one class of a port has seen since the warm-up.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClassStats {
    /// Packets whose transmission ended.
    pub packets: u64,
    /// Their IP bytes.
    pub bytes: u64,
    /// Packets marked here.
    pub marks: u64,
    /// Packets dropped for want of memory.
    pub drops: u64,
    /// Packets dropped by the marker.
    pub aqm_drops: u64,
    /// The longest its queue was, in bytes, as the port counts it.
    pub max_bytes: u64,
    /// Its queue by length in packets, as [`PortStats::levels`].
    pub levels: Vec<LevelStats>,
}

/// A memory that queues share, for whoever reports. Only what queues with a dynamic threshold hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferPoolStats<'a> {
    /// The switch.
    pub switch: &'a str,
    /// Number of the memory at this switch, from zero ([`crate::SwitchSpec::ports_per_memory`]).
    pub group: u32,
    /// Its size in bytes.
    pub size: u64,
    /// What is reserved of it.
    pub reserved: u64,
    /// What is held in it, in bytes.
    pub held: u64,
    /// The most that was held since the end of the warm-up, in bytes.
    pub peak: u64,
}

/// One output port, for whoever reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortView<'a> {
    /// `switch0->receiver0`; parallel links have `#1`, `#2` behind.
    pub name: &'a str,
    /// At a switch (else a host's own port).
    pub at_switch: bool,
    /// The rate of the line.
    pub rate: Rate,
    /// What it has seen.
    pub stats: PortStats,
}

/// One length of the system (the queue and the packet on the line).
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    ps: u64,
    arrivals: u64,
}

/// The counters of one port while it runs.
///
/// The histogram is kept by packets in the system, from which both ways of counting and the busy time
/// follow, so that the path of a packet pays for one of them only.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Counters {
    /// Up to here time is accounted for; [`Instant::FAR_FUTURE`] until the warm-up is over.
    since: Instant,
    bins: Box<[Bin]>,
    packets: u64,
    bytes: u64,
    max_bytes: u64,
    // From here on what most packets leave alone.
    marks: u64,
    drops: u64,
    aqm_drops: u64,
    lost: u64,
    link_down_drops: u64,
    warmup: Instant,
}

impl Counters {
    /// Bytes that a packet touches which is neither marked nor dropped.
    #[cfg(test)]
    pub(crate) const FOR_MOST_PACKETS: usize = std::mem::offset_of!(Self, marks);
    /// Bytes of memory behind this record.
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
    /// True when the warm-up is over.
    #[inline]
    pub(crate) fn counting(&self) -> bool {
        self.since < Instant::FAR_FUTURE
    }
    /// When the warm-up ends.
    pub(crate) const fn warmup(&self) -> Instant {
        self.warmup
    }
    /// The warm-up is over, and at its end the queue was this.
    pub(crate) fn start(&mut self, queue: Occupancy) {
        self.since = self.warmup;
        self.max_bytes = queue.bytes;
    }
    /// The system held `in_system` packets from the last change until `at`, which is now.
    #[inline]
    pub(crate) fn advance(&mut self, at: Instant, in_system: usize) {
        self.account(at, in_system, 0);
    }
    /// The same, and that many packets arrive then.
    #[inline]
    fn account(&mut self, at: Instant, in_system: usize, arrivals: u64) {
        let Some(bin) = self.bins.get_mut(in_system) else {
            return self.account_higher(at, in_system, arrivals);
        };
        bin.ps += at.saturating_since(self.since).as_ps();
        bin.arrivals += arrivals;
        self.since = self.since.max(at);
    }
    /// The same for a system that was never so long.
    #[cold]
    #[inline(never)]
    fn account_higher(&mut self, at: Instant, in_system: usize, arrivals: u64) {
        self.grow(in_system);
        self.account(at, in_system, arrivals);
    }
    /// A packet of `size` bytes leaves at `at`; `in_system` still counts it.
    #[inline]
    pub(crate) fn departure(&mut self, at: Instant, in_system: usize, size: u32) {
        self.advance(at, in_system);
        self.packets += 1;
        self.bytes += u64::from(size);
    }
    /// A packet arrives at `at` and finds `in_system`.
    #[inline]
    pub(crate) fn arrival(&mut self, at: Instant, in_system: usize) {
        if self.counting() {
            self.account(at, in_system, 1);
        }
    }
    /// A packet of `size` bytes leaves; the time has been accounted for.
    pub(crate) fn sent(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }
    /// Reads a word of the counters themselves.
    #[inline]
    pub(crate) fn prefetch_counters(&self) -> u64 {
        self.packets
    }
    /// Reads a word of what an arrival touches beside the counters.
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
    /// It was lost at random.
    pub(crate) fn lost(&mut self) {
        self.lost += u64::from(self.counting());
    }
    /// Its link has failed.
    pub(crate) fn count_link_down_drop(&mut self) {
        self.link_down_drops += u64::from(self.counting());
    }
    /// It found no memory.
    pub(crate) fn count_overflow(&mut self) {
        self.drops += u64::from(self.counting());
    }
    /// The marker judged it.
    #[inline]
    pub(crate) fn judged(&mut self, verdict: AqmVerdict) {
        match verdict {
            AqmVerdict::Forward => {}
            AqmVerdict::Mark => self.marks += u64::from(self.counting()),
            AqmVerdict::Drop => self.aqm_drops += u64::from(self.counting()),
        }
    }
    /// It takes its place; the queue will have `queue_bytes`.
    #[inline]
    pub(crate) fn update_max_bytes(&mut self, queue_bytes: u64) {
        if self.counting() {
            self.max_bytes = self.max_bytes.max(queue_bytes);
        }
    }
    /// The figures, with lengths counted with the packet on the line or without.
    pub(crate) fn report(&self, with_line: bool) -> PortStats {
        let mut levels: Vec<LevelStats> = Vec::new();
        let mut busy = Duration::ZERO;
        for (in_system, bin) in (0_u32..).zip(&*self.bins) {
            let time = Duration::from_ps(bin.ps);
            if in_system > 0 {
                busy += time;
            }
            if bin.ps == 0 && bin.arrivals == 0 {
                continue;
            }
            let packets = if with_line { in_system } else { in_system.saturating_sub(1) };
            match levels.last_mut() {
                Some(last) if last.packets == packets => {
                    last.time += time;
                    last.arrivals += bin.arrivals;
                }
                _ => levels.push(LevelStats { packets, time, arrivals: bin.arrivals }),
            }
        }
        PortStats {
            packets: self.packets,
            bytes: self.bytes,
            marks: self.marks,
            drops: self.drops,
            aqm_drops: self.aqm_drops,
            lost: self.lost,
            link_down_drops: self.link_down_drops,
            busy,
            max_bytes: self.max_bytes,
            levels,
            classes: Vec::new(),
        }
    }
    /// The figures of a class, whose lengths were counted as the port counts them.
    pub(crate) fn report_class(&self) -> ClassStats {
        let PortStats { packets, bytes, marks, drops, aqm_drops, max_bytes, levels, .. } =
            self.report(true);
        ClassStats { packets, bytes, marks, drops, aqm_drops, max_bytes, levels }
    }
}
