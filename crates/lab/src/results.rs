//! Results of an experiment: facts of every run, summary over seeds, one digest.

use std::collections::BTreeMap;

use lowtide_record::{Manifest, SharedRuns, combine_digests};
use serde::Serialize;

use crate::facts::RunFacts;
use crate::findings::{RunFinding, findings};
use crate::summary::{SummaryRow, summarise};
use crate::tails::{TailRatio, TailRow, ratios, shortest, tails};
use crate::transports::{Mismatch, Transports};

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
    /// Ratios of these between schemes.
    pub ratios: Vec<TailRatio>,
    /// One digest for all runs, in the order of the plan.
    pub digest: String,
}

/// The output of `--json` and content of `summary.json`; documented in `docs/reference/json.md`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ResultsJson<'a> {
    /// `lowtide.run/3`.
    pub schema: &'static str,
    /// Version of the tool.
    pub version: &'a str,
    /// Name of the scenario.
    pub scenario: &'a str,
    /// Hash of the resolved scenario.
    pub scenario_hash: &'a str,
    /// One digest for all runs.
    pub digest: &'a str,
    /// Label of each scheme: its name, and the transports that differ from it.
    pub labels: BTreeMap<String, String>,
    /// Transports that differ from the names or settings.
    pub mismatches: Vec<Mismatch>,
    /// Schemes of which some runs have the tables of another.
    pub shared: &'a [SharedRuns],
    /// Every run, in the order of the plan.
    pub runs: &'a [RunFacts],
    /// Every metric over seeds.
    pub summary: &'a [SummaryRow],
    /// Findings that a reader must know before the numbers.
    pub findings: &'a [RunFinding],
    /// Percentiles of all seeds together.
    pub tails: &'a [TailRow],
    /// Ratios of these between schemes.
    pub ratios: &'a [TailRatio],
}

impl Results {
    /// Computes results from the facts of all runs, in the order of the plan.
    pub fn new(runs: Vec<RunFacts>) -> Self {
        let digest = combine_digests(runs.iter().map(|r| r.digest.as_str()));
        let tails = tails(&runs);
        Self {
            summary: summarise(&runs),
            findings: findings(&runs),
            ratios: ratios(&runs, &tails),
            tails,
            runs,
            digest,
        }
    }

    /// Returns the results with their identification.
    pub fn envelope<'a>(&'a self, manifest: &'a Manifest) -> ResultsJson<'a> {
        let transports = Transports::new(manifest, &self.runs);
        ResultsJson {
            labels: transports.labels(),
            mismatches: transports.mismatches,
            schema: "lowtide.run/3",
            version: &manifest.version,
            scenario: &manifest.scenario,
            scenario_hash: &manifest.scenario_hash,
            digest: &self.digest,
            shared: &manifest.shared,
            runs: &self.runs,
            summary: &self.summary,
            findings: &self.findings,
            tails: &self.tails,
            ratios: &self.ratios,
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
        results.ratios.iter_mut().for_each(|ratio| {
            rename(&mut ratio.a);
            rename(&mut ratio.b);
        });
        (manifest, results)
    }

    /// Returns the ratios of the shortest flows, in the order of the points.
    pub fn shortest_ratios(&self) -> Vec<&TailRatio> {
        let Some((group, class, metric)) = shortest(&self.tails) else { return Vec::new() };
        let of =
            |r: &&TailRatio| r.group == group && r.class.as_deref() == class && r.metric == metric;
        self.ratios.iter().filter(of).collect()
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
