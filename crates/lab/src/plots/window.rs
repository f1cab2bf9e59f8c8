//! Figures of the sender's state over time: congestion window, ssthresh, variables of its control.

use std::collections::BTreeSet;

use lowtide_charts::{Axis, Dot, Figure, Panel, PlotSeries, SeriesKind};
use lowtide_rows::{ProbeRow, VariableRow};

use crate::plots::metric::file_name;
use crate::plots::{PlotInput, time_axis};

type Probes = [(u32, ProbeRow)];

/// Returns the first sampled flow, which is the same in every scheme.
fn first_flow(probes: &Probes) -> Option<(u32, &str)> {
    probes.iter().map(|(_, p)| (p.flow, &*p.group)).min()
}

/// Returns `value` of `flow` in `run` over time.
fn trace(
    probes: &Probes,
    run: u32,
    flow: u32,
    scale: f64,
    value: impl Fn(&ProbeRow) -> Option<f64>,
) -> Vec<Dot> {
    let of = probes.iter().filter(|(r, p)| *r == run && p.flow == flow);
    of.filter_map(|(_, p)| Some(Dot::new(p.time_ps as f64 / scale, value(p)?))).collect()
}

pub(crate) fn window(source: PlotInput<'_>, probes: &Probes) -> Option<Figure> {
    let (flow, group) = first_flow(probes)?;
    let (x, scale) = time_axis(probes.iter().map(|(_, p)| p.time_ps).max()?);
    let mut panels = Vec::new();
    for run in &source.first_seeds() {
        let (scheme, style) = (&run.key.scheme, source.style(&run.key.scheme));
        let kb = |bytes: u64| bytes as f64 / 1000.0;
        let cwnd = trace(probes, run.key.run, flow, scale, |p| Some(kb(p.cwnd_bytes)));
        let y = Axis::from_zero("Window (kB)", "window_kb", cwnd.iter().map(|d| d.y));
        let ssthresh = trace(probes, run.key.run, flow, scale, |p| p.ssthresh_bytes.map(kb));
        let series = |part: &str, look, points| PlotSeries {
            scheme: scheme.clone(),
            part: part.to_owned(),
            style,
            kind: look,
            points,
        };
        let series = vec![
            series("ssthresh", SeriesKind::Thin, ssthresh),
            series("cwnd", SeriesKind::Trace, cwnd),
        ];
        let (title, rules) = (scheme.clone(), Vec::new());
        panels.push(Panel { title, x: x.clone(), y, series, guide_lines: rules, shade: None });
    }
    Some(Figure {
        id: "window-over-time".into(),
        title: format!("Congestion window of flow {flow} (group {group}) over time"),
        caption: format!(
            "{} Thick: cwnd; thin and dashed: ssthresh, from the first reaction on. Each scheme has a \
             separate scale.",
            source.caption_prefix()
        ),
        legend: source.legend(),
        panels,
    })
    .map(|figure| figure.explain_absent(&|_| "the flow was not sampled".to_owned()))
}

/// Returns a figure of each variable that the controls of that flow have.
pub(crate) fn variables(source: PlotInput<'_>, rows: &[(u32, VariableRow)]) -> Vec<Figure> {
    let names: BTreeSet<_> = rows.iter().map(|(_, row)| (&row.variable, &row.unit)).collect();
    names.into_iter().filter_map(|(name, unit)| variable(source, rows, name, unit)).collect()
}

fn variable(
    source: PlotInput<'_>,
    rows: &[(u32, VariableRow)],
    name: &str,
    unit: &str,
) -> Option<Figure> {
    let of = || rows.iter().filter(|(_, row)| row.variable == *name && row.unit == *unit);
    let (flow, group) = of().map(|(_, row)| (row.flow, &*row.group)).min()?;
    let of = || of().filter(|(_, row)| row.flow == flow);
    let (x, scale) = time_axis(of().map(|(_, row)| row.time_ps).max()?);
    let mut series = Vec::new();
    for run in source.first_seeds() {
        let dots = of().filter(|(number, _)| *number == run.key.run);
        let points: Vec<Dot> =
            dots.map(|(_, row)| Dot::new(row.time_ps as f64 / scale, row.value)).collect();
        if !points.is_empty() {
            let (scheme, part) = (run.key.scheme.clone(), String::new());
            let style = source.style(&scheme);
            series.push(PlotSeries { scheme, part, style, kind: SeriesKind::Trace, points });
        }
    }
    let label = if unit.is_empty() { name.to_owned() } else { format!("{name} ({unit})") };
    let values = of().map(|(_, row)| row.value);
    let y = Axis::from_zero(&label, &name.replace('-', "_"), values);
    let panel = Panel { title: String::new(), x, y, series, guide_lines: Vec::new(), shade: None };
    Some(Figure {
        id: format!("{}-over-time", file_name(name)),
        title: format!("Variable {name} of flow {flow} (group {group}) over time"),
        caption: format!(
            "{} A variable of the congestion control, as it calls it.",
            source.caption_prefix()
        ),
        legend: source.legend(),
        panels: vec![panel],
    })
    .map(|figure| figure.explain_absent(&|_| format!("has no {name}")))
}
