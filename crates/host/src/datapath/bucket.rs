//! Burst control: a token bucket in front of the NIC (DX §III, §V), also a pacer (HULL §3.2).
//!
//! Contract: packets leave in order, and any span `t` carries at most `burst + rate * t` bytes,
//! including framing. A packet larger than the burst needs a full bucket and makes it negative, so
//! the rate still holds. With a polling interval packets leave only at its multiples, as with a
//! polling driver.
//!
//! One queue per host. DX has one per flow, so that flows do not wait for each other's bursts. With
//! the bucket at line rate they would wait in the NIC instead.

use std::collections::VecDeque;

use lowtide_net::Packet;
use lowtide_tcp::TransmitId;
use lowtide_units::{Bytes, Duration, Instant, Rate};

/// A token bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BucketSpec {
    /// The token rate, framing included.
    pub rate: Rate,
    /// Maximum tokens, in bytes with framing.
    pub burst: Bytes,
    /// Packets leave only at multiples of this; zero for any time.
    pub poll: Duration,
}

/// The bucket, implemented by virtual scheduling: exact in picoseconds (ITU-T I.371, GCRA).
#[derive(Clone, Debug)]
pub(crate) struct TokenBucket {
    rate: Rate,
    poll: Duration,
    /// The time to fill an empty bucket.
    fills_in: Duration,
    /// The time when the bucket will be full.
    full_at: Instant,
}

impl TokenBucket {
    pub(crate) fn new(spec: &BucketSpec) -> Self {
        let fills_in = spec.rate.serialization(spec.burst);
        Self { rate: spec.rate, poll: spec.poll, fills_in, full_at: Instant::ZERO }
    }

    /// Returns the earliest time from `now` on with tokens for `bytes`.
    pub(crate) fn ready(&self, now: Instant, bytes: u64) -> Instant {
        let cost = self.rate.serialization(Bytes::new(bytes));
        let slack = self.fills_in.saturating_sub(cost);
        let at = now.max(Instant::ZERO + self.full_at.since_start().saturating_sub(slack));
        Instant::ZERO + at.since_start().round_up_to(self.poll)
    }

    /// Takes the tokens for `bytes` that leave at `at`.
    pub(crate) fn take(&mut self, at: Instant, bytes: u64) {
        self.full_at = self.full_at.max(at) + self.rate.serialization(Bytes::new(bytes));
    }
}

/// A packet waiting for tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DelayedPacket {
    pub(crate) packet: Packet,
    /// The time when TCP created it.
    pub(crate) made: Instant,
    /// The transmission whose last packet this is.
    pub(crate) completes: Option<TransmitId>,
}

/// The queue of a host in front of its bucket.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    bucket: TokenBucket,
    /// Bytes of framing per packet.
    framing: u64,
    queue: VecDeque<DelayedPacket>,
}

impl Pacer {
    pub(crate) fn new(spec: &BucketSpec, framing: u64) -> Self {
        Self { bucket: TokenBucket::new(spec), framing, queue: VecDeque::new() }
    }

    /// Adds a packet. Returns the time of the next event, if the queue was empty.
    pub(crate) fn push(&mut self, now: Instant, waiting: DelayedPacket) -> Option<Instant> {
        self.queue.push_back(waiting);
        if self.queue.len() == 1 { self.next(now) } else { None }
    }

    /// Returns the departure time of the first packet.
    pub(crate) fn next(&self, now: Instant) -> Option<Instant> {
        let first = self.queue.front()?;
        Some(self.bucket.ready(now, self.bytes(first)))
    }

    /// Removes the first packet if it may leave at `now`.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<DelayedPacket> {
        if self.next(now)? > now {
            return None;
        }
        let first = self.queue.pop_front()?;
        self.bucket.take(now, self.bytes(&first));
        Some(first)
    }

    fn bytes(&self, waiting: &DelayedPacket) -> u64 {
        u64::from(waiting.packet.size) + self.framing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At 8 Gbit/s a byte takes 1 ns.
    fn bucket(burst: u64, poll_ns: u64) -> TokenBucket {
        let poll = Duration::from_ns(poll_ns);
        TokenBucket::new(&BucketSpec { rate: Rate::from_gbps(8), burst: Bytes::new(burst), poll })
    }

    fn at(ns: u64) -> Instant {
        Instant::ZERO + Duration::from_ns(ns)
    }

    /// Returns the departure times, in ns, of packets of these sizes that all arrive at `now`.
    fn leave(bucket: &mut TokenBucket, now: u64, sizes: &[u64]) -> Vec<u64> {
        let mut clock = at(now);
        let leave = sizes.iter().map(|&size| {
            clock = bucket.ready(clock, size);
            bucket.take(clock, size);
            clock.since_start().as_ns()
        });
        leave.collect()
    }

    #[test]
    fn a_bucket_of_one_packet_spaces_a_burst_by_the_time_of_a_packet() {
        let mut bucket = bucket(1_500, 0);
        assert_eq!(leave(&mut bucket, 100, &[1_500; 4]), [100, 1_600, 3_100, 4_600]);
        // A small packet waits only for its own bytes: the bucket was empty at 4600.
        assert_eq!(leave(&mut bucket, 4_650, &[100, 100]), [4_700, 4_800]);
    }

    #[test]
    fn a_full_bucket_lets_a_burst_pass_and_then_its_rate() {
        let mut bucket = bucket(4_500, 0);
        let times = leave(&mut bucket, 10_000, &[1_500; 6]);
        assert_eq!(times, [10_000, 10_000, 10_000, 11_500, 13_000, 14_500]);
        // Idle for 3 us: tokens for two; a longer idle time gives no more than the burst.
        assert_eq!(leave(&mut bucket, 17_500, &[1_500; 3]), [17_500, 17_500, 19_000]);
        assert_eq!(leave(&mut bucket, 900_000, &[1_500; 4]), [900_000, 900_000, 900_000, 901_500]);
    }

    #[test]
    fn no_span_carries_more_than_burst_and_rate() {
        let burst = 4_500;
        let mut bucket = bucket(burst, 0);
        let sizes: Vec<u64> = (0..400_u64).map(|i| 64 + (i * 7_919) % 1_437).collect();
        let mut left = Vec::new();
        let mut clock = at(0);
        for (i, &size) in sizes.iter().enumerate() {
            // Occasional pauses let the bucket fill.
            let now = clock.max(at(if i % 50 == 0 { i as u64 * 2_000 } else { 0 }));
            clock = bucket.ready(now, size);
            bucket.take(clock, size);
            left.push((clock.since_start().as_ns(), size));
        }
        for first in 0..left.len() {
            let mut bytes = 0;
            for &(time, size) in &left[first..] {
                bytes += size;
                let span = time - left[first].0;
                assert!(bytes <= burst + span, "{bytes} B within {span} ns");
            }
        }
    }

    #[test]
    fn packets_larger_than_the_burst_keep_the_rate() {
        let mut bucket = bucket(1_000, 0);
        assert_eq!(leave(&mut bucket, 0, &[1_500; 3]), [0, 1_500, 3_000]);
    }

    #[test]
    fn a_polling_driver_sends_what_is_due_at_each_poll() {
        // A poll interval of 12.3 us holds ten packets of 1.23 us; here 4 us and 1 us.
        let mut bucket = bucket(10_000, 4_000);
        let times = leave(&mut bucket, 1_000_001, &[1_000; 16]);
        assert_eq!(times[..10], [1_004_000; 10], "a full bucket at the next poll");
        assert_eq!(times[10..14], [1_008_000; 4], "then the tokens since then");
        assert_eq!(times[14..], [1_012_000; 2]);
    }
}
