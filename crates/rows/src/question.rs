//! The question that an experiment answers first: `[question]` of a scenario.
//!
//! Contract: it selects and names values; it affects no run, and no hash or digest.

use serde::{Deserialize, Serialize};

/// A question about one traffic group at one point of the sweep.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ScenarioQuestion {
    /// The traffic group.
    pub traffic: String,
    /// `completion-time` or `slowdown`.
    pub measure: String,
    /// `mean`, `p50`, `p95`, `p99` or `p99.9`.
    pub percentile: String,
    /// Relative difference up to which two values count as equal.
    pub tolerance: f64,
    /// Swept keys and their values; empty for the last point.
    pub at: Vec<(String, String)>,
    /// Scheme whose senders and receivers have the new behaviour.
    pub both_sides: Option<String>,
    /// Scheme of which one side has it.
    pub one_side: Option<String>,
    /// Origin of the reported values.
    pub source: Option<String>,
    /// The schemes in the answer, the first of them as the baseline.
    pub schemes: Vec<AskedScheme>,
}

/// A scheme in the answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AskedScheme {
    /// The scheme.
    pub scheme: String,
    /// Its name in the sentence.
    pub name: Option<String>,
    /// The value that the source reports: milliseconds, or a slowdown.
    pub reported: Option<f64>,
}
