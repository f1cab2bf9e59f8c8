//! The stages between TCP and the line: stack delay and burst control on the way out; interrupt
//! moderation, stack delay and receive aggregation on the way in.
//!
//! Contract: everything is off by default, and a stage that is off costs a branch. Segmentation
//! offload is TCP's switch `tso-segments`: the segments of one burst reach the NIC at the same
//! instant and queue in its port. An outgoing packet passes the stack, burst control, then the
//! NIC's queue (the host's port in [`lowtide_net`]). An incoming packet passes interrupt
//! moderation, is stamped, passes the stack, and may be aggregated.

use lowtide_net::Delivery;
use lowtide_units::{Bytes, Duration, Instant};

use super::bucket::BucketSpec;
use super::stack::{StackDelay, StackJitter, StackSpec};

/// Receive aggregation, like LRO and GRO.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AggregationSpec {
    /// Maximum time that a segment waits for its continuation.
    pub interval: Duration,
    /// Maximum payload bytes of an aggregate.
    pub max_bytes: Bytes,
}

/// The stages of one host. All are off by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NicSpec {
    /// Delay of the stack in both directions.
    pub stack: StackSpec,
    /// Burst control.
    pub bucket: Option<BucketSpec>,
    /// Minimum time between two interrupts; arrivals in between wait for the next. Zero for none.
    pub moderation: Duration,
    /// Receive aggregation.
    pub aggregation: Option<AggregationSpec>,
    /// TSQ limit: a connection with this much data in the NIC's queue is not asked for more; above
    /// zero. No effect if `bucket` or the outgoing stack delay hold packets in front of that queue.
    pub tsq_limit: Option<Bytes>,
}

impl NicSpec {
    /// No offload, no moderation, no delay.
    pub const IDEAL: Self = Self {
        stack: StackSpec { send: NO_DELAY, receive: NO_DELAY },
        bucket: None,
        moderation: Duration::ZERO,
        aggregation: None,
        tsq_limit: None,
    };
}

const NO_DELAY: StackDelay = StackDelay { constant: Duration::ZERO, jitter: StackJitter::None };

impl Default for NicSpec {
    fn default() -> Self {
        Self::IDEAL
    }
}

/// Interrupt moderation: packets that arrive between interrupts wait for the next one.
#[derive(Clone, Debug)]
pub(crate) struct InterruptCoalescer {
    interval: Duration,
    /// Earliest time of the next interrupt.
    free_at: Instant,
    waiting: Vec<Delivery>,
}

impl InterruptCoalescer {
    pub(crate) fn new(interval: Duration) -> Self {
        Self { interval, free_at: Instant::ZERO, waiting: Vec::new() }
    }

    /// Adds a packet. Returns the time of its interrupt, if it is the first.
    pub(crate) fn push(&mut self, now: Instant, delivery: Delivery) -> Option<Instant> {
        self.waiting.push(delivery);
        (self.waiting.len() == 1).then(|| now.max(self.free_at))
    }

    /// Takes the interrupt: returns the waiting packets, in order.
    pub(crate) fn batch(&mut self, now: Instant) -> &mut Vec<Delivery> {
        self.free_at = now + self.interval;
        &mut self.waiting
    }

    /// Reuses the memory of a processed batch.
    pub(crate) fn reuse(&mut self, empty: Vec<Delivery>) {
        self.waiting = empty;
    }
}
