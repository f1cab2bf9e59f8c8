//! Progress on stderr: runs finished, simulated time per second of wall time, time left.

use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::Output;

/// A bar on a terminal; silent elsewhere and with `--quiet`.
pub(crate) struct Bar {
    bar: ProgressBar,
    simulated: Mutex<f64>,
}

impl Bar {
    pub(crate) fn new(out: Output, runs: u64) -> Self {
        let target = if out.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(runs), target);
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs  {msg}  {elapsed} gone, {eta} left");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, simulated: Mutex::new(0.0) }
    }

    /// One more run is done, of that many virtual seconds.
    pub(crate) fn finished(&self, virtual_seconds: f64) {
        if let Ok(mut total) = self.simulated.lock() {
            *total += virtual_seconds;
            self.bar.set_message(format!("{total:.1} s simulated"));
        }
        self.bar.inc(1);
    }

    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
