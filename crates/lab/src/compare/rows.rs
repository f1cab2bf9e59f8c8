//! The rows of a comparison: selection of the metrics, and their verdicts.

use super::pair::PairedRuns;
use super::{ALL, CompareOptions, ComparedMetric, DifferenceVerdict, Selection};
use crate::facts::RunFacts;
use crate::interval::OverSeeds;
use crate::queries::QueryFacts;
use crate::subject::MetricSubject;
use crate::summary::{
    BUFFER_POOL, DROP_KINDS, GROUP, Metric, QUERY, QUEUE, QUEUE_CLASS, RUN, SIZE_CLASS, Worse,
    class_names,
};

/// Default metrics of a traffic group.
const DEFAULT_GROUP: [&str; 3] = ["fct_ms.mean", "fct_ms.p99", "goodput_mbps"];
/// Default metrics of a size class.
const DEFAULT_CLASS: [&str; 2] = ["slowdown.mean", "slowdown.p99"];
/// Default metrics of queries.
const DEFAULT_QUERY: [&str; 4] =
    ["qct_ms.mean", "qct_ms.p99", "timeout_fraction", "deadline_fraction"];
/// Default metrics of a queue.
const DEFAULT_QUEUE: [&str; 4] = ["mean_packets", "p99_packets", "drops", "utilisation"];
/// Default metrics of a queue class.
const DEFAULT_QUEUE_CLASS: [&str; 3] = ["mean_packets", "p99_packets", "drops"];
/// Default metrics of a buffer pool.
const DEFAULT_MEMORY: [&str; 1] = ["peak_fraction"];
/// Default metrics of the whole run.
const DEFAULT_RUN: [&str; 1] = ["drops"];

/// All rows of one scheme and point.
pub(super) fn rows_of_point(
    pairs: &[PairedRuns<'_>],
    chosen: &Selection,
    wanted: &CompareOptions,
) -> Vec<ComparedMetric> {
    let mut rows = Vec::new();
    let Some((first, _)) = pairs.first() else { return rows };
    for name in first.groups.iter().map(|g| &g.name) {
        let of_group = |row| with_subject(row, |a| a.group = Some(name.clone()));
        let all = metric_rows(pairs, GROUP, &DEFAULT_GROUP, wanted, &|run| run.group(name));
        rows.extend(all.into_iter().map(of_group));
        let runs = pairs.iter().flat_map(|(a, b)| [*a, *b]);
        for class in class_names(runs, name) {
            let all = metric_rows(pairs, SIZE_CLASS, &DEFAULT_CLASS, wanted, &|run| {
                run.group(name)?.class(&class)
            });
            let of_class = |row| with_subject(of_group(row), |a| a.class = Some(class.clone()));
            rows.extend(all.into_iter().map(of_class));
        }
    }
    for QueryFacts { name, .. } in &first.queries {
        let all = metric_rows(pairs, QUERY, &DEFAULT_QUERY, wanted, &|run| run.queries(name));
        rows.extend(all.into_iter().map(|row| with_subject(row, |a| a.group = Some(name.clone()))));
    }
    for name in &chosen.queues {
        let Some(queue) = first.queue(name) else { continue };
        let of_queue = |row| with_subject(row, |a| a.queue = Some(name.clone()));
        let all = metric_rows(pairs, QUEUE, &DEFAULT_QUEUE, wanted, &|run| run.queue(name));
        rows.extend(all.into_iter().map(of_queue));
        for class in queue.classes.iter().map(|c| &c.name) {
            let all = metric_rows(pairs, QUEUE_CLASS, &DEFAULT_QUEUE_CLASS, wanted, &|run| {
                run.queue(name)?.class(class)
            });
            let of_class = |row| with_subject(of_queue(row), |a| a.class = Some(class.clone()));
            rows.extend(all.into_iter().map(of_class));
        }
    }
    for name in chosen.buffer_pools.iter().filter(|name| first.buffer_pool(name).is_some()) {
        let all =
            metric_rows(pairs, BUFFER_POOL, &DEFAULT_MEMORY, wanted, &|run| run.buffer_pool(name));
        rows.extend(
            all.into_iter().map(|row| with_subject(row, |a| a.buffer_pool = Some(name.clone()))),
        );
    }
    let fails = |run: &RunFacts| run.losses.drops > 0;
    if !wanted.metrics.is_empty() || pairs.iter().any(|(a, b)| fails(a) || fails(b)) {
        rows.extend(metric_rows(pairs, RUN, &DEFAULT_RUN, wanted, &|run| Some(run)));
    }
    rows
}

/// Extends the subject of a row.
fn with_subject(mut row: ComparedMetric, more: impl FnOnce(&mut MetricSubject)) -> ComparedMetric {
    more(&mut row.subject);
    row
}

/// The selected metrics of the item that `find` returns for a run.
fn metric_rows<F>(
    pairs: &[PairedRuns<'_>],
    all: &'static [Metric<F>],
    usual: &[&str],
    wanted: &CompareOptions,
    find: &dyn for<'r> Fn(&'r RunFacts) -> Option<&'r F>,
) -> Vec<ComparedMetric> {
    let of = |metric| row(pairs, metric, wanted, &|run| metric.of(find(run)?));
    select_metrics(all, &wanted.metrics, usual).filter_map(of).collect()
}

/// The requested metrics of `all`.
fn select_metrics<'a, F>(
    all: &'static [Metric<F>],
    names: &'a [String],
    usual: &'a [&str],
) -> impl Iterator<Item = &'static Metric<F>> + use<'a, F> {
    all.iter().filter(move |m| match names {
        [] => usual.contains(&m.name) || DROP_KINDS.contains(&m.name),
        names => names.iter().any(|n| n == ALL || *n == m.name),
    })
}

/// One metric over the pairs of one scheme and point; `None` if neither side has it and it was not
/// requested.
fn row<F>(
    pairs: &[(&RunFacts, &RunFacts)],
    metric: &Metric<F>,
    wanted: &CompareOptions,
    value: &dyn Fn(&RunFacts) -> Option<f64>,
) -> Option<ComparedMetric> {
    let (a, b): (Vec<_>, Vec<_>) = pairs.iter().map(|(a, b)| (value(a), value(b))).unzip();
    let asked = wanted.metrics.iter().any(|n| *n == metric.name);
    let values = || a.iter().chain(&b);
    let none_dropped = DROP_KINDS.contains(&metric.name) && values().all(|v| *v == Some(0.0));
    if !asked && (values().all(Option::is_none) || none_dropped) {
        return None;
    }
    let differences: Vec<Option<f64>> =
        a.iter().zip(&b).map(|(a, b)| Some((*b)? - (*a)?)).collect();
    let over = OverSeeds::new(&differences);
    let both = over.mean.is_some();
    let mean = |values: &[Option<f64>]| OverSeeds::new(values).mean.filter(|_| both);
    let (mean_a, mean_b) = (mean(&a), mean(&b));
    // A negative mean of A must not flip the sign of the difference.
    let scale = mean_a.map(f64::abs).filter(|m| *m > 0.0);
    let interval =
        over.ci95.or_else(|| over.mean.filter(|_| over.seed_independent).map(|m| [m; 2]));
    let relative = |[low, high]: [f64; 2]| scale.map(|s| [low / s, high / s]);
    let (verdict, reason) = judge(&over, interval, interval.and_then(relative), wanted.same_within);
    let (first, _) = pairs.first()?;
    Some(ComparedMetric {
        subject: MetricSubject::of(&first.key, metric.name, metric.unit),
        pairs: pairs.len(),
        a: mean_a,
        b: mean_b,
        difference: over.mean,
        ci95: over.ci95,
        relative: over.mean.zip(scale).map(|(d, s)| d / s),
        relative_ci95: over.ci95.and_then(relative),
        verdict,
        reason,
        fails: wanted
            .fail_above
            .is_some_and(|limit| fails(metric.worse, interval, interval.and_then(relative), limit)),
    })
}

fn judge(
    over: &OverSeeds,
    interval: Option<[f64; 2]>,
    relative: Option<[f64; 2]>,
    same: f64,
) -> (DifferenceVerdict, Option<&'static str>) {
    let Some(mean) = over.mean else {
        return (DifferenceVerdict::Undecided, Some("not every pair has both values"));
    };
    let Some([low, high]) = interval else {
        return if mean.abs() <= 0.0 {
            (DifferenceVerdict::Same, None)
        } else {
            (DifferenceVerdict::Undecided, Some("one pair has no interval"))
        };
    };
    if (low.abs() <= 0.0 && high.abs() <= 0.0)
        || relative.is_some_and(|[low, high]| low >= -same && high <= same)
    {
        (DifferenceVerdict::Same, None)
    } else if low > 0.0 {
        (DifferenceVerdict::Higher, None)
    } else if high < 0.0 {
        (DifferenceVerdict::Lower, None)
    } else {
        (DifferenceVerdict::Undecided, Some("the interval contains zero"))
    }
}

/// Whether the whole interval is worse than the tolerance. From a mean of zero any change exceeds
/// it.
fn fails(worse: Worse, interval: Option<[f64; 2]>, relative: Option<[f64; 2]>, limit: f64) -> bool {
    let Some([low, high]) = interval else { return false };
    let (rises, falls) = match relative {
        Some([low, high]) => (low > limit, high < -limit),
        None => (low > 0.0, high < 0.0),
    };
    match worse {
        Worse::More => rises,
        Worse::Less => falls,
        Worse::Either => rises || falls,
    }
}
