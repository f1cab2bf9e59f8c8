//! The first exception of a hook, and the runs that it ends.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;

/// What an execution shares with the controls of its connections.
#[derive(Debug, Default)]
pub(crate) struct RunGuard {
    /// Ends the runs.
    pub(crate) stop: AtomicBool,
    raised: Mutex<Option<PyErr>>,
}

thread_local! {
    /// Guard of the controls that this thread builds.
    static CURRENT: RefCell<Option<Arc<RunGuard>>> = const { RefCell::new(None) };
}

impl RunGuard {
    /// Calls `work`; controls that it builds on this thread report to this guard.
    pub(crate) fn during<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        let before = CURRENT.replace(Some(Arc::clone(self)));
        let done = work();
        CURRENT.set(before);
        done
    }

    /// The guard of this thread; `None` outside of any.
    pub(super) fn current() -> Option<Arc<Self>> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Keeps the first error and ends the runs.
    pub(crate) fn fail(&self, error: PyErr) {
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        raised.get_or_insert(error);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the runs must end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Takes the error.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
