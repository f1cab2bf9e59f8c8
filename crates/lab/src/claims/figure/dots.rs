//! The points of a curve, from the runs of an experiment.

use std::collections::BTreeMap;

use lowtide_record::Point;

use crate::claims::measure::{Measure, Rows, TIME};
use crate::claims::source::Source;
use crate::claims::windows::WindowsOf;
use crate::figure::{Dot, thinned};
use crate::interval::OverSeeds;
use crate::plots::place_of;

/// Points of a trace, a distribution or a cloud that are drawn.
const MOST_POINTS: usize = 1200;

/// A measure over a swept key, whose values are divided by `per`; a point that was left out has none.
pub(super) fn over(
    measure: &Measure,
    key: &str,
    per: f64,
    of: Source<'_>,
    points: &[Point],
) -> Result<Vec<Dot>, String> {
    let mut values: Vec<&str> = points.iter().filter_map(|p| p.get(key)).collect();
    values.sort_unstable();
    values.dedup();
    let mut dots = Vec::new();
    for value in values {
        let Some(x) = place_of(value) else {
            return Err(format!("`{value}` of `{key}` has no place on an axis"));
        };
        dots.extend(dot(x / per, &measure.with(key, value), of, points)?);
    }
    dots.sort_by(|a, b| a.x.total_cmp(&b.x));
    Ok(dots)
}

/// A measure for each class; the first class stands at zero.
pub(super) fn classes(
    measures: &[Measure],
    of: Source<'_>,
    points: &[Point],
) -> Result<Vec<Dot>, String> {
    let dots = measures.iter().enumerate().map(|(i, measure)| dot(i as f64, measure, of, points));
    Ok(dots.collect::<Result<Vec<_>, String>>()?.into_iter().flatten().collect())
}

/// The mean over seeds; nothing where a point was left out, or a seed has no value.
fn dot(x: f64, of_it: &Measure, of: Source<'_>, points: &[Point]) -> Result<Option<Dot>, String> {
    if !of_it.leaves().into_iter().all(|leaf| leaf.is_at(points)) {
        return Ok(None);
    }
    let over = OverSeeds::new(&of_it.values(of)?);
    Ok(over.mean.map(|y| Dot { x, y, interval: over.ci95 }))
}

/// The share of values up to each one, of all seeds.
pub(super) fn distribution(rows: &Rows, of: Source<'_>) -> Result<Vec<Dot>, String> {
    Ok(climb(rows.all(of, None)?.into_iter().map(|(_, y)| y).collect()))
}

/// The share of values up to each one. What never ended is among all, and nowhere: the share stays below one.
fn climb(mut values: Vec<f64>) -> Vec<Dot> {
    let all = values.len() as f64;
    values.retain(|value| value.is_finite());
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let step = n.div_ceil(MOST_POINTS).max(1);
    let ranks = (0..n).filter(|i| i % step == 0 || i + 1 == n);
    let mut dots: Vec<Dot> = values.first().map(|v| Dot::new(*v, 0.0)).into_iter().collect();
    dots.extend(ranks.map(|i| Dot::new(values[i], (i + 1) as f64 / all)));
    dots
}

/// Values over seconds, of the first seed.
pub(super) fn trace(rows: &Rows, of: Source<'_>) -> Result<Vec<Dot>, String> {
    let pairs = rows.all(first(of), Some(TIME))?;
    let dots: Vec<Dot> = pairs.into_iter().map(|(ps, y)| Dot::new(ps / 1e12, y)).collect();
    Ok(thinned(&dots, MOST_POINTS))
}

/// The values of `rows` over those of `across`, where both have one at the same time.
pub(super) fn plane(across: &Rows, rows: &Rows, of: Source<'_>) -> Result<Vec<Dot>, String> {
    let of_times = |rows: &Rows| -> Result<BTreeMap<u64, f64>, String> {
        let pairs = rows.all(first(of), Some(TIME))?;
        Ok(pairs.into_iter().map(|(ps, y)| (ps as u64, y)).collect())
    };
    let (across, rows) = (of_times(across)?, of_times(rows)?);
    let both = rows.iter().filter_map(|(ps, y)| Some(Dot::new(*across.get(ps)?, *y)));
    Ok(some_of(both.collect()))
}

/// What was heard in each window over what was true.
pub(super) fn cloud(windows: &WindowsOf, of: Source<'_>) -> Result<Vec<Dot>, String> {
    let pairs = windows.all(first(of))?.into_iter().next().unwrap_or_default();
    Ok(some_of(pairs.into_iter().map(|(heard, truth)| Dot::new(truth, heard)).collect()))
}

/// As many as are drawn, evenly picked.
fn some_of(dots: Vec<Dot>) -> Vec<Dot> {
    let step = dots.len().div_ceil(MOST_POINTS).max(1);
    dots.into_iter().step_by(step).collect()
}

/// Its first seed alone.
fn first(of: Source<'_>) -> Source<'_> {
    Source { seeds: of.seeds.get(..1).unwrap_or_default(), ..of }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_of_which_half_never_ended_climbs_to_a_half() {
        let at =
            |values: &[f64]| climb(values.to_vec()).iter().map(|d| (d.x, d.y)).collect::<Vec<_>>();
        assert_eq!(
            at(&[2.0, f64::INFINITY, 1.0, f64::INFINITY]),
            [(1.0, 0.0), (1.0, 0.25), (2.0, 0.5)]
        );
        assert_eq!(at(&[3.0]), [(3.0, 0.0), (3.0, 1.0)]);
        assert_eq!(at(&[f64::INFINITY]), []);
    }
}
