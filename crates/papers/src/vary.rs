//! Parameters that a paper leaves open, to be varied.
//!
//! Contract: a claim that is not reproduced has a reason. If the reason is a parameter that the
//! paper does not state, `[[vary]]` demonstrates it: the claims are measured at several values of
//! that parameter. The results change no verdict.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Table;

/// `[[vary]]` of a file of claims.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VarySpec {
    /// Its name in the experiment.
    pub id: String,
    /// Its effect, in one sentence.
    pub says: String,
    /// The claims that are measured at each value.
    pub claims: Vec<String>,
    /// The key that is varied; the experiment does not sweep it.
    pub key: String,
    /// Its values.
    pub values: Vec<String>,
    /// Other settings, as in `[quick]`: shorter runs, fewer sweep points.
    #[serde(default)]
    pub set: Table,
    /// Results of the last reviewed run. No run writes it.
    #[serde(default)]
    pub recorded: Vec<RecordedVariation>,
}

/// Result at one value.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedVariation {
    /// The value of the key.
    pub at: String,
    /// The mean of each claim.
    pub measured: BTreeMap<String, f64>,
}

impl VarySpec {
    /// Returns the error of the specification, in a file with claims of these names.
    pub(super) fn inconsistency(&self, claims: &[&str]) -> Option<String> {
        let unknown = self.claims.iter().find(|id| !claims.contains(&id.as_str()));
        let stray = self.recorded.iter().find(|seen| {
            !self.values.contains(&seen.at)
                || seen.measured.keys().any(|id| !self.claims.contains(id))
        });
        if let Some(id) = unknown {
            Some(format!("there is no claim `{id}`"))
        } else if self.claims.is_empty() || self.values.len() < 2 {
            Some("it needs claims, and several values".to_owned())
        } else {
            stray.map(|seen| format!("`recorded` at {} has an unknown value or claim", seen.at))
        }
    }
}
