//! What was asked, kept beside the results: `question.toml`.
//!
//! Contract: with it and the tables, a directory's answer and report can be made again.

use lowtide_record::{Manifest, RunDir};
use serde::{Deserialize, Serialize};

use super::ends::Same;
use super::thresholds::Thresholds;
use crate::error::LabError;

/// The value of `neighbour` in a run without one.
pub(crate) const ALONE: &str = "none";

/// What the tables of a class begin with in the setup.
pub(crate) const CLASSES: [&str; 2] = ["stayed", "moved"];
/// The swept key of the plan.
pub(crate) const MOVED: &str = "moved";

/// Name of the file.
pub(crate) const FILE: &str = "question.toml";

/// What was asked.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Question {
    /// Every pair, alone and next to every neighbour.
    Pairs(PairsQuestion),
    /// k of n hosts moved.
    Share(ShareQuestion),
}

/// The layout of a matrix.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct PairsQuestion {
    pub(crate) senders: Vec<String>,
    pub(crate) receivers: Vec<String>,
    pub(crate) neighbours: Vec<String>,
    /// The marking threshold in packets, where the switch has one.
    pub(crate) k: Option<f64>,
    pub(crate) thresholds: Thresholds,
    /// Receivers that another one stands for.
    pub(crate) same_receivers: Vec<Same>,
    /// Senders that another one stands for.
    pub(crate) same_senders: Vec<Same>,
}

/// Which end of a host pair moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Move {
    /// Both.
    Both,
    /// Only who sends.
    Senders,
    /// Only who receives.
    Receivers,
}

/// The layout of an answer by share.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct ShareQuestion {
    pub(crate) stayed: String,
    pub(crate) moved: String,
    pub(crate) hosts: u32,
    pub(crate) moves: Move,
}

impl Question {
    /// Writes it beside the `files` of its answer; all their names.
    pub(crate) fn keep(
        &self,
        dir: &RunDir,
        mut files: Vec<String>,
    ) -> Result<Vec<String>, LabError> {
        let text = toml::to_string(self)
            .map_err(|e| LabError::Draw { what: FILE.to_owned(), reason: e.to_string() })?;
        dir.write(FILE, &text)?;
        files.push(FILE.to_owned());
        Ok(files)
    }
}

/// The question that the results of a complete directory answer, if they are of this kind.
pub(crate) fn asked(dir: &RunDir, manifest: &Manifest) -> Result<Option<Question>, LabError> {
    if manifest.files.iter().all(|f| f.path != FILE) {
        return Ok(None);
    }
    let text = dir.read(FILE)?;
    toml::from_str(&text).map(Some).map_err(|e| LabError::Question {
        message: format!("{FILE} in {} cannot be read: {e}", dir.root().display()),
        help: Some("ask again with `--afresh`".to_owned()),
    })
}
