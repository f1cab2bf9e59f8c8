//! How much of one connection may wait in its host's own queue.
//!
//! Contract: a connection that has the limit or more in the queue of its host (IP bytes of data, from TCP to the
//! end of the line) is not asked for data until it has less. The bytes of a burst count until its last packet has
//! left, as the buffers of Linux do, whose TCP small queues this is; its limit follows the pacing rate
//! (`tcp_small_queue_check`: a millisecond of it, at least two buffers, at most `tcp_limit_output_bytes`), the
//! limit here is a number of bytes.
//!
//! Without it a sender whose own line is the slowest fills its host's queue, where no switch marks, as far as
//! windows and buffers go.

use std::collections::VecDeque;

use lowtide_units::{Bytes, Instant};

/// What one connection has in the queue of its host.
#[derive(Clone, Debug)]
pub(crate) struct Tsq {
    limit: u64,
    /// Bytes of bursts, each with the time at which it has left.
    bursts: VecDeque<(Instant, u64)>,
    bytes: u64,
}

impl Tsq {
    pub(crate) fn boxed(limit: Bytes) -> Box<Self> {
        Box::new(Self { limit: limit.as_u64(), bursts: VecDeque::new(), bytes: 0 })
    }

    /// A burst came to the queue that will have left at `left`, not before those that came earlier. When there
    /// is room for more, if that is later than `now`.
    pub(crate) fn add(&mut self, now: Instant, left: Instant, bytes: u64) -> Option<Instant> {
        while let Some(&(at, gone)) = self.bursts.front()
            && at <= now
        {
            self.bytes -= gone;
            self.bursts.pop_front();
        }
        self.bursts.push_back((left, bytes));
        self.bytes += bytes;
        let mut waits = self.bytes;
        let mut until = None;
        for &(at, goes) in &self.bursts {
            if waits < self.limit {
                break;
            }
            waits -= goes;
            until = Some(at);
        }
        until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::ZERO + lowtide_units::Duration::from_us(us)
    }

    #[test]
    fn a_connection_waits_until_it_has_less_than_the_limit() {
        let mut queue = Tsq::boxed(Bytes::new(3_000));
        assert_eq!(queue.add(at(0), at(12), 1_500), None);
        assert_eq!(
            queue.add(at(0), at(24), 1_500),
            Some(at(12)),
            "3000 B are the limit, 1500 are less"
        );
        // More than is wanted (a retransmission after a probe): until the second has left.
        assert_eq!(queue.add(at(0), at(36), 1_500), Some(at(24)));
        assert_eq!(queue.add(at(24), at(48), 1_500), Some(at(36)));
        assert_eq!(queue.add(at(48), at(60), 1_500), None, "what has left does not count");
        assert_eq!((queue.bytes, queue.bursts.len()), (1_500, 1));
    }

    #[test]
    fn a_burst_counts_until_its_last_packet_has_left() {
        let mut queue = Tsq::boxed(Bytes::new(3_000));
        assert_eq!(queue.add(at(0), at(100), 60_000), Some(at(100)));
        assert_eq!(queue.add(at(100), at(112), 1_500), None);
    }
}
