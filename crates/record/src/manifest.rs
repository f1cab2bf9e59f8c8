//! `manifest.json`: content, origin and status of a run directory.

use lowtide_input_files::{check_name, check_path};
use lowtide_rows::ScenarioQuestion;
use serde::{Deserialize, Serialize};

use crate::files::FileEntry;
use crate::key::{RunKey, SweepPoint};
use crate::selection::RunSelection;

/// Value of [`Manifest::schema`]. A change that a reader must know raises the number.
pub const SCHEMA: &str = "lowtide.manifest/4";

/// Status of a run directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DirectoryStatus {
    /// All runs, tables and figures are present.
    Complete,
    /// Only finished runs are present, under `partial/`.
    Interrupted,
    /// All runs of [`Manifest::selection`] are present, under `partial/`.
    Part,
}

/// One finished run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ManifestRun {
    /// The run.
    #[serde(flatten)]
    pub key: RunKey,
    /// Hash of the resolved specification of the run.
    pub hash: String,
    /// Digest of its physics.
    pub digest: String,
    /// Wall-clock seconds of the run.
    pub wall_seconds: f64,
    /// Threads of the run, which do not affect the results; `None` on real packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Upper ends of the flow size classes in the summary, in bytes, ascending.
    pub size_classes: Vec<u64>,
    /// Timing accuracy on real packets; `None` for a simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<TimingReport>,
    /// Point of the run of this scheme and seed whose tables this run has, because settings that
    /// can affect them are equal; `None` for a run that was simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_from: Option<SweepPoint>,
}

/// Runs of a scheme, of which some have the tables of another.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SharedRuns {
    /// The scheme.
    pub scheme: String,
    /// Number of its runs.
    pub runs: usize,
    /// Of these, runs that were simulated.
    pub simulated: usize,
    /// Swept keys that cannot affect the scheme; empty if only some of their values are equivalent.
    pub keys: Vec<String>,
    /// The reason, as a clause.
    pub reason: String,
}

impl SharedRuns {
    /// Returns one sentence without a full stop.
    pub fn sentence(&self) -> String {
        let Self { scheme, runs, simulated, keys, reason } = self;
        let cause = match keys.as_slice() {
            [] => format!("some points are equivalent: {reason}"),
            keys => {
                let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
                format!("{} cannot affect it: {reason}", keys.join(" and "))
            }
        };
        format!("{scheme}: {simulated} of {runs} runs were simulated; {cause}")
    }
}

/// The backend that executed the runs instead of the simulator.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Backend {
    /// `live` or `kernel`.
    pub name: String,
    /// The kernel that carried the packets: release and machine.
    pub kernel: String,
    /// Its options.
    pub choices: Vec<String>,
}

/// Timing accuracy of a run on real packets.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TimingReport {
    /// Deviations of the endpoints from the scenario, including settings that they could not apply.
    pub differences: Vec<String>,
    /// Packets that the bottleneck delivered to hosts.
    pub packets: u64,
    /// Of these, packets delivered later than `tolerance_us`.
    pub late_packets: u64,
    /// Maximum acceptable lateness, microseconds.
    pub tolerance_us: f64,
    /// Mean lateness of delivery, microseconds.
    pub late_mean_us: f64,
    /// Median lateness, microseconds.
    pub late_p50_us: f64,
    /// 99th percentile of the lateness, microseconds.
    pub late_p99_us: f64,
    /// Maximum lateness, microseconds.
    pub late_max_us: f64,
    /// CPU steal time of this virtual machine during the run, over all CPUs, milliseconds.
    pub steal_ms: f64,
    /// Packets that an interface rejected.
    pub refused: u64,
    /// Packets that were not IP, or had an unknown destination.
    pub strays: u64,
    /// Remarks of the bottleneck if it fell behind.
    pub remarks: Vec<String>,
}

/// A setting of the runs in the report.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReportedSetting {
    /// Its section: `run`, `network`, `hosts senders`.
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
    /// The host groups with that value; empty for all.
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
    /// Digest of the program that makes the runs.
    pub program: String,
    /// The runs of a part, in a separate directory; `None` for all runs of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<RunSelection>,
    /// Name of the scenario.
    pub scenario: String,
    /// Its title.
    pub title: String,
    /// Its description, in a few sentences.
    pub description: Option<String>,
    /// Hash of the resolved scenario.
    pub scenario_hash: String,
    /// The command that reproduces this directory.
    pub command: String,
    /// The backend; `None` for the simulator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<Backend>,
    /// One digest for all runs; only when complete.
    pub digest: Option<String>,
    /// The schemes compared, in order.
    pub schemes: Vec<String>,
    /// Switches that settings replace; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<SchemeOverride>,
    /// The question that the results answer first; absent if the scenario has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<ScenarioQuestion>,
    /// The sweep points, in order; one empty point if nothing is swept.
    pub points: Vec<SweepPoint>,
    /// The seeds, in order.
    pub seeds: Vec<u64>,
    /// Settings of the runs.
    pub settings: Vec<ReportedSetting>,
    /// Schemes of which some runs were not simulated; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<SharedRuns>,
    /// Sum of the wall-clock seconds of all runs: the time of a single thread.
    pub wall_seconds: f64,
    /// Packets serialised by any output queue, over all runs.
    pub hops: u64,
    /// Flows over all runs.
    pub flows: u64,
    /// Finite flows that are right-censored.
    pub unfinished: u64,
    /// Flows whose connection failed.
    pub failed: u64,
    /// The finished runs, in plan order; only if the directory or the part is complete.
    pub runs: Vec<ManifestRun>,
    /// All other files; only if the directory or the part is complete.
    pub files: Vec<FileEntry>,
}

/// Checks that all files are in the directory of their list.
pub(crate) fn check_entries(files: &[FileEntry]) -> std::io::Result<()> {
    files.iter().try_for_each(|file| check_path(&file.path))
}

impl Manifest {
    /// Checks every name that becomes a path.
    pub(crate) fn check_paths(&self) -> std::io::Result<()> {
        check_entries(&self.files)?;
        // Files are named after the scenario, and after its hash.
        let names = [&self.scenario, &self.scenario_hash].into_iter();
        // A text without a name makes a scenario without one.
        names.filter(|name| !name.is_empty()).try_for_each(|name| check_name(name))
    }

    /// Identity of comparable results: the same tool, scenario and backend.
    pub fn identity(&self) -> String {
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

    /// Keys of the resolved scenarios whose values differ, if both have the same schemes.
    pub(crate) fn differing_keys(&self, other: &Self) -> Vec<String> {
        if self.schemes != other.schemes {
            return Vec::new();
        }
        let differs = |setting: &&ReportedSetting| !self.settings.contains(setting);
        let changed = other.settings.iter().filter(differs);
        changed.map(|s| format!("{}.{}", s.section, s.name)).collect()
    }

    /// Number of runs of the plan.
    pub fn planned_runs(&self) -> usize {
        self.schemes.len().saturating_mul(self.points.len()).saturating_mul(self.seeds.len())
    }

    /// Whether both describe the same runs.
    pub fn has_same_plan(&self, other: &Self) -> bool {
        self.schemes == other.schemes && self.points == other.points && self.seeds == other.seeds
    }
}
