//! The runs of a share, each with the run of the same seed before the move.

use std::collections::BTreeMap;

use lowtide_stats::{InvalidSample, Observation, Sample, ValueRange};

use super::flows::{RolloutRun, SizedFlow};
use super::outcome::Outcome;
use super::timed_query::TimedQuery;

/// A run, and that of the same seed with no host moved.
pub(super) struct RunPair<'a> {
    pub(super) run: &'a RolloutRun,
    pub(super) before: &'a RolloutRun,
    /// Flows of both runs, each with itself before the move.
    pub(super) flows: Vec<[&'a SizedFlow; 2]>,
    /// Queries of both runs.
    pub(super) queries: Vec<[&'a TimedQuery; 2]>,
}

impl<'a> RunPair<'a> {
    pub(super) fn new(run: &'a RolloutRun, before: &'a RolloutRun) -> Self {
        let flows = both(&run.flows, &before.flows, |flow| flow.number);
        let queries = both(&run.queries, &before.queries, |query| query.id);
        Self { run, before, flows, queries }
    }
}

/// Returns the elements of both lists. In a closed loop the lists may differ.
fn both<'a, T, K: Ord>(now: &'a [T], before: &'a [T], key: fn(&T) -> K) -> Vec<[&'a T; 2]> {
    let before: BTreeMap<K, &T> = before.iter().map(|of| (key(of), of)).collect();
    now.iter().filter_map(|of| Some([of, before.get(&key(of))?])).collect()
}

/// The runs of one share.
pub(super) struct ShareRuns<'a> {
    pub(super) share_percent: f64,
    pub(super) moved_hosts: u32,
    pub(super) runs: Vec<RunPair<'a>>,
}

impl ShareRuns<'_> {
    /// Whether any host was moved.
    pub(super) fn moved(&self) -> bool {
        self.share_percent > 0.0
    }

    /// Summarises the samples of all seeds; `None` without values. `samples` returns those of a
    /// run, and of the same flows before the move.
    pub(super) fn outcome(
        &self,
        tolerance: f64,
        samples: impl Fn(&RunPair<'_>) -> Result<[Sample; 2], InvalidSample>,
    ) -> Result<Option<Outcome>, InvalidSample> {
        let (mut now, mut before) = (Vec::new(), Vec::new());
        for pair in &self.runs {
            let [of_now, of_before] = samples(pair)?;
            now.push(of_now);
            before.push(of_before);
        }
        Ok(Outcome::new(&now, self.moved().then_some(&before), tolerance))
    }
}

/// Returns the samples of one seed, of values now and before.
pub(super) fn samples(
    values: impl Iterator<Item = [Observation; 2]>,
    range: ValueRange,
) -> Result<[Sample; 2], InvalidSample> {
    let (now, before): (Vec<_>, Vec<_>) = values.map(<(_, _)>::from).unzip();
    Ok([Sample::new(now, range)?, Sample::new(before, range)?])
}
