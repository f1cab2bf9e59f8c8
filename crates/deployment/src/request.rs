//! The request, kept beside the results: `question.toml`.
//!
//! Contract: with the request and the tables, the results and the report of a directory can be
//! rebuilt.

use lowtide_lab::LabError;
use lowtide_record::{Manifest, RunDir};
use lowtide_scenario::{HostDraw, MovedSides};
use serde::{Deserialize, Serialize};

use super::endpoint_stack::EquivalentScheme;
use super::thresholds::{RolloutThresholds, Thresholds};

/// The value of `neighbour` in a run without one.
pub(crate) const ALONE: &str = "none";

/// Name of the file.
pub(crate) const REQUEST_FILE: &str = "question.toml";

/// A request.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum MatrixRequest {
    /// Every pair, alone and next to every neighbour.
    Pairs(PairsRequest),
    /// Shares of the hosts of any scenario moved.
    Rollout(RolloutRequest),
}

/// Parameters of a matrix.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct PairsRequest {
    pub(crate) senders: Vec<String>,
    pub(crate) receivers: Vec<String>,
    pub(crate) neighbours: Vec<String>,
    /// The marking threshold in packets, if the switch has one.
    pub(crate) k: Option<f64>,
    pub(crate) thresholds: Thresholds,
    /// Receivers omitted as equivalent to another one.
    pub(crate) same_receivers: Vec<EquivalentScheme>,
    /// Senders omitted as equivalent to another one.
    pub(crate) same_senders: Vec<EquivalentScheme>,
}

/// Parameters of a rollout.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct RolloutRequest {
    pub(crate) from: String,
    pub(crate) to: String,
    /// Hosts from which the moved ones are drawn.
    pub(crate) hosts: u32,
    pub(crate) moves: MovedSides,
    pub(crate) draw: HostDraw,
    pub(crate) thresholds: RolloutThresholds,
}

impl MatrixRequest {
    /// Writes the request beside the `files` of its results and returns all their names.
    pub(crate) fn write(
        &self,
        dir: &RunDir,
        mut files: Vec<String>,
    ) -> Result<Vec<String>, LabError> {
        let text = toml::to_string(self)
            .map_err(|e| LabError::Draw { what: REQUEST_FILE.to_owned(), reason: e.to_string() })?;
        dir.write(REQUEST_FILE, &text)?;
        files.push(REQUEST_FILE.to_owned());
        Ok(files)
    }
}

/// Reads the request of a complete directory, if its results are of this kind.
pub(crate) fn read_request(
    dir: &RunDir,
    manifest: &Manifest,
) -> Result<Option<MatrixRequest>, LabError> {
    if manifest.files.iter().all(|f| f.path != REQUEST_FILE) {
        return Ok(None);
    }
    let text = dir.read(REQUEST_FILE)?;
    toml::from_str(&text).map(Some).map_err(|e| LabError::InvalidRequest {
        message: format!(
            "{REQUEST_FILE} in {} cannot be read: {}",
            dir.root().display(),
            e.message()
        ),
        help: Some("run the command again with `--afresh`".to_owned()),
    })
}
