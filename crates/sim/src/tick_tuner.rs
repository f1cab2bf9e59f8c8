//! The tick length of the wheel.
//!
//! Ticks with one event cost least. With prefetching ([`crate::World::prefetch`]) a tick should
//! hold several events, but not many, since they are sorted.

/// Events between two adjustments.
const EVERY: u64 = 1 << 15;
/// Ticks are between 4 ps and 4 us.
const SHORTEST: u32 = 2;
const LONGEST: u32 = 22;

/// Target range: events per hundred non-empty ticks.
#[derive(Clone, Copy, Debug)]
struct EventsPerTick {
    few: u64,
    many: u64,
}

const UNBATCHED: EventsPerTick = EventsPerTick { few: 106, many: 116 };
const BATCHED: EventsPerTick = EventsPerTick { few: 600, many: 1_600 };

/// Event counts since the last adjustment.
#[derive(Clone, Debug)]
pub(crate) struct TickTuner {
    target: EventsPerTick,
    /// Events that were not the last of their tick.
    pub(crate) shared: u64,
    /// Total events at the last adjustment.
    seen: u64,
}

impl Default for TickTuner {
    fn default() -> Self {
        Self { target: UNBATCHED, shared: 0, seen: 0 }
    }
}

impl TickTuner {
    /// Makes ticks hold several events from now on.
    pub(crate) fn batch_ticks(&mut self) {
        self.target = BATCHED;
    }

    /// Returns the new tick length, as log2 of ps, if it should differ from `bits`.
    pub(crate) fn tune(&mut self, bits: u32, events: u64) -> Option<u32> {
        let passed = events - self.seen;
        if passed < EVERY {
            return None;
        }
        let EventsPerTick { few, many } = self.target;
        let ticks = passed.saturating_sub(self.shared).max(1);
        let mean = 100 * passed / ticks;
        (self.seen, self.shared) = (events, 0);
        let better = if mean > many {
            bits.saturating_sub((mean / few).max(2).ilog2()).max(SHORTEST)
        } else if mean < few {
            (bits + 1).min(LONGEST)
        } else {
            bits
        };
        Some(better).filter(|better| *better != bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuned(wanted: EventsPerTick, bits: u32, ticks: u64) -> Option<u32> {
        TickTuner { target: wanted, shared: EVERY - ticks, seen: 0 }.tune(bits, EVERY)
    }

    #[test]
    fn ticks_adapt_to_events_per_tick() {
        assert_eq!(tuned(BATCHED, 11, EVERY), Some(12));
        assert_eq!(tuned(BATCHED, 11, EVERY / 8), None);
        assert_eq!(tuned(BATCHED, 11, EVERY / 16), None);
        assert_eq!(tuned(BATCHED, 11, EVERY / 32), Some(9));
        assert_eq!(tuned(BATCHED, LONGEST, EVERY), None);
        assert_eq!(tuned(BATCHED, SHORTEST, 1), None);
        assert_eq!(tuned(UNBATCHED, 11, EVERY), Some(12));
        assert_eq!(tuned(UNBATCHED, 11, EVERY * 9 / 10), None);
        assert_eq!(tuned(UNBATCHED, 11, EVERY / 2), Some(10));
        assert_eq!(tuned(UNBATCHED, 11, EVERY / 4), Some(10));
        assert_eq!(tuned(UNBATCHED, 11, EVERY / 1_024), Some(2));
    }

    #[test]
    fn it_tunes_once_per_period() {
        let mut tuner = TickTuner { shared: EVERY - 1, ..TickTuner::default() };
        assert_eq!(tuner.tune(11, EVERY - 1), None);
        assert_eq!(tuner.shared, EVERY - 1);
        assert!(tuner.tune(11, EVERY).is_some());
        assert_eq!((tuner.shared, tuner.seen), (0, EVERY));
    }
}
