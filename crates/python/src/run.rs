//! Execution of a scenario while Python's signals are served.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use lowtide_lab::{ExecuteOptions, LabError, ResourceLimits, execute};
use pyo3::prelude::*;

use crate::exception;
use crate::experiment::Experiment;
use crate::progress::ProgressMeter;
use crate::scenario::Scenario;

/// Interval between two checks for signals.
const TICK: Duration = Duration::from_millis(50);

/// Calls `work` on another thread. Meanwhile this thread lets Python handle signals and passes the
/// progress to `report`; an exception of either sets the flag that stops `work`.
fn attended<T: Send>(
    py: Python<'_>,
    report: Option<&Py<PyAny>>,
    work: impl FnOnce(&AtomicBool, &ProgressMeter) -> T + Send,
) -> PyResult<T> {
    let (stop, meter) = (AtomicBool::new(false), ProgressMeter::default());
    let mut raised = None;
    let result = py.detach(|| {
        let (ended, end) = channel::<()>();
        std::thread::scope(|scope| {
            let (stop, meter) = (&stop, &meter);
            let worker = scope.spawn(move || {
                let result = work(stop, meter);
                // Dropping the sender wakes the other thread, also after a panic.
                drop(ended);
                result
            });
            while end.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if raised.is_none() {
                    raised = Python::attach(|py| serve(py, report, meter)).err();
                    stop.store(raised.is_some(), Ordering::Relaxed);
                }
            }
            worker.join()
        })
    });
    if let Some(error) = raised {
        return Err(error);
    }
    result.map_err(|_| exception::of_run(py, "a run panicked; please report this"))
}

fn serve(py: Python<'_>, report: Option<&Py<PyAny>>, meter: &ProgressMeter) -> PyResult<()> {
    py.check_signals()?;
    report.map_or(Ok(()), |report| report.call1(py, meter.read()).map(drop))
}

/// A plan and where its results go.
pub(crate) struct Job<'a> {
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
        let Self { dir, source, command, jobs } = self;
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
        attended(py, report, |stop, meter| {
            work(&ExecuteOptions {
                dir,
                jobs: jobs.unwrap_or_else(cpus),
                threads: None,
                discard_existing: false,
                source,
                command,
                clock: &|| start.elapsed(),
                stop,
                progress: &|p| meter.update(p),
                backend: None,
                limits,
                share: true,
                worker: &lowtide::machine::worker(),
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
    let job = Job { dir, source: &source, command, jobs };
    match job.execute(py, progress.as_ref(), |options| execute(&plan, options))? {
        Ok(finished) => Experiment::new(py, finished),
        Err(error) => Err(exception::of_lab(py, error, Some(&scenario.0))),
    }
}
