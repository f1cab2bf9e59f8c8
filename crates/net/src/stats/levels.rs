//! The counters of a queue with departure events: each change of its length is accounted for.

use lowtide_rows::{ClassQueue, Queue};
use lowtide_units::Instant;

use super::{Bin, Rejections, grow, report};
use crate::Occupancy;

/// The counters of a port with departure events, or of one of its classes.
#[derive(Clone, Debug)]
pub(crate) struct Counters {
    /// Time is accounted for up to here; [`Instant::FAR_FUTURE`] until the warm-up is over.
    since: Instant,
    bins: Box<[Bin]>,
    packets: u64,
    bytes: u64,
    max_bytes: u64,
    pub(crate) rejections: Rejections,
    warmup: Instant,
}

impl Counters {
    pub(crate) fn new(warmup: Instant) -> Self {
        Self {
            since: Instant::FAR_FUTURE,
            bins: Box::default(),
            packets: 0,
            bytes: 0,
            max_bytes: 0,
            rejections: Rejections::default(),
            warmup,
        }
    }
    /// Returns true after the warm-up.
    pub(crate) fn counting(&self) -> bool {
        self.since < Instant::FAR_FUTURE
    }
    /// Returns the end of the warm-up.
    pub(crate) const fn warmup(&self) -> Instant {
        self.warmup
    }
    /// Starts counting at the end of the warm-up with this queue.
    pub(crate) fn start(&mut self, queue: Occupancy) {
        let max_bytes = queue.bytes;
        *self = Self { since: self.warmup, max_bytes, ..Self::new(self.warmup) };
    }
    /// Accounts for the time since the last change until `at`, with `in_system` packets.
    pub(crate) fn advance(&mut self, at: Instant, in_system: usize) {
        if self.counting() {
            self.account(at, in_system, 0);
        }
    }
    /// Accounts for the time, and for `arrivals` at its end.
    fn account(&mut self, at: Instant, in_system: usize, arrivals: u64) {
        if in_system >= self.bins.len() {
            grow(&mut self.bins, in_system);
        }
        let bin = &mut self.bins[in_system];
        bin.ps += at.saturating_since(self.since).as_ps();
        bin.arrivals += arrivals;
        self.since = self.since.max(at);
    }
    /// Counts the departure of a packet of `size` bytes at `at`; `in_system` includes it.
    pub(crate) fn departure(&mut self, at: Instant, in_system: usize, size: u32) {
        self.advance(at, in_system);
        self.sent(size);
    }
    /// Counts an arrival at `at` that finds `in_system` packets.
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
    /// Updates the maximum; the queue will have `queue_bytes`.
    pub(crate) fn update_max_bytes(&mut self, queue_bytes: u64) {
        self.max_bytes = self.max_bytes.max(queue_bytes);
    }
    /// Returns the statistics of a queue without its name and line; lengths include the packet on
    /// the line if `with_in_service`.
    pub(crate) fn report(&self, with_in_service: bool) -> Queue {
        if !self.counting() {
            return Queue::default();
        }
        let totals = (self.packets, self.bytes, self.max_bytes);
        report(self.bins.iter().copied(), totals, self.rejections, with_in_service)
    }
    /// Returns the counters of a class, whose lengths are as the port counts them.
    pub(crate) fn report_class(&self) -> ClassQueue {
        let Queue { served, max_bytes, levels, .. } = self.report(true);
        ClassQueue { served, max_bytes, levels }
    }
}
