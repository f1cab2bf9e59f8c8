//! Progress on stderr: a bar on a terminal, or lines for programs (`--progress lines`). Silent with
//! `--quiet`.

mod meter;

use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lowtide_lab::RunProgress;
use lowtide_output::streams;

use crate::args::ProgressForm;
use crate::output::Output;

pub use meter::ProgressMeter;

/// Steps of the bar: simulated time within a run moves it too.
const STEPS: f64 = 10_000.0;
/// Least time between two lines.
const LINE_INTERVAL: Duration = Duration::from_millis(100);

pub(crate) struct ProgressReporter {
    meter: ProgressMeter,
    display: Display,
    /// Reason of the first run that used fewer threads than allowed.
    fewer_threads: Mutex<Option<String>>,
}

enum Display {
    Bar(ProgressBar),
    Lines { label: String, last: Mutex<Option<Instant>> },
    Hidden,
}

impl ProgressReporter {
    /// Progress of `runs` runs with `label` as its prefix.
    pub(crate) fn new(out: Output, runs: u64, label: &str) -> Self {
        let display = match out.progress {
            _ if out.quiet => Display::Hidden,
            ProgressForm::Bar => Display::Bar(bar(label)),
            ProgressForm::Lines => {
                Display::Lines { label: label.to_owned(), last: Mutex::default() }
            }
        };
        Self { meter: ProgressMeter::new(runs as usize), display, fewer_threads: Mutex::default() }
    }

    /// Handles one progress message.
    pub(crate) fn update(&self, progress: RunProgress<'_>) {
        if let RunProgress::Threads { key, threads, why: Some(why) } = &progress
            && let Ok(mut fewer) = self.fewer_threads.lock()
        {
            let noun = if *threads == 1 { "thread" } else { "threads" };
            fewer.get_or_insert_with(|| format!("{key} took {threads} {noun}: {why}"));
        }
        let planned = matches!(progress, RunProgress::Planned { .. });
        self.meter.update(progress);
        self.show(planned);
    }

    /// Shows the state of the meter; `planned` restarts the estimate of the time left.
    fn show(&self, planned: bool) {
        match &self.display {
            Display::Bar(bar) => {
                let (share, message) = self.meter.read();
                bar.set_position((share * STEPS) as u64);
                bar.set_message(message);
                if planned {
                    bar.reset_eta();
                }
            }
            Display::Lines { label, last } => self.line(label, last),
            Display::Hidden => {}
        }
    }

    /// Prints a line unless the last one is recent.
    fn line(&self, label: &str, last: &Mutex<Option<Instant>>) {
        let Ok(mut last) = last.lock() else { return };
        #[expect(clippy::disallowed_methods, reason = "wall time paces the display")]
        let now = Instant::now();
        if last.is_none_or(|last| now.duration_since(last) >= LINE_INTERVAL) {
            *last = Some(now);
            let (share, message) = self.meter.read();
            let text = format!("{label} {message}");
            streams::note(format_args!("progress {share:.4} {}", text.trim()));
        }
    }

    /// Reason why a run used fewer threads than allowed, if one did.
    pub(crate) fn fewer_threads(&self) -> Option<String> {
        self.fewer_threads.lock().ok().and_then(|fewer| fewer.clone())
    }

    pub(crate) fn clear(&self) {
        if let Display::Bar(bar) = &self.display {
            bar.finish_and_clear();
        }
    }
}

fn bar(label: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(STEPS as u64), ProgressDrawTarget::stderr());
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
    bar
}
