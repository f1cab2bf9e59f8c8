//! Ctrl-C and SIGTERM set a flag; running work polls it and ends.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::CommandError;

/// Set by the first Ctrl-C or SIGTERM.
pub(crate) static STOP: AtomicBool = AtomicBool::new(false);

/// Installs the signal handler once, also when a command runs several plans.
pub(crate) fn watch_for_interrupt() -> Result<(), CommandError> {
    static WATCHED: OnceLock<Result<(), String>> = OnceLock::new();
    let set = || ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed));
    WATCHED
        .get_or_init(|| set().map_err(|e| format!("cannot watch for Ctrl-C: {e}")))
        .clone()
        .map_err(CommandError::Run)
}
