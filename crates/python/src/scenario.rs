//! A scenario that does not change: setting a key gives another one.

use std::path::{Path, PathBuf};

use lowtide_lab::{PlanCheck, ResourceLimits, admit};
use lowtide_scenario::{self as scenario, RunPlan, ScenarioErrors};
use pyo3::prelude::*;
use serde::Serialize;

use crate::exception;
use crate::json::json_text;

/// Label of `set()` in errors.
const SET: &str = "set()";

/// A scenario in memory.
#[pyclass(frozen)]
pub(crate) struct Scenario(pub(crate) scenario::Scenario);

fn made(py: Python<'_>, of: Result<scenario::Scenario, ScenarioErrors>) -> PyResult<Scenario> {
    of.map(Scenario).map_err(|errors| exception::of_scenario(py, &errors))
}

impl Scenario {
    pub(crate) fn plan(&self, py: Python<'_>) -> PyResult<RunPlan> {
        py.detach(|| self.0.expand()).map_err(|errors| exception::of_scenario(py, &errors))
    }
}

#[pymethods]
impl Scenario {
    /// Loads an embedded scenario by its name, or a file by its path.
    #[staticmethod]
    fn load(py: Python<'_>, name: &str) -> PyResult<Self> {
        made(py, scenario::Scenario::load(name))
    }

    /// Loads a file.
    #[staticmethod]
    fn from_file(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        // The name of a file in the working directory could be that of an embedded scenario.
        let bare = path.components().count() == 1;
        let path = if bare { Path::new(".").join(path) } else { path };
        made(py, scenario::Scenario::load(&path.to_string_lossy()))
    }

    /// Parses a text; errors call it `file_name`.
    #[staticmethod]
    fn from_text(py: Python<'_>, text: &str, file_name: &str) -> PyResult<Self> {
        made(py, scenario::Scenario::parse(text, file_name))
    }

    /// The name of the scenario.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// Sets a dotted key to a TOML value or plain text.
    fn set(&self, py: Python<'_>, key: &str, value: &str) -> PyResult<Self> {
        made(py, self.0.clone().with_flag(SET, key, value))
    }

    /// Sweeps a dotted key over values.
    fn sweep(&self, py: Python<'_>, key: &str, values: Vec<String>) -> PyResult<Self> {
        made(py, self.0.clone().with_sweep(key, &values))
    }

    /// The text of the file with all changes.
    fn to_toml(&self, py: Python<'_>) -> PyResult<String> {
        self.0.to_toml().map_err(|errors| exception::of_scenario(py, &errors))
    }

    /// Checks all runs without running them. Returns JSON.
    fn check(&self, py: Python<'_>) -> PyResult<String> {
        let plan = self.plan(py)?;
        let limits =
            ResourceLimits { memory: lowtide::machine::memory(), ..ResourceLimits::default() };
        let cost = admit(&plan, &limits);
        let cost = cost.map_err(|e| exception::of_lab(py, e.into(), Some(&self.0)))?;
        let checked = py.detach(|| PlanCheck::new(&plan, &cost));
        let checked = checked.map_err(|errors| exception::of_scenario(py, &errors))?;
        let warnings = checked.warnings();
        json_text(py, &CheckOutput { checked, warnings })
    }
}

#[derive(Serialize)]
struct CheckOutput {
    #[serde(flatten)]
    checked: PlanCheck,
    warnings: Vec<String>,
}
