//! Errors of experiments.

use std::path::PathBuf;

use lowtide_charts::ChartError;
use lowtide_host::RunError;
use lowtide_record::{RecordError, RunKey};
use lowtide_scenario::ScenarioErrors;

use crate::budget::{TooLarge, format_bytes};

/// The error that stopped an experiment or its report.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A file could not be written or read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A run could not be set up.
    #[error(transparent)]
    Scenario(#[from] ScenarioErrors),
    /// A run failed.
    #[error("the run {key} failed: {error}")]
    Run {
        /// The run.
        key: Box<RunKey>,
        /// The reason.
        error: RunError,
    },
    /// A run on real packets failed.
    #[error("the run {key} failed: {reason}")]
    Backend {
        /// The run.
        key: Box<RunKey>,
        /// The reason.
        reason: String,
    },
    /// The caller asked to stop. The finished runs are kept.
    #[error(
        "{finished} of {total} runs are finished and kept in {}; \
         the same command continues",
        dir.display()
    )]
    Interrupted {
        /// Finished runs.
        finished: usize,
        /// Runs of the plan.
        total: usize,
        /// The run directory.
        dir: PathBuf,
    },
    /// Several reasons against a merge, each with its remedy.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    NotMerged(Vec<LabError>),
    /// Parts lack runs of their plan.
    #[error(
        "{} of {total} runs are in no finished part, first the run {first}: {remedy}, then merge \
         again with DIR",
        missing.len()
    )]
    MissingRuns {
        /// Numbers of the missing runs, ascending.
        missing: Vec<u32>,
        /// The first missing run.
        first: Box<RunKey>,
        /// Runs of the plan.
        total: usize,
        /// The command that makes them.
        remedy: String,
    },
    /// The runs do not fit into memory or onto the disk.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// A run exceeded its estimate and the memory limit.
    #[error(
        "the run {key} took the process to {} of memory; the limit is {}: {}another `{cause}`, \
         or a higher limit (--memory){}",
        format_bytes(*.resident), format_bytes(*.limit),
        if *.stored { "fewer jobs (-j), " } else { "" },
        if *.stored { "; finished runs are kept" } else { "" }
    )]
    Memory {
        /// The run.
        key: Box<RunKey>,
        /// The key of the scenario that dominates its memory use.
        cause: String,
        /// Bytes that the process used.
        resident: u64,
        /// Limit in bytes.
        limit: u64,
        /// Whether runs are stored, so that finished ones are kept.
        stored: bool,
    },
    /// The threads for the runs could not be started.
    #[error("cannot start {jobs} threads: {reason}")]
    Threads {
        /// Requested threads.
        jobs: usize,
        /// Error of the system.
        reason: String,
    },
    /// A capture could not be written.
    #[error("cannot write the capture: {0}")]
    Capture(std::io::Error),
    /// A figure or the report could not be drawn.
    #[error("cannot draw {what}: {reason}")]
    Draw {
        /// The part that failed.
        what: String,
        /// The reason.
        reason: String,
    },
    /// A request is invalid.
    #[error("{message}")]
    InvalidRequest {
        /// The fault.
        message: String,
        /// A valid request.
        help: Option<String>,
    },
    /// A directory lacks the requested run or flow.
    #[error("{message}")]
    NotFound {
        /// The missing item.
        message: String,
        /// The available items.
        help: Option<String>,
    },
    /// A run of a directory cannot be repeated for inspection.
    #[error(
        "the run {key} cannot be repeated: {reason} (the directory was written by lowtide {version}); \
         write it again with `{command}`, or record the flow with `--trace FLOW` there"
    )]
    NotReproducible {
        /// The run.
        key: Box<RunKey>,
        /// The reason.
        reason: String,
        /// Version that wrote the directory.
        version: String,
        /// The command that wrote it.
        command: String,
    },
    /// A run on real packets cannot be repeated.
    #[error(
        "the run {key} cannot be repeated: it ran on real packets (in a testbed that is up, `ip netns exec \
         lowtide-HOST tcpdump -ni eth0 -w FILE` takes a capture, which `lowtide analyze` reads)"
    )]
    Measured {
        /// The run.
        key: Box<RunKey>,
    },
    /// A benchmark's scenario has no runs.
    #[error("the scenario `{0}` has no runs")]
    NoRuns(String),
    /// A benchmark cannot start.
    #[error(transparent)]
    Start(#[from] RunError),
    /// Two runs of one benchmark gave different digests: a bug.
    #[error(
        "benchmark {benchmark}: two runs of one seed gave different digests; please report this"
    )]
    Nondeterministic {
        /// The benchmark.
        benchmark: String,
    },
}

impl From<ChartError> for LabError {
    fn from(ChartError { what, reason }: ChartError) -> Self {
        Self::Draw { what, reason }
    }
}
