//! The figures of a rollout: values by share.

use std::collections::BTreeSet;

use lowtide_charts::{Axis, Dot, Figure, GuideLine, Panel, PlotSeries, SeriesKind};
use lowtide_lab::ShownEstimate;
use lowtide_rows::DeploymentClass;

use super::delivered::GoodputOf;
use super::flows::ClassPair;
use super::longest_queue::LongestQueueRow;
use super::outcome::Outcome;
use super::result::RolloutResult;
use super::rows::ALL_SIZES;

/// Returns the figures of the slowdown of flows.
pub(super) fn flow_figures(result: &RolloutResult) -> Vec<Figure> {
    let mut out: Vec<Figure> = Vec::new();
    for (i, size) in result.sizes.iter().enumerate() {
        let (id, of) = if size == ALL_SIZES {
            ("p99".to_owned(), "all flows".to_owned())
        } else {
            (format!("p99-size{i}"), format!("flows of {size}"))
        };
        let title = format!("99th percentile of the slowdown of {of}");
        let names = [&id, &title, "Slowdown, 99th percentile", "slowdown_p99"];
        let lines = pair_lines(result, size, p99);
        out.extend(figure(result, names, BY_PAIR, None, lines));
        if size == ALL_SIZES {
            let title = "The same over that of the same flows before the move";
            let names = ["ratio", title, "Ratio to before the move", "ratio_p99"];
            let lines = pair_lines(result, size, ratio_p99);
            out.extend(figure(result, names, BY_PAIR, Some(1.0), lines));
        }
    }
    out
}

/// Returns the figures of each group of queries.
pub(super) fn query_figures(result: &RolloutResult) -> Vec<Figure> {
    let groups: BTreeSet<&str> = result.queries.iter().map(|r| r.group.as_str()).collect();
    let mut out = Vec::new();
    for (i, group) in groups.into_iter().enumerate() {
        let ids = [format!("qct-p99-group{i}"), format!("qct-ratio-group{i}")];
        let title = format!("99th percentile of the completion time of queries of {group}");
        let names = [&ids[0], &title, "Completion time, 99th percentile (ms)", "qct_ms_p99"];
        let lines = client_lines(result, group, p99);
        out.extend(figure(result, names, BY_CLIENT, None, lines));
        let title = format!("The same of {group} over that of the same queries before the move");
        let names = [&ids[1], &title, "Ratio to before the move", "ratio_p99"];
        let lines = client_lines(result, group, ratio_p99);
        out.extend(figure(result, names, BY_CLIENT, Some(1.0), lines));
    }
    out
}

/// Returns the figures of goodput.
pub(super) fn goodput_figures(result: &RolloutResult) -> Vec<Figure> {
    let figures = GoodputOf::ALL.into_iter().zip([
        ("goodput", "Goodput of all flows of a pair"),
        ("goodput-flow", "Goodput of one unlimited flow"),
    ]);
    let figure = |(of, (id, title))| {
        let line = |(style, pair): (usize, ClassPair)| {
            let rows = result.goodput.iter().filter(|r| r.pair == pair.name() && r.of == of);
            let dots = rows.filter_map(|r| Some(dot(r.share_percent, estimated(&r.goodput_mbps)?)));
            (pair.name(), style, dots.collect())
        };
        let lines = ClassPair::ALL.into_iter().enumerate().map(line).collect();
        figure(result, [id, title, "Goodput (Mbit/s)", "goodput_mbps"], GOODPUT, None, lines)
    };
    figures.filter_map(figure).collect()
}

/// Returns the figure of the longest queue.
pub(super) fn queue_figure(result: &RolloutResult) -> Option<Figure> {
    let line = |name, style, read: fn(&LongestQueueRow) -> &ShownEstimate| {
        let rows = result.longest_queues.iter();
        let dots = rows.filter_map(|r| Some(dot(r.share_percent, estimated(read(r))?)));
        (name, style, dots.collect())
    };
    let lines =
        vec![line("mean", 0, |r| &r.mean_packets), line("99th percentile", 1, |r| &r.p99_packets)];
    let names = ["queue", "Longest queue at a switch", "Length (packets)", "queue_packets"];
    figure(result, names, QUEUE, None, lines)
}

/// Name, style and points of a line.
type Line = (&'static str, usize, Vec<Dot>);

/// Returns a value by share, one line per pair of classes.
fn pair_lines(
    result: &RolloutResult,
    size: &str,
    read: impl Fn(&Outcome) -> Option<Drawn>,
) -> Vec<Line> {
    let line = |(style, pair): (usize, ClassPair)| {
        let rows = result.rows.iter().filter(|r| r.pair == pair.name() && r.sizes == size);
        let dots = rows.filter_map(|r| Some(dot(r.share_percent, read(&r.outcome)?)));
        (pair.name(), style, dots.collect())
    };
    ClassPair::ALL.into_iter().enumerate().map(line).collect()
}

/// Returns a value by share, one line per class of the client.
fn client_lines(
    result: &RolloutResult,
    group: &str,
    read: impl Fn(&Outcome) -> Option<Drawn>,
) -> Vec<Line> {
    let line = |(style, class): (usize, DeploymentClass)| {
        let rows = result.queries.iter().filter(|r| r.group == group && r.client == class.name());
        let dots = rows.filter_map(|r| Some(dot(r.share_percent, read(&r.outcome)?)));
        (class.name(), style, dots.collect())
    };
    [DeploymentClass::Old, DeploymentClass::New].into_iter().enumerate().map(line).collect()
}

/// A value and its 95 % interval.
type Drawn = (f64, Option<[f64; 2]>);

fn estimated(of: &ShownEstimate) -> Option<Drawn> {
    Some((of.value?, of.ci95))
}

fn p99(outcome: &Outcome) -> Option<Drawn> {
    estimated(&outcome.percentiles.p99)
}

fn ratio_p99(outcome: &Outcome) -> Option<Drawn> {
    let of = &outcome.comparison.as_ref()?.p99;
    Some((of.ratio?, of.ratio_ci95))
}

fn dot(share_percent: f64, (y, interval): Drawn) -> Dot {
    Dot { x: share_percent, y, interval }
}

/// Meaning of the lines of flows.
const BY_PAIR: &str = "One line per pair: class of the sender > class of the receiver. All seeds \
    together; bars are 95 % intervals. A missing point has too few values, or unfinished ones that \
    could change it.";

/// Meaning of the lines of queries.
const BY_CLIENT: &str = "One line per class of the client. All seeds together; bars are 95 % \
    intervals. A missing point has too few values, or unfinished ones that could change it.";

/// Meaning of the lines of goodput.
const GOODPUT: &str = "One line per pair: class of the sender > class of the receiver. Means over \
    seeds; bars are 95 % intervals. At a missing point the pair has no such flows.";

/// Meaning of the lines of the longest queue.
const QUEUE: &str = "Mean and 99th percentile of the length over time, in each run of the queue \
    whose 99th percentile is greatest. Means over seeds; bars are 95 % intervals.";

/// Draws lines by share; `guide` is the value before the move.
fn figure(
    result: &RolloutResult,
    [id, title, label, column]: [&str; 4],
    caption: &str,
    guide: Option<f64>,
    lines: Vec<Line>,
) -> Option<Figure> {
    let series: Vec<PlotSeries> = lines
        .into_iter()
        .map(|(name, style, points)| PlotSeries {
            scheme: name.to_owned(),
            part: String::new(),
            style,
            kind: SeriesKind::Measured,
            points,
        })
        .collect();
    let dots = || series.iter().flat_map(|s| &s.points);
    let ends = dots().flat_map(|d| d.interval.unwrap_or([d.y, d.y]));
    let values: Vec<f64> = ends.collect();
    if values.is_empty() {
        return None;
    }
    let mut x = Axis::linear("Moved share of the hosts (%)", "share_percent", 0.0, 100.0);
    (x.low, x.high) = (-3.0, 103.0);
    let line = |at| GuideLine { label: "before".to_owned(), at, vertical: false };
    Some(Figure {
        id: id.to_owned(),
        title: format!("{title}, {} to {}", result.from, result.to),
        caption: caption.to_owned(),
        legend: series.iter().map(|s| (s.scheme.clone(), s.style)).collect(),
        panels: vec![Panel {
            title: String::new(),
            x,
            y: Axis::fitting(label, column, &values),
            series,
            guide_lines: guide.map(line).into_iter().collect(),
            shade: None,
        }],
    })
    .map(|figure| figure.explain_absent(&|_| "no value at any share".to_owned()))
}
