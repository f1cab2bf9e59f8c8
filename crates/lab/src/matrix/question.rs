//! What was asked, kept beside the results: `question.toml`.
//!
//! Contract: with it and the tables, a directory's answer and report can be made again.

use lowtide_record::{Manifest, RunDir};
use serde::{Deserialize, Serialize};

use super::ends::Same;
use super::thresholds::Thresholds;
use super::{answer, share};
use crate::error::LabError;
use crate::results::Results;

/// Name of the file.
pub(crate) const FILE: &str = "question.toml";

/// What was asked.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Question {
    /// Every pair, alone and next to every neighbour.
    Pairs(PairsQuestion),
    /// k of n hosts moved.
    Share(share::ShareQuestion),
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

/// The answer to either kind of question.
pub(crate) enum Either {
    Pairs(answer::Answer),
    Share(share::ShareAnswer),
}

impl Question {
    pub(crate) fn to_toml(&self) -> Result<String, LabError> {
        toml::to_string(self)
            .map_err(|e| LabError::Draw { what: FILE.to_owned(), reason: e.to_string() })
    }

    /// Writes everything that follows from the tables; the names of the files, and the answer.
    pub(crate) fn present(
        &self,
        dir: &RunDir,
        manifest: &Manifest,
        results: &Results,
    ) -> Result<(Vec<String>, Either), LabError> {
        dir.write(FILE, &self.to_toml()?)?;
        let (mut files, answer) = match self {
            Self::Pairs(question) => {
                let (files, answer) = answer::present(question, dir, manifest, results)?;
                (files, Either::Pairs(answer))
            }
            Self::Share(question) => {
                let (files, answer) = share::present(question, dir, manifest, results)?;
                (files, Either::Share(answer))
            }
        };
        files.push(FILE.to_owned());
        Ok((files, answer))
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
