//! How long a tick of the wheel should be.
//!
//! Ticks that have one event cost least. Where the events of a tick are foreseen together
//! ([`crate::World::prefetch`]) there should be some, but not many, since they are sorted.

/// Events between two looks.
const EVERY: u64 = 1 << 15;
/// Ticks are of at least 4 ps and at most 4 us.
const SHORTEST: u32 = 2;
const LONGEST: u32 = 22;

/// Between these nothing changes: events of a hundred ticks, in the mean of those that have any.
#[derive(Clone, Copy, Debug)]
struct EventsPerTick {
    few: u64,
    many: u64,
}

const UNBATCHED: EventsPerTick = EventsPerTick { few: 110, many: 160 };
const BATCHED: EventsPerTick = EventsPerTick { few: 600, many: 1_600 };

/// What happened since the last look.
#[derive(Clone, Debug)]
pub(crate) struct TickTuner {
    target: EventsPerTick,
    /// Ticks that had an event.
    pub(crate) ticks: u64,
    /// Events there had been by then.
    seen: u64,
}

impl Default for TickTuner {
    fn default() -> Self {
        Self { target: UNBATCHED, ticks: 0, seen: 0 }
    }
}

impl TickTuner {
    /// From now on ticks are to have some events.
    pub(crate) fn batch_ticks(&mut self) {
        self.target = BATCHED;
    }

    /// With ticks of two to the `bits` picoseconds: by what they should be replaced, if by anything.
    pub(crate) fn tune(&mut self, bits: u32, events: u64) -> Option<u32> {
        let passed = events - self.seen;
        if passed < EVERY {
            return None;
        }
        let EventsPerTick { few, many } = self.target;
        let mean = 100 * passed / self.ticks.max(1);
        (self.seen, self.ticks) = (events, 0);
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

    fn judged(wanted: EventsPerTick, bits: u32, ticks: u64) -> Option<u32> {
        TickTuner { target: wanted, ticks, seen: 0 }.tune(bits, EVERY)
    }

    #[test]
    fn ticks_adapt_to_events_per_tick() {
        assert_eq!(judged(BATCHED, 11, EVERY), Some(12));
        assert_eq!(judged(BATCHED, 11, EVERY / 8), None);
        assert_eq!(judged(BATCHED, 11, EVERY / 16), None);
        assert_eq!(judged(BATCHED, 11, EVERY / 32), Some(9));
        assert_eq!(judged(BATCHED, LONGEST, EVERY), None);
        assert_eq!(judged(BATCHED, SHORTEST, 1), None);
        assert_eq!(judged(UNBATCHED, 11, EVERY), Some(12));
        assert_eq!(judged(UNBATCHED, 11, EVERY * 3 / 4), None);
        assert_eq!(judged(UNBATCHED, 11, EVERY / 2), Some(10));
        assert_eq!(judged(UNBATCHED, 11, EVERY / 4), Some(10));
        assert_eq!(judged(UNBATCHED, 11, EVERY / 1_024), Some(2));
    }

    #[test]
    fn it_tunes_once_per_period() {
        let mut rhythm = TickTuner { ticks: 1, ..TickTuner::default() };
        assert_eq!(rhythm.tune(11, EVERY - 1), None);
        assert_eq!(rhythm.ticks, 1);
        assert!(rhythm.tune(11, EVERY).is_some());
        assert_eq!((rhythm.ticks, rhythm.seen), (0, EVERY));
    }
}
