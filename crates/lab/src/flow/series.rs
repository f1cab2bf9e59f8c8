//! Series of values of a long flow in bounded memory.
//!
//! Contract: up to [`MAX_RAW`] points nothing is lost. Beyond, a curve is reduced to at least
//! 2^15 columns of equal width ([`BoundedSeries`]).

use lowtide_charts::{BoundedSeries, TimeValue};

/// Most points of a series that are kept as they are; beyond, half as many columns are.
pub(super) const MAX_RAW: usize = 1 << 17;

/// A time in picoseconds, and a value.
pub(super) type Point = TimeValue;

/// Returns an empty series of a curve.
pub(super) fn series() -> BoundedSeries {
    BoundedSeries::new(MAX_RAW / 2)
}

/// A series whose value at the left edge of a window is that of the last point before it.
#[derive(Clone, Debug)]
pub(super) struct Staircase {
    from: u64,
    to: u64,
    /// The last value before the window.
    before: Option<f64>,
    inside: BoundedSeries,
}

impl Staircase {
    pub(super) fn new(from: u64, to: u64) -> Self {
        Self { from, to, before: None, inside: series() }
    }

    pub(super) fn push(&mut self, (time, value): Point) {
        if time < self.from {
            self.before = Some(value);
        } else if time <= self.to {
            self.inside.push(time, value);
        }
    }

    /// Returns the points; the first is at the left edge if one was before it.
    pub(super) fn points(&self) -> Vec<Point> {
        let before = self.before.map(|y| (self.from, y));
        before.into_iter().chain(self.inside.points()).collect()
    }
}

/// Bytes that arrived over time. Beyond [`MAX_RAW`] arrivals they are counted by short intervals.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals {
    /// Times, or starts of intervals, and bytes.
    bytes: Vec<(u64, u64)>,
    /// Length of the intervals; zero as long as each arrival is kept.
    interval: u64,
    count: u64,
}

impl Arrivals {
    pub(super) fn push(&mut self, time: u64, bytes: u64) {
        self.count += 1;
        match self.bytes.last_mut() {
            Some(last) if self.interval > 0 && last.0 / self.interval == time / self.interval => {
                last.1 += bytes;
            }
            _ => self.bytes.push((time, bytes)),
        }
        if self.bytes.len() >= MAX_RAW {
            self.merge();
        }
    }

    fn merge(&mut self) {
        let [(first, _), .., (last, _)] = self.bytes[..] else { return };
        self.interval = (2 * self.interval).max((last - first) / (MAX_RAW as u64 / 4)).max(1);
        let interval = self.interval;
        self.bytes.dedup_by(|next, kept| {
            let same = next.0 / interval == kept.0 / interval;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
    }

    /// Number of arrivals.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn bytes(&self) -> &[(u64, u64)] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_staircase_begins_with_the_last_value_before_its_window() {
        let mut stairs = Staircase::new(10, 20);
        for (time, value) in [(1, 5.0), (2, 1.0), (3, 9.0), (4, 2.0), (12, 3.0), (21, 4.0)] {
            stairs.push((time, value));
        }
        assert_eq!(stairs.points(), [(10, 2.0), (12, 3.0)]);
    }

    #[test]
    fn arrivals_beyond_the_limit_are_counted_by_intervals() {
        let mut all = Arrivals::default();
        for i in 0..1_000_000 {
            all.push(i * 1200, 1460);
        }
        assert_eq!(all.count(), 1_000_000);
        assert!(all.bytes().len() < MAX_RAW);
        assert_eq!(all.bytes().iter().map(|(_, b)| b).sum::<u64>(), 1_460_000_000);
        assert!(all.bytes().windows(2).all(|w| w[0].0 < w[1].0));
    }
}
