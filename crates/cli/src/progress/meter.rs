//! Progress of all runs as one number.

use std::collections::BTreeMap;
use std::sync::Mutex;

use lowtide_lab::RunProgress;

/// State of an execution.
#[derive(Debug, Default)]
struct State {
    runs: usize,
    finished: usize,
    /// Share of each running run, by number of the run.
    under_way: BTreeMap<u32, f64>,
    message: String,
}

/// Collects the progress of runs from their threads.
#[derive(Debug, Default)]
pub struct ProgressMeter(Mutex<State>);

impl ProgressMeter {
    /// A meter of `runs` runs; [`RunProgress::Planned`] corrects the number.
    pub fn new(runs: usize) -> Self {
        Self(Mutex::new(State { runs, ..State::default() }))
    }

    /// Handles one message.
    pub fn update(&self, progress: RunProgress<'_>) {
        let Ok(mut state) = self.0.lock() else { return };
        match progress {
            RunProgress::Planned { runs, kept } => (state.runs, state.finished) = (runs, kept),
            RunProgress::Running { key, now, end } => {
                let share = now.as_secs_f64() / end.as_secs_f64();
                state.under_way.insert(key.run, share.min(1.0));
                state.message = format!("{key} at {:.3} s", now.as_secs_f64());
            }
            RunProgress::Finished(key) => {
                state.under_way.remove(&key.run);
                state.finished += 1;
                state.message = key.to_string();
            }
            RunProgress::Writing => "tables, figures, report".clone_into(&mut state.message),
            RunProgress::Started(_) | RunProgress::Threads { .. } => {}
        }
    }

    /// Returns the share of all runs, 0 to 1, and what was last done.
    pub fn read(&self) -> (f64, String) {
        let Ok(state) = self.0.lock() else { return (0.0, String::new()) };
        let done = state.finished as f64 + state.under_way.values().sum::<f64>();
        (done / state.runs.max(1) as f64, state.message.clone())
    }
}
