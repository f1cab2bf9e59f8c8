//! The conformance kit on a class.

use std::sync::Arc;

use lowtide_conformance::check_with;
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::declaration::Declaration;
use super::guard::RunGuard;
use super::registered;

/// Returns the rules that a class breaks, each with what happened; `given` are parameters as users
/// write them.
#[pyfunction]
pub(crate) fn check_control(
    py: Python<'_>,
    class: &Bound<'_, PyType>,
    declaration: Declaration,
    given: Vec<(String, String)>,
) -> PyResult<Vec<(&'static str, String)>> {
    let entry = registered::entry(py, class, declaration)?;
    let given: Vec<(&str, &str)> = given.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let guard = Arc::<RunGuard>::default();
    let found = py.detach(|| guard.during(|| check_with(entry, &given)));
    match guard.take() {
        Some(error) => Err(error),
        None => Ok(found.into_iter().map(|v| (v.rule, v.detail)).collect()),
    }
}
