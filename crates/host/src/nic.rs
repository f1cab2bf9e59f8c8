//! What stands between TCP and the line: the stack's delay and burst control on the way out, interrupt
//! moderation, the stack's delay and receive aggregation on the way in.
//!
//! Contract: everything is off by default, and what is off costs a branch. Segmentation offload is TCP's
//! switch `tso-segments`: the segments of one burst reach the NIC at the same instant and queue in its
//! port. On the way out a packet passes the stack, burst control, then the NIC's queue ([`lowtide_net`]'s
//! port of the host). On the way in it passes moderation, is stamped, passes the stack, and may then be
//! aggregated.

use lowtide_net::Delivery;
use lowtide_units::{Bytes, Duration, Instant};

use crate::bucket::BucketSpec;
use crate::stack::StackSpec;

/// Receive aggregation, as LRO and GRO do it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AggregationSpec {
    /// A segment waits this long for those that continue it.
    pub interval: Duration,
    /// The most payload bytes of an aggregate.
    pub max_bytes: Bytes,
}

/// What one host has. The default is nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NicSpec {
    /// Delay of the stack, both ways.
    pub stack: StackSpec,
    /// Burst control.
    pub bucket: Option<BucketSpec>,
    /// The least time between two interrupts; arrivals in between wait for the next. Zero is none.
    pub moderation: Duration,
    /// Receive aggregation.
    pub aggregation: Option<AggregationSpec>,
    /// A connection with so much in the NIC's queue holds its data back; more than zero. Does nothing where
    /// `bucket` or the delay of the stack's way out hold packets in front of that queue.
    pub tsq_limit: Option<Bytes>,
}

/// Interrupt moderation: what came since the last interrupt waits until the next.
#[derive(Clone, Debug)]
pub(crate) struct InterruptCoalescer {
    interval: Duration,
    /// When the next interrupt may be.
    free_at: Instant,
    waiting: Vec<Delivery>,
}

impl InterruptCoalescer {
    pub(crate) fn new(interval: Duration) -> Self {
        Self { interval, free_at: Instant::ZERO, waiting: Vec::new() }
    }

    /// Adds what came; when the interrupt for it is, if it is the first.
    pub(crate) fn push(&mut self, now: Instant, delivery: Delivery) -> Option<Instant> {
        self.waiting.push(delivery);
        (self.waiting.len() == 1).then(|| now.max(self.free_at))
    }

    /// The interrupt: what waits, in order.
    pub(crate) fn batch(&mut self, now: Instant) -> &mut Vec<Delivery> {
        self.free_at = now + self.interval;
        &mut self.waiting
    }

    /// Gives back the memory of a batch that was dealt with.
    pub(crate) fn reuse(&mut self, empty: Vec<Delivery>) {
        self.waiting = empty;
    }
}
