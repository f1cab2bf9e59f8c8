//! One flow of a run directory, looked at packet by packet: its plots, its captures, where its time
//! went.
//!
//! Contract: needs nothing that was recorded beforehand. The directory says how its runs are made; the
//! run is made again with a trace of that flow, and must give the same digest. Where the directory holds
//! a trace of the flow, that is used.

mod capture;
mod critical_path;
mod events;
mod explain;
mod figure;
mod replay;
mod selector;

use std::path::Path;

use lowtide_record::{FlowRow, Manifest, ReportedSetting, RunDir, RunKey, TraceTables};

pub use capture::{Vantage, capture};
pub use critical_path::DelayCause;
pub use events::{FlowEvent, FlowEventKind};
pub use explain::{DelayShare, Explanation, explain};
pub(crate) use figure::recorded_plots;
pub use figure::{Plot, PlotWindow, plot};
pub(crate) use replay::{extra_scenarios, file_name, not_reproducible, specification};
pub use selector::FlowSelector;

use crate::error::LabError;

/// A flow of one run with everything that happened to it.
#[derive(Clone, Debug)]
pub struct FlowTrace {
    /// The run.
    pub key: RunKey,
    /// The flow.
    pub flow: FlowRow,
    /// Its trace.
    pub tables: TraceTables,
    /// The marking threshold of the switches as written, where all schemes share one.
    pub threshold: Option<String>,
}

/// The flow that `choice` names in the results in `root`, once for every scheme that it leaves open.
///
/// # Errors
/// The directory is not complete, there is no such run or flow, or the run cannot be made again.
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
