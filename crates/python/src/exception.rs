//! Errors of the crates as exceptions of `lowtide.errors`.

use lowtide_lab::{LabError, TooLarge};
use lowtide_papers::PaperError;
use lowtide_record::RecordError;
use lowtide_scenario::{Scenario, ScenarioError, ScenarioErrors};
use lowtide_typeset::TypesetError;
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;

/// Module of the exceptions.
const MODULE: &str = "lowtide.errors";

/// Returns an exception of the package, or the error of making it.
fn exception<'py>(py: Python<'py>, class: &str, args: impl PyCallArgs<'py>) -> PyErr {
    let made = py.import(MODULE).and_then(|m| m.getattr(class)).and_then(|c| c.call1(args));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// A fault of a scenario: message, file, line, column, help.
type Fault = (String, String, Option<usize>, Option<usize>, Option<String>);

fn fault(error: &ScenarioError) -> Fault {
    let (line, column) = error.line_column().unzip();
    (error.message.clone(), error.file.clone(), line, column, error.help.clone())
}

/// An invalid scenario.
pub(crate) fn of_scenario(py: Python<'_>, errors: &ScenarioErrors) -> PyErr {
    let faults: Vec<Fault> = errors.iter().map(fault).collect();
    exception(py, "ScenarioError", (lowtide::located_text(errors), faults))
}

/// An invalid argument.
pub(crate) fn of_request(py: Python<'_>, message: &str, help: Option<&str>) -> PyErr {
    exception(py, "RequestError", (message, help))
}

/// A congestion control in Python broke its contract.
pub(crate) fn of_control(py: Python<'_>, message: &str) -> PyErr {
    exception(py, "ControlError", (message,))
}

/// A run, a directory or a figure failed.
pub(crate) fn of_run(py: Python<'_>, message: &str) -> PyErr {
    exception(py, "RunError", (message,))
}

/// An error of runs; `scenario` locates the key of a run that is too large.
pub(crate) fn of_lab(py: Python<'_>, error: LabError, scenario: Option<&Scenario>) -> PyErr {
    match error {
        LabError::Scenario(errors) => of_scenario(py, &errors),
        LabError::InvalidRequest { message, help } | LabError::NotFound { message, help } => {
            of_request(py, &message, help.as_deref())
        }
        LabError::TooLarge(TooLarge { key, message, help }) => match scenario {
            Some(scenario) => of_scenario(py, &scenario.error_at_key(&key, &message, Some(help))),
            None => of_request(py, &message, Some(&help)),
        },
        other => of_run(py, &other.to_string()),
    }
}

/// An error of a paper's experiment.
pub(crate) fn of_paper(py: Python<'_>, error: PaperError) -> PyErr {
    match error {
        PaperError::Lab(error) => of_lab(py, error, None),
        PaperError::Claim(error) => of_run(py, &error.to_string()),
    }
}

/// An error of a run directory.
pub(crate) fn of_record(py: Python<'_>, error: &RecordError) -> PyErr {
    match error {
        RecordError::UnknownTable { .. }
        | RecordError::NoTable { .. }
        | RecordError::NoTrace { .. } => of_request(py, &error.to_string(), None),
        _ => of_run(py, &error.to_string()),
    }
}

/// An error of a figure.
pub(crate) fn of_typeset(py: Python<'_>, error: TypesetError) -> PyErr {
    match error {
        TypesetError::Invalid { message, help } => of_request(py, &message, help.as_deref()),
        TypesetError::Chart(error) => of_request(py, &error.to_string(), None),
        error @ TypesetError::Write { .. } => of_run(py, &error.to_string()),
    }
}
