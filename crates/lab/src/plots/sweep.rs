//! Swept keys: the key along an axis, and the keys that distinguish curves or panels.

use lowtide_charts::{Axis, Dot, PlotSeries, SeriesKind};
use lowtide_record::SweepPoint;
use lowtide_rows::{HostRange, SweptUnit};

use crate::naming;
use crate::summary::SummaryRow;

/// A swept key along the horizontal axis, and the other swept keys.
#[derive(Clone, PartialEq, Debug)]
pub struct Sweep {
    /// The key.
    pub key: String,
    /// Values with their positions; sorted if they are quantities.
    pub values: Vec<(f64, String)>,
    /// Whether the values are quantities.
    pub ordered: bool,
    /// Combinations of the other keys.
    pub(crate) slices: Vec<SweepPoint>,
}

/// Returns every key with several values, the one with the most values first.
pub(crate) fn sweeps(points: &[SweepPoint]) -> Vec<Sweep> {
    let Some(first) = points.first() else { return Vec::new() };
    let mut out: Vec<Sweep> = first
        .keys()
        .map(|key| Sweep::of(key, points))
        .filter(|sweep| sweep.values.len() > 1)
        .collect();
    out.sort_by_key(|sweep| std::cmp::Reverse(sweep.values.len()));
    out
}

/// Returns at most `most` of `all` indices, spread evenly from the first to the last.
pub(crate) fn spread(all: usize, most: usize) -> Vec<usize> {
    if all <= most {
        return (0..all).collect();
    }
    (0..most).map(|i| i * (all - 1) / (most - 1).max(1)).collect()
}

impl Sweep {
    /// Returns the sweep of `key` over these points.
    pub fn of(key: &str, points: &[SweepPoint]) -> Self {
        let mut found: Vec<&str> = Vec::new();
        let mut slices: Vec<SweepPoint> = Vec::new();
        for point in points {
            let slice = without(point, key);
            if !slices.contains(&slice) {
                slices.push(slice);
            }
            found.extend(point.get(key).filter(|v| !found.contains(v)));
        }
        let quantities = quantities(&found).filter(|all| are_distinct(all));
        let ordered = quantities.is_some();
        let places = quantities.unwrap_or_else(|| (0..found.len()).map(|i| i as f64).collect());
        let values = places.into_iter().zip(found.into_iter().map(str::to_owned)).collect();
        Self { key: key.to_owned(), values, ordered, slices }
    }

    /// Returns the axis of the key.
    pub fn axis(&self) -> Axis {
        let values: Vec<&str> = self.values.iter().map(|(_, v)| v.as_str()).collect();
        let (title, has_unit) = naming::axis_title(&self.key, &values);
        let name = |value: &str| match (HostRange::read(value), value.split_once(' ')) {
            (Some(hosts), _) if has_unit => hosts.count_text(),
            (None, Some((number, _))) if has_unit => number.to_owned(),
            _ => HostRange::value_text(value),
        };
        if !self.ordered {
            let names: Vec<String> = values.iter().map(|value| name(value)).collect();
            return Axis::categorical(&title, &self.key, &names);
        }
        let ticks = self.values.iter().map(|(at, value)| (*at, name(value))).collect();
        Axis::named(&title, &self.key, ticks)
    }

    /// Returns the position of a point on the axis.
    pub(crate) fn position(&self, point: &SweepPoint) -> Option<f64> {
        let value = point.get(&self.key)?;
        self.values.iter().find(|(_, name)| name == value).map(|(at, _)| *at)
    }

    /// Returns a point without the key.
    pub(crate) fn rest(&self, point: &SweepPoint) -> SweepPoint {
        without(point, &self.key)
    }

    /// Returns the last part of the key, which suffices in a title.
    pub(crate) fn short(&self) -> &str {
        last(&self.key)
    }

    /// Returns the name of the `i`-th combination of the other keys, with the last part of each key
    /// if that is unique.
    pub(crate) fn name(&self, i: usize) -> String {
        let Some(slice) = self.slices.get(i) else { return String::new() };
        naming::pairs_text(slice, &|key, value| match HostRange::read(value) {
            Some(hosts) => hosts.group.to_owned(),
            None => last(key).to_owned(),
        })
    }

    /// Returns the curve of a scheme at one combination of the other keys.
    pub(crate) fn curve(
        &self,
        style: usize,
        scheme: &str,
        part: String,
        slice: &SweepPoint,
        rows: &[&SummaryRow],
    ) -> PlotSeries {
        let of = rows.iter().filter(|r| {
            r.subject.scheme == scheme && without(&r.subject.point, &self.key) == *slice
        });
        let mut points: Vec<Dot> = of
            .filter_map(|r| {
                let x = self.position(&r.subject.point)?;
                Some(Dot { x, y: r.estimate.value?, interval: r.estimate.bar() })
            })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let look = if self.ordered { SeriesKind::Measured } else { SeriesKind::Dots };
        PlotSeries { scheme: scheme.to_owned(), part, style, kind: look, points }
    }
}

fn last(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

fn without(point: &SweepPoint, key: &str) -> SweepPoint {
    SweepPoint(point.0.iter().filter(|(k, _)| k != key).cloned().collect())
}

/// Returns the position of a value of a swept key on an axis, if it is a quantity.
pub fn axis_position(value: &str) -> Option<f64> {
    quantities(&[value])?.first().copied()
}

/// Returns whether no two values share a position.
fn are_distinct(positions: &[f64]) -> bool {
    let mut sorted = positions.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.windows(2).all(|pair| pair[0] < pair[1])
}

/// Returns the values as numbers if all are quantities of one unit.
fn quantities(values: &[&str]) -> Option<Vec<f64>> {
    let unit = SweptUnit::of(values.iter().copied())?;
    values.iter().map(|value| unit.read(value).number()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(pairs: &[(&str, &str)]) -> SweepPoint {
        SweepPoint(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    }

    #[test]
    fn every_swept_key_goes_along_an_axis_the_longest_first() {
        let points: Vec<SweepPoint> = ["5 pkt", "10 pkt", "20 pkt"]
            .iter()
            .flat_map(|k| {
                ["1 ms", "2 ms"].map(|d| point(&[("a.delay", d), ("k", k), ("one", "x")]))
            })
            .collect();
        let found = sweeps(&points);
        let keys: Vec<&str> = found.iter().map(|s| s.key.as_str()).collect();
        assert_eq!(keys, ["k", "a.delay"], "`one` has one value");
        assert!(found[0].ordered);
        assert_eq!(found[0].values[2], (20.0, "20 pkt".to_owned()));
        assert_eq!(
            found[0].slices,
            [
                point(&[("a.delay", "1 ms"), ("one", "x")]),
                point(&[("a.delay", "2 ms"), ("one", "x")]),
            ]
        );
        assert_eq!(found[0].name(1), "delay = 2 ms, one = x");
        assert_eq!(found[1].slices.len(), 3);
        assert_eq!(sweeps(&[SweepPoint::default()]), []);
    }

    #[test]
    fn names_stay_apart() {
        let two = [("traffic.a.size", "1 kB"), ("traffic.b.size", "2 kB")];
        let points = ["1", "2"].map(|k| point(&[("k", k), two[0], two[1]]));
        let sweep = Sweep::of("k", &points);
        assert_eq!(sweep.name(0), "traffic.a.size = 1 kB, traffic.b.size = 2 kB");
    }

    #[test]
    fn excess_values_are_thinned_evenly() {
        assert_eq!(spread(3, 8), [0, 1, 2]);
        assert_eq!(spread(20, 8), [0, 2, 5, 8, 10, 13, 16, 19]);
        assert_eq!(spread(0, 8), Vec::<usize>::new());
    }

    #[test]
    fn swept_values_are_quantities_or_names() {
        assert_eq!(quantities(&["10 kB", "1 MB"]), Some(vec![10e3, 1e6]));
        assert_eq!(quantities(&["1", "2.5"]), Some(vec![1.0, 2.5]));
        assert_eq!(quantities(&["20 %", "60 %"]), Some(vec![0.2, 0.6]));
        assert_eq!(quantities(&["10 kB", "none"]), None);
        assert_eq!(quantities(&["10 kB", "1 ms"]), None);
        let names = Sweep::of("m", &[point(&[("m", "step")]), point(&[("m", "none")])]);
        assert_eq!((names.ordered, names.values[1].0), (false, 1.0));
    }
}
