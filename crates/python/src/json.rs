//! Structured results as JSON text.

use pyo3::prelude::*;
use serde::Serialize;

use crate::exception;

pub(crate) fn json_text(py: Python<'_>, value: &impl Serialize) -> PyResult<String> {
    let failed = |e| exception::of_run(py, &format!("cannot pass a result to Python: {e}"));
    serde_json::to_string(value).map_err(failed)
}
