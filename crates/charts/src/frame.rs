//! Space around a plot: its axes with ticks, names and labels.

use plotters::coord::ranged1d::Ranged;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::axis::{Axis, Scale};
use crate::error::ChartError;
use crate::primitives::{Area, DrawError, INK, LEFT, MUTED, write};
use crate::sheet::{Canvas, LINE};

/// Height of the tick names and the label of a horizontal axis on a page.
pub(crate) const PAGE_BOTTOM: f64 = 48.0;
/// Length of a tick mark with the gap to its name.
const TICK: f64 = 8.0;
/// Distance from the edge of a sheet, and between the parts of an axis.
const EDGE: f64 = 3.0;
/// Least height of a plot on a sheet: eight lines of text.
const LEAST_HEIGHT: f64 = 8.0 * LINE;
/// Least width of a plot on a sheet.
const LEAST_WIDTH: f64 = 8.0 * LINE;

/// Space on each side of a plot, layout pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Margins {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

/// Heights of the plots of a figure: wished, and as shares of a given height.
pub(crate) struct Plots<'a> {
    /// Heights over the width of the figure.
    pub(crate) aspects: &'a [f64],
    /// Height of all else.
    pub(crate) rest: f64,
}

impl Plots<'_> {
    /// Returns the height of each plot.
    pub(crate) fn heights(&self, canvas: Canvas<'_>, what: &str) -> Result<Vec<f64>, ChartError> {
        let Some(height) = canvas.height() else {
            let wished = self.aspects.iter().map(|a| (a * canvas.width).max(LEAST_HEIGHT));
            return Ok(wished.collect());
        };
        let all: f64 = self.aspects.iter().sum();
        let least = self.aspects.iter().copied().fold(f64::INFINITY, f64::min);
        // The smallest plot has half of the height that it would have without a given height.
        let needed = self.rest + LEAST_HEIGHT / 2.0 * all / least;
        if height < needed {
            return Err(too_small(canvas, what, "height", needed));
        }
        Ok(self.aspects.iter().map(|a| (height - self.rest) * a / all).collect())
    }
}

/// Returns the error of a sheet that is too small for the texts.
pub(crate) fn too_small(canvas: Canvas<'_>, what: &str, side: &str, needed: f64) -> ChartError {
    let (needed, text) = (canvas.points(needed).ceil(), canvas.points(12.0));
    ChartError {
        what: what.to_owned(),
        reason: format!("its {side} must be at least {needed}pt with text of {text:.1}pt"),
    }
}

/// Returns the lines of the label of a vertical axis.
pub(crate) fn label_lines(canvas: Canvas<'_>, label: &str, height: f64) -> Vec<String> {
    canvas.lines(label, height, false)
}

/// Returns the width of a vertical axis with names and label.
pub(crate) fn side_width(canvas: Canvas<'_>, axis: &Axis, height: f64) -> f64 {
    let names = axis.ticks.iter().map(|(_, name)| canvas.text_width(name, 12.0, false));
    let lines = label_lines(canvas, &axis.label, height).len();
    EDGE + lines as f64 * LINE + EDGE + names.fold(0.0, f64::max) + TICK
}

/// Returns the space right of a plot whose horizontal axis is `axis`, at least for the last name.
pub(crate) fn end_width(canvas: Canvas<'_>, axis: &Axis) -> f64 {
    let last = axis.ticks.last().map_or(0.0, |(_, name)| canvas.text_width(name, 12.0, false));
    if axis.scale == Scale::Categorical { EDGE } else { EDGE + last / 2.0 }
}

/// Returns the height of a horizontal axis with names and label.
pub(crate) fn foot_height(canvas: Canvas<'_>, axis: &Axis, width: f64) -> f64 {
    let rows = names(canvas, axis, width).iter().map(|n| n.lines.len()).max().unwrap_or(0);
    let lines = canvas.lines(&axis.label, width, false).len();
    TICK + (rows + lines) as f64 * LINE + EDGE
}

/// Returns an error if a plot of this width is too narrow.
pub(crate) fn check_width(
    canvas: Canvas<'_>,
    what: &str,
    margins: Margins,
) -> Result<(), ChartError> {
    let rest = margins.left + margins.right;
    if canvas.width - rest < LEAST_WIDTH {
        return Err(too_small(canvas, what, "width", rest + LEAST_WIDTH));
    }
    Ok(())
}

/// The name of a tick.
struct TickName {
    at: f64,
    lines: Vec<String>,
}

/// Returns the names of a horizontal axis that do not overlap; those of classes have several
/// lines.
fn names(canvas: Canvas<'_>, axis: &Axis, width: f64) -> Vec<TickName> {
    if axis.scale == Scale::Categorical {
        let room = width / axis.ticks.len().max(1) as f64 - 4.0;
        let name = |(at, name): &(f64, String)| TickName {
            at: *at,
            lines: class_lines(canvas, name, room),
        };
        return axis.ticks.iter().map(name).collect();
    }
    let thin = axis.clone().thin_decades(width, &|name| canvas.text_width(name, 12.0, false));
    let kept = thin.ticks.into_iter().filter(|(_, name)| !name.is_empty());
    kept.map(|(at, name)| TickName { at, lines: vec![name] }).collect()
}

/// Breaks the name of a class, a range at its hyphen: `10 kB-` and `100 kB`.
fn class_lines(canvas: Canvas<'_>, name: &str, room: f64) -> Vec<String> {
    if !name.contains('-') || canvas.text_width(name, 12.0, false) <= room {
        return canvas.lines(name, room, false);
    }
    let parts = name.replace(' ', "\u{a0}").replace('-', "- ");
    let lines = canvas.lines(&parts, room, false);
    lines.into_iter().map(|l| l.replace("- ", "-").replace('\u{a0}', " ")).collect()
}

/// Draws the names and the label of the horizontal axis of a sheet below the plot from `left` to
/// `right` at `floor`, drawn pixels.
pub(crate) fn foot(
    root: &Area<'_>,
    canvas: Canvas<'_>,
    axis: &Axis,
    (left, right, floor): (i32, i32, i32),
) -> Result<(), DrawError> {
    let width = f64::from(right - left) / f64::from(canvas.px(1000.0)) * 1000.0;
    let center = Pos::new(HPos::Center, VPos::Center);
    let top = |row: usize| floor + canvas.px(TICK + (row as f64 + 0.5) * LINE - 1.0);
    let names = names(canvas, axis, width);
    for name in &names {
        let x = axis.map(&name.at, (left, right));
        for (row, line) in name.lines.iter().enumerate() {
            let style = canvas.font(12.0, MUTED, false).pos(center);
            write(root, line, (x, top(row)), &style)?;
        }
    }
    let rows = names.iter().map(|n| n.lines.len()).max().unwrap_or(0);
    let style = canvas.font(12.0, INK, false).pos(center);
    for (row, line) in canvas.lines(&axis.label, width, false).iter().enumerate() {
        let middle = i32::midpoint(left, right);
        write(root, line, (middle, top(rows + row) + canvas.px(1.0)), &style)?;
    }
    Ok(())
}

/// Draws the label of a vertical axis of a sheet, its first line at `x`, drawn pixels; `turn` is
/// its direction.
pub(crate) fn side(
    root: &Area<'_>,
    canvas: Canvas<'_>,
    lines: &[String],
    (x, y): (i32, i32),
    turn: &FontTransform,
) -> Result<(), DrawError> {
    let center = Pos::new(HPos::Center, VPos::Center);
    let step = if matches!(turn, FontTransform::Rotate90) { -LINE } else { LINE };
    for (i, line) in lines.iter().enumerate() {
        let style = canvas.font(12.0, INK, false).transform(turn.clone()).pos(center);
        write(root, line, (x + canvas.px(step * i as f64), y), &style)?;
    }
    Ok(())
}

/// Returns the position of the first line of the label of a left axis.
pub(crate) fn side_x(canvas: Canvas<'_>) -> i32 {
    canvas.px(EDGE + LINE / 2.0)
}

/// Returns the distance from a right axis to the first line of its label.
pub(crate) fn right_label(canvas: Canvas<'_>, axis: &Axis, height: f64) -> f64 {
    side_width(canvas, axis, height) - EDGE - LINE / 2.0
}

/// Returns the page's or the sheet's margin left of the plots, of which the first part is empty.
pub(crate) fn left_parts(canvas: Canvas<'_>, left: f64) -> (i32, i32) {
    if canvas.is_fitted() {
        (0, canvas.px(left))
    } else {
        (canvas.px(10.0), canvas.px(LEFT - 10.0))
    }
}
