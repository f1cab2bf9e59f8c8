//! Analysis of one flow of a run directory, packet by packet: plots, captures, explanation.
//!
//! Contract: needs no recording beforehand. The flow's run is repeated with a trace, from the
//! directory's scenario, and must give the same digest. If the directory has a trace of the flow,
//! that is used.

mod capture;
mod critical_path;
mod events;
mod explain;
mod figure;
mod replay;
mod selector;

use std::path::Path;

use lowtide_record::{Manifest, ReportedSetting, RunDir, RunKey, TraceTables};
use lowtide_rows::FlowRow;

pub use capture::{Vantage, capture};
pub use critical_path::DelayCause;
pub use events::{FlowEvent, FlowEventKind};
pub use explain::{DelayShare, Explanation, explain};
pub(crate) use figure::recorded_plots;
pub use figure::{Plot, PlotWindow, plot};
pub(crate) use replay::{extra_scenarios, file_name, not_reproducible, specification};
pub use selector::FlowSelector;

use crate::error::LabError;

/// A flow of one run with its trace.
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

/// Returns the flow that `choice` selects in the results in `root`, once per scheme that it
/// selects.
///
/// # Errors
/// The directory is not complete, the run or flow does not exist, or the run cannot be repeated.
pub fn trace_flows(root: &Path, choice: &FlowSelector) -> Result<Vec<FlowTrace>, LabError> {
    let (dir, manifest) = RunDir::open(root)?;
    let mut out = Vec::new();
    for run in choice.runs(&manifest)? {
        let flow = choice.flow(dir.flows(run.key.run)?)?;
        let recorded = dir.traces(run.key.run)?.of_flow(flow.flow);
        let tables = if recorded.is_empty() {
            replay::replay(&dir, &manifest, run, flow.flow)?
        } else {
            recorded
        };
        let threshold = threshold(&manifest);
        out.push(FlowTrace { key: run.key.clone(), flow, tables, threshold });
    }
    Ok(out)
}

fn threshold(manifest: &Manifest) -> Option<String> {
    let find = |s: &&ReportedSetting| s.section == "switch.mark" && s.name == "k";
    let [k] = manifest.settings.iter().find(find)?.values.as_slice() else { return None };
    Some(k.clone())
}
