//! Figures of the queue length: over time, and its distribution.

use std::collections::BTreeMap;

use lowtide_charts::{Axis, Dot, Figure, GuideLine, Panel, PlotSeries, SeriesKind};
use lowtide_rows::{LevelRow, QueueSampleRow};
use lowtide_units::parse_packets;

use crate::naming::point_text;
use crate::plots::{PlotInput, time_axis};

/// A scheme whose queue stays below this share of the longest one gets another, larger panel.
const SMALL: f64 = 0.25;

/// Returns the switch queue with the longest mean, over the schemes at the point shown.
pub(crate) fn longest_queue(source: PlotInput<'_>) -> Option<&str> {
    let runs = source.first_seeds();
    let queues = runs.into_iter().flat_map(|r| &r.queues);
    let longest = queues.filter(|q| q.mean_packets.is_some_and(|m| m > 0.0));
    let by = |q: &&crate::queues::QueueFacts| q.mean_packets.unwrap_or_default();
    longest
        .max_by(|a, b| by(a).total_cmp(&by(b)).then(b.name.cmp(&a.name)))
        .map(|q| q.name.as_str())
}

/// Returns the marking threshold of the switches, packets.
fn threshold(source: PlotInput<'_>) -> Option<u64> {
    let find = |name: &str| {
        source.manifest.settings.iter().find(|s| s.section == "switch.mark" && s.name == name)
    };
    let [k] = find("k")?.values.as_slice() else { return None };
    parse_packets(k).ok()
}

/// Returns the threshold as a reference line if it lies within `axis`.
fn rules(source: PlotInput<'_>, axis: &Axis, upright: bool) -> Vec<GuideLine> {
    let k = threshold(source).filter(|k| (*k as f64) <= axis.high && *k as f64 >= axis.high / 60.0);
    k.map(|k| GuideLine { label: format!("K = {k}"), at: k as f64, vertical: upright })
        .into_iter()
        .collect()
}

pub(crate) fn over_time(
    source: PlotInput<'_>,
    queue: &str,
    samples: &[(u32, QueueSampleRow)],
) -> Option<Figure> {
    let end = samples.iter().map(|(_, s)| s.time_ps).max()?;
    let (x, scale) = time_axis(end);
    let series: Vec<PlotSeries> = source
        .first_seeds()
        .iter()
        .map(|run| {
            let of = samples.iter().filter(|(r, s)| *r == run.key.run && *s.name == *queue);
            let dot = |s: &QueueSampleRow| Dot::new(s.time_ps as f64 / scale, f64::from(s.packets));
            let points = of.map(|(_, s)| dot(s)).collect();
            PlotSeries {
                scheme: run.key.scheme.clone(),
                part: String::new(),
                style: source.style(&run.key.scheme),
                kind: SeriesKind::Trace,
                points,
            }
        })
        .collect();
    let longest = |s: &PlotSeries| s.points.iter().map(|p| p.y).fold(0.0, f64::max);
    let most = series.iter().map(longest).fold(0.0, f64::max);
    let small: Vec<PlotSeries> =
        series.iter().filter(|s| longest(s) < most * SMALL).cloned().collect();
    let warmup = source.warmup_ps() as f64 / scale;
    let panel = |title: String, series: Vec<PlotSeries>| {
        let y = Axis::from_zero("Queue (packets)", "queue_packets", series.iter().map(longest));
        Panel {
            title,
            x: x.clone(),
            guide_lines: rules(source, &y, false),
            y,
            series,
            shade: (warmup > 0.0).then_some((0.0, warmup.min(x.high))),
        }
    };
    let panels = if small.is_empty() || small.len() == series.len() {
        vec![panel(String::new(), series)]
    } else {
        let names: Vec<&str> = small.iter().map(|s| s.scheme.as_str()).collect();
        let closer = format!("{} alone, on their own scale", names.join(" and "));
        let closer = if names.len() == 1 { closer.replace("their", "its") } else { closer };
        vec![panel("All schemes".to_owned(), series), panel(closer, small)]
    };
    let shade = if warmup > 0.0 {
        " The shaded part is the warm-up, which statistics leave out."
    } else {
        ""
    };
    Some(Figure {
        id: "queue-over-time".into(),
        title: format!("Queue at {queue} over time"),
        caption: format!(
            "{} Sampled; the statistics below count every moment and every packet.{shade}",
            source.caption_prefix()
        ),
        legend: source.legend(),
        panels,
    })
    .map(|figure| figure.explain_absent(&|_| "the queue was not sampled".to_owned()))
}

pub(crate) fn distribution(
    source: PlotInput<'_>,
    queue: &str,
    levels: &[(u32, LevelRow)],
) -> Option<Figure> {
    let mut series = Vec::new();
    let mut most = 0;
    for (style, scheme) in source.manifest.schemes.iter().enumerate() {
        let runs: Vec<u32> =
            source.at_point().filter(|r| r.key.scheme == *scheme).map(|r| r.key.run).collect();
        let mut times: BTreeMap<u32, u128> = BTreeMap::new();
        for (_, level) in levels.iter().filter(|(r, l)| *l.name == *queue && runs.contains(r)) {
            *times.entry(level.level.packets).or_default() += u128::from(level.level.time_ps);
        }
        let total: u128 = times.values().sum();
        if total == 0 {
            continue;
        }
        most = most.max(times.keys().next_back().copied().unwrap_or_default());
        let mut points = Vec::new();
        let mut below = 0;
        for (packets, time) in &times {
            below += time;
            points.push(Dot::new(f64::from(*packets), below as f64 / total as f64));
        }
        let (scheme, part) = (scheme.clone(), String::new());
        series.push(PlotSeries { scheme, part, style, kind: SeriesKind::Steps, points });
    }
    if series.is_empty() {
        return None;
    }
    let x = length_axis(f64::from(most));
    let panel = Panel {
        title: String::new(),
        guide_lines: rules_anywhere(source, &x),
        x,
        y: Axis::linear("Share of the time at or below", "share_of_time", 0.0, 1.0),
        series,
        shade: None,
    };
    let seeds = match source.manifest.seeds.len() {
        1 => "one seed".to_owned(),
        n => format!("all {n} seeds"),
    };
    let point = source.point();
    let at = if point.is_empty() { String::new() } else { format!("At {}. ", point_text(&point)) };
    Some(Figure {
        id: "queue-distribution".into(),
        title: format!("How long the queue at {queue} is"),
        caption: format!("{at}Weighted by time, {seeds} together, after the warm-up."),
        legend: source.legend(),
        panels: vec![panel],
    })
    .map(|figure| figure.explain_absent(&|_| "no time after the warm-up".to_owned()))
}

fn rules_anywhere(source: PlotInput<'_>, axis: &Axis) -> Vec<GuideLine> {
    let k = threshold(source).filter(|k| *k as f64 <= axis.high);
    let rule = |k| GuideLine { label: format!("K = {k}"), at: k as f64, vertical: true };
    k.map(rule).into_iter().collect()
}

/// Returns an axis for lengths up to `most`; if logarithmic, the empty queue is at its left end.
fn length_axis(most: f64) -> Axis {
    let (label, column) = ("Queue (packets)", "queue_packets");
    if most < 200.0 {
        return Axis::from_zero(label, column, std::iter::once(most));
    }
    let mut axis = Axis::log(label, column, 0.5, most * 1.2);
    axis.ticks.retain(|(v, _)| *v >= 1.0);
    axis.ticks.insert(0, (0.5, "0".to_owned()));
    axis
}
