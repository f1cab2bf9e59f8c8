//! Compares two sets of results, seed by seed.
//!
//! Contract: runs are paired by scheme, sweep point and seed. A seed has the same workload and
//! impairments on both sides, so a pair differs only by the change under test. Each metric has a
//! ratio, B over A, with its 95 % interval over the pairs, and a separate verdict: of many rows
//! one in twenty may be false. Runs without a partner are listed, never dropped silently.

mod multi;
mod pair;
mod rows;

use lowtide_stats::{LEAST_SEEDS, Verdict};
use serde::Serialize;

use crate::error::LabError;
use crate::facts::RunFacts;
use crate::results::Results;
use crate::shown_estimate::ShownComparison;
use crate::subject::MetricSubject;
use crate::summary::{self, group_metrics};

pub use multi::{MetricRow, MultiComparison, PossibleCause, compare_to_first};
use pair::{PairedRuns, Pairing, pair_runs};

/// Selects every metric.
const ALL: &str = "all";

/// Options of a comparison.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CompareOptions {
    /// Names of metrics as in `summary.json`; `all` for every one; the default ones if empty.
    pub metrics: Vec<String>,
    /// Names of queues; if empty, the one with the greatest mean length in A.
    pub queues: Vec<String>,
    /// Names of shared buffer pools; if empty, the one with the greatest mean occupancy in A.
    pub buffer_pools: Vec<String>,
    /// A scheme of A and the scheme of B that it is paired with, if their names differ.
    pub schemes: Vec<(String, String)>,
    /// Ratios from the inverse of one and this, to one and this, are `same`.
    pub same_within: f64,
    /// Maximum tolerated relative degradation of a metric.
    pub fail_above: Option<f64>,
}

/// Comparison of two sets of results.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comparison {
    /// Pairs of runs.
    pub pairs: usize,
    /// Pairs whose digests and figures agree: identical packet by packet.
    pub identical: usize,
    /// Pairs whose digests agree and whose figures do not: their warm-up or size classes differ, or
    /// different versions made them.
    pub digest_only: usize,
    /// Runs of A without a partner.
    pub only_a: Vec<String>,
    /// Runs of B without a partner.
    pub only_b: Vec<String>,
    /// All metrics of all schemes and points that have pairs.
    pub rows: Vec<ComparedMetric>,
}

/// One metric of one scheme at one point, on both sides.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ComparedMetric {
    /// Subject of the metric; the scheme has its name in A.
    #[serde(flatten)]
    pub subject: MetricSubject,
    /// Pairs of seeds.
    pub pairs: usize,
    /// Values, ratio and verdict.
    #[serde(flatten)]
    pub shown: ShownComparison,
    /// Whether it got worse by more than the tolerance.
    pub fails: bool,
}

/// Compares two sets of results.
///
/// # Errors
/// They have no run in common, neither has a requested item, or a tolerated degradation is stated
/// and the pairs are too few to find one.
pub fn compare(a: &Results, b: &Results, wanted: &CompareOptions) -> Result<Comparison, LabError> {
    check_metrics(&wanted.metrics)?;
    let Pairing { points, only_a, only_b } = pair_runs(&a.runs, &b.runs, &wanted.schemes)?;
    let chosen = Selection::new(&a.runs, wanted)?;
    let rows: Vec<ComparedMetric> =
        points.iter().flat_map(|pairs| rows::rows_of_point(pairs, &chosen, wanted)).collect();
    let open =
        |r: &&ComparedMetric| r.pairs < LEAST_SEEDS && r.shown.verdict == Some(Verdict::Undecided);
    if let (Some(_), Some(row)) = (wanted.fail_above, rows.iter().find(open)) {
        return Err(LabError::InvalidRequest {
            message: format!(
                "{} pairs of runs do not decide whether `{}` got worse",
                row.pairs, row.subject.metric
            ),
            help: Some(format!("run both sides with `--seeds {LEAST_SEEDS}` or more")),
        });
    }
    let all = || points.iter().flatten();
    let same_digest = |(a, b): &&PairedRuns<'_>| a.digest == b.digest;
    // The digest covers packets only, not the other figures in the tables.
    let same_figures =
        |(a, b): &&PairedRuns<'_>| RunFacts { key: a.key.clone(), ..(*b).clone() } == **a;
    let same = all().filter(same_digest).count();
    let identical = all().filter(same_digest).filter(same_figures).count();
    Ok(Comparison {
        pairs: all().count(),
        identical,
        digest_only: same - identical,
        only_a,
        only_b,
        rows,
    })
}

fn check_metrics(names: &[String]) -> Result<(), LabError> {
    let known = || -> Vec<&str> { [group_metrics(), summary::other_metrics()].concat() };
    match names.iter().find(|n| *n != ALL && known().iter().all(|k| k != *n)) {
        None => Ok(()),
        Some(name) => Err(LabError::InvalidRequest {
            message: format!("there is no metric `{name}`"),
            help: Some(format!("there are {}, and {ALL}", known().join(", "))),
        }),
    }
}

/// The queues and buffer pools that are compared.
struct Selection {
    queues: Vec<String>,
    buffer_pools: Vec<String>,
}

impl Selection {
    /// The named ones, else the longest queue and the fullest pool of `runs`.
    fn new(runs: &[RunFacts], wanted: &CompareOptions) -> Result<Self, LabError> {
        let queues = runs.iter().flat_map(|r| &r.queues).map(|q| (q.name.as_str(), q.mean_packets));
        let buffer_pools = runs.iter().flat_map(|r| &r.buffer_pools);
        let buffer_pools = buffer_pools.map(|m| (m.name.as_str(), m.peak_fraction()));
        Ok(Self {
            queues: choose("queue", &queues.collect::<Vec<_>>(), &wanted.queues)?,
            buffer_pools: choose(
                "buffer pool",
                &buffer_pools.collect::<Vec<_>>(),
                &wanted.buffer_pools,
            )?,
        })
    }
}

/// The named ones of `all`, else the greatest.
fn choose(
    what: &str,
    all: &[(&str, Option<f64>)],
    named: &[String],
) -> Result<Vec<String>, LabError> {
    if let Some(name) = named.iter().find(|n| all.iter().all(|(known, _)| known != n)) {
        let mut known: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        known.sort_unstable();
        known.dedup();
        let help = match known.as_slice() {
            [] => "there is none".to_owned(),
            known => format!("there are {}", known.join(", ")),
        };
        let message = format!("there is no {what} `{name}`");
        return Err(LabError::InvalidRequest { message, help: Some(help) });
    }
    if !named.is_empty() {
        return Ok(named.to_vec());
    }
    let greatest = all
        .iter()
        .filter_map(|(name, value)| Some(((*value)?, *name)))
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1)));
    Ok(greatest.map(|(_, name)| name.to_owned()).into_iter().collect())
}

#[cfg(test)]
mod tests;
