//! Compares two sets of results, seed by seed.
//!
//! Contract: runs are paired by scheme, sweep point and seed. A seed has the same workload and
//! impairments on both sides, so a pair differs only by the change under test. A difference is B
//! minus A, with Student's t interval at 95 % over the pairs. The relative difference and its
//! interval are divided by the mean of A. Runs without a partner are listed, never dropped
//! silently.

mod multi;
mod pair;
mod rows;

use serde::Serialize;

use crate::error::LabError;
use crate::facts::RunFacts;
use crate::results::Results;
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
    /// A relative difference whose whole interval is within this on both sides of zero is `same`.
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
    /// Mean of A over the paired seeds; null unless every pair has both values.
    pub a: Option<f64>,
    /// Mean of B.
    pub b: Option<f64>,
    /// B minus A.
    pub difference: Option<f64>,
    /// Its 95 % interval; null for one pair, and when all pairs agree.
    pub ci95: Option<[f64; 2]>,
    /// The difference divided by the mean of A; null if that is zero.
    pub relative: Option<f64>,
    /// Its 95 % interval.
    pub relative_ci95: Option<[f64; 2]>,
    /// The verdict.
    pub verdict: DifferenceVerdict,
    /// Reason why it is undecided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// Whether it got worse by more than the tolerance.
    pub fails: bool,
}

lowtide_units::named_enum! {
    /// Verdict of a difference.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum DifferenceVerdict {
        /// No difference in any pair, or the interval is within the `same` range.
        Same = "same",
        /// B is higher; the interval excludes zero.
        Higher = "higher",
        /// B is lower; the interval excludes zero.
        Lower = "lower",
        /// The interval contains zero and exceeds the `same` range, or there is none.
        Undecided = "undecided",
    }
}

/// Compares two sets of results.
///
/// # Errors
/// They have no run in common, or neither has a requested item.
pub fn compare(a: &Results, b: &Results, wanted: &CompareOptions) -> Result<Comparison, LabError> {
    check_metrics(&wanted.metrics)?;
    let Pairing { points, only_a, only_b } = pair_runs(&a.runs, &b.runs, &wanted.schemes)?;
    let chosen = Selection::new(&a.runs, wanted)?;
    let rows =
        points.iter().flat_map(|pairs| rows::rows_of_point(pairs, &chosen, wanted)).collect();
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
