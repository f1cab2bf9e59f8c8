//! How long a tick of the wheel should be.
//!
//! Many events in one tick must be sorted; too short ticks leave the wheel with so little time that many
//! events take the way through the radix heap. Between the two nothing changes.

/// Events between two looks.
const EVERY: u64 = 1 << 15;
/// Ticks are of at least 4 ps and at most 4 us.
const SHORTEST: u32 = 2;
const LONGEST: u32 = 22;

/// What happened since the last look.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rhythm {
    /// Ticks that had an event.
    pub(crate) ticks: u64,
    /// Events that came into the wheel from beyond it.
    pub(crate) moved: u64,
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
        let (ticks, moved) = (self.ticks.max(1), self.moved);
        *self = Self { seen: events, ..Self::default() };
        if passed > 4 * ticks {
            let shorter = (passed / ticks).ilog2() - 1;
            Some(bits.saturating_sub(shorter).max(SHORTEST)).filter(|new| *new != bits)
        } else if 2 * moved > passed && passed < 2 * ticks {
            Some(bits + 1).filter(|new| *new <= LONGEST)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(bits: u32, ticks: u64, moved: u64) -> Option<u32> {
        Rhythm { ticks, moved, seen: 0 }.judge(bits, EVERY)
    }

    #[test]
    fn crowded_ticks_become_shorter_and_what_comes_from_beyond_makes_them_longer() {
        assert_eq!(judged(11, EVERY, 0), None);
        assert_eq!(judged(11, EVERY / 4, EVERY), None);
        assert_eq!(judged(11, EVERY / 8, 0), Some(9));
        assert_eq!(judged(11, EVERY / 128, 0), Some(5));
        assert_eq!(judged(11, EVERY, EVERY / 2 + 1), Some(12));
        assert_eq!(judged(LONGEST, EVERY, EVERY), None);
        assert_eq!(judged(SHORTEST, 1, 0), None);
    }

    #[test]
    fn it_looks_now_and_then() {
        let mut rhythm = Rhythm { ticks: 1, moved: 0, seen: 0 };
        assert_eq!(rhythm.judge(11, EVERY - 1), None);
        assert_eq!(rhythm.ticks, 1);
        assert!(rhythm.judge(11, EVERY).is_some());
        assert_eq!((rhythm.ticks, rhythm.seen), (0, EVERY));
    }
}
