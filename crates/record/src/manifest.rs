//! `manifest.json`: what a run directory holds, where it came from, and whether it is complete.

use serde::{Deserialize, Serialize};

use crate::files::FileEntry;
use crate::key::{RunKey, SweepPoint};

/// Value of [`Manifest::schema`].
pub const SCHEMA: &str = "lowtide.manifest/2";

/// The schema of earlier manifests, which have no hash of themselves.
pub(crate) const UNHASHED_SCHEMA: &str = "lowtide.manifest/1";

/// Whether all runs are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DirectoryStatus {
    /// Every run, every table, every figure.
    Complete,
    /// Not yet, or stopped: only finished runs, under `partial/`.
    Interrupted,
}

/// One finished run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ManifestRun {
    /// Which.
    #[serde(flatten)]
    pub key: RunKey,
    /// Hash of everything that decides it.
    pub hash: String,
    /// Digest of its physics.
    pub digest: String,
    /// Seconds of wall time it took.
    pub wall_seconds: f64,
    /// Threads that it took; they change nothing else. None on real packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Ends of the ranges of flow sizes that the summary shows, in bytes, ascending.
    pub size_classes: Vec<u64>,
    /// How it went on real packets; none of what was simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<TimingReport>,
}

/// What made the runs in place of the simulator.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Backend {
    /// `live` or `kernel`.
    pub name: String,
    /// The kernel that carried the packets: release and machine.
    pub kernel: String,
    /// How it was asked for, beyond its name.
    pub choices: Vec<String>,
}

/// How well a run on real packets kept to its scenario.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TimingReport {
    /// What the ends did otherwise than the scenario says, or could not be told.
    pub differences: Vec<String>,
    /// Packets that the bottleneck handed to hosts.
    pub packets: u64,
    /// Of these, packets that it handed over later than any figure can bear.
    pub behind: u64,
    /// From when on that is, microseconds.
    pub tolerance_us: f64,
    /// How late it handed them over, in the mean, microseconds.
    pub late_mean_us: f64,
    /// Half of them were at most so late.
    pub late_p50_us: f64,
    /// 99 of 100.
    pub late_p99_us: f64,
    /// The latest.
    pub late_max_us: f64,
    /// Processor time that whoever runs this virtual machine gave to others meanwhile, of all processors, milliseconds.
    #[serde(default)]
    pub stolen_ms: f64,
    /// Packets that an interface refused.
    pub refused: u64,
    /// Packets that were no IP, or for nobody.
    pub strays: u64,
    /// What the bottleneck says of itself where it did not keep up.
    pub remarks: Vec<String>,
}

/// A setting that decides the results, as the report shows it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReportedSetting {
    /// What it belongs to: `run`, `network`, `hosts senders`.
    pub section: String,
    /// Its name.
    pub name: String,
    /// One value per scheme, in the order of [`Manifest::schemes`]; a single one if all agree.
    pub values: Vec<String>,
}

/// A switch of a scheme that settings replace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SchemeOverride {
    /// The scheme.
    pub scheme: String,
    /// `cc`, `ecn`, `feedback`, `ack` or `delay-option`.
    pub switch: String,
    /// Its value by the scheme.
    pub named: String,
    /// Its value in the runs.
    pub value: String,
    /// The host groups that have that value; empty where all have it.
    pub hosts: Vec<String>,
}

/// The manifest.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: String,
    /// Whether the directory is complete.
    pub status: DirectoryStatus,
    /// Version of the tool.
    pub version: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Its title.
    pub title: String,
    /// What it shows, in a few sentences.
    pub description: Option<String>,
    /// Hash of the resolved scenario.
    pub scenario_hash: String,
    /// The command that makes this directory again.
    pub command: String,
    /// What made the runs; none for the simulator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<Backend>,
    /// One digest for all runs; only when complete.
    pub digest: Option<String>,
    /// The schemes compared, in order.
    pub schemes: Vec<String>,
    /// Switches of them that settings replace; absent where none is, and in older directories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<SchemeOverride>,
    /// The points of the sweep, in order; one empty point when nothing is swept.
    pub points: Vec<SweepPoint>,
    /// The seeds, in order.
    pub seeds: Vec<u64>,
    /// Settings that decide the results.
    pub settings: Vec<ReportedSetting>,
    /// Seconds of wall time of all runs, added up: what one thread needs.
    pub wall_seconds: f64,
    /// Packets serialised by any output queue, over all runs.
    pub hops: u64,
    /// Flows over all runs.
    pub flows: u64,
    /// Flows with a size that the end of their run cut off.
    pub unfinished: u64,
    /// Flows whose connection failed.
    pub failed: u64,
    /// The finished runs, in the order of the plan; only when complete.
    pub runs: Vec<ManifestRun>,
    /// All other files; only when complete.
    pub files: Vec<FileEntry>,
}

impl Manifest {
    /// What makes results comparable: the same tool, the same scenario.
    pub(crate) fn identity(&self) -> String {
        let mut by = String::new();
        if let Some(Backend { name, kernel, choices }) = &self.backend {
            by = format!(", {name} on Linux {kernel}");
            for choice in choices {
                by += ", ";
                by += choice;
            }
        }
        format!("{} {} (lowtide {}{by})", self.scenario, self.scenario_hash, self.version)
    }

    /// Whether both stand for the same runs.
    pub(crate) fn has_same_plan(&self, other: &Self) -> bool {
        self.schemes == other.schemes && self.points == other.points && self.seeds == other.seeds
    }
}
