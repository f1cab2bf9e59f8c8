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

/// Time in each of `N` states over equal intervals, whose width doubles when they become too many.
#[derive(Clone, Debug)]
pub(super) struct StateBins<const N: usize> {
    width: u64,
    first: Option<u64>,
    times: Vec<[u64; N]>,
}

impl<const N: usize> StateBins<N> {
    /// Creates intervals that begin with the first time that is added.
    pub(super) fn new() -> Self {
        Self { width: 1_000, first: None, times: Vec::new() }
    }

    /// Adds the time from `from` to `to` in a state.
    pub(super) fn add(&mut self, mut from: u64, to: u64, state: usize) {
        let first = *self.first.get_or_insert(from);
        let last = to.saturating_sub(first);
        while last / self.width >= MAX_BINS {
            let sum = |pair: &[[u64; N]]| {
                std::array::from_fn(|i| pair.iter().map(|times| times[i]).sum())
            };
            self.times = self.times.chunks(2).map(sum).collect();
            self.width = self.width.saturating_mul(2);
        }
        while from < to {
            let at = from.saturating_sub(first) / self.width;
            let end = to.min(first.saturating_add((at + 1).saturating_mul(self.width)));
            let at = at as usize;
            if self.times.len() <= at {
                self.times.resize(at + 1, [0; N]);
            }
            self.times[at][state] += end - from;
            from = end;
        }
    }

    /// Returns the start of each interval with any time in it, nanoseconds, and the state with most
    /// of that time, of equal ones the first.
    pub(super) fn longest(&self) -> impl Iterator<Item = (u64, usize)> {
        let first = self.first.unwrap_or(0);
        self.times.iter().enumerate().filter_map(move |(i, times)| {
            let (state, most) = times.iter().enumerate().rev().max_by_key(|(_, ns)| **ns)?;
            (*most > 0).then_some((first + i as u64 * self.width, state))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_the_state_with_the_most_of_its_time() {
        let mut bins = StateBins::<2>::new();
        for n in 0..1_000_u64 {
            let from = 7_000 + n * 100_000;
            let long = usize::from(n >= 500);
            bins.add(from, from + 90_000, long);
            bins.add(from + 90_000, from + 100_000, 1 - long);
        }
        let longest: Vec<(u64, usize)> = bins.longest().collect();
        assert!((128..=256).contains(&longest.len()), "{}", longest.len());
        assert!(longest.iter().all(|(at, state)| *state == usize::from(*at >= 50_007_000)
            || at.abs_diff(50_007_000) < bins.width));
        assert_eq!(bins.times.iter().flatten().sum::<u64>(), 100_000_000);
    }

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
