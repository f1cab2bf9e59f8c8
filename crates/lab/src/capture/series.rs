//! Values over time in bounded memory.

use crate::figure::{Dot, thinned};

/// Points that are kept; there may be as many again for a while.
const MOST: usize = 1024;

/// Single values: when there are too many, the extremes of each stretch stay.
#[derive(Clone, Debug)]
pub(super) struct Series {
    /// Nanoseconds since the capture began, and the value. Smaller than dots.
    points: Vec<(f64, f64)>,
    most: usize,
}

impl Default for Series {
    fn default() -> Self {
        Self::of(MOST)
    }
}

impl Series {
    /// At most `2 * most` points.
    pub(super) fn of(most: usize) -> Self {
        Self { points: Vec::new(), most }
    }

    pub(super) fn push(&mut self, time: u64, value: f64) {
        if self.points.len() >= 2 * self.most {
            let thin = thinned(&self.points(), self.most);
            self.points = thin.iter().map(|d| (d.x, d.y)).collect();
        }
        self.points.push((time as f64, value));
    }

    pub(super) fn points(&self) -> Vec<Dot> {
        self.points.iter().map(|(x, y)| Dot::new(*x, *y)).collect()
    }

    /// For JSON: time in nanoseconds, value.
    pub(super) fn pairs(&self, most: usize) -> Vec<(u64, f64)> {
        thinned(&self.points(), most).iter().map(|d| (d.x as u64, d.y)).collect()
    }
}

/// Sums over equal stretches of time, which double in length when they become too many.
#[derive(Clone, Debug)]
pub(super) struct Bins {
    width: u64,
    first: Option<u64>,
    sums: Vec<u64>,
}

const MOST_BINS: usize = 256;

impl Default for Bins {
    fn default() -> Self {
        // A microsecond to begin with.
        Self { width: 1_000, first: None, sums: Vec::new() }
    }
}

impl Bins {
    pub(super) fn add(&mut self, time: u64, amount: u64) {
        let first = *self.first.get_or_insert(time);
        let since = time.saturating_sub(first);
        while since / self.width >= MOST_BINS as u64 {
            self.sums = self.sums.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.width = self.width.saturating_mul(2);
        }
        let at = (since / self.width) as usize;
        if self.sums.len() <= at {
            self.sums.resize(at + 1, 0);
        }
        self.sums[at] += amount;
    }

    /// Length of a stretch in nanoseconds.
    pub(super) fn width(&self) -> u64 {
        self.width
    }

    /// When each begins, in nanoseconds, and its sum.
    pub(super) fn sums(&self) -> impl Iterator<Item = (u64, u64)> {
        let first = self.first.unwrap_or(0);
        self.sums.iter().enumerate().map(move |(i, sum)| (first + i as u64 * self.width, *sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_time_fits() {
        let mut bins = Bins::default();
        let mut series = Series::default();
        for i in 0..100_000_u64 {
            bins.add(5_000 + i * 10_000, 3);
            series.push(i, if i == 77_777 { 9.0 } else { 1.0 });
        }
        assert!(bins.sums().count() <= MOST_BINS);
        assert_eq!(bins.sums().map(|(_, sum)| sum).sum::<u64>(), 300_000);
        assert!(series.points().len() <= 2 * MOST);
        assert!(series.points().iter().any(|d| d.y > 8.0), "the extreme stays");
    }
}
