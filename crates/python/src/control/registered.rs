//! Registration of classes as congestion controls.

use lowtide_lab::program_digest;
use lowtide_scenario::RunPlan;
use lowtide_schema::RegisteredTwice;
use lowtide_tcp::cc::{self, CcEntry};
use lowtide_tcp::{ack, feedback, scheme};
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::classes::{Registered, state};
use super::declaration::{Declaration, code_of};
use super::python_control::build;
use crate::exception;

/// The entry of a class, which is made at its first call. A class with equal code takes the place
/// of an earlier one.
pub(super) fn entry(
    py: Python<'_>,
    class: &Bound<'_, PyType>,
    declaration: Declaration,
) -> PyResult<&'static CcEntry> {
    let mut class = class.clone().unbind();
    let known = state().classes.iter_mut().find(|c| c.code == declaration.code).map(|known| {
        std::mem::swap(&mut known.class, &mut class);
        known.entry
    });
    if let Some(entry) = known {
        return Ok(entry);
    }
    let entry = declaration.entry(py, build)?;
    let code = code_of(entry);
    state().classes.push(Registered { code, class, entry });
    Ok(entry)
}

/// Registers a class as a congestion control and as a scheme. `declaration` describes it.
#[pyfunction]
pub(crate) fn register_control(
    py: Python<'_>,
    class: &Bound<'_, PyType>,
    declaration: Declaration,
) -> PyResult<()> {
    // The digest of the program is that of the parts of lowtide: the hash of a run covers the code
    // of the class that it uses. It is computed once, so before the first class is registered.
    let _ = program_digest();
    let name = declaration.name.as_str();
    let registered = cc::REGISTRY.find(name).map(code_of);
    let is_taken = match registered {
        Some(code) => code.is_empty(),
        None => scheme::REGISTRY.find(name).is_some(),
    };
    if is_taken || ack::REGISTRY.find(name).is_some() || feedback::REGISTRY.find(name).is_some() {
        let message = format!("`{name}` is a part of lowtide");
        return Err(exception::of_request(py, &message, Some("give the class another `name`")));
    }
    if registered == Some(declaration.code.as_str()) {
        return entry(py, class, declaration).map(drop);
    }
    if registered.is_some() && state().running > 0 {
        let message = format!("`{name}` cannot be redefined while a run uses it");
        return Err(exception::of_request(py, &message, Some("wait until the run has ended")));
    }
    let scheme = declaration.scheme(py)?;
    let entry = entry(py, class, declaration)?;
    let twice = |error: RegisteredTwice| exception::of_request(py, &error.to_string(), None);
    cc::REGISTRY.replace(entry).map_err(twice)?;
    scheme::REGISTRY.replace(scheme).map_err(twice)
}

/// Counts an execution whose runs use classes in Python.
pub(crate) struct RunningControls;

impl RunningControls {
    /// `None` if no run of the plan uses one.
    pub(crate) fn of(plan: &RunPlan) -> Option<Self> {
        let codes: Vec<&str> = state().classes.iter().map(|c| c.code).collect();
        // Runs that differ in their seed have one control.
        let mut runs = plan.runs.chunk_by(|a, b| (&a.scheme, &a.point) == (&b.scheme, &b.point));
        let is_used = !codes.is_empty()
            && runs.any(|runs| {
                let text = runs[0].resolved_toml();
                codes.iter().any(|code| text.contains(code))
            });
        is_used.then(|| {
            state().running += 1;
            Self
        })
    }
}

impl Drop for RunningControls {
    fn drop(&mut self) {
        state().running -= 1;
    }
}
