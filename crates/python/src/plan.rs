//! The runs of a sweep: its parts, which engines make on several machines, and their merge.

use std::path::PathBuf;

use lowtide_lab as lab;
use lowtide_record::RunSelection;
use lowtide_scenario as scenario;
use pyo3::prelude::*;

use crate::exception;
use crate::experiment::Experiment;
use crate::run::Job;
use crate::scenario::Scenario;

/// All runs of a scenario. Expanding a large sweep takes longer than a small run.
#[pyclass(frozen)]
pub(crate) struct Plan {
    scenario: scenario::Scenario,
    runs: scenario::RunPlan,
    /// The scenario with all changes.
    text: String,
}

#[pymethods]
impl Plan {
    #[new]
    fn new(py: Python<'_>, scenario: &Scenario) -> PyResult<Self> {
        let plan = scenario.plan(py)?;
        let text = py.detach(|| lab::part_text(&scenario.0, &plan));
        let text = text.map_err(|e| exception::of_lab(py, e, Some(&scenario.0)))?;
        Ok(Self { scenario: scenario.0.clone(), runs: plan, text })
    }

    /// The scenario with all changes and the files that it names, from which the plan follows.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// The scenario without changes, with the files that it names.
    #[getter]
    fn source(&self) -> String {
        self.scenario.text_with_files()
    }

    /// The scheme and the hash of the outcome of every run. Runs with equal ones are simulated
    /// once.
    #[getter]
    fn outcomes(&self) -> Vec<(&str, &str)> {
        self.runs.runs.iter().map(|run| (run.scheme.as_str(), run.outcome.as_str())).collect()
    }

    /// Makes the runs with the numbers `runs` into the part `dir`. `source` is the scenario without
    /// changes.
    fn make_part(
        &self,
        py: Python<'_>,
        dir: PathBuf,
        command: &str,
        source: &str,
        runs: Vec<u32>,
        jobs: usize,
    ) -> PyResult<()> {
        let selection = RunSelection::Listed { runs };
        let job = Job { plan: &self.runs, dir, source, command, jobs: Some(jobs) };
        let made = job.execute(py, None, |options| {
            lab::execute_part(&self.runs, &self.text, options, &selection)
        })?;
        made.map(drop).map_err(|e| exception::of_lab(py, e, Some(&self.scenario)))
    }

    /// The numbers of the runs of the part `dir`; `None` if it is half-written or damaged.
    fn part_runs(&self, py: Python<'_>, dir: PathBuf) -> PyResult<Option<Vec<u32>>> {
        let runs = py.detach(|| lab::part_runs(&self.runs, &dir));
        runs.map_err(|e| exception::of_lab(py, e, None))
    }

    /// The results in `dir`; `None` if there is no such directory.
    fn merged(&self, py: Python<'_>, dir: PathBuf) -> PyResult<Option<Experiment>> {
        let found = py.detach(|| lab::merged(&self.runs, &dir));
        let found = found.map_err(|e| exception::of_lab(py, e, None))?;
        found.map(|finished| Experiment::new(py, finished)).transpose()
    }
}

/// Merges parts into the run directory `dir`.
#[pyfunction]
pub(crate) fn merge(py: Python<'_>, dir: PathBuf, parts: Vec<PathBuf>) -> PyResult<Experiment> {
    let done = py.detach(|| lab::merge(&dir, &parts, &|_| {}));
    let (_, finished) = done.map_err(|e| exception::of_lab(py, e, None))?;
    Experiment::new(py, finished)
}
