//! Figures of tails: the distribution by size class, and the tail over the swept key.

use lowtide_charts::{Axis, Dot, Figure, Panel, PlotSeries, SeriesKind};
use lowtide_record::SweepPoint;

use crate::facts::RunFacts;
use crate::headline::common_percentile;
use crate::naming::point_text;
use crate::plots::PlotInput;
use crate::plots::metric::{bars, file_name};
use crate::plots::sweep::{Sweep, sweeps};
use crate::tails::{FlowSet, TailMetric, TailRow, all_classes, curve, flow_sets};

/// Limit on panels of one figure.
const MAX_PANELS: usize = 6;

/// Returns the name of a set of flows in a figure.
fn set_title(set: FlowSet<'_>) -> String {
    set.class.unwrap_or_default().to_owned()
}

/// Returns the sets of flows that figures show, by group: the classes, or the whole group without
/// classes; their slowdown, or their completion time without ideal times. Queries are first.
fn shown_sets<'a>(sets: &[FlowSet<'a>]) -> Vec<Vec<FlowSet<'a>>> {
    let mut groups: Vec<Vec<FlowSet<'a>>> = Vec::new();
    for set in sets {
        let of_group = |other: &&FlowSet<'_>| other.group == set.group;
        let classed = sets.iter().filter(of_group).any(|other| other.class.is_some());
        let slowdown =
            sets.iter().filter(of_group).any(|other| other.metric == TailMetric::Slowdown);
        if (classed && set.class.is_none() && set.metric.is_of_flows())
            || (slowdown && set.metric == TailMetric::FctMs)
        {
            continue;
        }
        match groups.last_mut().filter(|g| g[0].group == set.group && g[0].metric == set.metric) {
            Some(group) => group.push(*set),
            None => groups.push(vec![*set]),
        }
    }
    groups.sort_by_key(|group| group[0].metric.is_of_flows());
    groups
}

/// Returns the sentence about the sets beyond [`MAX_PANELS`], which have no panel.
fn without_panel(sets: &[FlowSet<'_>]) -> String {
    let names: Vec<&str> = sets.iter().skip(MAX_PANELS).filter_map(|set| set.class).collect();
    if names.is_empty() {
        return String::new();
    }
    format!(" No panel: {}; the tails in summary.json have all.", names.join(", "))
}

fn axis_label(metric: TailMetric) -> (&'static str, &'static str) {
    match metric {
        TailMetric::Slowdown => ("Slowdown", "slowdown"),
        TailMetric::FctMs => ("Completion time (ms)", "fct_ms"),
        TailMetric::QctMs => ("Query completion time (ms)", "qct_ms"),
        TailMetric::StepMs => ("Step time (ms)", "step_ms"),
    }
}

/// Returns the figures of the distributions, one per group, at the point shown.
pub(crate) fn distributions(source: PlotInput<'_>) -> Vec<Figure> {
    let runs: Vec<&RunFacts> = source.at_point().collect();
    let classes = all_classes(&source.results.runs);
    let sets = flow_sets(&runs, &classes);
    shown_sets(&sets).iter().filter_map(|of_group| distribution(source, of_group)).collect()
}

fn distribution(source: PlotInput<'_>, sets: &[FlowSet<'_>]) -> Option<Figure> {
    let first = sets.first()?;
    let drawn = sets.iter().take(MAX_PANELS);
    let panels: Vec<Panel> = drawn.filter_map(|set| cdf_panel(source, *set)).collect();
    if panels.is_empty() {
        return None;
    }
    let (label, column) = axis_label(first.metric);
    let at = point_text(&source.point());
    let at = if at.is_empty() { at } else { format!("At {at}. ") };
    Some(Figure {
        id: format!("{}-cdf-{}", column.replace('_', "-"), file_name(first.group)),
        title: match first.class {
            Some(_) => format!("{label} of group {}: distribution by flow size", first.group),
            None => format!("{label} of group {}: distribution", first.group),
        },
        caption: format!(
            "{at}Share of the flows of all seeds that take at most as long. Unfinished flows count, so \
             a curve may end below one. The file cdf.csv has every point.{}",
            without_panel(sets)
        ),
        legend: source.legend(),
        panels,
    })
    .map(|figure| {
        figure.explain_absent_in_panels(&|s| source.no_time(first.group, s, "value of a size"))
    })
}

fn cdf_panel(source: PlotInput<'_>, set: FlowSet<'_>) -> Option<Panel> {
    let mut series = Vec::new();
    for (style, scheme) in source.manifest.schemes.iter().enumerate() {
        let runs: Vec<&RunFacts> = source.at_point().filter(|r| r.key.scheme == *scheme).collect();
        let points: Vec<Dot> =
            curve(&runs, set).into_iter().map(|(value, share)| Dot::new(value, share)).collect();
        if !points.is_empty() {
            let (scheme, part) = (scheme.clone(), String::new());
            series.push(PlotSeries { scheme, part, style, kind: SeriesKind::Steps, points });
        }
    }
    let values: Vec<f64> = series.iter().flat_map(|s| &s.points).map(|p| p.x).collect();
    if values.is_empty() {
        return None;
    }
    let (label, column) = axis_label(set.metric);
    Some(Panel {
        title: set_title(set),
        x: Axis::fitting(label, column, &values),
        y: Axis::linear("Share of the flows", "share_of_flows", 0.0, 1.0),
        series,
        guide_lines: Vec::new(),
        shade: None,
    })
}

/// Returns the groups with size classes, each with the sets of its classes.
pub(crate) fn classed_sets<'a>(sets: &[FlowSet<'a>]) -> Vec<Vec<FlowSet<'a>>> {
    shown_sets(sets).into_iter().filter(|g| g[0].class.is_some() && g.len() > 1).collect()
}

/// Returns the figures of the median over the flow size, one per group with size classes, at the
/// point shown.
pub(crate) fn by_size(source: PlotInput<'_>) -> Vec<Figure> {
    let runs: Vec<&RunFacts> = source.at_point().collect();
    let classes = all_classes(&source.results.runs);
    let sets = flow_sets(&runs, &classes);
    classed_sets(&sets).iter().map(|of_group| medians(source, of_group)).collect()
}

fn medians(source: PlotInput<'_>, sets: &[FlowSet<'_>]) -> Figure {
    let names: Vec<String> = sets.iter().map(|set| set_title(*set)).collect();
    let (label, column) = axis_label(sets[0].metric);
    let point = source.point();
    let series = source.manifest.schemes.iter().enumerate().map(|(style, scheme)| {
        let dot = |(x, set): (usize, &FlowSet<'_>)| {
            let of = |row: &&TailRow| row.scheme == *scheme && row.point == point && set.has(row);
            let found = &source.results.tails.iter().find(of)?.p50;
            Some(Dot { x: x as f64, y: found.value?, interval: found.bar() })
        };
        let points = sets.iter().enumerate().filter_map(dot).collect();
        let (scheme, part) = (scheme.clone(), String::new());
        PlotSeries { scheme, part, style, kind: SeriesKind::Measured, points }
    });
    let series: Vec<PlotSeries> = series.collect();
    let values: Vec<f64> = series
        .iter()
        .flat_map(|s| &s.points)
        .flat_map(|p| std::iter::once(p.y).chain(p.interval.into_iter().flatten()))
        .collect();
    let at = point_text(&point);
    let at = if at.is_empty() { at } else { format!("At {at}. ") };
    Figure {
        id: format!("{}-by-size-{}", column.replace('_', "-"), file_name(sets[0].group)),
        title: format!("Median {} of group {} by flow size", label.to_lowercase(), sets[0].group),
        caption: format!(
            "{at}A level curve shares the line by size; a rising one favours short flows, a falling one \
             long flows. Bars are {}.",
            bars(source.manifest.seeds.len())
        ),
        legend: source.legend(),
        panels: vec![Panel {
            title: String::new(),
            x: Axis::categorical("Flow size", "flow_size", &names),
            y: Axis::fitting(&format!("Median {}", label.to_lowercase()), column, &values),
            series,
            guide_lines: Vec::new(),
            shade: None,
        }],
    }
    .explain_absent(&|scheme| source.no_time(sets[0].group, scheme, "median"))
}

/// Returns the figures of the tail over the swept key, one per group: a panel per size class. The
/// other swept keys have the values of the point shown.
pub(crate) fn over_sweep(source: PlotInput<'_>) -> Vec<Figure> {
    let all = sweeps(&source.manifest.points);
    let Some(sweep) = all.first() else { return Vec::new() };
    let runs: Vec<&RunFacts> = source.results.runs.iter().collect();
    let classes = all_classes(&source.results.runs);
    let sets = flow_sets(&runs, &classes);
    shown_sets(&sets).iter().filter_map(|of_group| knee(source, sweep, of_group)).collect()
}

fn knee(source: PlotInput<'_>, sweep: &Sweep, sets: &[FlowSet<'_>]) -> Option<Figure> {
    let first = sets.first()?;
    let drawn = sets.iter().take(MAX_PANELS);
    let panels: Vec<Panel> = drawn.filter_map(|set| knee_panel(source, sweep, *set)).collect();
    if panels.is_empty() {
        return None;
    }
    let (label, column) = axis_label(first.metric);
    let rest: SweepPoint = sweep.rest(&source.point());
    let at = if rest.is_empty() { String::new() } else { format!("At {}. ", point_text(&rest)) };
    Some(Figure {
        id: format!("{}-tail-{}", column.replace('_', "-"), file_name(first.group)),
        title: format!("Tail of the {} of group {}", label.to_lowercase(), first.group),
        caption: format!(
            "{at}Percentile of the flows of all seeds together, the highest up to p99 with ten flows \
             beyond it in every scheme and point; bars are {}.{}",
            bars(source.manifest.seeds.len()),
            without_panel(sets)
        ),
        legend: source.legend(),
        panels,
    })
    .map(|figure| {
        figure.explain_absent_in_panels(&|s| source.no_time(first.group, s, "percentile"))
    })
}

fn knee_panel(source: PlotInput<'_>, sweep: &Sweep, set: FlowSet<'_>) -> Option<Panel> {
    let which = common_percentile(&source.results.tails, set);
    let rest = sweep.rest(&source.point());
    let of = |row: &&TailRow| set.has(row) && sweep.rest(&row.point) == rest;
    let rows: Vec<&TailRow> = source.results.tails.iter().filter(of).collect();
    let series: Vec<PlotSeries> = source
        .manifest
        .schemes
        .iter()
        .enumerate()
        .map(|(style, scheme)| {
            let dot = |row: &&TailRow| {
                let (_, found) = row.percentiles().into_iter().find(|(q, _)| *q == which)?;
                let x = sweep.position(&row.point)?;
                Some(Dot { x, y: found.value?, interval: found.bar() })
            };
            let of_scheme = rows.iter().filter(|row| row.scheme == *scheme);
            let mut points: Vec<Dot> = of_scheme.filter_map(dot).collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            let kind = if sweep.ordered { SeriesKind::Measured } else { SeriesKind::Dots };
            PlotSeries { scheme: scheme.clone(), part: String::new(), style, kind, points }
        })
        .filter(|series| !series.points.is_empty())
        .collect();
    let ends = series.iter().flat_map(|s| &s.points);
    let values: Vec<f64> =
        ends.flat_map(|p| std::iter::once(p.y).chain(p.interval.into_iter().flatten())).collect();
    if values.is_empty() {
        return None;
    }
    let (label, column) = axis_label(set.metric);
    let label = format!("{} {}", which.name(), label.to_lowercase());
    Some(Panel {
        title: set_title(set),
        x: sweep.axis(),
        y: Axis::fitting(&label, &format!("{}_{column}", which.name()), &values),
        series,
        guide_lines: Vec::new(),
        shade: None,
    })
}
