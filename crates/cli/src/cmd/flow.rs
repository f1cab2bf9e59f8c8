//! `lowtide plot`, `lowtide pcap` and `lowtide explain DIR --flow`: one flow of a run directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lowtide_lab::LabError;
use lowtide_lab::flow::{self, FlowSelector, FlowSource, PlotWindow, ReplayProgress, Vantage};
use lowtide_record::{write_atomic, write_atomic_with};

use crate::args::{
    CapturePointArg, MemoryArg, OptionalFlowArgs, PcapArgs, PlotArgs, RunSelectorArgs,
};
use crate::cmd::split;
use crate::error::CommandError;
use crate::output::Output;
use crate::progress::ProgressReporter;

/// Most events printed without `--all`.
const MAX_EVENTS: usize = 40;

pub(crate) fn flow_selector(
    flow: &str,
    run: &RunSelectorArgs,
) -> Result<FlowSelector, CommandError> {
    let pair = |text: &String| {
        split(text, "--at", "KEY=VALUE").map(|(k, v)| (k.to_string(), v.to_string()))
    };
    Ok(FlowSelector {
        flow: flow.to_string(),
        scheme: run.scheme.clone(),
        seed: run.seed,
        point: run.at.iter().map(pair).collect::<Result<_, _>>()?,
    })
}

pub(crate) fn explain(
    names: &[String],
    selected: &OptionalFlowArgs,
    all: bool,
    out: Output,
) -> Result<(), CommandError> {
    let [dir] = names else {
        let help = "for instance `lowtide explain runs/two-flows-1g/1a2b3c4d --flow 0`";
        let message = format!("--flow takes one run directory, not {}", names.len());
        return Err(CommandError::Usage(message, Some(help.to_string())));
    };
    let (scheme, seed, at) = (selected.scheme.clone(), selected.seed, selected.at.clone());
    let flow = selected.flow.as_deref().unwrap_or_default();
    let selector = flow_selector(flow, &RunSelectorArgs { scheme, seed, at })?;
    let from = (Path::new(dir), selected.memory);
    let flows = each_flow(from, &selector, out, |flow, progress| flow.explain(progress))?;
    if out.json {
        return out.answer("lowtide.flow/3", &BTreeMap::from([("flows", flows)]));
    }
    let most = if all { usize::MAX } else { MAX_EVENTS };
    let texts: Vec<String> = flows.iter().map(|f| f.text(most)).collect();
    out.text(&texts.join("\n\n"))
}

fn print_files(files: &[PathBuf], out: Output) -> Result<(), CommandError> {
    let files: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
    if out.json {
        return out.answer("lowtide.files/1", &BTreeMap::from([("files", files)]));
    }
    out.text(&files.join("\n"))
}

fn write(path: &Path, content: &[u8]) -> Result<PathBuf, CommandError> {
    write_atomic(path, content)?;
    Ok(path.to_path_buf())
}

pub(crate) fn plot(args: &PlotArgs, out: Output) -> Result<(), CommandError> {
    let selector = flow_selector(&args.flow.flow, &args.flow.run)?;
    let place = args.out.clone().unwrap_or_else(|| args.flow.dir.join("figures"));
    let window = PlotWindow { from: args.from, to: args.to };
    let from = (&*args.flow.dir, args.flow.memory);
    let plots = each_flow(from, &selector, out, |f, progress| f.plot(window, progress))?;
    let mut files = Vec::new();
    for plot in &plots {
        files.push(write(&place.join(format!("{}.svg", plot.name)), plot.svg.as_bytes())?);
        files.push(write(&place.join(format!("{}.csv", plot.name)), plot.csv.as_bytes())?);
        files.push(write(&place.join(format!("{}.html", plot.name)), plot.html.as_bytes())?);
    }
    if plots.iter().any(|plot| !plot.complete) {
        out.note("the replay stopped behind the window; without --to the run's digest is compared");
    }
    print_files(&files, out)
}

pub(crate) fn pcap(args: &PcapArgs, out: Output) -> Result<(), CommandError> {
    let selector = flow_selector(&args.flow.flow, &args.flow.run)?;
    let vantage = match args.place {
        CapturePointArg::Sender => Vantage::Sender,
        CapturePointArg::Receiver => Vantage::Receiver,
        CapturePointArg::Bottleneck => Vantage::Bottleneck,
    };
    let flows = select((&args.flow.dir, args.flow.memory), &selector)?;
    let several = flows.len() > 1;
    let files = each(&flows, out, |flow, progress| {
        let ending = args.out.extension().unwrap_or_default().to_string_lossy().into_owned();
        let path = if several {
            args.out.with_extension(format!("{}.{ending}", flow.head.key.scheme))
        } else {
            args.out.clone()
        };
        write_atomic_with(&path, |file| flow.capture(vantage, file, progress))?;
        Ok(path)
    })?;
    print_files(&files, out)
}

/// Selects flows of a directory; a replay stays within the memory limit.
fn select(
    (dir, memory): (&Path, MemoryArg),
    selector: &FlowSelector,
) -> Result<Vec<FlowSource>, CommandError> {
    let flows = flow::select_flows(dir, selector)?;
    Ok(flows.into_iter().map(|flow| flow.within(memory.limits())).collect())
}

/// Calls `show` for every flow that `selector` selects, with progress on stderr.
pub(crate) fn each_flow<T>(
    from: (&Path, MemoryArg),
    selector: &FlowSelector,
    out: Output,
    show: impl FnMut(&FlowSource, ReplayProgress<'_>) -> Result<T, LabError>,
) -> Result<Vec<T>, CommandError> {
    each(&select(from, selector)?, out, show)
}

fn each<T>(
    flows: &[FlowSource],
    out: Output,
    mut show: impl FnMut(&FlowSource, ReplayProgress<'_>) -> Result<T, LabError>,
) -> Result<Vec<T>, CommandError> {
    let bar = ProgressReporter::new(out, flows.len() as u64, "replay");
    let shown = flows.iter().map(|flow| show(flow, &mut |progress| bar.update(progress)));
    let shown = shown.collect::<Result<_, LabError>>().map_err(CommandError::from);
    bar.clear();
    shown
}
