//! A metric of a traffic group against the swept key, one line per scheme
//! with 95 % intervals; when nothing is swept, one bar per scheme.

use crate::view::{Axis, Curve, Line, Point, ReportData};

use super::axis::{Scale, range};
use super::canvas::{Anchor, Canvas, paint};
use super::csv::{Cell, Csv};
use super::number::significant;
use super::panel::{BOTTOM, Entry, Panel, RIGHT, left_margin, legend};
use super::style::{
    FAINT_INK, GRID, HEIGHT, INK, Look, SMALL, Stroke, TITLE, WIDTH, text_width, tint,
};
use super::{Figure, FigureError, file_name, sentence, with_unit};

/// From this ratio of largest to smallest mean on, a logarithmic axis.
const LOG_FROM: f64 = 10.0;

/// Draws one curve; nothing when no point has a value.
pub(super) fn draw(data: &ReportData, curve: &Curve) -> Result<Option<Figure>, FigureError> {
    let drawn: Vec<(&Line, Vec<Point>)> = curve
        .lines
        .iter()
        .map(|line| (line, drawable(line)))
        .filter(|(_, points)| !points.is_empty())
        .collect();
    if drawn.is_empty() {
        return Ok(None);
    }
    let swept = data.sweep.as_ref().filter(|axis| axis.ticks.len() > 1);
    let title = sentence(&format!("{}, {}", curve.label, curve.group));
    let caption = caption(curve, swept, &drawn);
    let svg = match swept {
        Some(axis) => lines(data, curve, axis, &drawn, (&title, &caption))?,
        None => bars(data, curve, &drawn, (&title, &caption))?,
    };
    Ok(Some(Figure {
        name: file_name(&[&curve.group, &curve.metric]),
        title,
        caption,
        svg,
        csv: table(data.sweep.as_ref(), curve, &drawn),
    }))
}

/// The points that have a place on the figure.
fn drawable(line: &Line) -> Vec<Point> {
    let has_value = |point: &&Point| point.mean.is_some_and(f64::is_finite) && point.x.is_finite();
    line.points.iter().filter(has_value).copied().collect()
}

fn caption(curve: &Curve, swept: Option<&Axis>, drawn: &[(&Line, Vec<Point>)]) -> String {
    let points = || drawn.iter().flat_map(|(_, points)| points);
    let against = swept.map_or_else(String::new, |axis| format!(" against {}", axis.key));
    let seeds = match range(points().map(|point| point.seeds as f64)) {
        Some((_, most)) if most <= 1.0 => "One seed, so no intervals.".to_owned(),
        Some((fewest, most)) => {
            let intervals = if points().any(|point| point.interval().is_some()) {
                "bars span the 95 % interval of the mean"
            } else {
                "all seeds agree, so no intervals"
            };
            let count =
                if fewest < most { format!("{fewest} to {most}") } else { format!("{most}") };
            format!("Means over {count} seeds; {intervals}.")
        }
        None => String::new(),
    };
    let partial = if points().any(Point::is_partial) {
        " Hollow marks: some flows did not finish and are not in the mean."
    } else {
        ""
    };
    let subject = sentence(&curve.label);
    format!("{subject} of {}{against}. {seeds}{partial}", curve.group)
}

fn lines(
    data: &ReportData,
    curve: &Curve,
    axis: &Axis,
    drawn: &[(&Line, Vec<Point>)],
    (title, caption): (&str, &str),
) -> Result<String, FigureError> {
    let points = || drawn.iter().flat_map(|(_, points)| points);
    let means = range(points().filter_map(|point| point.mean)).unwrap_or((0.0, 1.0));
    let ends = points().filter_map(Point::interval);
    let all = range(ends.flat_map(|(lo, hi)| [lo, hi]).chain([means.0, means.1])).unwrap_or(means);
    let y = if all.0 > 0.0 && means.1 >= LOG_FROM * means.0 {
        Scale::log(all.0, all.1)
    } else {
        Scale::from_zero(all.1)
    };
    paint((WIDTH, HEIGHT), title, caption, |canvas| {
        let left = left_margin(&[&y]);
        let entries: Vec<Entry> = drawn
            .iter()
            .map(|(line, _)| {
                let look = Look::of(data.scheme_index(&line.scheme));
                Entry {
                    label: line.scheme.clone(),
                    stroke: look.stroke(),
                    marker: Some(look.marker),
                }
            })
            .collect();
        let top = legend(canvas, left, &entries)?;
        let panel = Panel {
            from: (left, top),
            to: (WIDTH - RIGHT, HEIGHT - BOTTOM),
            x: Scale::swept(axis),
            y: y.clone(),
        };
        panel.frame(canvas, Some(&axis.key), &with_unit(&curve.label, &curve.unit))?;
        for (line, points) in drawn {
            let look = Look::of(data.scheme_index(&line.scheme));
            let means = values(points);
            panel.line(canvas, &means, look.stroke())?;
            for point in points {
                interval(canvas, &panel, point, look)?;
            }
        }
        for (line, points) in drawn {
            let look = Look::of(data.scheme_index(&line.scheme));
            for (point, mean) in points.iter().zip(values(points)) {
                canvas.marker(panel.at(mean), look.marker, look.colour, point.is_partial())?;
            }
        }
        Ok(())
    })
}

fn values(points: &[Point]) -> Vec<(f64, f64)> {
    points.iter().filter_map(|point| point.mean.map(|mean| (point.x, mean))).collect()
}

fn interval(
    canvas: &mut Canvas<'_>,
    panel: &Panel,
    point: &Point,
    look: Look,
) -> Result<(), FigureError> {
    const CAP: f64 = 5.0;
    let Some((lo, hi)) = point.interval() else {
        return Ok(());
    };
    let stroke = Stroke::full(look.colour, 1.4);
    let ((x, low), (_, high)) = (panel.at((point.x, lo)), panel.at((point.x, hi)));
    canvas.line(&[(x, low), (x, high)], stroke)?;
    canvas.line(&[(x - CAP, low), (x + CAP, low)], stroke)?;
    canvas.line(&[(x - CAP, high), (x + CAP, high)], stroke)
}

fn bars(
    data: &ReportData,
    curve: &Curve,
    drawn: &[(&Line, Vec<Point>)],
    (title, caption): (&str, &str),
) -> Result<String, FigureError> {
    const ROW: f64 = 46.0;
    const THICK: f64 = 22.0;
    let bars: Vec<(&Line, Point, f64)> = drawn
        .iter()
        .filter_map(|(line, points)| {
            let point = *points.first()?;
            Some((*line, point, point.mean?))
        })
        .collect();
    let hi = |(_, point, mean): &(&Line, Point, f64)| {
        point.interval().map_or(*mean, |(_, hi)| hi.max(*mean))
    };
    let longest = range(bars.iter().map(hi)).map_or(1.0, |(_, hi)| hi);
    let x = Scale::from_zero(longest);
    let names = bars.iter().map(|(line, ..)| text_width(&line.scheme, TITLE)).fold(0.0, f64::max);
    let (left, top) = (names + 30.0, 16.0);
    let bottom = top + ROW * bars.len() as f64;
    paint((WIDTH, bottom + BOTTOM), title, caption, |canvas| {
        let right = WIDTH - RIGHT - 70.0;
        let at = |value: f64| left + x.share(value) * (right - left);
        for (value, label) in x.ticks() {
            let line = [(at(*value), top), (at(*value), bottom)];
            canvas.line(&line, Stroke::full(GRID, 1.0))?;
            let place = (at(*value), bottom + 15.0);
            canvas.text(label, place, SMALL, INK, Anchor::Middle)?;
        }
        for (row, (line, point, mean)) in bars.iter().enumerate() {
            let look = Look::of(data.scheme_index(&line.scheme));
            let middle = top + ROW * (row as f64 + 0.5);
            let (from, to) = ((left, middle - THICK / 2.0), (at(*mean), middle + THICK / 2.0));
            canvas.rect(from, to, tint(look.colour, 0.55))?;
            if point.is_partial() {
                let inner = (to.0 - 2.0, to.1 - 2.0);
                canvas.rect((from.0, from.1 + 2.0), inner, tint(look.colour, 0.9))?;
            }
            let mut end = to.0;
            if let Some((lo, hi)) = point.interval() {
                let stroke = Stroke::full(INK, 1.4);
                canvas.line(&[(at(lo), middle), (at(hi), middle)], stroke)?;
                for value in [lo, hi] {
                    let x = at(value);
                    canvas.line(&[(x, middle - 5.0), (x, middle + 5.0)], stroke)?;
                    end = end.max(x);
                }
            }
            let name = (left - 10.0, middle);
            canvas.text(&line.scheme, name, TITLE, INK, Anchor::Right)?;
            let value = significant(*mean, 3);
            canvas.text(&value, (end + 8.0, middle), SMALL, FAINT_INK, Anchor::Left)?;
        }
        canvas.line(&[(left, top), (left, bottom)], Stroke::full(INK, 1.0))?;
        let axis = with_unit(&curve.label, &curve.unit);
        let place = (f64::midpoint(left, right), bottom + 38.0);
        canvas.text(&axis, place, TITLE, INK, Anchor::Middle)
    })
}

fn table(axis: Option<&Axis>, curve: &Curve, drawn: &[(&Line, Vec<Point>)]) -> String {
    let key = axis.map_or("point", |axis| axis.key.as_str());
    let numeric = with_unit(key, axis.map_or("", |axis| axis.unit.as_str()));
    let mean = with_unit(&curve.metric, &curve.unit);
    let mut csv = Csv::new(&[
        "scheme",
        "label",
        &numeric,
        &mean,
        &with_unit("interval low", &curve.unit),
        &with_unit("interval high", &curve.unit),
        "seeds",
        "flows complete",
        "flows unfinished",
        "flows failed",
    ]);
    for (line, points) in drawn {
        for point in points {
            let tick = axis.and_then(|axis| {
                axis.ticks.iter().find(|tick| tick.value.total_cmp(&point.x).is_eq())
            });
            let interval = point.interval();
            csv.row([
                Cell::from(line.scheme.as_str()),
                tick.map_or(Cell::Empty, |tick| Cell::from(tick.label.as_str())),
                point.x.into(),
                point.mean.into(),
                interval.map(|(lo, _)| lo).into(),
                interval.map(|(_, hi)| hi).into(),
                point.seeds.into(),
                point.complete.into(),
                point.unfinished.into(),
                point.failed.into(),
            ]);
        }
    }
    csv.finish()
}
