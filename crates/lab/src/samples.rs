//! The durations of one run as samples: of flows, and of queries.
//!
//! Contract: every flow with a size is in the sample. One that the end of the run cut off is at
//! least its age, each its own, as late flows are younger. One that failed never ends.

use std::sync::Arc;

use lowtide_rows::{FlowRow, FlowStatus};
use lowtide_stats::{InvalidSample, Observation, Sample, ValueRange};

/// Picoseconds per millisecond.
pub(crate) const PS_PER_MS: u64 = 1_000_000_000;

/// A duration, or the age of what did not end.
#[derive(Clone, Copy)]
pub(crate) struct Timed {
    /// Duration if it ended, picoseconds.
    pub(crate) took_ps: Option<u64>,
    /// Age at the end of the run, picoseconds.
    pub(crate) age_ps: u64,
    /// Whether it failed.
    pub(crate) failed: bool,
}

impl Timed {
    fn of_flow(flow: &FlowRow, ended_ps: u64) -> Self {
        Self {
            took_ps: flow.fct_ps,
            age_ps: ended_ps.saturating_sub(flow.start_ps),
            failed: flow.status == FlowStatus::Failed,
        }
    }

    /// Returns the observation in another unit; a duration that cannot be converted is unknown.
    fn observed(self, convert: impl Fn(u64) -> Option<f64>) -> Observation {
        let unknown = Observation::CutOff(0.0);
        match self.took_ps {
            Some(ps) => convert(ps).map_or(unknown, Observation::Complete),
            None if self.failed => Observation::Failed,
            None => convert(self.age_ps).map_or(unknown, Observation::CutOff),
        }
    }
}

/// The durations of a set of flows in one run.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct FlowSamples {
    /// Completion times, milliseconds.
    pub(crate) fct_ms: Arc<Sample>,
    /// Slowdowns; none without ideal times, or if a flow is faster than its ideal time.
    pub(crate) slowdown: Arc<Sample>,
    /// The least slowdown if it is below one, so that an ideal time is wrong.
    pub(crate) below_one: Option<f64>,
}

impl FlowSamples {
    pub(crate) fn new(flows: &[&FlowRow], ended_ps: u64) -> Self {
        let sized = || {
            let with = flows.iter().copied().filter(|f| f.size_bytes.is_some());
            with.map(|flow| (flow, Timed::of_flow(flow, ended_ps)))
        };
        let fct_ms = times_ms(sized().map(|(_, timed)| timed));
        let mut slowdown = Ok(Sample::empty(ValueRange::SLOWDOWN));
        // Without any ideal time nothing can be bounded.
        if sized().any(|(flow, _)| flow.ideal_ps.is_some()) {
            let all = sized().map(|(flow, timed)| timed.observed(|ps| slowdown_of(flow, ps)));
            slowdown = Sample::new(all, ValueRange::SLOWDOWN);
        }
        let below_one = match slowdown {
            Err(InvalidSample::OutOfRange { value, .. } | InvalidSample::NotFinite(value)) => {
                Some(value)
            }
            Ok(_) => None,
        };
        let slowdown = slowdown.unwrap_or_else(|_| Sample::empty(ValueRange::SLOWDOWN));
        Self { fct_ms: Arc::new(fct_ms), slowdown: Arc::new(slowdown), below_one }
    }
}

/// Collects durations in milliseconds.
pub(crate) fn times_ms(all: impl Iterator<Item = Timed>) -> Sample {
    let ms = |ps: u64| Some(ps as f64 / PS_PER_MS as f64);
    // Durations are finite and not negative.
    Sample::new(all.map(|timed| timed.observed(ms)), ValueRange::NOT_NEGATIVE)
        .unwrap_or_else(|_| Sample::empty(ValueRange::NOT_NEGATIVE))
}

/// Returns the slowdown of a flow that takes `ps`.
pub(crate) fn slowdown_of(flow: &FlowRow, ps: u64) -> Option<f64> {
    let ideal = flow.ideal_ps.filter(|ideal| *ideal > 0)?;
    Some(ps as f64 / ideal as f64)
}
