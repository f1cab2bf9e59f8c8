//! `papers/<paper>/inferred-full.toml`: verdicts of the full forms at the inferred setting.
//!
//! Contract: `cargo xtask record` writes the file from the output of `papers reproduce --inferred
//! --json`. It belongs to the setting of `inferred.toml`; with another one it is refused.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::record::{INFERENCE_RECORD, InferenceRecord};
use crate::catalogue::paper_file;
use crate::{ClaimError, ClaimVerdict};

/// The file.
pub(crate) const FULL_FORM_RECORD: &str = "inferred-full.toml";

/// Verdicts of the full forms at the inferred setting.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FullFormRecord {
    /// The values of `inferred.toml`, in its order.
    setting: Vec<String>,
    /// The claims.
    pub(crate) claim: Vec<FullFormVerdict>,
}

/// A claim in the full form.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FullFormVerdict {
    /// `td-fig7/throughput-k6`.
    pub(crate) id: String,
    /// The verdict.
    pub(crate) verdict: ClaimVerdict,
    /// The mean over seeds.
    pub(crate) measured: Option<f64>,
    /// Its interval.
    pub(crate) ci95: Option<[f64; 2]>,
}

impl FullFormRecord {
    /// The file of a paper; `None` if there is none.
    ///
    /// # Errors
    /// The file is wrong, or belongs to another setting than `record`.
    pub(crate) fn of_paper(
        paper: &str,
        record: &InferenceRecord,
    ) -> Result<Option<Self>, ClaimError> {
        let Some(text) = paper_file(paper, FULL_FORM_RECORD) else { return Ok(None) };
        Self::parse(text, &format!("papers/{paper}/{FULL_FORM_RECORD}"), record).map(Some)
    }

    fn parse(text: &str, name: &str, record: &InferenceRecord) -> Result<Self, ClaimError> {
        let refuse = |message: String| ClaimError { file: name.to_owned(), message };
        let of: Self = toml::from_str(text).map_err(|e| refuse(e.to_string()))?;
        let values = record.parameter.iter().map(|p| &p.inferred);
        if !values.eq(&of.setting) {
            let message = format!(
                "it is of another setting than {INFERENCE_RECORD}: run `papers reproduce \
                 --inferred` again, and record it"
            );
            return Err(refuse(message));
        }
        Ok(of)
    }

    /// A claim that is not among `known`, as one whose name has changed.
    pub(crate) fn unknown_claim(&self, known: &BTreeSet<String>) -> Option<&str> {
        self.claim.iter().map(|c| c.id.as_str()).find(|id| !known.contains(*id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_another_setting_is_refused() {
        let record = InferenceRecord::of_paper("od").unwrap().expect("it is recorded");
        let values: Vec<String> =
            record.parameter.iter().map(|p| format!("\"{}\"", p.inferred)).collect();
        let claim = "[[claim]]\nid = \"od-fig7.1/a\"\nverdict = \"reproduced\"\nmeasured = 1\n";
        let text = format!("setting = [{}]\n{claim}", values.join(", "));
        let read = FullFormRecord::parse(&text, "x", &record).unwrap();
        assert_eq!(read.claim[0].measured, Some(1.0));
        let known = BTreeSet::from(["od-fig7.1/a".to_owned()]);
        assert_eq!(read.unknown_claim(&known), None);
        assert_eq!(read.unknown_claim(&BTreeSet::new()), Some("od-fig7.1/a"));
        let other = format!("setting = [\"1 kB\"]\n{claim}");
        let error = FullFormRecord::parse(&other, "x", &record).unwrap_err();
        assert!(error.message.contains("another setting"), "{}", error.message);
    }
}
