//! The registered classes by the digest of their code.

use std::sync::{Mutex, MutexGuard, PoisonError};

use lowtide_tcp::cc::CcEntry;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::exception;

pub(super) struct Registered {
    pub(super) code: &'static str,
    pub(super) class: Py<PyType>,
    pub(super) entry: &'static CcEntry,
}

pub(super) struct State {
    pub(super) classes: Vec<Registered>,
    /// Executions whose runs use one of the classes.
    pub(super) running: usize,
}

static STATE: Mutex<State> = Mutex::new(State { classes: Vec::new(), running: 0 });

/// Locks the state. The holder runs no Python code: that could pass the GIL to a thread which waits
/// for this lock.
pub(super) fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The class with this code, and the name of its control.
pub(super) fn class<'py>(
    py: Python<'py>,
    code: &str,
) -> PyResult<(Bound<'py, PyType>, &'static str)> {
    let of = |known: &Registered| (known.class.clone_ref(py).into_bound(py), known.entry.name);
    let found = state().classes.iter().find(|c| c.code == code).map(of);
    found.ok_or_else(|| exception::of_run(py, &format!("no control in Python has the code {code}")))
}
