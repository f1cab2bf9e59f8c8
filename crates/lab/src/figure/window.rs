//! Congestion window over time, one panel per scheme on one scale, with the
//! slow-start threshold dashed.

use crate::view::{ReportData, Trace};

use super::axis::{Scale, range};
use super::canvas::{Canvas, paint};
use super::decimate::clip_above;
use super::panel::{BOTTOM, Entry, Panel, RIGHT, left_margin, legend};
use super::style::{INK, Look, Stroke, WIDTH, shade};
use super::traces::{Prepared, of_run, prepare, schemes, table, times};
use super::{Figure, FigureError, with_unit};

/// Flows that one panel shows; more would hide each other.
const FLOWS: usize = 3;
const CWND: &str = "cwnd";
const SSTHRESH: &str = "ssthresh";

/// Draws the windows; nothing without samples.
pub(super) fn draw(data: &ReportData) -> Result<Option<Figure>, FigureError> {
    let mut shown: Vec<(&'static str, &Trace)> = Vec::new();
    let mut hidden = 0;
    for trace in &data.cwnd_series {
        let same = |(_, other): &&(&str, &Trace)| other.scheme == trace.scheme;
        if shown.iter().filter(same).count() < FLOWS {
            shown.push((CWND, trace));
        } else {
            hidden += 1;
        }
    }
    for trace in &data.ssthresh_series {
        let same =
            |(_, other): &(&str, &Trace)| other.scheme == trace.scheme && other.name == trace.name;
        if shown.iter().any(same) {
            shown.push((SSTHRESH, trace));
        }
    }
    let mut prepared = prepare(&shown, 1);
    let windows = prepared.iter().filter(|series| series.kind == CWND);
    let Some((_, highest)) = range(windows.flat_map(Prepared::samples).map(|s| s.1)) else {
        return Ok(None);
    };
    let y = Scale::from_zero(highest);
    // A threshold far above every window would say nothing: what lies above
    // the axis is not drawn, and so is not in the data file either.
    for series in &mut prepared {
        let lines = std::mem::take(&mut series.lines);
        series.lines = lines.iter().flat_map(|line| clip_above(line, y.upper())).collect();
    }
    let title = "Congestion window".to_owned();
    let caption = caption(data, &prepared, hidden);
    let svg = picture(data, &prepared, &y, (&title, &caption))?;
    Ok(Some(Figure {
        name: "window".to_owned(),
        title,
        caption,
        svg,
        csv: table("flow", &prepared),
    }))
}

fn caption(data: &ReportData, prepared: &[Prepared<'_>], hidden: usize) -> String {
    let threshold = if prepared.iter().any(|series| series.kind == SSTHRESH) {
        " Dashed: the slow-start threshold, where it lies within the axis."
    } else {
        ""
    };
    let rest = match hidden {
        0 => String::new(),
        1 => " One further flow is not drawn.".to_owned(),
        count => format!(" {count} further flows are not drawn."),
    };
    format!(
        "Congestion window of each flow over time, all schemes on one scale.{threshold}{rest}{}",
        of_run(&data.traced_run)
    )
}

fn picture(
    data: &ReportData,
    prepared: &[Prepared<'_>],
    y: &Scale,
    (title, caption): (&str, &str),
) -> Result<String, FigureError> {
    const GAP: f64 = 30.0;
    let schemes = schemes(prepared);
    let each = match schemes.len() {
        1 => 330.0,
        2 => 170.0,
        _ => 130.0,
    };
    let (from, to) = times(prepared);
    let time = Scale::time(from, to);
    let (unit, dashed) = (
        prepared.first().map_or("", |series| series.trace.unit.as_str()),
        prepared.iter().any(|series| series.kind == SSTHRESH),
    );
    let entries = entries(dashed);
    let head = 38.0 + 20.0;
    let height = head + (each + GAP) * schemes.len() as f64 - GAP + BOTTOM;
    paint((WIDTH, height), title, caption, |canvas| {
        let left = left_margin(&[y]);
        legend(canvas, left, &entries)?;
        for (row, scheme) in schemes.iter().enumerate() {
            let top = head + (each + GAP) * row as f64;
            let panel = Panel {
                from: (left, top),
                to: (WIDTH - RIGHT, top + each),
                x: time.clone(),
                y: y.clone(),
            };
            let x_title = format!("time ({})", time.unit());
            let last = row + 1 == schemes.len();
            panel.frame(canvas, last.then_some(x_title.as_str()), &with_unit("cwnd", unit))?;
            let own: Vec<&Prepared<'_>> =
                prepared.iter().filter(|series| series.trace.scheme == *scheme).collect();
            let flows: Vec<&str> = own
                .iter()
                .filter(|series| series.kind == CWND)
                .map(|series| series.trace.name.as_str())
                .collect();
            panel.caption(canvas, &format!("{scheme}: {}", flows.join(", ")))?;
            let colour = Look::of(data.scheme_index(scheme)).colour;
            draw_flows(canvas, &panel, &own, &flows, colour)?;
        }
        Ok(())
    })
}

fn entries(dashed: bool) -> Vec<Entry> {
    let mut entries = vec![Entry {
        label: "cwnd (one shade per flow)".to_owned(),
        stroke: Stroke::full(INK, 1.6),
        marker: None,
    }];
    if dashed {
        entries.push(Entry {
            label: "ssthresh".to_owned(),
            stroke: Stroke::full(INK, 1.2).dashed("5 3"),
            marker: None,
        });
    }
    entries
}

fn draw_flows(
    canvas: &mut Canvas<'_>,
    panel: &Panel,
    own: &[&Prepared<'_>],
    flows: &[&str],
    colour: plotters::style::RGBColor,
) -> Result<(), FigureError> {
    for kind in [SSTHRESH, CWND] {
        for series in own.iter().filter(|series| series.kind == kind) {
            let position = flows.iter().position(|name| *name == series.trace.name);
            let shade = shade(colour, position.unwrap_or(0));
            let stroke = if kind == CWND {
                Stroke::full(shade, 1.4)
            } else {
                Stroke::full(shade, 1.1).dashed("5 3")
            };
            for line in &series.lines {
                panel.line(canvas, line, stroke)?;
            }
        }
    }
    Ok(())
}
