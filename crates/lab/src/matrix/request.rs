//! What was asked, kept beside the results: `question.toml`.
//!
//! Contract: with it and the tables, a directory's answer and report can be made again.

use lowtide_record::{Manifest, RunDir};
use serde::{Deserialize, Serialize};

use super::endpoint_stack::EquivalentScheme;
use super::thresholds::Thresholds;
use crate::error::LabError;

/// The value of `neighbour` in a run without one.
pub(crate) const ALONE: &str = "none";

/// What the tables of a class begin with in the setup.
pub(crate) const CLASSES: [&str; 2] = ["stayed", "moved"];
/// The swept key of the plan.
pub(crate) const MOVED_KEY: &str = "moved";

/// Name of the file.
pub(crate) const REQUEST_FILE: &str = "question.toml";

/// What was asked.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Question {
    /// Every pair, alone and next to every neighbour.
    Pairs(PairsRequest),
    /// k of n hosts moved.
    Share(ShareRequest),
}

/// The layout of a matrix.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct PairsRequest {
    pub(crate) senders: Vec<String>,
    pub(crate) receivers: Vec<String>,
    pub(crate) neighbours: Vec<String>,
    /// The marking threshold in packets, where the switch has one.
    pub(crate) k: Option<f64>,
    pub(crate) thresholds: Thresholds,
    /// Receivers that another one stands for.
    pub(crate) same_receivers: Vec<EquivalentScheme>,
    /// Senders that another one stands for.
    pub(crate) same_senders: Vec<EquivalentScheme>,
}

/// Which end of a host pair moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MovedEnds {
    /// Both.
    Both,
    /// Only who sends.
    Senders,
    /// Only who receives.
    Receivers,
}

/// The layout of an answer by share.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct ShareRequest {
    pub(crate) stayed: String,
    pub(crate) moved: String,
    pub(crate) hosts: u32,
    pub(crate) moves: MovedEnds,
}

impl Question {
    /// Writes it beside the `files` of its answer; all their names.
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

/// The question that the results of a complete directory answer, if they are of this kind.
pub(crate) fn read_request(
    dir: &RunDir,
    manifest: &Manifest,
) -> Result<Option<Question>, LabError> {
    if manifest.files.iter().all(|f| f.path != REQUEST_FILE) {
        return Ok(None);
    }
    let text = dir.read(REQUEST_FILE)?;
    toml::from_str(&text).map(Some).map_err(|e| LabError::InvalidRequest {
        message: format!("{REQUEST_FILE} in {} cannot be read: {e}", dir.root().display()),
        help: Some("ask again with `--afresh`".to_owned()),
    })
}
