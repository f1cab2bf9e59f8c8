//! Reduction of a curve to the points that a drawing can show.
//!
//! Contract: of each run of points in one column the first, the lowest, the highest and the last
//! remain (M4: Jugel et al., VLDB 2014). A line or a staircase through them deviates from that of
//! all points by less than a column, and vertically not at all: both pass through the same range
//! of values in every column, and every step between columns remains. This is the only reduction of
//! curves. Tables and CSV files have every point.

use std::collections::BTreeSet;

use crate::Dot;

/// A point of a curve.
pub trait CurvePoint: Copy {
    /// Returns its value, which decides what is low and what is high.
    fn value(&self) -> f64;
}

impl CurvePoint for Dot {
    fn value(&self) -> f64 {
        self.y
    }
}

impl CurvePoint for (i32, i32) {
    fn value(&self) -> f64 {
        f64::from(self.1)
    }
}

impl CurvePoint for (u64, f64) {
    fn value(&self) -> f64 {
        self.1
    }
}

/// The points of a column that remain.
#[derive(Clone, Copy, Debug)]
struct Column<P> {
    first: P,
    low: P,
    high: P,
    last: P,
    /// Number of each point in its series: their order, also at equal times.
    at: [u64; 4],
}

impl<P: CurvePoint> Column<P> {
    const fn new(number: u64, point: P) -> Self {
        Self { first: point, low: point, high: point, last: point, at: [number; 4] }
    }

    /// Adds the next column.
    fn merge(&mut self, later: &Self) {
        if later.low.value() < self.low.value() {
            (self.low, self.at[1]) = (later.low, later.at[1]);
        }
        if later.high.value() > self.high.value() {
            (self.high, self.at[2]) = (later.high, later.at[2]);
        }
        (self.last, self.at[3]) = (later.last, later.at[3]);
    }

    /// Returns the points in their order, each once.
    fn points(&self) -> impl Iterator<Item = P> + use<P> {
        let [first, low, high, last] = self.at;
        let (low, high) = ((low, self.low), (high, self.high));
        let middle = if low.0 <= high.0 { [low, high] } else { [high, low] };
        let mut before = None;
        [(first, self.first), middle[0], middle[1], (last, self.last)]
            .into_iter()
            .filter(move |(number, _)| before.replace(*number) != Some(*number))
            .map(|(_, point)| point)
    }
}

/// Reduces a curve: consecutive points with the same `column` become at most four. Points without
/// a value interrupt the curve and remain.
pub fn reduced<P: CurvePoint, C: PartialEq>(points: &[P], column: impl Fn(&P) -> C) -> Vec<P> {
    let place = |point: &P| (column(point), point.value().is_nan());
    let mut out = Vec::new();
    let mut open: Option<((C, bool), Column<P>)> = None;
    for (number, point) in (0..).zip(points) {
        let (here, next) = (place(point), Column::new(number, *point));
        match &mut open {
            Some((at, column)) if *at == here => column.merge(&next),
            _ => {
                let done = open.replace((here, next));
                out.extend(done.iter().flat_map(|(_, column)| column.points()));
            }
        }
    }
    out.extend(open.iter().flat_map(|(_, column)| column.points()));
    out
}

/// Returns the first point of each cell: marks at the same place are one mark.
pub(crate) fn one_per_cell<P: Copy, C: Ord>(points: &[P], cell: impl Fn(&P) -> C) -> Vec<P> {
    let mut taken = BTreeSet::new();
    points.iter().filter(|point| taken.insert(cell(point))).copied().collect()
}

/// A time in some unit, and a value.
pub type TimeValue = (u64, f64);

/// Values over time in bounded memory: all points, or columns of one width once there are too many.
///
/// The width of a column doubles when there are too many, so at least half of the limit is used and
/// the resolution is uniform.
#[derive(Clone, Debug)]
pub struct BoundedSeries {
    /// All points, until there are more than two per column.
    points: Vec<TimeValue>,
    columns: Vec<Column<TimeValue>>,
    /// Binary logarithm of the width of a column.
    shift: u32,
    most: usize,
    count: u64,
}

impl BoundedSeries {
    /// Creates a series of at most `most` columns.
    pub fn new(most: usize) -> Self {
        Self { points: Vec::new(), columns: Vec::new(), shift: 0, most: most.max(2), count: 0 }
    }

    /// Adds a point; times must not decrease.
    pub fn push(&mut self, time: u64, value: f64) {
        if self.columns.is_empty() {
            self.points.push((time, value));
            if self.points.len() > 2 * self.most {
                for point in std::mem::take(&mut self.points) {
                    self.add(point);
                }
            }
        } else {
            self.add((time, value));
        }
    }

    fn add(&mut self, point: TimeValue) {
        let column = Column::new(self.count, point);
        self.count += 1;
        match self.columns.last_mut() {
            Some(last) if last.first.0 >> self.shift == point.0 >> self.shift => {
                last.merge(&column);
            }
            _ => self.columns.push(column),
        }
        while self.columns.len() > self.most && self.shift < 63 {
            self.shift += 1;
            let shift = self.shift;
            self.columns.dedup_by(|later, kept| {
                let same = later.first.0 >> shift == kept.first.0 >> shift;
                if same {
                    kept.merge(later);
                }
                same
            });
        }
    }

    /// Returns the kept points in order of time.
    pub fn points(&self) -> Vec<TimeValue> {
        if self.columns.is_empty() {
            return self.points.clone();
        }
        self.columns.iter().flat_map(Column::points).collect()
    }

    /// Returns whether points were merged into columns.
    pub fn is_reduced(&self) -> bool {
        !self.columns.is_empty()
    }

    /// Returns at most `most` points: all, or those of equal intervals between the first and the
    /// last time, at most four of each.
    pub fn listed(&self, most: usize) -> Vec<TimeValue> {
        let points = self.points();
        if points.len() <= most {
            return points;
        }
        let intervals = (most / 4).max(1) as u128;
        let (Some((from, _)), Some((to, _))) = (points.first(), points.last()) else {
            return points;
        };
        let span = u128::from(to.saturating_sub(*from)) + 1;
        reduced(&points, |(time, _)| u128::from(time.saturating_sub(*from)) * intervals / span)
    }
}
