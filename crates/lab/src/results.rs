//! Results of an experiment: facts of every run, summary over seeds, one digest.

use lowtide_record::{Manifest, combine_digests};

use crate::facts::RunFacts;
use crate::findings::{RunFinding, findings};
use crate::summary::{SummaryRow, summarise};
use crate::tails::{TailRow, tails};
use crate::transports::Transports;

/// The results of all runs of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Results {
    /// Every run, in the order of the plan.
    pub runs: Vec<RunFacts>,
    /// Every metric over seeds.
    pub summary: Vec<SummaryRow>,
    /// Findings that a reader must know before the numbers.
    pub findings: Vec<RunFinding>,
    /// Percentiles of all seeds together.
    pub tails: Vec<TailRow>,
    /// One digest for all runs, in the order of the plan.
    pub digest: String,
}

impl Results {
    /// Computes results from the facts of all runs, in the order of the plan.
    pub fn new(runs: Vec<RunFacts>) -> Self {
        let digest = combine_digests(runs.iter().map(|r| r.digest.as_str()));
        Self {
            summary: summarise(&runs),
            findings: findings(&runs),
            tails: tails(&runs),
            runs,
            digest,
        }
    }

    /// Returns manifest and results for display: with labels instead of keys.
    pub(crate) fn relabelled(
        &self,
        manifest: &Manifest,
        transports: &Transports,
    ) -> (Manifest, Self) {
        let (mut manifest, mut results) = (manifest.clone(), self.clone());
        let rename = |scheme: &mut String| *scheme = transports.label(scheme).to_owned();
        manifest.title = transports.title(&manifest.title);
        manifest.schemes.iter_mut().for_each(rename);
        manifest.runs.iter_mut().for_each(|run| rename(&mut run.key.scheme));
        results.runs.iter_mut().for_each(|run| rename(&mut run.key.scheme));
        results.summary.iter_mut().for_each(|row| rename(&mut row.subject.scheme));
        results.findings.iter_mut().for_each(|finding| rename(&mut finding.scheme));
        results.tails.iter_mut().for_each(|row| rename(&mut row.scheme));
        (manifest, results)
    }

    /// Returns the number of flows with a size that were censored.
    pub fn unfinished(&self) -> usize {
        self.runs.iter().flat_map(|r| &r.groups).map(|g| g.unfinished).sum()
    }

    /// Returns the number of flows whose connection failed.
    pub fn failed(&self) -> usize {
        self.runs.iter().flat_map(|r| &r.groups).map(|g| g.failed).sum()
    }
}
