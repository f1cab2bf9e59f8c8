//! DCTCP's alpha, its estimate of the marked share, over time.

use crate::view::{ReportData, Trace};

use super::axis::Scale;
use super::canvas::paint;
use super::panel::{BOTTOM, Entry, Panel, RIGHT, left_margin, legend};
use super::style::{HEIGHT, Look, Stroke, WIDTH, shade};
use super::traces::{Prepared, of_run, prepare, table, times};
use super::{Figure, FigureError};

/// Flows that are drawn; more would hide each other.
const FLOWS: usize = 6;

/// Draws alpha; nothing without samples.
pub(super) fn draw(data: &ReportData) -> Result<Option<Figure>, FigureError> {
    let traces: Vec<(&'static str, &Trace)> =
        data.alpha_series.iter().take(FLOWS).map(|trace| ("alpha", trace)).collect();
    let prepared = prepare(&traces, 1);
    if prepared.is_empty() {
        return Ok(None);
    }
    let title = "DCTCP's alpha".to_owned();
    let rest = match data.alpha_series.len().saturating_sub(FLOWS) {
        0 => String::new(),
        1 => " One further flow is not drawn.".to_owned(),
        count => format!(" {count} further flows are not drawn."),
    };
    let caption = format!(
        "Estimate of the share of marked bytes, from 0 to 1: a cut takes half this share off the \
         window.{rest}{}",
        of_run(&data.traced_run)
    );
    let (from, to) = times(&prepared);
    let (time, y) = (Scale::time(from, to), Scale::from_zero(1.0));
    let strokes: Vec<Stroke> = prepared
        .iter()
        .enumerate()
        .map(|(index, series)| {
            let before = prepared.iter().take(index);
            let flow = before.filter(|other| other.trace.scheme == series.trace.scheme).count();
            let colour = Look::of(data.scheme_index(&series.trace.scheme)).colour;
            Stroke::full(shade(colour, flow), 1.5)
        })
        .collect();
    let svg = paint((WIDTH, HEIGHT - 100.0), &title, &caption, |canvas| {
        let left = left_margin(&[&y]);
        let entry = |(series, stroke): (&Prepared<'_>, &Stroke)| Entry {
            label: format!("{}, {}", series.trace.scheme, series.trace.name),
            stroke: Stroke { width: 2.5, ..*stroke },
            marker: None,
        };
        let entries: Vec<Entry> = prepared.iter().zip(&strokes).map(entry).collect();
        let top = legend(canvas, left, &entries)?;
        let panel = Panel {
            from: (left, top),
            to: (WIDTH - RIGHT, HEIGHT - 100.0 - BOTTOM),
            x: time.clone(),
            y: y.clone(),
        };
        panel.frame(canvas, Some(&format!("time ({})", time.unit())), "alpha")?;
        for (series, stroke) in prepared.iter().zip(&strokes) {
            for line in &series.lines {
                panel.line(canvas, line, *stroke)?;
            }
        }
        Ok(())
    })?;
    Ok(Some(Figure {
        name: "alpha".to_owned(),
        title,
        caption,
        svg,
        csv: table("flow", &prepared),
    }))
}
