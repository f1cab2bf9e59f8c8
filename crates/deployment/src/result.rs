//! The result of a matrix: one row per pair and neighbour, as printed by `--json` and stored in
//! `matrix.json`; described in `docs/howto/matrix.md`.

use std::collections::BTreeMap;

use lowtide_lab::{LabError, Results, RunFacts};
use lowtide_record::{Manifest, RunDir};
use lowtide_units::{Duration, parse_duration};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::cell::{self, BottleneckStats, FlowStats, MatrixCell};
use super::endpoint_stack::EquivalentScheme;
use super::mechanism::{Mechanism, VerdictEvidence};
use super::request::{ALONE, PairsRequest};
use super::thresholds::Thresholds;
use super::verdict::{PairVerdict, judge};

/// The result of a matrix.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MatrixResult {
    /// `lowtide.matrix/3`.
    pub schema: &'static str,
    /// Version of the tool.
    pub version: String,
    /// Name of the setup.
    pub scenario: String,
    /// Hash of all runs without their seeds.
    pub scenario_hash: String,
    /// One digest for all runs.
    pub digest: String,
    /// The senders, in order.
    pub senders: Vec<String>,
    /// The receivers, in order.
    pub receivers: Vec<String>,
    /// The neighbours, in order.
    pub neighbours: Vec<String>,
    /// Senders omitted as equivalent to another one.
    pub same_senders: Vec<EquivalentScheme>,
    /// Receivers omitted as equivalent to another one.
    pub same_receivers: Vec<EquivalentScheme>,
    /// Seeds of each cell.
    pub seeds: usize,
    /// The marking threshold in packets, if there is one.
    pub k_packets: Option<f64>,
    /// Thresholds of the verdicts.
    pub thresholds: Thresholds,
    /// By sender, receiver, neighbour; alone first.
    pub pairs: Vec<PairRow>,
}

/// One pair, alone or next to a neighbour.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PairRow {
    /// The sending stack.
    pub sender: String,
    /// The receiving stack.
    pub receiver: String,
    /// The stack that shares the bottleneck, as a sender with its natural receiver; null if there
    /// is none.
    pub neighbour: Option<String>,
    /// The verdict of all seeds together.
    pub verdict: PairVerdict,
    /// Verdicts of single seeds, with their counts.
    pub seed_verdicts: BTreeMap<PairVerdict, usize>,
    /// Cause as text; null for a healthy pair.
    pub mechanism: Option<&'static str>,
    /// Cause as a stable identifier.
    pub mechanism_id: Option<Mechanism>,
    /// The numbers that decided, by name.
    #[serde(serialize_with = "map")]
    pub evidence: VerdictEvidence,
    /// The bottleneck.
    pub queue: BottleneckStats,
    /// The pair's flows.
    pub pair: FlowStats,
    /// The neighbour's flows; null if there is none.
    pub neighbour_flows: Option<FlowStats>,
}

fn map<S: Serializer>(evidence: &VerdictEvidence, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(evidence.len()))?;
    for (name, value) in evidence {
        map.serialize_entry(name, value)?;
    }
    map.end()
}

impl MatrixResult {
    /// The row of a pair.
    pub fn pair(&self, sender: &str, receiver: &str, neighbour: Option<&str>) -> Option<&PairRow> {
        self.pairs.iter().find(|p| {
            p.sender == sender && p.receiver == receiver && p.neighbour.as_deref() == neighbour
        })
    }
}

impl PairRow {
    fn new(
        (cell, seeds): (MatrixCell, Vec<MatrixCell>),
        k: Option<f64>,
        thresholds: &Thresholds,
    ) -> Self {
        let finding = judge(&cell, k, thresholds);
        let mut seed_verdicts = BTreeMap::new();
        for seed in &seeds {
            *seed_verdicts.entry(judge(seed, k, thresholds).verdict).or_default() += 1;
        }
        let MatrixCell { sender, receiver, neighbour, queue, pair, neighbour_flows: beside } = cell;
        Self {
            sender,
            receiver,
            neighbour,
            verdict: finding.verdict,
            seed_verdicts,
            mechanism: finding.mechanism.map(Mechanism::text),
            mechanism_id: finding.mechanism,
            evidence: finding.evidence,
            queue,
            pair,
            neighbour_flows: beside,
        }
    }

    /// Returns the seeds that alone have the verdict of all, and all seeds; `None` if they are
    /// equal.
    pub(crate) fn disagreement(&self) -> Option<[usize; 2]> {
        let same = self.seed_verdicts.get(&self.verdict).copied().unwrap_or(0);
        let all = self.seed_verdicts.values().sum();
        (same < all).then_some([same, all])
    }
}

/// End of the warm-up.
fn warmup_ps(manifest: &Manifest) -> u64 {
    let setting = manifest.settings.iter().find(|s| s.section == "run" && s.name == "warmup");
    let text = setting.and_then(|s| s.values.first());
    text.and_then(|t| parse_duration(t).ok()).map_or(0, Duration::as_ps)
}

/// Judges the tables of a directory.
pub(crate) fn judge_cells(
    request: &PairsRequest,
    dir: &RunDir,
    manifest: &Manifest,
    results: &Results,
) -> Result<MatrixResult, LabError> {
    let windows = cell::cwnd_samples(dir, &results.runs, warmup_ps(manifest))?;
    let mut rows = Vec::new();
    for runs in
        results.runs.chunk_by(|a, b| a.key.scheme == b.key.scheme && a.key.point == b.key.point)
    {
        let [first, ..] = runs else { continue };
        let of = |name| first.key.point.get(name).unwrap_or(ALONE);
        let neighbour = Some(of("neighbour")).filter(|n| *n != ALONE);
        let runs: Vec<&RunFacts> = runs.iter().collect();
        let place = [first.key.scheme.as_str(), of("receiver")];
        let cells = MatrixCell::over_seeds(place, neighbour, &runs, &windows);
        rows.push(PairRow::new(cells, request.k, &request.thresholds));
    }
    Ok(MatrixResult {
        schema: "lowtide.matrix/3",
        version: manifest.version.clone(),
        scenario: manifest.scenario.clone(),
        scenario_hash: manifest.scenario_hash.clone(),
        digest: results.digest.clone(),
        senders: request.senders.clone(),
        receivers: request.receivers.clone(),
        neighbours: request.neighbours.clone(),
        same_senders: request.same_senders.clone(),
        same_receivers: request.same_receivers.clone(),
        seeds: manifest.seeds.len(),
        k_packets: request.k,
        thresholds: request.thresholds,
        pairs: rows,
    })
}
