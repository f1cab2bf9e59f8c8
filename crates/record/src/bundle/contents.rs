//! Contents of an archive, and the file that describes them.

use crate::Manifest;
use serde::{Deserialize, Serialize};

/// Schema of [`BundleInfo`].
pub const SCHEMA: &str = "lowtide.bundle/1";

/// File of [`BundleInfo`].
pub const INFO_FILE: &str = "bundle.json";

/// Folder of the run directory.
pub const RESULTS: &str = "results";

/// Description of an archive.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BundleInfo {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of the tool that made the results.
    pub version: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Hash of the resolved scenario.
    pub scenario_hash: String,
    /// Digest of all runs.
    pub digest: String,
    /// Compared schemes.
    pub schemes: Vec<String>,
    /// Seeds.
    pub seeds: Vec<u64>,
    /// Number of runs.
    pub runs: usize,
    /// Command that made the results.
    pub command: String,
    /// Arguments of `lowtide` that repeat the runs in the folder of the archive, without `-o`.
    /// `None` if no command can.
    pub repeat: Option<Vec<String>>,
    /// The reason that no command can repeat the runs.
    pub not_repeatable: Option<String>,
}

impl BundleInfo {
    /// Describes the results of `manifest`, which has a digest.
    pub(crate) fn new(
        manifest: &Manifest,
        digest: &str,
        repeat: Result<Vec<String>, String>,
    ) -> Self {
        let (repeat, not_repeatable) = match repeat {
            Ok(args) => (Some(args), None),
            Err(reason) => (None, Some(reason)),
        };
        Self {
            schema: SCHEMA.to_owned(),
            version: manifest.version.clone(),
            scenario: manifest.scenario.clone(),
            scenario_hash: manifest.scenario_hash.clone(),
            digest: digest.to_owned(),
            schemes: manifest.schemes.clone(),
            seeds: manifest.seeds.clone(),
            runs: manifest.runs.len(),
            command: manifest.command.clone(),
            repeat,
            not_repeatable,
        }
    }

    /// Folder of all members of the archive.
    pub(crate) fn folder(&self) -> String {
        // Characters beyond 150 would leave too few for the names of files.
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
        let name: String = self.scenario.chars().take(150).map(plain).collect();
        let short: String = self.scenario_hash.chars().take(8).map(plain).collect();
        format!("{name}-{short}")
    }
}
