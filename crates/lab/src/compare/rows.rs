//! The rows of a comparison: selection of the metrics, and their verdicts.

use lowtide_stats::{Comparison, Interval, LEVEL, Preference, Verdict};

use super::pair::PairedRuns;
use super::{ALL, CompareOptions, ComparedMetric, Selection};
use crate::facts::RunFacts;
use crate::queries::QueryFacts;
use crate::shown_estimate::{ShownComparison, ShownEstimate};
use crate::subject::MetricSubject;
use crate::summary::{
    BUFFER_POOL, COLLECTIVE, DROP_KINDS, GROUP, Metric, QUERY, QUEUE, QUEUE_CLASS, RUN, SIZE_CLASS,
    Worse, class_names,
};

/// Default metrics of a traffic group.
const DEFAULT_GROUP: [&str; 3] = ["fct_ms.mean", "fct_ms.p99", "goodput_mbps"];
/// Default metrics of a size class.
const DEFAULT_CLASS: [&str; 2] = ["slowdown.mean", "slowdown.p99"];
/// Default metrics of queries.
const DEFAULT_QUERY: [&str; 4] =
    ["qct_ms.mean", "qct_ms.p99", "timeout_fraction", "deadline_fraction"];
/// Default metrics of a collective.
const DEFAULT_COLLECTIVE: [&str; 3] = ["step_ms.mean", "step_ms.p99", "end_spread_ms"];
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
    for name in first.collectives.iter().map(|c| &c.name) {
        let all = metric_rows(pairs, COLLECTIVE, &DEFAULT_COLLECTIVE, wanted, &|run| {
            run.collective(name)
        });
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
    let (a, b): (Vec<Option<&F>>, Vec<Option<&F>>) =
        pairs.iter().map(|(a, b)| (find(a), find(b))).unzip();
    let of = |metric| row(pairs, metric, wanted, [&a, &b]);
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
    pairs: &[PairedRuns<'_>],
    metric: &Metric<F>,
    wanted: &CompareOptions,
    [a, b]: [&[Option<&F>]; 2],
) -> Option<ComparedMetric> {
    let asked = wanted.metrics.iter().any(|n| *n == metric.name);
    let values = || a.iter().chain(b).map(|facts| metric.of((*facts)?));
    let none_dropped = DROP_KINDS.contains(&metric.name) && values().all(|v| v == Some(0.0));
    let comparison = metric.compare([a, b], wanted.same_within);
    let shown = ShownComparison::new(&comparison, verdict(&comparison, metric.worse));
    let empty = |of: &ShownEstimate| of.value.is_none() && of.between.is_none();
    if !asked && ((empty(&shown.a) && empty(&shown.b)) || none_dropped) {
        return None;
    }
    let (first, _) = pairs.first()?;
    Some(ComparedMetric {
        subject: MetricSubject::of(&first.key, metric.name, metric.unit),
        pairs: pairs.len(),
        shown,
        fails: wanted.fail_above.is_some_and(|limit| fails(metric.worse, &comparison, limit)),
    })
}

/// Returns the verdict; `None` if the values differ and neither direction is better.
fn verdict(of: &Comparison, worse: Worse) -> Option<Verdict> {
    let better = worse.better();
    let verdict = of.verdict(better.unwrap_or(Preference::Lower));
    let decides = matches!(verdict, Verdict::Better | Verdict::Worse);
    (better.is_some() || !decides).then_some(verdict)
}

/// Whether the whole interval is worse than the tolerance. From a value of zero any change exceeds
/// it.
fn fails(worse: Worse, of: &Comparison, limit: f64) -> bool {
    let exact = of.ratio.filter(|_| of.interval == Interval::SeedIndependent);
    let error = (1.0 - LEVEL) / 2.0;
    let (rises, falls) = match of.interval.confidence().or(exact.map(|ratio| [ratio; 2])) {
        Some([low, high]) => (low > 1.0 + limit, high < 1.0 - limit),
        None => (of.evidence.higher <= error, of.evidence.lower <= error),
    };
    match worse {
        Worse::More => rises,
        Worse::Less => falls,
        Worse::Either => rises || falls,
    }
}
