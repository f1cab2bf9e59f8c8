//! Port counters, always on, from the end of the warm-up.
//!
//! Exact: departures are processed late (at the next event of the port) but accounted at their own
//! times. A time boundary (end of warm-up, end of run) lies after the departures and before the
//! arrivals of its instant.

use lowtide_units::{Duration, Instant, Rate};

use crate::Occupancy;
use crate::aqm::AqmVerdict;

/// Time and arrivals at one queue length.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LevelStats {
    /// Length in packets, as the port counts it.
    pub packets: u32,
    /// Time at this length.
    pub time: Duration,
    /// Arriving packets, including dropped ones, that found this length.
    pub arrivals: u64,
}

/// Statistics of a port since the warm-up.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PortStats {
    /// Packets transmitted.
    pub packets: u64,
    /// Their IP bytes.
    pub bytes: u64,
    /// Packets marked here, including those that already had CE.
    pub marks: u64,
    /// Packets dropped because the buffer was full.
    pub drops: u64,
    /// Packets dropped by the marker.
    pub aqm_drops: u64,
    /// Packets lost at random before the queue.
    pub lost: u64,
    /// Packets lost to a link failure: in the queue, on the line or in flight at that time, or
    /// arriving while the link was down. Those on the line or in flight are also among `packets`.
    pub link_down_drops: u64,
    /// Busy time of the line, framing included.
    pub busy: Duration,
    /// Maximum queue length in bytes, as the port counts it.
    pub max_bytes: u64,
    /// The queue by length in packets; only lengths that occurred, ascending. The times add up to
    /// the time observed, the arrivals to packets forwarded, marked and dropped.
    pub levels: Vec<LevelStats>,
    /// By class, in list order; empty without classes. Their sums equal those of the port, except
    /// `lost` and packets in flight at the end of the warm-up.
    pub classes: Vec<ClassStats>,
}

/// Statistics of one class of a port since the warm-up.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClassStats {
    /// Packets transmitted.
    pub packets: u64,
    /// Their IP bytes.
    pub bytes: u64,
    /// Packets marked here.
    pub marks: u64,
    /// Packets dropped because the buffer was full.
    pub drops: u64,
    /// Packets dropped by the marker.
    pub aqm_drops: u64,
    /// Maximum length of its queue in bytes, as the port counts it.
    pub max_bytes: u64,
    /// Its queue by length in packets, as in [`PortStats::levels`].
    pub levels: Vec<LevelStats>,
}

/// Report of a shared memory. Covers only queues with a dynamic threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferPoolStats<'a> {
    /// The switch.
    pub switch: &'a str,
    /// Number of the memory at this switch, from zero ([`crate::SwitchSpec::ports_per_memory`]).
    pub group: u32,
    /// Its size in bytes.
    pub size: u64,
    /// Reserved bytes.
    pub reserved: u64,
    /// Bytes held.
    pub held: u64,
    /// Maximum held since the end of the warm-up, in bytes.
    pub peak: u64,
}

/// Report of an output port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortView<'a> {
    /// `switch0->receiver0`; parallel links have the suffix `#1`, `#2`.
    pub name: &'a str,
    /// True at a switch, false at a host.
    pub at_switch: bool,
    /// The rate of the line.
    pub rate: Rate,
    /// Its statistics.
    pub stats: PortStats,
}

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
    /// Returns the statistics; lengths include the packet on the line if `with_line`.
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
    /// Returns the statistics of a class, whose lengths are as the port counts them.
    pub(crate) fn report_class(&self) -> ClassStats {
        let PortStats { packets, bytes, marks, drops, aqm_drops, max_bytes, levels, .. } =
            self.report(true);
        ClassStats { packets, bytes, marks, drops, aqm_drops, max_bytes, levels }
    }
}
