//! Series over time in bounded memory.

/// Bins of a series that is drawn. At least half of them are used, more than a figure has columns.
pub(super) const DRAWN_BINS: usize = 2048;
/// Bins of a series that is only listed in JSON.
pub(super) const LISTED_BINS: usize = 256;

/// Time in nanoseconds since the capture began, and value.
pub(super) type TimeValue = (u64, f64);

/// Values over time, which are aggregated per time bin once there are too many.
///
/// All bins have the same width, which doubles when there are too many, so the resolution is
/// uniform. A bin keeps its first, minimum, maximum and last point (M4: Jugel et al., VLDB 2014). A
/// line drawn with columns no finer than a bin is therefore the line of all points.
#[derive(Clone, Debug)]
pub(super) struct DownsampledSeries {
    /// All points, until there are more than two per bin.
    points: Vec<TimeValue>,
    bins: Vec<Bin>,
    /// Binary logarithm of the bin width in nanoseconds.
    shift: u32,
    most: usize,
    count: u64,
}

/// Extremes of the points in one bin.
#[derive(Clone, Copy, Debug)]
struct Bin {
    first: TimeValue,
    low: TimeValue,
    high: TimeValue,
    last: TimeValue,
}

impl Bin {
    fn of(point: TimeValue) -> Self {
        Self { first: point, low: point, high: point, last: point }
    }

    /// Merges a later bin into this one.
    fn merge(&mut self, later: &Self) {
        if later.low.1 < self.low.1 {
            self.low = later.low;
        }
        if later.high.1 > self.high.1 {
            self.high = later.high;
        }
        self.last = later.last;
    }

    /// Returns the points in order of time, each once.
    fn points(&self) -> impl Iterator<Item = TimeValue> {
        let middle =
            if self.low.0 <= self.high.0 { [self.low, self.high] } else { [self.high, self.low] };
        let mut before = None;
        [self.first, middle[0], middle[1], self.last]
            .into_iter()
            .filter(move |point| before.replace(*point) != Some(*point))
    }
}

impl DownsampledSeries {
    /// Creates a series of at most `most` bins.
    pub(super) fn of(most: usize) -> Self {
        Self { points: Vec::new(), bins: Vec::new(), shift: 0, most: most.max(2), count: 0 }
    }

    /// Adds a point; times must not decrease.
    pub(super) fn push(&mut self, time: u64, value: f64) {
        self.count += 1;
        if self.bins.is_empty() {
            self.points.push((time, value));
            if self.points.len() > 2 * self.most {
                for (time, value) in std::mem::take(&mut self.points) {
                    self.add((time, value));
                }
            }
        } else {
            self.add((time, value));
        }
    }

    fn add(&mut self, point: TimeValue) {
        let bin = Bin::of(point);
        match self.bins.last_mut() {
            Some(last) if last.first.0 >> self.shift == point.0 >> self.shift => last.merge(&bin),
            _ => self.bins.push(bin),
        }
        while self.bins.len() > self.most && self.shift < 63 {
            self.shift += 1;
            let shift = self.shift;
            self.bins.dedup_by(|later, kept| {
                let same = later.first.0 >> shift == kept.first.0 >> shift;
                if same {
                    kept.merge(later);
                }
                same
            });
        }
    }

    /// Returns all kept points in order of time.
    pub(super) fn points(&self) -> Vec<TimeValue> {
        if self.bins.is_empty() {
            return self.points.clone();
        }
        self.bins.iter().flat_map(Bin::points).collect()
    }

    /// Returns whether points were aggregated.
    pub(super) fn is_aggregated(&self) -> bool {
        !self.bins.is_empty()
    }

    /// Returns the size in bytes.
    #[cfg(test)]
    pub(super) fn footprint(&self) -> usize {
        self.points.capacity() * size_of::<TimeValue>() + self.bins.capacity() * size_of::<Bin>()
    }

    /// Returns at most `most` points for JSON: the first, the last, and the extremes of equal
    /// intervals.
    pub(super) fn downsampled(&self, most: usize) -> Vec<TimeValue> {
        let points = self.points();
        let (Some(first), Some(last)) = (points.first(), points.last()) else { return points };
        if points.len() <= most {
            return points;
        }
        let columns = (most / 2).saturating_sub(1).max(1);
        let mut out = vec![*first];
        for bin in columns_of(&points, (first.0, last.0), columns) {
            let extremes = Bin { first: bin.low, last: bin.high, ..bin };
            let (a, b) = (extremes.first, extremes.last);
            out.extend(if a.0 <= b.0 { [a, b] } else { [b, a] });
        }
        out.push(*last);
        out.dedup();
        out
    }
}

/// First, minimum, maximum and last point of each of `columns` equal intervals of `range`, both
/// ends included.
fn columns_of(points: &[TimeValue], (from, to): (u64, u64), columns: usize) -> Vec<Bin> {
    let span = u128::from(to.saturating_sub(from)) + 1;
    let column = |p: &TimeValue| u128::from(p.0.clamp(from, to) - from) * columns as u128 / span;
    let mut out: Vec<Bin> = Vec::new();
    for part in points.chunk_by(|a, b| column(a) == column(b)) {
        let bins = part.iter().map(|p| Bin::of(*p));
        out.extend(bins.reduce(|mut all, bin| {
            all.merge(&bin);
            all
        }));
    }
    out
}

/// Reduces `points` to those that `columns` pixel columns over `range` can show: first, minimum,
/// maximum and last of each.
pub(super) fn per_column(
    points: &[TimeValue],
    range: (u64, u64),
    columns: usize,
) -> Vec<TimeValue> {
    columns_of(points, range, columns).iter().flat_map(Bin::points).collect()
}

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
    fn a_long_time_fits() {
        let mut bins = Bins::default();
        let mut series = DownsampledSeries::of(DRAWN_BINS);
        for i in 0..100_000_u64 {
            bins.add(5_000 + i * 10_000, 3);
            series.push(i, if i == 77_777 { 9.0 } else { 1.0 });
        }
        assert!(bins.sums().count() <= MAX_BINS);
        assert_eq!(bins.sums().map(|(_, sum)| sum).sum::<u64>(), 300_000);
        assert!(series.bins.len() <= DRAWN_BINS && series.bins.len() > DRAWN_BINS / 2 - 1);
        assert!(series.points().iter().any(|p| p.1 > 8.0), "the extreme is kept");
        let pairs = series.downsampled(256);
        assert!(pairs.len() <= 256 && pairs.iter().any(|p| p.1 > 8.0));
        assert_eq!((pairs[0], pairs.last()), ((0, 1.0), Some(&(99_999, 1.0))));
    }

    /// Value of the staircase `points` at `time`: that of the last point not after it.
    fn at(points: &[TimeValue], time: u64) -> f64 {
        let next = points.partition_point(|p| p.0 <= time);
        points.get(next.wrapping_sub(1)).map_or(0.0, |p| p.1)
    }

    #[test]
    fn every_part_of_a_long_series_has_the_same_resolution() {
        // A transfer at a constant rate: its first half must not become one step.
        for count in [1_000_u64, 10_000, 1_000_000] {
            let mut series = DownsampledSeries::of(DRAWN_BINS);
            let value = |i: u64| (i * 1448) as f64;
            (0..count).for_each(|i| series.push(i * 12_000, value(i)));
            let points = series.points();
            let width = (count * 12_000).div_ceil(DRAWN_BINS as u64 / 2);
            for i in (0..count).step_by(997) {
                let off = (at(&points, i * 12_000) - value(i)).abs();
                assert!(off <= value(width / 12_000 + 1), "{count}: {i} is off by {off}");
            }
            assert_eq!(points.last(), Some(&((count - 1) * 12_000, value(count - 1))));
            assert!(series.footprint() < 400_000, "{}", series.footprint());
        }
    }

    #[test]
    fn columns_keep_the_ends_and_extremes() {
        let values = [5.0, 9.0, 1.0, 6.0, 7.0, 7.0];
        let points: Vec<TimeValue> = (0..6).zip(values).collect();
        assert_eq!(per_column(&points, (0, 5), 1), [(0, 5.0), (1, 9.0), (2, 1.0), (5, 7.0)]);
        assert_eq!(per_column(&points, (0, 5), 6), points);
    }
}
