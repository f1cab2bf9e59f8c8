//! Ctrl-C and SIGTERM: what runs is told, and ends in its own way.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::CommandError;

/// Set when somebody wants an end.
pub(crate) static STOP: AtomicBool = AtomicBool::new(false);

/// Several plans may be done one after the other; the handler can be set only once.
pub(crate) fn watch_for_interrupt() -> Result<(), CommandError> {
    static WATCHED: OnceLock<Result<(), String>> = OnceLock::new();
    let set = || ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed));
    WATCHED
        .get_or_init(|| set().map_err(|e| format!("cannot watch for Ctrl-C: {e}")))
        .clone()
        .map_err(CommandError::Run)
}
