//! Queue length over time, all schemes on one scale. Where some queues are
//! far shorter than the longest, a second panel shows those alone, enlarged:
//! a flat line at 20 packets under a sawtooth of 3000 has a shape too.

use crate::view::{Level, ReportData, Trace};

use super::axis::{Scale, range};
use super::canvas::{Anchor, Canvas, paint};
use super::decimate::clip_above;
use super::panel::{BOTTOM, Entry, Panel, RIGHT, left_margin, legend};
use super::style::{FAINT_INK, HEIGHT, Look, SMALL, Stroke, WIDTH};
use super::traces::{Prepared, of_run, prepare, quantile, table, times};
use super::{Figure, FigureError, file_name, sentence};

/// From this ratio of the longest queue on, a shorter one is enlarged.
const ENLARGE_FROM: f64 = 8.0;

/// One figure per queue that has samples.
pub(super) fn draw(data: &ReportData) -> Result<Vec<Figure>, FigureError> {
    let mut names: Vec<&str> = Vec::new();
    for trace in &data.queue_series {
        if !names.contains(&trace.name.as_str()) {
            names.push(&trace.name);
        }
    }
    let mut figures = Vec::new();
    for name in &names {
        let own: Vec<(&'static str, &Trace)> = data
            .queue_series
            .iter()
            .filter(|trace| trace.name == *name)
            .map(|trace| ("queue", trace))
            .collect();
        figures.extend(one(data, name, &own, names.len() > 1)?);
    }
    Ok(figures)
}

fn one(
    data: &ReportData,
    name: &str,
    traces: &[(&'static str, &Trace)],
    several: bool,
) -> Result<Option<Figure>, FigureError> {
    let prepared = prepare(traces, 2);
    let Some((_, highest)) = range(prepared.iter().flat_map(Prepared::samples).map(|s| s.1)) else {
        return Ok(None);
    };
    let short = enlarged(&prepared);
    let title =
        if several { format!("Queue over time, {name}") } else { "Queue over time".to_owned() };
    let enlarged = if short.is_empty() {
        ""
    } else {
        " Below, the short queues alone on their own scale; peaks above it are cut."
    };
    let caption = format!(
        "{} of {name} on one scale.{enlarged}{}",
        sentence("length"),
        of_run(&data.traced_run)
    );
    let (from, to) = times(&prepared);
    let time = Scale::time(from, to);
    let upper = Scale::from_zero(highest);
    let lower = Scale::from_zero(zoom_end(&prepared, &short, &data.queue_levels));
    let height = if short.is_empty() { HEIGHT } else { HEIGHT + 110.0 };
    let svg = paint((WIDTH, height), &title, &caption, |canvas| {
        let left = left_margin(&[&upper, &lower]);
        let top = legend(canvas, left, &entries(data, &prepared))?;
        let bottom = height - BOTTOM;
        let split = if short.is_empty() { bottom } else { bottom - 185.0 };
        let x_title = format!("time ({})", time.unit());
        let main = Panel {
            from: (left, top),
            to: (WIDTH - RIGHT, split),
            x: time.clone(),
            y: upper.clone(),
        };
        main.frame(canvas, short.is_empty().then_some(x_title.as_str()), "queue (packets)")?;
        let all: Vec<usize> = (0..prepared.len()).collect();
        series(canvas, &main, data, &prepared, &all)?;
        if short.is_empty() {
            return levels(canvas, &main, &data.queue_levels);
        }
        let zoom = Panel {
            from: (left, split + 30.0),
            to: (WIDTH - RIGHT, bottom),
            x: time.clone(),
            y: lower.clone(),
        };
        zoom.frame(canvas, Some(&x_title), "queue (packets)")?;
        zoom.caption(canvas, "the short queues, enlarged")?;
        series(canvas, &zoom, data, &prepared, &short)?;
        levels(canvas, &zoom, &data.queue_levels)
    })?;
    Ok(Some(Figure {
        name: if several { file_name(&["queue-time", name]) } else { "queue-time".to_owned() },
        title,
        caption,
        svg,
        csv: table("queue", &prepared),
    }))
}

/// What a queue reaches, but for its rare peaks.
fn typical(series: &Prepared<'_>) -> f64 {
    quantile(series.samples().map(|s| s.1), 0.98).unwrap_or(0.0)
}

/// The series that are too short to be seen beside the longest.
fn enlarged(prepared: &[Prepared<'_>]) -> Vec<usize> {
    let tops: Vec<f64> = prepared.iter().map(typical).collect();
    let longest = tops.iter().copied().fold(0.0, f64::max);
    (0..tops.len()).filter(|&index| tops[index] * ENLARGE_FROM < longest).collect()
}

/// Upper end of the enlarged axis: room for the short queues and for the
/// levels near them.
fn zoom_end(prepared: &[Prepared<'_>], short: &[usize], levels: &[Level]) -> f64 {
    let top =
        short.iter().filter_map(|&index| prepared.get(index)).map(typical).fold(1.0, f64::max)
            * 1.3;
    levels
        .iter()
        .map(|level| level.value * 1.2)
        .filter(|&level| level < 2.0 * top)
        .fold(top, f64::max)
}

fn entries(data: &ReportData, prepared: &[Prepared<'_>]) -> Vec<Entry> {
    prepared
        .iter()
        .map(|series| Entry {
            label: series.trace.scheme.clone(),
            stroke: Stroke {
                width: 2.5,
                ..Look::of(data.scheme_index(&series.trace.scheme)).dense()
            },
            marker: None,
        })
        .collect()
}

fn series(
    canvas: &mut Canvas<'_>,
    panel: &Panel,
    data: &ReportData,
    prepared: &[Prepared<'_>],
    which: &[usize],
) -> Result<(), FigureError> {
    for series in which.iter().filter_map(|&index| prepared.get(index)) {
        let stroke = Look::of(data.scheme_index(&series.trace.scheme)).dense();
        for line in &series.lines {
            for part in clip_above(line, panel.y.upper()) {
                panel.line(canvas, &part, stroke)?;
            }
        }
    }
    Ok(())
}

/// Levels that lie inside the panel, named at its right end.
fn levels(canvas: &mut Canvas<'_>, panel: &Panel, levels: &[Level]) -> Result<(), FigureError> {
    let inside = |level: &&Level| level.value > 0.0 && level.value <= panel.y.upper();
    for level in levels.iter().filter(inside) {
        let (_, y) = panel.at((0.0, level.value));
        let ends = [(panel.from.0, y), (panel.to.0, y)];
        canvas.line(&ends, Stroke::full(FAINT_INK, 1.0).dashed("2 3"))?;
        let at = (panel.to.0 - 4.0, y - 9.0);
        canvas.text(&level.label, at, SMALL, FAINT_INK, Anchor::Right)?;
    }
    Ok(())
}
