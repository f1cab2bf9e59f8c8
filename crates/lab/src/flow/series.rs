//! Series of values of a long flow in bounded memory.
//!
//! Contract: up to [`MAX_RAW`] points nothing is lost. Beyond, the lowest and the highest of each
//! stretch of points are kept, as [`lowtide_charts::thinned`] does when a curve is drawn.

/// Most points of a series that are kept as they are.
pub(super) const MAX_RAW: usize = 1 << 17;

/// A time in picoseconds, and a value.
pub(super) type Point = (u64, f64);

/// Points in order of time.
#[derive(Clone, Debug)]
pub(super) struct Series {
    /// Complete stretches: each point if `stretch` is one, else the extremes of each stretch.
    points: Vec<Point>,
    /// Points of a stretch.
    stretch: usize,
    /// The stretch that is not complete: its length and its extremes.
    open: Option<(usize, Point, Point)>,
    last: Option<Point>,
    most: usize,
}

impl Default for Series {
    fn default() -> Self {
        Self::with_capacity(MAX_RAW)
    }
}

impl Series {
    fn with_capacity(most: usize) -> Self {
        Self { points: Vec::new(), stretch: 1, open: None, last: None, most }
    }

    pub(super) fn push(&mut self, point: Point) {
        self.last = Some(point);
        if self.stretch == 1 {
            self.points.push(point);
        } else {
            let (count, low, high) = self.open.unwrap_or((0, point, point));
            let low = if point.1 < low.1 { point } else { low };
            let high = if point.1 > high.1 { point } else { high };
            self.open = Some((count + 1, low, high));
            if count + 1 == self.stretch {
                self.close();
            }
        }
        if self.points.len() >= self.most {
            self.halve();
        }
    }

    fn close(&mut self) {
        let Some((_, low, high)) = self.open.take() else { return };
        extremes(low, high, &mut self.points);
    }

    fn halve(&mut self) {
        let mut kept = Vec::with_capacity(self.most);
        for four in self.points.chunks(4) {
            let by = |a: &&Point, b: &&Point| a.1.total_cmp(&b.1);
            if let (Some(low), Some(high)) = (four.iter().min_by(by), four.iter().max_by(by)) {
                extremes(*low, *high, &mut kept);
            }
        }
        self.points = kept;
        self.stretch = if self.stretch == 1 { 4 } else { self.stretch * 2 };
    }

    /// Returns the points, the last one included.
    pub(super) fn finish(mut self) -> Vec<Point> {
        self.close();
        if let Some(last) = self.last.filter(|last| self.points.last() != Some(last)) {
            self.points.push(last);
        }
        self.points
    }
}

/// Adds two points by time, once if they are one.
fn extremes(low: Point, high: Point, out: &mut Vec<Point>) {
    out.push(if low.0 <= high.0 { low } else { high });
    if low != high {
        out.push(if low.0 <= high.0 { high } else { low });
    }
}

/// A series whose value at the left edge of a window is that of the last point before it.
#[derive(Clone, Debug, Default)]
pub(super) struct Staircase {
    from: u64,
    to: u64,
    /// Points before the window, each lower than all after it. The last is the newest.
    before: Vec<f64>,
    inside: Series,
}

impl Staircase {
    pub(super) fn new(from: u64, to: u64) -> Self {
        Self { from, to, ..Self::default() }
    }

    pub(super) fn push(&mut self, (time, value): Point) {
        if time < self.from {
            while self.before.last().is_some_and(|last| *last >= value) {
                self.before.pop();
            }
            self.before.push(value);
        } else if time <= self.to {
            self.inside.push((time, value));
        }
    }

    /// Returns the points at or below `reach`; the first is at the left edge if one was before it.
    pub(super) fn finish(self, reach: f64) -> Vec<Point> {
        let before = self.before.iter().rev().find(|y| **y <= reach);
        let before = before.map(|y| (self.from, *y));
        let inside = self.inside.finish().into_iter().filter(|(_, y)| *y <= reach);
        before.into_iter().chain(inside).collect()
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
    fn a_short_series_is_kept_and_a_long_one_keeps_its_extremes_and_its_end() {
        let wave = |i: u64| (i, if i == 4321 { 99.0 } else { (i % 7) as f64 });
        let mut short = Series::with_capacity(64);
        let mut long = Series::with_capacity(64);
        for i in 0..63 {
            short.push(wave(i));
        }
        for i in 0..10_000 {
            long.push(wave(i));
        }
        assert_eq!(short.finish(), (0..63).map(wave).collect::<Vec<_>>());
        let kept = long.finish();
        assert!(kept.len() < 64 && kept.contains(&(4321, 99.0)), "{kept:?}");
        assert_eq!(kept.last(), Some(&wave(9_999)));
        assert!(kept.windows(2).all(|w| w[0].0 < w[1].0), "{kept:?}");
    }

    #[test]
    fn a_staircase_begins_with_the_last_value_in_reach_before_its_window() {
        let of = |reach: f64| {
            let mut stairs = Staircase::new(10, 20);
            for point in [(1, 5.0), (2, 1.0), (3, 9.0), (4, 2.0), (12, 3.0), (21, 4.0)] {
                stairs.push(point);
            }
            stairs.finish(reach)
        };
        assert_eq!(of(f64::INFINITY), [(10, 2.0), (12, 3.0)]);
        assert_eq!(of(1.5), [(10, 1.0)]);
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
