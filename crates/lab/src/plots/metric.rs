//! A metric against the swept key, or beside the schemes when nothing is swept.

use std::fmt::Write as _;

use lowtide_record::Point;
use lowtide_units::{parse_bytes, parse_duration, parse_packets, parse_rate};

use crate::figure::{Axis, Dot, Figure, Look, Panel, Series};
use crate::plots::Source;
use crate::summary::SummaryRow;

/// What is measured of a traffic group.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Measure {
    /// The traffic group.
    pub(crate) group: String,
    /// Name of the metric in the summary.
    pub(crate) metric: &'static str,
    /// What it is called in sentences.
    pub(crate) title: &'static str,
    /// Its unit.
    pub(crate) unit: &'static str,
}

/// Groups that get a figure.
const MOST_GROUPS: usize = 4;
/// Panels of one figure.
const MOST_PANELS: usize = 6;

/// The measure of each traffic group: transfer time where flows have a size, else goodput. The group
/// that the sweep is about comes first.
pub(crate) fn measures(source: Source<'_>) -> Vec<Measure> {
    let Some(run) = source.at_point().next() else { return Vec::new() };
    let mut out: Vec<Measure> = run
        .groups
        .iter()
        .map(|g| {
            let sized = source.at_point().filter_map(|r| r.group(&g.name));
            let (metric, title, unit) =
                if sized.into_iter().any(|g| g.size_bytes.is_some() || g.fct_ms.max.is_some()) {
                    ("fct_ms.mean", "Transfer time", "ms")
                } else {
                    ("goodput_mbps", "Goodput", "Mbit/s")
                };
            Measure { group: g.name.clone(), metric, title, unit }
        })
        .collect();
    let point = source.point();
    let swept = |m: &Measure| point.keys().any(|k| k.starts_with(&format!("traffic.{}.", m.group)));
    out.sort_by_key(|m| !swept(m));
    out
}

/// One figure per traffic group.
pub(crate) fn figures(source: Source<'_>) -> Vec<Figure> {
    let measures = measures(source);
    measures.iter().take(MOST_GROUPS).filter_map(|m| figure(source, m)).collect()
}

fn figure(source: Source<'_>, measure: &Measure) -> Option<Figure> {
    let rows: Vec<&SummaryRow> = source
        .results
        .summary
        .iter()
        .filter(|r| r.group.as_ref() == Some(&measure.group) && r.metric == measure.metric)
        .collect();
    let (points, schemes) = (&source.manifest.points, &source.manifest.schemes);
    if points.len() * schemes.len() < 2 {
        return None;
    }
    let ends = |r: &SummaryRow| r.mean.into_iter().chain(r.ci95.into_iter().flatten());
    let values: Vec<f64> = rows.iter().flat_map(|r| ends(r)).collect();
    if values.is_empty() {
        return None;
    }
    let label = format!("{} ({})", measure.title, measure.unit);
    let column =
        format!("{}_{}", measure.title.to_lowercase().replace(' ', "_"), unit_column(measure.unit));
    let y = Axis::fitting(&label, &column, &values);
    let panels = match swept(points) {
        Some(swept) => swept.panels(source, &rows, &y),
        None => vec![beside(schemes, &rows, y)],
    };
    let missing = rows.iter().filter(|r| r.mean.is_none()).count();
    Some(Figure {
        id: format!(
            "{}-{}",
            measure.title.to_lowercase().replace(' ', "-"),
            file_name(&measure.group)
        ),
        title: format!("{} of group {}", measure.title, measure.group),
        caption: caption(source, &rows, missing),
        legend: source.legend(|_| true),
        panels,
    })
}

fn unit_column(unit: &str) -> &str {
    if unit == "Mbit/s" { "mbps" } else { unit }
}

fn file_name(group: &str) -> String {
    group.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

fn caption(source: Source<'_>, rows: &[&SummaryRow], missing: usize) -> String {
    let mut text = match source.manifest.seeds.len() {
        1 => {
            "Mean over the flows of the one seed that was run; one seed has no interval.".to_owned()
        }
        n => format!(
            "Mean over the flows, then over {n} seeds; bars are 95 % intervals of the mean over seeds \
             (Student's t)."
        ),
    };
    let agree = rows.iter().filter(|r| r.seed_independent).count();
    if agree > 0 {
        // Writing to a string cannot fail.
        let _ = write!(text, " {agree} of {} values are the same for every seed.", rows.len());
    }
    if missing > 0 {
        let _ = write!(text, " {missing} values are not drawn: flows did not complete.");
    }
    text
}

/// The schemes side by side.
fn beside(schemes: &[String], rows: &[&SummaryRow], y: Axis) -> Panel {
    let ticks: Vec<_> = schemes.iter().enumerate().map(|(i, s)| (i as f64, s.clone())).collect();
    let high = schemes.len() as f64 - 0.5;
    let x = Axis { low: -0.5, high, ..Axis::named("Scheme", "scheme_number", ticks) };
    let series = schemes
        .iter()
        .enumerate()
        .map(|(i, scheme)| Series {
            scheme: scheme.clone(),
            part: String::new(),
            style: i,
            look: Look::Dots,
            points: rows
                .iter()
                .filter(|r| r.scheme == *scheme)
                .filter_map(|r| Some(Dot { x: i as f64, y: r.mean?, interval: r.ci95 }))
                .collect(),
        })
        .collect();
    Panel { title: String::new(), x, y, series, rules: Vec::new(), shade: None }
}

/// The swept key along the horizontal axis, and what else is swept.
#[derive(Clone, PartialEq, Debug)]
struct Swept {
    key: String,
    /// Its values with their places; in order when they are quantities.
    values: Vec<(f64, String)>,
    /// Whether the values are quantities.
    ordered: bool,
    /// The other keys, one panel for each of their combinations.
    slices: Vec<Point>,
}

/// The key with the most values goes along the axis; `None` without a sweep.
fn swept(points: &[Point]) -> Option<Swept> {
    let values = |key: &str| {
        let mut values: Vec<&str> = Vec::new();
        for value in points.iter().filter_map(|p| p.get(key)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    };
    let keys: Vec<&str> = points.first()?.keys().filter(|k| values(k).len() > 1).collect();
    let key = *keys.iter().rev().max_by_key(|k| values(k).len())?;
    let found = values(key);
    let quantities = quantities(&found);
    let ordered = quantities.is_some();
    let places = quantities.unwrap_or_else(|| (0..found.len()).map(|i| i as f64).collect());
    let mut slices: Vec<Point> = Vec::new();
    for point in points {
        let slice = without(point, key);
        if !slices.contains(&slice) {
            slices.push(slice);
        }
    }
    let values = places.into_iter().zip(found.into_iter().map(str::to_owned)).collect();
    Some(Swept { key: key.to_owned(), values, ordered, slices })
}

fn without(point: &Point, key: &str) -> Point {
    Point(point.0.iter().filter(|(k, _)| k != key).cloned().collect())
}

/// The values as numbers, if all are quantities of one kind.
fn quantities(values: &[&str]) -> Option<Vec<f64>> {
    type Read = fn(&str) -> Option<f64>;
    const KINDS: [Read; 5] = [
        |t| parse_packets(t).ok().map(|n| n as f64),
        |t| parse_bytes(t).ok().map(|b| b.as_u64() as f64),
        |t| parse_duration(t).ok().map(|d| d.as_ps() as f64),
        |t| parse_rate(t).ok().map(|r| r.as_bps() as f64),
        |t| t.parse().ok(),
    ];
    KINDS.iter().find_map(|read| values.iter().map(|v| read(v)).collect())
}

impl Swept {
    fn panels(&self, source: Source<'_>, rows: &[&SummaryRow], y: &Axis) -> Vec<Panel> {
        let panel = |slice: &Point| {
            let x = Axis::named(&self.key, &self.key, self.values.clone());
            let series = source.manifest.schemes.iter().enumerate();
            Panel {
                title: slice.to_string(),
                x,
                y: y.clone(),
                series: series.map(|(i, scheme)| self.series(i, scheme, slice, rows)).collect(),
                rules: Vec::new(),
                shade: None,
            }
        };
        self.slices.iter().take(MOST_PANELS).map(panel).collect()
    }

    fn series(&self, style: usize, scheme: &str, slice: &Point, rows: &[&SummaryRow]) -> Series {
        let of =
            rows.iter().filter(|r| r.scheme == scheme && without(&r.point, &self.key) == *slice);
        let mut points: Vec<Dot> = of
            .filter_map(|r| {
                let value = r.point.get(&self.key)?;
                let x = self.values.iter().find(|(_, name)| name == value)?.0;
                Some(Dot { x, y: r.mean?, interval: r.ci95 })
            })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let look = if self.ordered { Look::Measured } else { Look::Dots };
        Series { scheme: scheme.to_owned(), part: String::new(), style, look, points }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(pairs: &[(&str, &str)]) -> Point {
        Point(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    }

    #[test]
    fn the_longest_sweep_goes_along_the_axis() {
        let points: Vec<Point> = ["5 pkt", "10 pkt", "20 pkt"]
            .iter()
            .flat_map(|k| ["1 ms", "2 ms"].map(|d| point(&[("delay", d), ("k", k), ("one", "x")])))
            .collect();
        let found = swept(&points).unwrap();
        assert_eq!(found.key, "k");
        assert!(found.ordered);
        assert_eq!(found.values[2], (20.0, "20 pkt".to_owned()));
        assert_eq!(found.slices.len(), 2);
        assert_eq!(found.slices[0], point(&[("delay", "1 ms"), ("one", "x")]));
        assert_eq!(swept(&[Point::default()]), None);
    }

    #[test]
    fn swept_values_are_quantities_or_names() {
        assert_eq!(quantities(&["10 kB", "1 MB"]), Some(vec![10e3, 1e6]));
        assert_eq!(quantities(&["1", "2.5"]), Some(vec![1.0, 2.5]));
        assert_eq!(quantities(&["10 kB", "none"]), None);
        assert_eq!(quantities(&["10 kB", "1 ms"]), None);
        let names = swept(&[point(&[("m", "step")]), point(&[("m", "none")])]).unwrap();
        assert_eq!((names.ordered, names.values[1].0), (false, 1.0));
    }
}
