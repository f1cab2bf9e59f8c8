//! The time that packets spend in the host's stack, between TCP and burst control on the way out, and
//! between the NIC's interrupt and receive aggregation on the way in.
//!
//! Contract: each way has a constant delay and a jitter on top, drawn from a generator of this host and
//! way; order is kept, so a packet that draws less waits for the one before it. The segments of one burst
//! (segmentation offload) pass as one. Stamps taken in TCP are taken before the delay on the way out and
//! after it on the way in, those of the driver on the far side ([`crate::clock::TimestampPoint`]).
//!
//! Beside it stands [`crate::Disturbance::host_jitter`], which the seed moves in every run: a fraction of a
//! packet's time, to break the lockstep of identical hosts. This is what a real stack adds.

use std::collections::VecDeque;

use lowtide_sim::{Rng, Seed};
use lowtide_units::{Duration, Instant};

/// What comes on top of a constant delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StackJitter {
    /// Nothing.
    #[default]
    None,
    /// Up to this much, each picosecond equally likely.
    Uniform(Duration),
    /// Exponentially distributed with this mean, which is also its standard deviation.
    Exponential(Duration),
}

/// The delay of a stack in one direction. The default is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StackDelay {
    /// At least.
    pub constant: Duration,
    /// On top of it.
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
    /// Nothing is delayed.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// One way through a stack.
#[derive(Clone, Debug)]
pub(crate) struct DelayLine<T> {
    delay: StackDelay,
    rng: Rng,
    /// When the last one that came is through.
    last: Instant,
    queue: VecDeque<(Instant, T)>,
}

impl<T> DelayLine<T> {
    /// The way of host `host` for that purpose; `None` where it delays nothing.
    pub(crate) fn new(
        delay: StackDelay,
        run_seed: u64,
        host: u64,
        purpose: &str,
    ) -> Option<Box<Self>> {
        let rng = Seed::derive(run_seed, "host", host, purpose).rng();
        let way = || Self { delay, rng, last: Instant::ZERO, queue: VecDeque::new() };
        (!delay.is_none()).then(|| Box::new(way()))
    }

    /// When what comes at `now` is through.
    pub(crate) fn exit_time(&mut self, now: Instant) -> Instant {
        let jitter = match self.delay.jitter {
            StackJitter::None => Duration::ZERO,
            StackJitter::Uniform(most) => self.rng.duration_below(most),
            StackJitter::Exponential(mean) => self.rng.exponential(mean),
        };
        self.last = self.last.max(now + self.delay.constant + jitter);
        self.last
    }

    /// Adds what is through together with what [`Self::exit_time`] was asked for last; when the host is to
    /// come back, if it is the first.
    pub(crate) fn push(&mut self, item: T) -> Option<Instant> {
        self.queue.push_back((self.last, item));
        (self.queue.len() == 1).then_some(self.last)
    }

    /// Takes the first one if it is through.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<T> {
        if self.queue.front()?.0 > now {
            return None;
        }
        self.queue.pop_front().map(|(_, item)| item)
    }

    /// When the next one is through.
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
    fn what_passes_together_comes_out_together_and_in_order() {
        let mut way = delay_line(10, StackJitter::None);
        assert_eq!(way.exit_time(us(1)), us(11));
        assert_eq!((way.push(1), way.push(2)), (Some(us(11)), None));
        way.exit_time(us(4));
        assert_eq!(way.push(3), None);
        assert_eq!(way.pop(us(10)), None);
        let mut at = |t| -> Vec<u32> { std::iter::from_fn(|| way.pop(us(t))).collect() };
        assert_eq!((at(11), at(13), at(14)), (vec![1, 2], vec![], vec![3]));
        assert_eq!(way.next_exit(), None);
    }

    #[test]
    fn jitter_has_its_mean_where_packets_are_far_apart_and_never_overtakes() {
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
