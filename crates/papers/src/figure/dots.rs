//! The points of a curve, from the runs of an experiment.

use std::collections::BTreeMap;

use lowtide_charts::Dot;
use lowtide_lab::axis_position;
use lowtide_record::SweepPoint;
use lowtide_stats::{LEVEL, seed_mean_at};

use crate::measure::{ClaimMeasure, RowsMeasure, TIME};
use crate::source::RunData;
use crate::windows::WindowsMeasure;

/// A measure over a swept key, whose values are divided by `per`; an omitted point is skipped.
pub(super) fn over_sweep(
    measure: &ClaimMeasure,
    key: &str,
    per: f64,
    of: RunData<'_>,
    points: &[SweepPoint],
) -> Result<Vec<Dot>, String> {
    let mut values: Vec<&str> = points.iter().filter_map(|p| p.get(key)).collect();
    values.sort_unstable();
    values.dedup();
    let mut dots = Vec::new();
    for value in values {
        let Some(x) = axis_position(value) else {
            return Err(format!("`{value}` of `{key}` has no place on an axis"));
        };
        dots.extend(dot(x / per, &measure.with(key, value), of, points)?);
    }
    dots.sort_by(|a, b| a.x.total_cmp(&b.x));
    Ok(dots)
}

/// A measure for each class; the first class is at x = 0.
pub(super) fn classes(
    measures: &[ClaimMeasure],
    of: RunData<'_>,
    points: &[SweepPoint],
) -> Result<Vec<Dot>, String> {
    let dots = measures.iter().enumerate().map(|(i, measure)| dot(i as f64, measure, of, points));
    Ok(dots.collect::<Result<Vec<_>, String>>()?.into_iter().flatten().collect())
}

/// The mean over seeds; `None` if the point was omitted or a seed has no value.
fn dot(
    x: f64,
    of_it: &ClaimMeasure,
    of: RunData<'_>,
    points: &[SweepPoint],
) -> Result<Option<Dot>, String> {
    if !of_it.leaves().into_iter().all(|leaf| leaf.is_at(points)) {
        return Ok(None);
    }
    let mean = seed_mean_at(&of_it.values(of)?, of_it.range(), LEVEL);
    Ok(mean.point.value().map(|y| Dot { x, y, interval: mean.interval.confidence() }))
}

/// Cumulative distribution of the values of all seeds.
pub(super) fn distribution(rows: &RowsMeasure, of: RunData<'_>) -> Result<Vec<Dot>, String> {
    Ok(empirical_cdf(rows.values_with(of, None)?.into_iter().map(|(_, y)| y).collect()))
}

/// Cumulative distribution. Flows that never ended count in the total only, so the share stays
/// below one.
fn empirical_cdf(mut values: Vec<f64>) -> Vec<Dot> {
    let all = values.len() as f64;
    values.retain(|value| value.is_finite());
    values.sort_by(f64::total_cmp);
    let mut until = 0;
    let step = |equal: &[f64]| {
        until += equal.len();
        Dot::new(equal[0], until as f64 / all)
    };
    values.chunk_by(|a, b| a.total_cmp(b).is_eq()).map(step).collect()
}

/// Values over time in seconds, of the first seed.
pub(super) fn trace(rows: &RowsMeasure, of: RunData<'_>) -> Result<Vec<Dot>, String> {
    let pairs = rows.values_with(first_seed(of), Some(TIME))?;
    Ok(pairs.into_iter().map(|(ps, y)| Dot::new(ps / 1e12, y)).collect())
}

/// The values of `rows` over those of `across`, at times where both have one.
pub(super) fn plane(
    across: &RowsMeasure,
    rows: &RowsMeasure,
    of: RunData<'_>,
) -> Result<Vec<Dot>, String> {
    let of_times = |rows: &RowsMeasure| -> Result<BTreeMap<u64, f64>, String> {
        let pairs = rows.values_with(first_seed(of), Some(TIME))?;
        Ok(pairs.into_iter().map(|(ps, y)| (ps as u64, y)).collect())
    };
    let (across, rows) = (of_times(across)?, of_times(rows)?);
    let both = rows.iter().filter_map(|(ps, y)| Some(Dot::new(*across.get(ps)?, *y)));
    Ok(both.collect())
}

/// The observed signal of each window over the true one.
pub(super) fn scatter(windows: &WindowsMeasure, of: RunData<'_>) -> Result<Vec<Dot>, String> {
    let pairs = windows.all(first_seed(of))?.into_iter().next().unwrap_or_default();
    Ok(pairs.into_iter().map(|(observed, actual)| Dot::new(actual, observed)).collect())
}

/// The first seed alone.
fn first_seed(of: RunData<'_>) -> RunData<'_> {
    RunData { seeds: of.seeds.get(..1).unwrap_or_default(), ..of }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cdf_of_which_half_is_censored_ends_at_one_half() {
        let at = |values: &[f64]| {
            empirical_cdf(values.to_vec()).iter().map(|d| (d.x, d.y)).collect::<Vec<_>>()
        };
        assert_eq!(at(&[2.0, f64::INFINITY, 1.0, f64::INFINITY]), [(1.0, 0.25), (2.0, 0.5)]);
        assert_eq!(at(&[3.0]), [(3.0, 1.0)]);
        assert_eq!(at(&[3.0, 1.0, 3.0, 3.0]), [(1.0, 0.25), (3.0, 1.0)]);
        assert_eq!(at(&[f64::INFINITY]), []);
    }
}
