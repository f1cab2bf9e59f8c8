//! Figures of a metric over the swept key, or per scheme without a sweep.

use std::fmt::Write as _;

use lowtide_charts::{Axis, Dot, Figure, Panel, PlotSeries, SeriesKind};
use lowtide_stats::LEAST_SEEDS;

use crate::naming::point_text;
use crate::plots::PlotInput;
use crate::plots::longest_queue;
use crate::plots::report_section::ReportSection;
use crate::plots::sweep::{Sweep, spread, sweeps};
use crate::summary::SummaryRow;
use crate::times::CompletionTimes;

/// A metric of a traffic group or of a queue.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PlottedMetric {
    /// The traffic group, or the queue.
    pub(crate) group: String,
    /// Whether it is a queue's.
    pub(crate) of_queue: bool,
    /// The question that it answers.
    pub(crate) question: ReportSection,
    /// Name of the metric in the summary.
    pub(crate) metric: &'static str,
    /// Name in sentences.
    pub(crate) title: &'static str,
    /// Unit; empty for a share.
    pub(crate) unit: &'static str,
    /// The items over which it is the mean.
    pub(crate) over: &'static str,
}

impl PlottedMetric {
    /// Returns the unit in parentheses, as a suffix.
    pub(crate) fn in_unit(&self) -> String {
        if self.unit.is_empty() { String::new() } else { format!(" ({})", self.unit) }
    }

    /// Returns whether it is that of all flows together, not the mean over the flows.
    fn is_total(&self) -> bool {
        self.metric == "goodput_mbps"
    }

    fn column(&self) -> String {
        let words = self.title.to_lowercase().replace(' ', "_");
        match self.unit {
            "" => words,
            "Mbit/s" => format!("{words}_mbps"),
            unit => format!("{words}_{unit}"),
        }
    }
}

/// Limit on metrics with figures.
const MAX_METRICS: usize = 6;
/// Limit on panels of one figure.
const MAX_PANELS: usize = 6;
/// Limit on curves of one panel.
const MAX_CURVES: usize = 8;

/// Returns the metrics of each traffic group: completion time and timeouts of queries; transfer
/// time if flows have a size, otherwise goodput. The swept group comes first.
pub(crate) fn plotted_metrics(source: PlotInput<'_>) -> Vec<PlottedMetric> {
    let Some(run) = source.at_point().next() else { return Vec::new() };
    let of = |group: &str| -> Vec<PlottedMetric> {
        let measure = |metric, title, unit, over| PlottedMetric {
            group: group.to_owned(),
            of_queue: false,
            question: if metric == "goodput_mbps" {
                ReportSection::Line
            } else {
                ReportSection::ShortFlows
            },
            metric,
            title,
            unit,
            over,
        };
        if run.queries(group).is_some() {
            return vec![
                measure("qct_ms.mean", "Query completion time", "ms", "queries"),
                measure("timeout_fraction", "Share of queries with a timeout", "", "queries"),
            ];
        }
        if run.collective(group).is_some() {
            return vec![measure("step_ms.mean", "Step time", "ms", "iterations")];
        }
        let mut sized = source.at_point().filter_map(|r| r.group(group));
        vec![if sized.any(|g| g.size_bytes.is_some() || g.fct_ms != CompletionTimes::default()) {
            measure("fct_ms.mean", "Transfer time", "ms", "flows")
        } else {
            measure("goodput_mbps", "Goodput", "Mbit/s", "flows")
        }]
    };
    let mut out: Vec<PlottedMetric> = run.groups.iter().flat_map(|g| of(&g.name)).collect();
    let point = source.point();
    let swept =
        |m: &PlottedMetric| point.keys().any(|k| k.starts_with(&format!("traffic.{}.", m.group)));
    out.sort_by_key(|m| !swept(m));
    out
}

/// Returns the figures of each traffic group: the schemes over the key with the most values. With
/// several swept keys there is one more figure per key, with a curve per value of the others.
pub(crate) fn figures(source: PlotInput<'_>) -> Vec<(ReportSection, Figure)> {
    let drawn = |measures: Vec<PlottedMetric>| {
        let (shown, rest) = measures.split_at(measures.len().min(MAX_METRICS));
        let all =
            shown.iter().flat_map(|m| of_group(source, m).into_iter().map(|f| (m.question, f)));
        let mut figures: Vec<(ReportSection, Figure)> = all.collect();
        if let Some((_, last)) = figures.last_mut() {
            last.caption.push_str(&without_figure(rest));
        }
        figures
    };
    let mut out = drawn(plotted_metrics(source));
    out.extend(drawn(line_and_fairness(source)));
    out
}

/// Returns the sentence about metrics beyond [`MAX_METRICS`], which have no figure.
fn without_figure(rest: &[PlottedMetric]) -> String {
    if rest.is_empty() {
        return String::new();
    }
    let name = |m: &PlottedMetric| format!("{} of {}", m.title.to_lowercase(), m.group);
    let names: Vec<String> = rest.iter().map(name).collect();
    format!(" No figure: {}; summary.json has all.", names.join(", "))
}

/// Returns the utilisation of the line with the longest queue, and Jain's index of each group of
/// several flows.
pub(crate) fn line_and_fairness(source: PlotInput<'_>) -> Vec<PlottedMetric> {
    let measure = |group: &str, of_queue, metric, title| PlottedMetric {
        group: group.to_owned(),
        of_queue,
        question: if of_queue { ReportSection::Line } else { ReportSection::Fairness },
        metric,
        title,
        unit: "",
        over: "flows",
    };
    let queue = longest_queue(source).map(|q| measure(q, true, "utilisation", "Utilisation"));
    let groups = source.at_point().next().map_or(&[][..], |run| &run.groups);
    // Rates of flows of different sizes are not meant to be equal.
    let several = groups.iter().filter(|g| g.jain.is_some() && g.classes.is_empty());
    let fairness = several.map(|g| measure(&g.name, false, "jain", "Jain index"));
    queue.into_iter().chain(fairness).collect()
}

fn of_group(source: PlotInput<'_>, measure: &PlottedMetric) -> Vec<Figure> {
    let rows: Vec<&SummaryRow> = source
        .results
        .summary
        .iter()
        .filter(|r| {
            if measure.of_queue {
                r.subject.is_queue_metric(&measure.group, measure.metric)
            } else {
                r.subject.is_group_metric(&measure.group, measure.metric)
            }
        })
        .collect();
    let (points, schemes) = (&source.manifest.points, &source.manifest.schemes);
    if points.len() * schemes.len() < 2 {
        return Vec::new();
    }
    let ends =
        |r: &SummaryRow| r.estimate.value.into_iter().chain(r.estimate.bar().into_iter().flatten());
    let values: Vec<f64> = rows.iter().flat_map(|r| ends(r)).collect();
    if values.is_empty() {
        return Vec::new();
    }
    let y = Axis::fitting(
        &format!("{}{}", measure.title, measure.in_unit()),
        &measure.column(),
        &values,
    );
    let id = format!("{}-{}", file_name(&measure.title.to_lowercase()), file_name(&measure.group));
    let kind = if measure.of_queue { "line" } else { "group" };
    let title = format!("{} of {kind} {}", measure.title, measure.group);
    let text = caption(source, measure, &rows);
    let figure = |id: &str, title: String, more: &str, legend, panels| Figure {
        id: id.to_owned(),
        title,
        caption: format!("{text}{more}"),
        legend,
        panels,
    };
    let absent = |scheme: &str| {
        if measure.of_queue {
            return "the queue was not observed".to_owned();
        }
        source.no_time(&measure.group, scheme, &measure.title.to_lowercase())
    };
    let all = sweeps(points);
    let schemes_named = source.legend();
    let Some(first) = all.first() else {
        let panels = vec![scheme_panel(schemes, &rows, y)];
        return vec![figure(&id, title, "", schemes_named, panels).explain_absent(&absent)];
    };
    let mut out = Vec::new();
    // A single scheme per panel shows less than all curves in one panel.
    if all.len() == 1 || schemes.len() > 1 {
        let more = left_out(first.slices.len(), MAX_PANELS);
        let panels = by_slice(first, source, &rows, &y);
        let drawn = figure(&id, title.clone(), &more, schemes_named, panels);
        out.push(drawn.explain_absent_in_panels(&absent));
    }
    if all.len() > 1 {
        out.extend(all.iter().map(|sweep| {
            let (names, panels) = by_scheme(sweep, source, (&rows, &y), &absent);
            let id = format!("{id}-by-{}", file_name(&sweep.key));
            let more = left_out(sweep.slices.len(), MAX_CURVES);
            let legend = names.into_iter().zip(0..).collect();
            figure(&id, format!("{title} against {}", sweep.short()), &more, legend, panels)
                .explain_absent(&|_| format!("no {}", measure.title.to_lowercase()))
        }));
    }
    out
}

/// Returns a panel per combination of the other keys, with a curve per scheme.
fn by_slice(sweep: &Sweep, source: PlotInput<'_>, rows: &[&SummaryRow], y: &Axis) -> Vec<Panel> {
    let panel = |i: usize| {
        let slice = &sweep.slices[i];
        let schemes = source.manifest.schemes.iter().enumerate();
        let curve = |(style, scheme): (usize, &String)| {
            sweep.curve(style, scheme, String::new(), slice, rows)
        };
        panel(point_text(slice), sweep, y, schemes.map(curve).collect())
    };
    spread(sweep.slices.len(), MAX_PANELS).into_iter().map(panel).collect()
}

/// Returns a panel per scheme, with a curve per combination of the other keys, and the names of the
/// curves.
fn by_scheme(
    sweep: &Sweep,
    source: PlotInput<'_>,
    (rows, y): (&[&SummaryRow], &Axis),
    absent: &dyn Fn(&str) -> String,
) -> (Vec<String>, Vec<Panel>) {
    let shown = spread(sweep.slices.len(), MAX_CURVES);
    let names: Vec<String> = shown.iter().map(|i| sweep.name(*i)).collect();
    let schemes = &source.manifest.schemes;
    let one = |scheme: &String| {
        let curves = shown.iter().zip(&names).enumerate().map(|(style, (i, name))| {
            sweep.curve(style, scheme, name.clone(), &sweep.slices[*i], rows)
        });
        let curves: Vec<PlotSeries> = curves.collect();
        let title = if curves.iter().all(|curve| curve.points.is_empty()) {
            format!("{scheme}: {}", absent(scheme))
        } else if schemes.len() > 1 {
            scheme.clone()
        } else {
            String::new()
        };
        panel(title, sweep, y, curves)
    };
    let panels = schemes.iter().map(one).collect();
    (names, panels)
}

fn panel(title: String, sweep: &Sweep, y: &Axis, series: Vec<PlotSeries>) -> Panel {
    Panel { title, x: sweep.axis(), y: y.clone(), series, guide_lines: Vec::new(), shade: None }
}

/// Returns the sentence about combinations that a figure omits.
fn left_out(all: usize, most: usize) -> String {
    if all <= most {
        return String::new();
    }
    format!(" {most} of {all} combinations of the other keys are drawn; summary.json has all.")
}

/// Returns the name of the bars of that many seeds.
pub(crate) const fn bars(seeds: usize) -> &'static str {
    if seeds < LEAST_SEEDS { "the range of the seeds" } else { "95 % intervals over seeds" }
}

pub(crate) fn file_name(group: &str) -> String {
    group.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

fn caption(source: PlotInput<'_>, measure: &PlottedMetric, rows: &[&SummaryRow]) -> String {
    let missing = rows.iter().filter(|r| r.estimate.value.is_none()).count();
    let mut text = match (source.manifest.seeds.len(), measure.unit) {
        (1, "") => "One seed was run, so there is no interval.".to_owned(),
        (1, _) if measure.is_total() => {
            "All flows of the group together; one seed has no interval.".to_owned()
        }
        (1, _) => format!(
            "Mean over the {} of the one seed that was run; one seed has no interval.",
            measure.over
        ),
        (n, unit) => {
            let first = if unit.is_empty() {
                "Mean".to_owned()
            } else if measure.is_total() {
                "All flows of the group together, then the mean".to_owned()
            } else {
                format!("Mean over the {}, then", measure.over)
            };
            format!("{first} over {n} seeds; bars are {}.", bars(n))
        }
    };
    let agree = rows.iter().filter(|r| r.estimate.seed_independent).count();
    if agree > 0 {
        // Writing to a string cannot fail.
        let _ = write!(text, " {agree} of {} values are the same for every seed.", rows.len());
    }
    if missing > 0 {
        let _ = write!(
            text,
            " {missing} values are not drawn: there is none, or {} did not complete.",
            measure.over
        );
    }
    text
}

/// Returns a panel of the schemes side by side.
fn scheme_panel(schemes: &[String], rows: &[&SummaryRow], y: Axis) -> Panel {
    let ticks: Vec<_> = schemes.iter().enumerate().map(|(i, s)| (i as f64, s.clone())).collect();
    let high = schemes.len() as f64 - 0.5;
    let x = Axis { low: -0.5, high, ..Axis::named("Scheme", "scheme_number", ticks) };
    let series = schemes
        .iter()
        .enumerate()
        .map(|(i, scheme)| PlotSeries {
            scheme: scheme.clone(),
            part: String::new(),
            style: i,
            kind: SeriesKind::Dots,
            points: rows
                .iter()
                .filter(|r| r.subject.scheme == *scheme)
                .filter_map(|r| {
                    let y = r.estimate.value?;
                    Some(Dot { x: i as f64, y, interval: r.estimate.bar() })
                })
                .collect(),
        })
        .collect();
    Panel { title: String::new(), x, y, series, guide_lines: Vec::new(), shade: None }
}
