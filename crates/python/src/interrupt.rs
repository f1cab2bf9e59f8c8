//! Ctrl-C during an execution that another thread than Python's main thread has started.
//!
//! Python raises `KeyboardInterrupt` in its main thread only, which waits for the other one. The
//! execution ends on its own, so that the wait ends too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use signal_hook::SigId;
use signal_hook::consts::SIGINT;

/// Notes Ctrl-C while it exists.
#[derive(Debug, Default)]
pub(crate) struct InterruptWatch {
    is_interrupted: Arc<AtomicBool>,
    /// `None` in the main thread, and if the program handles Ctrl-C itself.
    registered: Option<SigId>,
}

impl InterruptWatch {
    pub(crate) fn new(py: Python<'_>) -> PyResult<Self> {
        let threading = py.import("threading")?;
        let thread = threading.call_method0("current_thread")?;
        let mut watch = Self::default();
        if thread.is(&threading.call_method0("main_thread")?) {
            return Ok(watch);
        }
        let signal = py.import("signal")?;
        let handler = signal.call_method1("getsignal", (SIGINT,))?;
        if handler.is(&signal.getattr("default_int_handler")?) {
            let flag = Arc::clone(&watch.is_interrupted);
            // Without it the execution runs to its end.
            watch.registered = signal_hook::flag::register(SIGINT, flag).ok();
        }
        Ok(watch)
    }

    /// Raises what Python raises in the main thread.
    pub(crate) fn check(&self) -> PyResult<()> {
        if self.is_interrupted.load(Ordering::Relaxed) {
            return Err(PyKeyboardInterrupt::new_err(()));
        }
        Ok(())
    }
}

impl Drop for InterruptWatch {
    fn drop(&mut self) {
        if let Some(id) = self.registered {
            signal_hook::low_level::unregister(id);
        }
    }
}
