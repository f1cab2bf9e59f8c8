//! Execution of a scenario while Python's signals are served.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use lowtide::progress::ProgressMeter;
use lowtide_lab::{ExecuteOptions, LabError, ResourceLimits, execute};
use lowtide_scenario::RunPlan;
use pyo3::prelude::*;

use crate::control::{RunGuard, RunningControls};
use crate::exception;
use crate::experiment::Experiment;
use crate::interrupt::InterruptWatch;
use crate::scenario::Scenario;

/// Interval between two checks for signals.
const TICK: Duration = Duration::from_millis(50);

/// Ticks between two attempts to interrupt hooks that do not return.
const PATIENCE: u32 = 20;

/// Calls `work` on another thread. Meanwhile this thread lets Python handle signals and passes the
/// progress to `report`; an exception of either stops `work`, as does one of a hook.
fn attended<T: Send>(
    py: Python<'_>,
    report: Option<&Py<PyAny>>,
    work: impl FnOnce(&Arc<RunGuard>, &ProgressMeter) -> T + Send,
) -> PyResult<T> {
    let (guard, meter) = (Arc::<RunGuard>::default(), ProgressMeter::default());
    let watch = InterruptWatch::new(py)?;
    let mut raised = None;
    let mut ticks = 0;
    let result = py.detach(|| {
        let (ended, end) = channel::<()>();
        std::thread::scope(|scope| {
            let (guard, meter) = (&guard, &meter);
            let worker = scope.spawn(move || {
                let result = work(guard, meter);
                // Dropping the sender wakes the other thread, also after a panic.
                drop(ended);
                result
            });
            while end.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if raised.is_none() {
                    raised = Python::attach(|py| serve(py, &watch, report, meter)).err();
                    guard.stop.fetch_or(raised.is_some(), Ordering::Relaxed);
                } else {
                    ticks += 1;
                    if ticks % PATIENCE == 0 {
                        Python::attach(interrupt_hooks);
                    }
                }
            }
            worker.join()
        })
    });
    if let Some(error) = raised.or_else(|| guard.take()) {
        return Err(error);
    }
    result.map_err(|_| exception::of_run(py, "a run panicked; please report this"))
}

/// Raises `KeyboardInterrupt` in hooks that still run, such as endless loops.
fn interrupt_hooks(py: Python<'_>) {
    let module = py.import("lowtide._interrupt");
    if let Err(error) = module.and_then(|module| module.call_method0("interrupt_hooks")) {
        error.write_unraisable(py, None);
    }
}

fn serve(
    py: Python<'_>,
    watch: &InterruptWatch,
    report: Option<&Py<PyAny>>,
    meter: &ProgressMeter,
) -> PyResult<()> {
    py.check_signals()?;
    watch.check()?;
    report.map_or(Ok(()), |report| report.call1(py, meter.read()).map(drop))
}

/// A plan and where its results go.
pub(crate) struct Job<'a> {
    pub(crate) plan: &'a RunPlan,
    pub(crate) dir: PathBuf,
    pub(crate) source: &'a str,
    pub(crate) command: &'a str,
    pub(crate) jobs: Option<usize>,
}

impl Job<'_> {
    /// Calls `work` with the options of the execution. `report` is called with the share done and a
    /// text.
    pub(crate) fn execute<T: Send>(
        self,
        py: Python<'_>,
        report: Option<&Py<PyAny>>,
        work: impl FnOnce(&ExecuteOptions<'_>) -> Result<T, LabError> + Send,
    ) -> PyResult<Result<T, LabError>> {
        let Self { plan, dir, source, command, jobs } = self;
        #[expect(
            clippy::disallowed_methods,
            reason = "wall time is reported, nothing depends on it"
        )]
        let start = Instant::now();
        let limits = ResourceLimits {
            memory: lowtide::machine::memory(),
            disk: lowtide::machine::free_disk(&dir),
            resident: Some(&lowtide::machine::resident),
        };
        let cpus = || std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        attended(py, report, |guard, meter| {
            let in_python = RunningControls::of(plan);
            // Python keeps the state of a thread that is attached; to make it for each hook takes
            // ten times as long as the hook.
            let attached = |work: &mut (dyn FnMut() + Send)| {
                Python::attach(|py| py.detach(|| guard.during(work)));
            };
            work(&ExecuteOptions {
                dir,
                jobs: jobs.unwrap_or_else(cpus),
                // Threads of one run would only wait for the GIL, and have no guard.
                threads: in_python.as_ref().map(|_| 1),
                discard_existing: false,
                source,
                command,
                clock: &|| start.elapsed(),
                stop: &guard.stop,
                progress: &|p| meter.update(p),
                on_thread: if in_python.is_some() { &attached } else { &|work| work() },
                backend: None,
                limits,
                share: true,
            })
        })
    }
}

/// Runs a scenario into a directory, or continues it. `progress` is called with the share done,
/// 0 to 1, and a text.
#[pyfunction]
#[pyo3(signature = (scenario, dir, command, jobs=None, progress=None))]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Scenario,
    dir: PathBuf,
    command: &str,
    jobs: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Experiment> {
    let plan = scenario.plan(py)?;
    let source = scenario.0.text_with_files();
    let job = Job { plan: &plan, dir, source: &source, command, jobs };
    match job.execute(py, progress.as_ref(), |options| execute(&plan, options))? {
        Ok(finished) => Experiment::new(py, finished),
        Err(error) => Err(exception::of_lab(py, error, Some(&scenario.0))),
    }
}
