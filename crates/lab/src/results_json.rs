//! The results as JSON: `summary.json` and the output of `--json`.

use std::collections::BTreeMap;

use lowtide_record::{Manifest, SharedRuns};
use lowtide_rows::ScenarioQuestion;
use serde::Serialize;

use crate::facts::RunFacts;
use crate::findings::RunFinding;
use crate::headline::Headline;
use crate::results::Results;
use crate::summary::SummaryRow;
use crate::tails::TailRow;
use crate::transports::{Mismatch, Transports};

/// The results with their identification; documented in `docs/reference/json.md`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ResultsJson<'a> {
    /// `lowtide.run/4`.
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
    /// The question of the scenario; null without one.
    pub question: Option<&'a ScenarioQuestion>,
    /// Answer, sentences and comparisons.
    #[serde(flatten)]
    pub headline: Headline,
    /// Every run, in the order of the plan.
    pub runs: &'a [RunFacts],
    /// Every metric over seeds.
    pub summary: &'a [SummaryRow],
    /// Findings that a reader must know before the numbers.
    pub findings: &'a [RunFinding],
    /// Percentiles of all seeds together.
    pub tails: &'a [TailRow],
}

impl<'a> ResultsJson<'a> {
    pub(crate) fn new(manifest: &'a Manifest, results: &'a Results) -> Self {
        let transports = Transports::new(manifest, &results.runs);
        Self {
            schema: "lowtide.run/4",
            version: &manifest.version,
            scenario: &manifest.scenario,
            scenario_hash: &manifest.scenario_hash,
            digest: &results.digest,
            labels: transports.labels(),
            headline: Headline::new(manifest, results, &transports),
            mismatches: transports.mismatches,
            shared: &manifest.shared,
            question: manifest.question.as_ref(),
            runs: &results.runs,
            summary: &results.summary,
            findings: &results.findings,
            tails: &results.tails,
        }
    }
}
