//! Random draws for fault plans, on top of the project's generator.

use lowtide_sim::{Rng, Seed};
use lowtide_units::Duration;

#[derive(Clone, Debug)]
pub(crate) struct Draw(Rng);

impl Draw {
    pub(crate) fn new(seed: u64, id: u64, purpose: &str) -> Self {
        Self(Seed::derive(seed, "faults", id, purpose).rng())
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// In `0..n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    /// In `low..=high`.
    pub(crate) fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.below(high - low + 1)
    }

    /// True with probability `n`/1000.
    pub(crate) fn permille(&mut self, n: u32) -> bool {
        self.0.below(1000) < u64::from(n)
    }

    pub(crate) fn flip(&mut self) -> bool {
        self.permille(500)
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.0.below(from.len() as u64) as usize]
    }

    /// In `low..=high`, with every octave equally likely.
    pub(crate) fn doublings(&mut self, low: u64, high: u64) -> u64 {
        let octaves = u64::from((high / low.max(1)).max(1).ilog2()) + 1;
        let base = low << self.0.below(octaves);
        self.range(base, 2 * base - 1).min(high)
    }

    /// As [`Self::doublings`], in microseconds.
    pub(crate) fn micros(&mut self, low: u64, high: u64) -> Duration {
        Duration::from_us(self.doublings(low, high))
    }
}
