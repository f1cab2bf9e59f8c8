//! Values between Python and the crates.

use lowtide_schema::Value;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt};

/// A parameter's value for a control: times in ps, sizes in bytes, rates in bit/s.
pub(super) fn to_python(py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
    match value {
        Value::Bool(value) => value.into_py_any(py),
        Value::Count(value) => value.into_py_any(py),
        Value::Bytes(value) => value.as_u64().into_py_any(py),
        Value::Duration(value) => value.as_ps().into_py_any(py),
        Value::Rate(value) => value.as_bps().into_py_any(py),
        Value::Ratio(value) => (f64::from(value.num) / f64::from(value.den.get())).into_py_any(py),
        other => other.to_string().into_py_any(py),
    }
}

/// A number of a control, rounded down: whole bytes or bits. Larger values than the crates have
/// become the largest, so infinity is `u64::MAX`. `None` if it is no number, or negative.
pub(super) fn whole(value: &Bound<'_, PyAny>) -> Option<u64> {
    if value.is_instance_of::<PyBool>() {
        return None;
    }
    if let Ok(whole) = value.extract::<u64>() {
        return Some(whole);
    }
    if value.is_instance_of::<PyInt>() {
        return value.gt(0).ok()?.then_some(u64::MAX);
    }
    // The conversion of floats saturates.
    value.extract::<f64>().ok().filter(|number| *number >= 0.0).map(|number| number as u64)
}

/// A number from 0 to 1 in units of 2^-20; `None` if it is none.
pub(super) fn q20(value: &Bound<'_, PyAny>) -> Option<u64> {
    let number = value.extract::<f64>().ok().filter(|number| (0.0..=1.0).contains(number))?;
    Some((number * f64::from(1 << 20)) as u64)
}
