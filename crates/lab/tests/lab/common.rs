//! Shared helpers of tests of whole experiments.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lowtide_lab::flow::{FlowSelector, FlowSource, FlowTrace, select_flows};
use lowtide_lab::{CompletedExperiment, ExecuteOptions, LabError, ResourceLimits, execute};
use lowtide_scenario::{RunPlan, Scenario};

static NEVER: AtomicBool = AtomicBool::new(false);

/// Options for two concurrent runs into `dir`, without progress or stop.
pub(crate) fn options(dir: &Path) -> ExecuteOptions<'_> {
    ExecuteOptions {
        dir: dir.to_owned(),
        jobs: 2,
        threads: None,
        discard_existing: false,
        source: "schema = 1\n",
        command: "lowtide run",
        clock: &|| Duration::ZERO,
        stop: &NEVER,
        progress: &|_| {},
        on_thread: &|work| work(),
        backend: None,
        limits: ResourceLimits::default(),
        share: true,
    }
}

/// The flow that `choice` selects in the results in `root`, traced, once per scheme.
pub(crate) fn trace_flows(root: &Path, choice: &FlowSelector) -> Result<Vec<FlowTrace>, LabError> {
    select_flows(root, choice)?.iter().map(FlowSource::trace).collect()
}

/// Runs all of `plan` into `dir`.
pub(crate) fn run(plan: &RunPlan, dir: &Path) -> CompletedExperiment {
    execute(plan, &options(dir)).expect("it runs")
}

/// Three schemes, two sizes, two seeds: twelve short runs.
pub(crate) fn plan() -> RunPlan {
    scenario().expand().expect("a right scenario")
}

/// The scenario of [`plan`].
pub(crate) fn scenario() -> Scenario {
    let sizes = ["10 kB".to_owned(), "20 kB".to_owned()];
    let scenario = Scenario::load("queue-buildup").expect("an embedded scenario");
    let small = [
        ("traffic.long.size", "400 kB"),
        ("traffic.short.start", "2 ms"),
        ("run.seeds", "2"),
        ("compare.schemes", "[\"sack\", \"ecn\", \"dctcp\"]"),
    ];
    let scenario = small.iter().fold(scenario, |s, (k, v)| s.with_override(k, v).expect("a key"));
    scenario.with_sweep("traffic.short.size", &sizes).expect("a key")
}
