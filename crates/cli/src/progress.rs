//! Progress on stderr: finished runs, simulated time, time left. Silent if stderr is no terminal,
//! and with `--quiet`.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lowtide_lab::RunProgress;

use crate::output::Output;

/// Steps of the bar per run: simulated time within a run moves it too.
const STEPS: u64 = 1000;

pub(crate) struct ProgressReporter {
    shown: ProgressBar,
    /// Progress of running runs in steps, by number of the run.
    under_way: Mutex<BTreeMap<u32, u64>>,
    /// Reason of the first run that used fewer threads than allowed.
    fewer_threads: Mutex<Option<String>>,
}

impl ProgressReporter {
    /// A bar with `label` as its prefix.
    pub(crate) fn new(out: Output, runs: u64, label: &str) -> Self {
        let target =
            if out.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(runs * STEPS), target);
        let style = ProgressStyle::with_template(
            "{prefix}{bar:30} {percent:>3} %  {msg}  {elapsed} elapsed, {eta} left",
        );
        if let Ok(style) = style {
            bar.set_style(style);
        }
        if !label.is_empty() {
            bar.set_prefix(format!("{label}  "));
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { shown: bar, under_way: Mutex::default(), fewer_threads: Mutex::default() }
    }

    /// Handles one progress message.
    pub(crate) fn update(&self, progress: RunProgress<'_>) {
        let Ok(mut under_way) = self.under_way.lock() else { return };
        match progress {
            RunProgress::Planned { runs, kept } => {
                self.shown.set_length(runs as u64 * STEPS);
                self.shown.set_position(kept as u64 * STEPS);
                self.shown.reset_eta();
            }
            RunProgress::Started(key) => {
                under_way.insert(key.run, 0);
            }
            RunProgress::Running { key, now, end } => {
                let share = now.as_secs_f64() / end.as_secs_f64();
                let steps = ((share * STEPS as f64) as u64).min(STEPS);
                let before = under_way.insert(key.run, steps).unwrap_or(0);
                self.shown.inc(steps.saturating_sub(before));
                self.shown.set_message(format!("{key} at {:.3} s", now.as_secs_f64()));
            }
            RunProgress::Finished(key) => {
                let before = under_way.remove(&key.run).unwrap_or(0);
                self.shown.inc(STEPS.saturating_sub(before));
                self.shown.set_message(key.to_string());
            }
            RunProgress::Threads { key, threads, why } => {
                let Ok(mut fewer) = self.fewer_threads.lock() else { return };
                if let Some(why) = why {
                    let noun = if threads == 1 { "thread" } else { "threads" };
                    fewer.get_or_insert_with(|| format!("{key} took {threads} {noun}: {why}"));
                }
            }
            RunProgress::Writing => self.shown.set_message("tables, figures, report"),
        }
    }

    /// Reason why a run used fewer threads than allowed, if one did.
    pub(crate) fn fewer_threads(&self) -> Option<String> {
        self.fewer_threads.lock().ok().and_then(|fewer| fewer.clone())
    }

    pub(crate) fn clear(&self) {
        self.shown.finish_and_clear();
    }
}
