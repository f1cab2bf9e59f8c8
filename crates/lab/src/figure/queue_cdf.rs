//! Share of time for which a queue was at most so long.

use crate::view::{Distribution, ReportData};

use super::axis::{Scale, range};
use super::canvas::paint;
use super::csv::{Cell, Csv};
use super::panel::{BOTTOM, Entry, Panel, RIGHT, left_margin, legend};
use super::style::{HEIGHT, Look, WIDTH};
use super::traces::of_run;
use super::{Figure, FigureError, file_name};

/// From this length of the longest queue on, a logarithmic axis.
const LOG_FROM: f64 = 200.0;
/// Points that are closer than this on both axes (shares of the panel) are
/// one.
const FINE: f64 = 1.0 / 1000.0;

/// One figure per queue that has a distribution.
pub(super) fn draw(data: &ReportData) -> Result<Vec<Figure>, FigureError> {
    let mut names: Vec<&str> = Vec::new();
    for distribution in &data.queue_cdf {
        if !names.contains(&distribution.name.as_str()) {
            names.push(&distribution.name);
        }
    }
    let mut figures = Vec::new();
    for name in &names {
        let own = data.queue_cdf.iter().filter(|cdf| cdf.name == *name);
        figures.extend(one(data, name, own, names.len() > 1)?);
    }
    Ok(figures)
}

fn one<'a>(
    data: &ReportData,
    name: &str,
    own: impl Iterator<Item = &'a Distribution>,
    several: bool,
) -> Result<Option<Figure>, FigureError> {
    let finite = |cdf: &Distribution| -> Vec<(f64, f64)> {
        let usable = |(x, y): &&(f64, f64)| x.is_finite() && y.is_finite() && *x >= 0.0;
        cdf.points.iter().filter(usable).copied().collect()
    };
    let whole: Vec<(&Distribution, Vec<(f64, f64)>)> =
        own.map(|cdf| (cdf, finite(cdf))).filter(|(_, points)| !points.is_empty()).collect();
    let Some((_, longest)) = range(whole.iter().flat_map(|(_, points)| points).map(|p| p.0)) else {
        return Ok(None);
    };
    let log = longest >= LOG_FROM;
    let x = if log { Scale::log(1.0, longest) } else { Scale::from_zero(longest) };
    let y = Scale::from_zero(100.0);
    let drawn: Vec<(&Distribution, Vec<(f64, f64)>)> =
        whole.into_iter().map(|(cdf, points)| (cdf, steps(&points, &x, log))).collect();
    let title = if several { format!("Queue by time, {name}") } else { "Queue by time".to_owned() };
    let caption = format!(
        "Share of time in which the queue of {name} was at most so long{}.{}",
        if log { ", on a logarithmic scale that starts at one packet" } else { "" },
        of_run(&data.traced_run)
    );
    let svg = paint((WIDTH, HEIGHT), &title, &caption, |canvas| {
        let left = left_margin(&[&y]);
        let look = |cdf: &Distribution| Look::of(data.scheme_index(&cdf.scheme));
        let entries: Vec<Entry> = drawn
            .iter()
            .map(|(cdf, _)| Entry {
                label: cdf.scheme.clone(),
                stroke: look(cdf).stroke(),
                marker: None,
            })
            .collect();
        let top = legend(canvas, left, &entries)?;
        let panel = Panel {
            from: (left, top),
            to: (WIDTH - RIGHT, HEIGHT - BOTTOM),
            x: x.clone(),
            y: y.clone(),
        };
        panel.frame(canvas, Some("queue (packets)"), "share of time (%)")?;
        for (cdf, points) in &drawn {
            panel.line(canvas, points, look(cdf).stroke())?;
        }
        Ok(())
    })?;
    let mut csv = Csv::new(&["scheme", "queue", "queue (packets)", "share of time (%)"]);
    for (cdf, points) in &drawn {
        for &(packets, share) in points {
            csv.row([
                Cell::from(cdf.scheme.as_str()),
                cdf.name.as_str().into(),
                packets.into(),
                share.into(),
            ]);
        }
    }
    Ok(Some(Figure {
        name: if several { file_name(&["queue-cdf", name]) } else { "queue-cdf".to_owned() },
        title,
        caption,
        svg,
        csv: csv.finish(),
    }))
}

/// The corners of the step function, in percent, from the left end of the
/// axis to its right end; corners too close to see fall away. What lies left
/// of a logarithmic axis is in the share at which the line begins.
fn steps(points: &[(f64, f64)], x: &Scale, log: bool) -> Vec<(f64, f64)> {
    let begin = if log { 1.0 } else { 0.0 };
    let start = points
        .iter()
        .take_while(|(packets, _)| *packets <= begin)
        .last()
        .map_or(0.0, |(_, share)| share * 100.0);
    let mut corners = vec![(begin, start)];
    let (mut packets, mut share) = (begin, start);
    let beyond = points.iter().filter(|(packets, _)| *packets > begin);
    let last = points.last().map_or(begin, |(packets, _)| *packets);
    for &(next, cumulative) in beyond {
        let next_share = cumulative * 100.0;
        let near = x.share(next) - x.share(packets) < FINE;
        if near && (next_share - share) / 100.0 < FINE && next < last {
            continue;
        }
        corners.push((next, share));
        corners.push((next, next_share));
        (packets, share) = (next, next_share);
    }
    if packets < x.upper() {
        corners.push((x.upper(), share));
    }
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_rises_at_its_length_and_begins_with_what_lies_left() {
        let log = Scale::log(1.0, 1000.0);
        let corners = steps(&[(0.0, 0.1), (1.0, 0.25), (10.0, 1.0)], &log, true);
        let expected = [(1.0, 25.0), (10.0, 25.0), (10.0, 100.0), (1000.0, 100.0)];
        for (corner, expected) in corners.iter().zip(expected) {
            assert!((corner.0 - expected.0).abs() < 1e-9, "{corner:?}");
            assert!((corner.1 - expected.1).abs() < 1e-9, "{corner:?}");
        }
        assert_eq!(corners.len(), expected.len());
    }

    #[test]
    fn thousands_of_lengths_become_a_line_that_can_be_seen() {
        let points: Vec<(f64, f64)> =
            (0..100_000).map(|i| (f64::from(i), f64::from(i + 1) / 100_000.0)).collect();
        let corners = steps(&points, &Scale::from_zero(100_000.0), false);
        assert!(corners.len() < 2100, "{}", corners.len());
        assert!((corners[corners.len() - 2].1 - 100.0).abs() < 1e-9);
    }
}
