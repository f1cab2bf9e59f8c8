//! What one sees first, as a sentence computed from the data.

use crate::figure::number::significant;
use crate::view::{Curve, Line, Point, ReportData};

/// Ratios below this are called none.
const NO_DIFFERENCE: f64 = 1.02;

/// A scheme at the point that the sentence speaks of.
struct Value<'a> {
    scheme: &'a str,
    mean: f64,
    point: &'a Point,
}

/// The sentence about the first curve, at the last swept value that most
/// schemes have: what each scheme gives, and how far the one that is farthest
/// from the first scheme is from it. `None` without any value.
pub(super) fn sentence(data: &ReportData) -> Option<String> {
    let curve = data.curves.first()?;
    let x = decisive(curve)?;
    let values = at(curve, x);
    let (first, others) = values.split_first()?;
    let unit = if curve.unit.is_empty() { String::new() } else { format!(" {}", curve.unit) };
    let mut text = uppercase(&format!("{} of {} flows", curve.label, curve.group));
    if let Some(axis) = &data.sweep
        && let Some(tick) = axis.ticks.iter().find(|tick| tick.value.total_cmp(&x).is_eq())
    {
        text.push_str(&format!(" at {} {}", axis.key, tick.label));
    }
    text.push_str(": ");
    for (index, value) in values.iter().enumerate() {
        let joint = match index {
            0 => "",
            _ if index + 1 == values.len() => " and ",
            _ => ", ",
        };
        let number = significant(value.mean, 3);
        text.push_str(&format!("{joint}{number}{unit} with {}", value.scheme));
    }
    text.push('.');
    if let Some(farthest) = farthest(first, others) {
        text.push(' ');
        text.push_str(&comparison(first, farthest));
    }
    let missing: u64 = values.iter().map(|value| value.point.unfinished + value.point.failed).sum();
    if missing > 0 {
        let all = missing + values.iter().map(|value| value.point.complete).sum::<u64>();
        text.push_str(&format!(
            " {missing} of {all} flows did not finish and are not in these means."
        ));
    }
    Some(text)
}

fn decisive(curve: &Curve) -> Option<f64> {
    let points = || curve.lines.iter().flat_map(|line| &line.points);
    let usable = |point: &&Point| point.mean.is_some_and(f64::is_finite);
    let mut best: Option<(usize, f64)> = None;
    for point in points().filter(usable) {
        let schemes = at(curve, point.x).len();
        let better = best.is_none_or(|(most, x)| {
            schemes > most || (schemes == most && point.x.total_cmp(&x).is_gt())
        });
        if better {
            best = Some((schemes, point.x));
        }
    }
    best.map(|(_, x)| x)
}

fn at(curve: &Curve, x: f64) -> Vec<Value<'_>> {
    let value = |line: &'_ Line| -> Option<(usize, f64)> {
        let same = |point: &Point| point.x.total_cmp(&x).is_eq();
        let index = line.points.iter().position(same)?;
        let mean = line.points[index].mean.filter(|mean| mean.is_finite())?;
        Some((index, mean))
    };
    curve
        .lines
        .iter()
        .filter_map(|line| {
            let (index, mean) = value(line)?;
            Some(Value { scheme: &line.scheme, mean, point: &line.points[index] })
        })
        .collect()
}

fn farthest<'a, 'b>(first: &Value<'_>, others: &'a [Value<'b>]) -> Option<&'a Value<'b>> {
    let distance = |value: &Value<'_>| (value.mean / first.mean).ln().abs();
    others
        .iter()
        .filter(|value| value.mean > 0.0 && first.mean > 0.0)
        .max_by(|a, b| distance(a).total_cmp(&distance(b)))
}

fn comparison(first: &Value<'_>, other: &Value<'_>) -> String {
    let (a, b) = (first.scheme, other.scheme);
    if let (Some(one), Some(two)) = (first.point.interval(), other.point.interval())
        && one.0 <= two.1
        && two.0 <= one.1
    {
        return format!("The 95 % intervals of {a} and {b} overlap: no clear difference.");
    }
    let ratio = other.mean / first.mean;
    if ratio.max(1.0 / ratio) < NO_DIFFERENCE {
        return format!("No clear difference between {a} and {b}.");
    }
    let (factor, direction) = if ratio < 1.0 { (1.0 / ratio, "lower") } else { (ratio, "higher") };
    let digits = if factor < 1.1 { 3 } else { 2 };
    let factor = significant(factor, digits);
    format!("With {b} it is {factor} times {direction} than with {a}.")
}

fn uppercase(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + characters.as_str()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(points: &[(&str, Option<f64>, Option<(f64, f64)>)]) -> ReportData {
        let line = |(scheme, mean, interval): &(&str, Option<f64>, Option<(f64, f64)>)| Line {
            scheme: (*scheme).to_owned(),
            points: vec![Point {
                mean: *mean,
                lo: interval.map(|(lo, _)| lo),
                hi: interval.map(|(_, hi)| hi),
                complete: 10,
                ..Point::default()
            }],
        };
        ReportData {
            curves: vec![Curve {
                group: "short".to_owned(),
                label: "mean transfer time".to_owned(),
                unit: "ms".to_owned(),
                lines: points.iter().map(line).collect(),
                ..Curve::default()
            }],
            ..ReportData::default()
        }
    }

    #[test]
    fn says_what_each_scheme_gives_and_the_ratio() {
        let data = data(&[
            ("sack", Some(235.2), Some((233.0, 237.0))),
            ("ecn", Some(90.1), None),
            ("dctcp", Some(81.9), Some((81.0, 82.5))),
        ]);
        assert_eq!(
            sentence(&data).unwrap(),
            "Mean transfer time of short flows: 235 ms with sack, 90.1 ms with ecn and \
             81.9 ms with dctcp. With dctcp it is 2.9 times lower than with sack."
        );
    }

    #[test]
    fn overlapping_intervals_are_no_difference() {
        let data =
            data(&[("a", Some(100.0), Some((80.0, 120.0))), ("b", Some(70.0), Some((50.0, 90.0)))]);
        assert!(sentence(&data).unwrap().ends_with("overlap: no clear difference."));
    }

    #[test]
    fn a_missing_value_is_not_spoken_of_and_unfinished_flows_are() {
        let mut data = data(&[("a", Some(3.0), None), ("b", None, None)]);
        data.curves[0].lines[0].points[0].unfinished = 2;
        assert_eq!(
            sentence(&data).unwrap(),
            "Mean transfer time of short flows: 3.00 ms with a. \
             2 of 12 flows did not finish and are not in these means."
        );
        data.curves[0].lines[0].points[0].mean = None;
        assert_eq!(sentence(&data), None);
    }
}
