//! Series over time in bounded memory.

/// Columns of a series that is drawn. At least half of them are used, more than a page shows.
pub(super) const DRAWN_COLUMNS: usize = 8192;
/// Columns of a series that is only listed in JSON.
pub(super) const LISTED_COLUMNS: usize = 256;

/// Sums over equal time intervals, whose width doubles when they become too many.
#[derive(Clone, Debug)]
pub(super) struct Bins {
    width: u64,
    first: Option<u64>,
    sums: Vec<u64>,
}

const MAX_BINS: usize = 256;

impl Default for Bins {
    fn default() -> Self {
        // Initial width: 1 us.
        Self { width: 1_000, first: None, sums: Vec::new() }
    }
}

impl Bins {
    pub(super) fn add(&mut self, time: u64, amount: u64) {
        let first = *self.first.get_or_insert(time);
        let since = time.saturating_sub(first);
        while since / self.width >= MAX_BINS as u64 {
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
        let mut bins = Bins::default();
        for i in 0..100_000_u64 {
            bins.add(5_000 + i * 10_000, 3);
        }
        assert!(bins.sums().count() <= MAX_BINS);
        assert_eq!(bins.sums().map(|(_, sum)| sum).sum::<u64>(), 300_000);
    }
}
