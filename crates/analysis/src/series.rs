//! Series over time in bounded memory.

/// Columns of a series that is drawn. At least half of them are used, more than a page shows.
pub(super) const DRAWN_COLUMNS: usize = 8192;
/// Columns of a series that is only listed in JSON.
pub(super) const LISTED_COLUMNS: usize = 256;

/// Sums over equal time intervals, whose width doubles when they become too many.
#[derive(Clone, Debug)]
pub(super) struct Bins {
    width: u64,
    most: u64,
    first: Option<u64>,
    sums: Vec<u64>,
}

/// Intervals of a series.
pub(super) const MAX_BINS: u64 = 256;

impl Bins {
    /// Creates sums over at most `most` intervals.
    pub(super) fn new(most: u64) -> Self {
        // Initial width: 1 us.
        Self { width: 1_000, most, first: None, sums: Vec::new() }
    }

    pub(super) fn add(&mut self, time: u64, amount: u64) {
        let first = *self.first.get_or_insert(time);
        let since = time.saturating_sub(first);
        while since / self.width >= self.most {
            self.sums = self.sums.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.width = self.width.saturating_mul(2);
        }
        let at = (since / self.width) as usize;
        if self.sums.len() <= at {
            self.sums.resize(at + 1, 0);
        }
        self.sums[at] += amount;
    }

    /// Returns the width of an interval, nanoseconds.
    pub(super) fn width(&self) -> u64 {
        self.width
    }

    /// Returns the start of each interval in nanoseconds, and its sum.
    pub(super) fn sums(&self) -> impl Iterator<Item = (u64, u64)> {
        let first = self.first.unwrap_or(0);
        self.sums.iter().enumerate().map(move |(i, sum)| (first + i as u64 * self.width, *sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_a_long_time_fit() {
        let mut bins = Bins::new(MAX_BINS);
        for i in 0..100_000_u64 {
            bins.add(5_000 + i * 10_000, 3);
        }
        assert!(bins.sums().count() as u64 <= MAX_BINS);
        assert_eq!(bins.sums().map(|(_, sum)| sum).sum::<u64>(), 300_000);
    }
}
