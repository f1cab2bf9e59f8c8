//! The delay of packets in the host's stack: between TCP and burst control on the way out, and
//! between the NIC's interrupt and receive aggregation on the way in.
//!
//! Contract: each direction has a constant delay plus a jitter, drawn from a generator per host and
//! direction. Order is kept, so a packet with a smaller draw waits for the one before it. The
//! segments of one burst (segmentation offload) pass as one. Kernel stamps are taken before the
//! outgoing delay and after the incoming one; driver stamps on the other side
//! ([`crate::clock::TimestampPoint`]).
//!
//! [`crate::Disturbance::host_jitter`] is separate and varies with the seed in every run: a
//! fraction of a packet time that breaks the lockstep of identical hosts. This module models the
//! delay of a real stack.

use std::collections::VecDeque;

use lowtide_sim::{Rng, Seed};
use lowtide_units::{Duration, Instant};

/// The jitter in addition to a constant delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StackJitter {
    /// No jitter.
    #[default]
    None,
    /// Uniform up to this.
    Uniform(Duration),
    /// Exponential with this mean, which is also its standard deviation.
    Exponential(Duration),
}

/// The delay of a stack in one direction. The default is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StackDelay {
    /// Minimum.
    pub constant: Duration,
    /// Additional jitter.
    pub jitter: StackJitter,
}

/// The delays of a host's stack. The default is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StackSpec {
    /// From TCP to burst control and the NIC's queue.
    pub send: StackDelay,
    /// From the NIC's interrupt to TCP.
    pub receive: StackDelay,
}

impl StackDelay {
    /// Returns true if there is no delay.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// One direction through a stack.
#[derive(Clone, Debug)]
pub(crate) struct DelayLine<T> {
    delay: StackDelay,
    rng: Rng,
    /// Exit time of the last packet.
    last: Instant,
    queue: VecDeque<(Instant, T)>,
}

impl<T> DelayLine<T> {
    /// Returns the delay line of host `host` for that purpose; `None` without a delay.
    pub(crate) fn new(
        delay: StackDelay,
        run_seed: u64,
        host: u64,
        purpose: &str,
    ) -> Option<Box<Self>> {
        let rng = Seed::derive(run_seed, "host", host, purpose).rng();
        let line = || Self { delay, rng, last: Instant::ZERO, queue: VecDeque::new() };
        (!delay.is_none()).then(|| Box::new(line()))
    }

    /// Returns the exit time of a packet that enters at `now`.
    pub(crate) fn exit_time(&mut self, now: Instant) -> Instant {
        let jitter = match self.delay.jitter {
            StackJitter::None => Duration::ZERO,
            StackJitter::Uniform(most) => self.rng.duration_below(most),
            StackJitter::Exponential(mean) => self.rng.exponential(mean),
        };
        self.last = self.last.max(now + self.delay.constant + jitter);
        self.last
    }

    /// Adds an item with the last exit time from [`Self::exit_time`]. Returns the time of the next
    /// event, if the line was empty.
    pub(crate) fn push(&mut self, item: T) -> Option<Instant> {
        self.queue.push_back((self.last, item));
        (self.queue.len() == 1).then_some(self.last)
    }

    /// Removes the first item if its exit time has come.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<T> {
        if self.queue.front()?.0 > now {
            return None;
        }
        self.queue.pop_front().map(|(_, item)| item)
    }

    /// Returns the exit time of the first item.
    pub(crate) fn next_exit(&self) -> Option<Instant> {
        self.queue.front().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delay_line(constant: u64, jitter: StackJitter) -> DelayLine<u32> {
        let delay = StackDelay { constant: Duration::from_us(constant), jitter };
        *DelayLine::new(delay, 1, 0, "test").expect("a delay")
    }

    fn us(n: u64) -> Instant {
        Instant::ZERO + Duration::from_us(n)
    }

    #[test]
    fn without_a_delay_there_is_no_delay_line() {
        assert!(DelayLine::<u32>::new(StackDelay::default(), 1, 0, "test").is_none());
        assert!(
            DelayLine::<u32>::new(
                StackDelay { constant: Duration::from_ps(1), ..StackDelay::default() },
                1,
                0,
                "test"
            )
            .is_some()
        );
    }

    #[test]
    fn bursts_stay_together_and_in_order() {
        let mut line = delay_line(10, StackJitter::None);
        assert_eq!(line.exit_time(us(1)), us(11));
        assert_eq!((line.push(1), line.push(2)), (Some(us(11)), None));
        line.exit_time(us(4));
        assert_eq!(line.push(3), None);
        assert_eq!(line.pop(us(10)), None);
        let mut at = |t| -> Vec<u32> { std::iter::from_fn(|| line.pop(us(t))).collect() };
        assert_eq!((at(11), at(13), at(14)), (vec![1, 2], vec![], vec![3]));
        assert_eq!(line.next_exit(), None);
    }

    #[test]
    fn jitter_has_its_mean_and_never_reorders() {
        for (jitter, mean, most) in [
            (StackJitter::Uniform(Duration::from_us(8)), 14.0, 18.0),
            (StackJitter::Exponential(Duration::from_us(4)), 14.0, 100.0),
        ] {
            let mut far = delay_line(10, jitter);
            let n = 4_000;
            let delays = (0..n).map(|i| {
                let at = us(1_000 * i);
                far.exit_time(at).saturating_since(at).as_secs_f64() * 1e6
            });
            let delays: Vec<f64> = delays.collect();
            assert!(delays.iter().all(|d| (10.0..most).contains(d)), "{jitter:?}");
            // Five standard errors of the larger deviation, 4 us.
            let found = delays.iter().sum::<f64>() / n as f64;
            assert!((found - mean).abs() < 5.0 * 4.0 / (n as f64).sqrt(), "{jitter:?} {found}");
            let mut near = delay_line(10, jitter);
            let out: Vec<Instant> = (0..n).map(|i| near.exit_time(Instant::from_ps(i))).collect();
            assert!(out.is_sorted() && out[0] < out[3_999], "{jitter:?}");
        }
    }
}
