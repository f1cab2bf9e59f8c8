//! Tables as capsules of the Arrow C data interface, which other libraries read without a copy.

use lowtide_record::RunDir;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::exception;

/// Returns a capsule with an `ArrowArrayStream`.
pub(crate) fn stream<'py>(
    py: Python<'py>,
    dir: &RunDir,
    name: &str,
) -> PyResult<Bound<'py, PyCapsule>> {
    let stream = py.detach(|| dir.arrow_stream(name));
    let stream = stream.map_err(|e| exception::of_record(py, &e))?;
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// Returns a capsule with an `ArrowSchema`.
pub(crate) fn schema<'py>(
    py: Python<'py>,
    dir: &RunDir,
    name: &str,
) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = py.detach(|| dir.arrow_schema(name));
    let schema = schema.map_err(|e| exception::of_record(py, &e))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}
