//! The histogram of a queue by length, and its order statistics, exact and in integers.

use lowtide_units::Quantile;
use serde::{Deserialize, Serialize};

use crate::table::group;

group! {
    /// Time and arrivals at one queue length.
    #[derive(Copy, Eq, Default, Serialize, Deserialize)]
    Level:
    packets: u32, "packets", "A length that occurred.";
    time_ps: u64, "ps", "Time that the queue had this length.";
    arrivals: u64, "packets", "Arriving packets that found it at this length.";
}

/// Weights of the levels of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LevelWeight {
    /// Time at the level: the view of an outside observer.
    Time,
    /// Packets that found the level on arrival: the view of packets.
    Arrivals,
}

impl LevelWeight {
    const fn of(self, level: &Level) -> u64 {
        match self {
            Self::Time => level.time_ps,
            Self::Arrivals => level.arrivals,
        }
    }

    /// The sum of the weights.
    pub fn total(self, levels: &[Level]) -> u64 {
        levels.iter().fold(0, |sum, l| sum.saturating_add(self.of(l)))
    }

    /// The mean level in packets; `None` if all weights are zero.
    pub fn mean(self, levels: &[Level]) -> Option<f64> {
        let total = self.total(levels);
        let sum: u128 = levels.iter().map(|l| u128::from(self.of(l)) * u128::from(l.packets)).sum();
        (total > 0).then(|| sum as f64 / total as f64)
    }

    /// The level at `q`, in packets. `levels` ascend. Time is continuous and defines every
    /// quantile; arrivals follow [`Quantile::is_defined_for`].
    pub fn quantile(self, levels: &[Level], q: Quantile) -> Option<u32> {
        let total = self.total(levels);
        if total == 0 || (self == Self::Arrivals && !q.is_defined_for(total)) {
            return None;
        }
        let rank = q.rank(total);
        let mut below = 0_u64;
        levels.iter().find_map(|l| {
            below = below.saturating_add(self.of(l));
            (below >= rank).then_some(l.packets)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels() -> Vec<Level> {
        [(0, 10, 5), (4, 80, 90), (20, 10, 5)]
            .map(|(packets, us, arrivals)| Level { packets, time_ps: us * 1_000_000, arrivals })
            .to_vec()
    }

    #[test]
    fn levels_are_weighted_by_time_or_by_arrivals() {
        assert_eq!(LevelWeight::Time.mean(&levels()), Some(5.2));
        assert_eq!(LevelWeight::Arrivals.mean(&levels()), Some(4.6));
        assert_eq!(LevelWeight::Time.quantile(&levels(), Quantile::P50), Some(4));
        assert_eq!(LevelWeight::Time.quantile(&levels(), Quantile::P1), Some(0));
        assert_eq!(LevelWeight::Time.quantile(&levels(), Quantile::P999), Some(20));
        assert_eq!(LevelWeight::Arrivals.quantile(&levels(), Quantile::P99), Some(20));
        assert_eq!(LevelWeight::Arrivals.quantile(&levels(), Quantile::P999), None, "100 arrivals");
    }

    #[test]
    fn an_unused_queue_has_no_statistics() {
        assert_eq!(LevelWeight::Time.mean(&[]), None);
        assert_eq!(LevelWeight::Arrivals.quantile(&[], Quantile::P50), None);
    }
}
