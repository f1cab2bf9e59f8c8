//! Two sets of results, seed by seed.
//!
//! Contract: runs are paired by scheme, point of the sweep and seed; a seed is the same workload and the
//! same disturbances on both sides, so that a pair differs only by what was changed. A difference is B
//! less A. Its interval is Student's t at 95 % over the differences of the pairs. The relative
//! difference is the difference over the mean of A, its interval that of the difference over the same
//! mean. What has no partner is listed, never dropped in silence.

mod pair;

use serde::Serialize;

use crate::error::LabError;
use crate::facts::RunFacts;
use crate::interval::OverSeeds;
use crate::queries::QueryFacts;
use crate::results::Results;
use crate::subject::Subject;
use crate::summary::{CLASS, GROUP, Metric, QUERY, QUEUE, Worse, group_metrics};
use crate::times::ClassFacts;

use pair::{Pairs, pairs};

/// Metrics of a traffic group where none is named.
const USUAL_GROUP: [&str; 3] = ["fct_ms.mean", "fct_ms.p99", "goodput_mbps"];
/// Metrics of the flows in a range of sizes where none is named.
const USUAL_CLASS: [&str; 2] = ["slowdown.mean", "slowdown.p99"];
/// Metrics of queries where none is named.
const USUAL_QUERY: [&str; 4] =
    ["qct_ms.mean", "qct_ms.p99", "timeout_fraction", "deadline_fraction"];
/// Metrics of a queue where none is named.
const USUAL_QUEUE: [&str; 4] = ["mean_packets", "p99_packets", "drops", "utilisation"];
/// Stands for every metric.
const ALL: &str = "all";

/// What is compared, and what counts as a difference.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Wanted {
    /// Names of metrics as in `summary.json`; `all` for every one; the usual ones when empty.
    pub metrics: Vec<String>,
    /// Names of queues; the longest of A on average when empty.
    pub queues: Vec<String>,
    /// A scheme of A and the scheme of B that it is paired with, where their names differ.
    pub schemes: Vec<(String, String)>,
    /// A relative difference whose whole interval lies within this, on both sides of zero, is `same`.
    pub same: f64,
    /// The share by which a metric may get worse.
    pub fail_above: Option<f64>,
}

/// Two sets of results side by side.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comparison {
    /// Pairs of runs.
    pub pairs: usize,
    /// Pairs whose digests agree: the same physics, packet by packet.
    pub identical: usize,
    /// Runs of A without a partner.
    pub only_a: Vec<String>,
    /// Runs of B without a partner.
    pub only_b: Vec<String>,
    /// Every metric of every scheme and point that has pairs.
    pub rows: Vec<Compared>,
}

/// One metric of one scheme at one point, on both sides.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Compared {
    /// What it is about; the scheme as A calls it.
    #[serde(flatten)]
    pub about: Subject,
    /// Pairs of seeds.
    pub pairs: usize,
    /// Mean of A over the paired seeds; null unless every pair has both values.
    pub a: Option<f64>,
    /// Mean of B.
    pub b: Option<f64>,
    /// B less A.
    pub difference: Option<f64>,
    /// Its 95 % interval; null for one pair, and when all pairs agree.
    pub ci95: Option<[f64; 2]>,
    /// The difference over the mean of A; null where that is zero.
    pub relative: Option<f64>,
    /// Its 95 % interval.
    pub relative_ci95: Option<[f64; 2]>,
    /// What it comes to.
    pub verdict: Verdict,
    /// Why it is undecided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// It got worse by more than is allowed.
    pub fails: bool,
}

/// What a difference comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// No difference in any pair, or the interval lies within what counts as the same.
    Same,
    /// B is higher, with its whole interval.
    Higher,
    /// B is lower, with its whole interval.
    Lower,
    /// The interval holds zero and more than what counts as the same, or there is none.
    Undecided,
}

impl Verdict {
    /// As it is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Higher => "higher",
            Self::Lower => "lower",
            Self::Undecided => "undecided",
        }
    }
}

/// Compares two sets of results.
///
/// # Errors
/// They have no run in common, or what is wanted is in neither.
pub fn compare(a: &Results, b: &Results, wanted: &Wanted) -> Result<Comparison, LabError> {
    check_metrics(&wanted.metrics)?;
    let Pairs { points, only_a, only_b } = pairs(&a.runs, &b.runs, &wanted.schemes)?;
    let queues = queues(&a.runs, wanted)?;
    let mut rows = Vec::new();
    for pairs in &points {
        let Some((first, _)) = pairs.first() else { continue };
        for group in &first.groups {
            let name = &group.name;
            for metric in chosen(GROUP, &wanted.metrics, &USUAL_GROUP) {
                let value = |run: &RunFacts| metric.of(run.group(name)?);
                let of_group = |a: &mut Subject| a.group = Some(name.clone());
                rows.extend(row(pairs, metric, wanted, &value, of_group));
            }
            for class in group.classes.iter().map(ClassFacts::name) {
                for metric in chosen(CLASS, &wanted.metrics, &USUAL_CLASS) {
                    let value = |run: &RunFacts| metric.of(run.group(name)?.class(&class)?);
                    let of_class = |a: &mut Subject| {
                        (a.group, a.class) = (Some(name.clone()), Some(class.clone()));
                    };
                    rows.extend(row(pairs, metric, wanted, &value, of_class));
                }
            }
        }
        for QueryFacts { name, .. } in &first.queries {
            for metric in chosen(QUERY, &wanted.metrics, &USUAL_QUERY) {
                let value = |run: &RunFacts| metric.of(run.queries(name)?);
                let of_group = |a: &mut Subject| a.group = Some(name.clone());
                rows.extend(row(pairs, metric, wanted, &value, of_group));
            }
        }
        for name in queues.iter().filter(|name| first.queue(name).is_some()) {
            for metric in chosen(QUEUE, &wanted.metrics, &USUAL_QUEUE) {
                let value = |run: &RunFacts| metric.of(run.queue(name)?);
                let of_queue = |a: &mut Subject| a.queue = Some(name.clone());
                rows.extend(row(pairs, metric, wanted, &value, of_queue));
            }
        }
    }
    let all = || points.iter().flatten();
    Ok(Comparison {
        pairs: all().count(),
        identical: all().filter(|(a, b)| a.digest == b.digest).count(),
        only_a,
        only_b,
        rows,
    })
}

fn check_metrics(names: &[String]) -> Result<(), LabError> {
    let known = || group_metrics().into_iter().chain(QUEUE.iter().map(|m| m.name));
    match names.iter().find(|n| *n != ALL && known().all(|k| k != *n)) {
        None => Ok(()),
        Some(name) => Err(LabError::Question {
            message: format!("there is no metric `{name}`"),
            help: Some(format!("there are {}, and {ALL}", known().collect::<Vec<_>>().join(", "))),
        }),
    }
}

fn chosen<'a, F>(
    all: &'static [Metric<F>],
    names: &'a [String],
    usual: &'a [&str],
) -> impl Iterator<Item = &'static Metric<F>> + use<'a, F> {
    all.iter().filter(move |m| match names {
        [] => usual.contains(&m.name),
        names => names.iter().any(|n| n == ALL || *n == m.name),
    })
}

/// The queues that are compared.
fn queues(runs: &[RunFacts], wanted: &Wanted) -> Result<Vec<String>, LabError> {
    let all = || runs.iter().flat_map(|r| &r.queues);
    if let Some(name) = wanted.queues.iter().find(|n| all().all(|q| q.name != **n)) {
        let mut known: Vec<&str> = all().map(|q| q.name.as_str()).collect();
        known.sort_unstable();
        known.dedup();
        return Err(LabError::Question {
            message: format!("there is no queue `{name}`"),
            help: Some(format!("there are {}", known.join(", "))),
        });
    }
    if !wanted.queues.is_empty() {
        return Ok(wanted.queues.clone());
    }
    let longest = all()
        .filter_map(|q| Some((q.mean_packets?, &q.name)))
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1)));
    Ok(longest.map(|(_, name)| name.clone()).into_iter().collect())
}

/// One metric over the pairs of one scheme and point, and what `more` says of it; `None` where neither side has it at all and nobody
/// asked for it.
fn row<F>(
    pairs: &[(&RunFacts, &RunFacts)],
    metric: &Metric<F>,
    wanted: &Wanted,
    value: &dyn Fn(&RunFacts) -> Option<f64>,
    more: impl FnOnce(&mut Subject),
) -> Option<Compared> {
    let (a, b): (Vec<_>, Vec<_>) = pairs.iter().map(|(a, b)| (value(a), value(b))).unzip();
    let asked = wanted.metrics.iter().any(|n| *n == metric.name);
    if !asked && a.iter().chain(&b).all(Option::is_none) {
        return None;
    }
    let differences: Vec<Option<f64>> =
        a.iter().zip(&b).map(|(a, b)| Some((*b)? - (*a)?)).collect();
    let over = OverSeeds::new(&differences);
    let both = over.mean.is_some();
    let mean = |values: &[Option<f64>]| OverSeeds::new(values).mean.filter(|_| both);
    let (mean_a, mean_b) = (mean(&a), mean(&b));
    // The sign of the difference must stay where the mean of A is negative.
    let scale = mean_a.map(f64::abs).filter(|m| *m > 0.0);
    let interval =
        over.ci95.or_else(|| over.mean.filter(|_| over.seed_independent).map(|m| [m; 2]));
    let relative = |[low, high]: [f64; 2]| scale.map(|s| [low / s, high / s]);
    let (verdict, reason) = judge(&over, interval, interval.and_then(relative), wanted.same);
    let (first, _) = pairs.first()?;
    let mut about = Subject::of(&first.key, metric.name, metric.unit);
    more(&mut about);
    Some(Compared {
        about,
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
) -> (Verdict, Option<&'static str>) {
    let Some(mean) = over.mean else {
        return (Verdict::Undecided, Some("not every pair has both values"));
    };
    let Some([low, high]) = interval else {
        return if mean.abs() <= 0.0 {
            (Verdict::Same, None)
        } else {
            (Verdict::Undecided, Some("one pair has no interval"))
        };
    };
    if (low.abs() <= 0.0 && high.abs() <= 0.0)
        || relative.is_some_and(|[low, high]| low >= -same && high <= same)
    {
        (Verdict::Same, None)
    } else if low > 0.0 {
        (Verdict::Higher, None)
    } else if high < 0.0 {
        (Verdict::Lower, None)
    } else {
        (Verdict::Undecided, Some("the interval holds zero"))
    }
}

/// Whether the whole interval is worse than allowed. From a mean of zero any change is beyond every
/// share.
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

#[cfg(test)]
mod tests;
