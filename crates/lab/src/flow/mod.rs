//! Analysis of one flow of a run directory, packet by packet: plots, captures, explanation.
//!
//! Contract: needs no recording beforehand. The flow's run is repeated with a trace, from the
//! directory's scenario, and must give the same digest. If the directory has a trace of the flow,
//! that is used. Consumers read a trace in parts, in bounded memory; a recorded trace is one part.

mod capture;
mod critical_path;
mod events;
mod explain;
mod figure;
mod limits;
mod queue_length;
mod replay;
mod rows_in_order;
mod selector;
mod series;

use std::io::Write;
use std::path::Path;
use std::rc::Rc;

use lowtide_charts::Chart;
use lowtide_record::{Manifest, ManifestRun, ReportedSetting, RunDir, RunKey, TraceTables};
use lowtide_rows::FlowRow;

pub use capture::{Vantage, capture};
pub use critical_path::DelayCause;
pub use events::{FlowEvent, FlowEventKind};
pub use explain::{DelayShare, Explanation, explain};
pub(crate) use figure::recorded_plots;
pub use figure::{Plot, PlotWindow, plot};
pub(crate) use replay::{extra_scenarios, file_name, not_reproducible, specification};
pub use selector::FlowSelector;

use crate::budget::ResourceLimits;
use crate::error::LabError;
use crate::schedule::RunProgress;

/// A flow of one run.
#[derive(Clone, Debug)]
pub struct FlowHead {
    /// The run.
    pub key: RunKey,
    /// The flow.
    pub flow: FlowRow,
    /// Marking threshold of the switches as written, if all schemes share one.
    pub threshold: Option<String>,
}

/// A flow of one run with its trace in memory.
#[derive(Clone, Debug)]
pub struct FlowTrace {
    /// The run.
    pub key: RunKey,
    /// The flow.
    pub flow: FlowRow,
    /// Its trace.
    pub tables: TraceTables,
    /// Marking threshold of the switches as written, if all schemes share one.
    pub threshold: Option<String>,
}

impl FlowTrace {
    fn head(&self) -> FlowHead {
        let (key, flow) = (self.key.clone(), self.flow.clone());
        FlowHead { key, flow, threshold: self.threshold.clone() }
    }
}

/// A consumer of a trace.
trait TraceConsumer {
    /// Takes the rows up to `until`, in order of the parts.
    fn part(&mut self, rows: &TraceTables, until: u64) -> Result<(), LabError>;

    /// Returns true if later rows do not matter.
    fn is_complete(&self) -> bool {
        false
    }
}

/// Receives the progress of a replay.
pub type ReplayProgress<'p> = &'p mut dyn FnMut(RunProgress<'_>);

/// A flow of one run, and where its trace comes from.
#[derive(Clone, Debug)]
pub struct FlowSource {
    /// The flow.
    pub head: FlowHead,
    run: ManifestRun,
    results: Rc<(RunDir, Manifest)>,
    limits: ResourceLimits<'static>,
}

/// Returns the flow that `choice` selects in the results in `root`, once per scheme that it
/// selects.
///
/// # Errors
/// The directory is not complete, or the run or flow does not exist.
pub fn select_flows(root: &Path, choice: &FlowSelector) -> Result<Vec<FlowSource>, LabError> {
    let results = Rc::new(RunDir::open(root)?);
    let (dir, manifest) = &*results;
    let mut out = Vec::new();
    for run in choice.runs(manifest)? {
        let flow = choice.flow(dir.flows(run.key.run)?)?;
        let head = FlowHead { key: run.key.clone(), flow, threshold: threshold(manifest) };
        out.push(FlowSource {
            head,
            run: run.clone(),
            results: Rc::clone(&results),
            limits: ResourceLimits::default(),
        });
    }
    Ok(out)
}

impl FlowSource {
    /// Sets the limits of a replay.
    #[must_use]
    pub fn within(self, limits: ResourceLimits<'static>) -> Self {
        Self { limits, ..self }
    }

    /// Passes the trace on to `consumer`. Returns true if it was read to the end.
    fn read(
        &self,
        consumer: &mut dyn TraceConsumer,
        progress: ReplayProgress<'_>,
    ) -> Result<bool, LabError> {
        let (dir, manifest) = &*self.results;
        let recorded = dir.traces(self.run.key.run)?.of_flow(self.head.flow.flow);
        if recorded.is_empty() {
            let flow = self.head.flow.flow;
            let results = (dir, manifest);
            return replay::replay(results, &self.run, flow, consumer, &self.limits, progress);
        }
        consumer.part(&recorded, u64::MAX)?;
        Ok(true)
    }

    /// Returns the plots of the flow before they are drawn, as [`Self::plot`] draws them.
    ///
    /// # Errors
    /// As of [`Self::plot`].
    pub fn chart(
        &self,
        window: PlotWindow,
        progress: ReplayProgress<'_>,
    ) -> Result<Chart, LabError> {
        figure::check_window(&self.head, window)?;
        let mut drawn = figure::FlowFigure::new(self.head.clone(), window);
        self.read(&mut drawn, progress)?;
        Ok(Chart::Lanes(drawn.stack()?))
    }

    /// Draws the plots of the flow. The replay stops when everything in the window is known; only a
    /// complete one is compared with the digest of the run.
    ///
    /// # Errors
    /// The run cannot be repeated, or the flow has no event in the window.
    pub fn plot(&self, window: PlotWindow, progress: ReplayProgress<'_>) -> Result<Plot, LabError> {
        figure::check_window(&self.head, window)?;
        let mut drawn = figure::FlowFigure::new(self.head.clone(), window);
        let complete = self.read(&mut drawn, progress)?;
        Ok(Plot { complete, ..drawn.finish()? })
    }

    /// Writes the flow as a pcapng file.
    ///
    /// # Errors
    /// The run cannot be repeated, the trace has no packet at that location, or `out` fails.
    pub fn capture(
        &self,
        vantage: Vantage,
        out: &mut dyn Write,
        progress: ReplayProgress<'_>,
    ) -> Result<(), LabError> {
        let mut port = capture::PortFinder::new(self.head.flow.flow);
        if vantage == Vantage::Bottleneck {
            self.read(&mut port, progress)?;
        }
        let mut file = capture::CaptureFile::new(&self.head, vantage, &port, out)?;
        self.read(&mut file, progress)?;
        file.finish()
    }

    /// Explains the completion time of the flow.
    ///
    /// # Errors
    /// The run cannot be repeated.
    pub fn explain(&self, progress: ReplayProgress<'_>) -> Result<Explanation, LabError> {
        let mut explainer = explain::Explainer::new(self.head.clone());
        self.read(&mut explainer, progress)?;
        Ok(explainer.finish())
    }

    /// Returns the whole trace.
    ///
    /// # Errors
    /// The run cannot be repeated.
    pub fn trace(&self) -> Result<FlowTrace, LabError> {
        let mut all = WholeTrace::default();
        self.read(&mut all, &mut |_| {})?;
        let FlowHead { key, flow, threshold } = self.head.clone();
        Ok(FlowTrace { key, flow, tables: all.0, threshold })
    }
}

/// Collects a trace.
#[derive(Default)]
struct WholeTrace(TraceTables);

impl TraceConsumer for WholeTrace {
    fn part(&mut self, rows: &TraceTables, _until: u64) -> Result<(), LabError> {
        self.0.segments.extend_from_slice(&rows.segments);
        self.0.hops.extend_from_slice(&rows.hops);
        self.0.senders.extend_from_slice(&rows.senders);
        Ok(())
    }
}

fn threshold(manifest: &Manifest) -> Option<String> {
    let find = |s: &&ReportedSetting| s.section == "switch.mark" && s.name == "k";
    let [k] = manifest.settings.iter().find(find)?.values.as_slice() else { return None };
    Some(k.clone())
}
