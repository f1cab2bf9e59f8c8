//! How long a tick of the wheel should be.
//!
//! The events of one tick are sorted, so there should not be many; they are foreseen together
//! ([`crate::World::foresee`]), so there should be some. Between six and sixteen nothing changes.

/// Events between two looks.
const EVERY: u64 = 1 << 15;
/// Ticks are of at least 4 ps and at most 4 us.
const SHORTEST: u32 = 2;
const LONGEST: u32 = 22;
/// Events of a tick, in the mean.
const FEW: u64 = 6;
const MANY: u64 = 16;

/// What happened since the last look.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rhythm {
    /// Ticks that had an event.
    pub(crate) ticks: u64,
    /// Events there had been by then.
    seen: u64,
}

impl Rhythm {
    /// With ticks of two to the `bits` picoseconds: by what they should be replaced, if by anything.
    pub(crate) fn judge(&mut self, bits: u32, events: u64) -> Option<u32> {
        let passed = events - self.seen;
        if passed < EVERY {
            return None;
        }
        let ticks = self.ticks.max(1);
        *self = Self { seen: events, ticks: 0 };
        let better = if passed > MANY * ticks {
            bits.saturating_sub((passed / ticks).ilog2() - FEW.ilog2()).max(SHORTEST)
        } else if passed < FEW * ticks {
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

    fn judged(bits: u32, ticks: u64) -> Option<u32> {
        Rhythm { ticks, seen: 0 }.judge(bits, EVERY)
    }

    #[test]
    fn crowded_ticks_become_shorter_and_lonely_ones_longer() {
        assert_eq!(judged(11, EVERY), Some(12));
        assert_eq!(judged(11, EVERY / 8), None);
        assert_eq!(judged(11, EVERY / 16), None);
        assert_eq!(judged(11, EVERY / 32), Some(8));
        assert_eq!(judged(11, EVERY / 1_024), Some(3));
        assert_eq!(judged(LONGEST, EVERY), None);
        assert_eq!(judged(SHORTEST, 1), None);
    }

    #[test]
    fn it_looks_now_and_then() {
        let mut rhythm = Rhythm { ticks: 1, seen: 0 };
        assert_eq!(rhythm.judge(11, EVERY - 1), None);
        assert_eq!(rhythm.ticks, 1);
        assert!(rhythm.judge(11, EVERY).is_some());
        assert_eq!((rhythm.ticks, rhythm.seen), (0, EVERY));
    }
}
