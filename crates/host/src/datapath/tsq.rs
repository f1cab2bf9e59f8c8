//! TCP small queues: a limit on the data of one connection in its host's queue.
//!
//! Contract: a connection with the limit or more in its host's queue (IP bytes of data, from TCP to
//! the end of the line) is not asked for data until it has less. As with skbs in Linux, the bytes
//! of a burst count until its last packet has left. In Linux the limit follows the pacing rate
//! (`tcp_small_queue_check`: 1 ms of it, at least two buffers, at most `tcp_limit_output_bytes`);
//! here it is a number of bytes.
//!
//! Without it a sender whose own line is the bottleneck fills its host's queue, which no switch
//! marks, up to the limits of window and buffer.

use std::collections::VecDeque;

use lowtide_units::{Bytes, Instant};

/// The data of one connection in the queue of its host.
#[derive(Clone, Debug)]
pub(crate) struct Tsq {
    limit: u64,
    /// Bytes of bursts, each with its departure time.
    bursts: VecDeque<(Instant, u64)>,
    bytes: u64,
}

impl Tsq {
    pub(crate) fn boxed(limit: Bytes) -> Box<Self> {
        Box::new(Self { limit: limit.as_u64(), bursts: VecDeque::new(), bytes: 0 })
    }

    /// Adds a burst that departs at `left`, not before earlier ones. Returns the time when there is
    /// room again, if later than `now`.
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
            "3000 B reach the limit, 1500 B do not"
        );
        // More than wanted (a retransmission after a probe): until the second burst has left.
        assert_eq!(queue.add(at(0), at(36), 1_500), Some(at(24)));
        assert_eq!(queue.add(at(24), at(48), 1_500), Some(at(36)));
        assert_eq!(queue.add(at(48), at(60), 1_500), None, "departed bursts do not count");
        assert_eq!((queue.bytes, queue.bursts.len()), (1_500, 1));
    }

    #[test]
    fn a_burst_counts_until_its_last_packet_has_left() {
        let mut queue = Tsq::boxed(Bytes::new(3_000));
        assert_eq!(queue.add(at(0), at(100), 60_000), Some(at(100)));
        assert_eq!(queue.add(at(100), at(112), 1_500), None);
    }
}
