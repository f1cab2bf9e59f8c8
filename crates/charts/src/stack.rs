//! Stacked plots over one time axis, as papers show a flow: lanes with their own legends, one with
//! a second vertical axis on its right.
//!
//! Contract: see [`super::draw`].

use std::collections::BTreeSet;

use crate::csv;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::draw::{
    Area, DrawError, GRID, INK, LEFT, LETTER, MUTED, Pixel, SUBPIXELS, WIDTH, draw_marker_sized,
    finish, font, steps, stroke, write,
};
use super::palette::style;
use super::{Axis, Dot};
use crate::error::ChartError;

/// Heights of the title, the time axis, and the first and the other lanes, pixels.
const TOP: i32 = 40;
const BOTTOM: i32 = 48;
const LANE: (i32, i32) = (300, 170);
/// Height of a lane's title and legend.
const HEAD: i32 = 30;
/// Width of the right axis.
const RIGHT: i32 = 66;
/// Minimum distance between the marks of one curve, pixels.
const MIN_MARK_DISTANCE: i32 = 2;

/// Radii of a mark, with and without its edge.
const SIGN: [i32; 2] = [15, 13];

/// Limit on marks of a curve; more become strokes along the bottom.
const MANY: usize = 150;

/// Stacked plots.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StackedPlot {
    /// Name of its files, without an extension.
    pub id: String,
    /// Title.
    pub title: String,
    /// Reading instructions.
    #[serde(skip)]
    pub caption: String,
    /// Time axis.
    pub x: Axis,
    /// The lanes, from top to bottom.
    pub lanes: Vec<Lane>,
}

/// A coordinate system.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Lane {
    /// Title.
    pub title: String,
    /// The vertical axis.
    pub y: Axis,
    /// Right vertical axis, used by curves with `right` set.
    pub right: Option<Axis>,
    /// Curves, the last one on top.
    pub curves: Vec<Curve>,
}

/// A curve.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// Name in the legend.
    pub name: &'static str,
    /// Style number.
    pub style: usize,
    /// Kind of drawing.
    pub kind: CurveKind,
    /// Whether the curve uses the right axis.
    pub right: bool,
    /// Values in order of time.
    pub points: Vec<Dot>,
}

/// Kind of drawing of a curve.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CurveKind {
    /// A solid staircase: the value holds until the next.
    Steps,
    /// A thin, dashed staircase.
    Thin,
    /// Small squares.
    Dots,
    /// Bars from the minimum to the maximum of each pixel column.
    Ranges,
    /// Markers of its style.
    Marks,
    /// Strokes along the bottom, above those of earlier curves: times without values.
    Strokes,
}

impl Curve {
    /// Returns whether the curve is drawn as strokes along the bottom.
    fn is_dense(&self) -> bool {
        match self.kind {
            CurveKind::Marks => self.points.len() > MANY,
            CurveKind::Strokes => !self.points.is_empty(),
            _ => false,
        }
    }
}

impl Serialize for Curve {
    /// Dense marks are strokes here too.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("Curve", 5)?;
        fields.serialize_field("name", self.name)?;
        fields.serialize_field("style", &self.style)?;
        let kind = if self.is_dense() { CurveKind::Strokes } else { self.kind };
        fields.serialize_field("kind", &kind)?;
        fields.serialize_field("right", &self.right)?;
        fields.serialize_field("points", &self.points)?;
        fields.end()
    }
}

impl StackedPlot {
    /// Returns the CSV file: one line per point.
    pub fn to_csv(&self) -> String {
        let mut text = csv::line(["plot", "curve", &self.x.column, "value", "value_is"]);
        for lane in &self.lanes {
            for curve in &lane.curves {
                let axis = lane.right.as_ref().filter(|_| curve.right).unwrap_or(&lane.y);
                for dot in &curve.points {
                    let (x, y) = (dot.x.to_string(), dot.y.to_string());
                    text.push_str(&csv::line([
                        lane.title.as_str(),
                        curve.name,
                        &x,
                        &y,
                        &axis.column,
                    ]));
                }
            }
        }
        text
    }

    /// Returns the plots as one SVG file.
    pub fn to_svg(&self) -> Result<String, ChartError> {
        let lanes: i32 = (0..self.lanes.len()).map(lane_height).sum();
        let height = TOP + lanes + BOTTOM;
        let mut text = String::new();
        self.draw(height, &mut text).map_err(|e| ChartError {
            what: format!("figure `{}`", self.id),
            reason: e.to_string(),
        })?;
        Ok(finish(&text, &self.title, height))
    }

    fn draw(&self, height: i32, text: &mut String) -> Result<(), DrawError> {
        let size = ((WIDTH * SUBPIXELS) as u32, (height * SUBPIXELS) as u32);
        let root = SVGBackend::with_string(text, size).into_drawing_area();
        root.fill(&WHITE)?;
        write(&root, &self.title, (LEFT * SUBPIXELS, 22 * SUBPIXELS), &font(15, INK, true))?;
        let mut top = TOP;
        for (i, lane) in self.lanes.iter().enumerate() {
            let last = i + 1 == self.lanes.len();
            let high = lane_height(i) + if last { BOTTOM } else { 0 };
            let area =
                root.clone().shrink((0, top * SUBPIXELS), (WIDTH * SUBPIXELS, high * SUBPIXELS));
            self.draw_lane(&root, &area, lane, last)?;
            top += high;
        }
        root.present()
    }

    fn draw_lane(
        &self,
        root: &Area<'_>,
        area: &Area<'_>,
        lane: &Lane,
        last: bool,
    ) -> Result<(), DrawError> {
        let plot = f64::from(WIDTH - LEFT - RIGHT);
        let x = self.x.clone().thin_names(plot, 12.0 * LETTER);
        let mut chart = ChartBuilder::on(area)
            .margin_top(HEAD * SUBPIXELS)
            .margin_left(10 * SUBPIXELS)
            .margin_right(RIGHT * SUBPIXELS)
            .set_label_area_size(LabelAreaPosition::Left, (LEFT - 10) * SUBPIXELS)
            .set_label_area_size(
                LabelAreaPosition::Bottom,
                if last { BOTTOM * SUBPIXELS } else { 0 },
            )
            .build_cartesian_2d(x, lane.y.clone())?;
        let mut mesh = chart.configure_mesh();
        mesh.bold_line_style(GRID.stroke_width(SUBPIXELS as u32))
            .light_line_style(TRANSPARENT)
            .axis_style(MUTED.stroke_width(SUBPIXELS as u32))
            .set_all_tick_mark_size(4 * SUBPIXELS)
            .label_style(font(12, MUTED, false))
            .axis_desc_style(font(13, INK, false))
            .y_desc(lane.y.label.clone());
        if last {
            mesh.x_desc(self.x.label.clone());
        }
        mesh.draw()?;
        let (left, floor) = chart.backend_coord(&(self.x.low, lane.y.low));
        let (edge, ceiling) = chart.backend_coord(&(self.x.high, lane.y.high));
        if let Some(axis) = &lane.right {
            let limit = (floor, ceiling);
            right_axis(root, axis, edge, limit)?;
        }
        let mut strips = 0;
        for curve in &lane.curves {
            let axis = lane.right.as_ref().filter(|_| curve.right).unwrap_or(&lane.y);
            let place = |dot: &Dot| {
                let y = dot.y.clamp(axis.low, axis.high);
                let (x, _) =
                    chart.backend_coord(&(dot.x.clamp(self.x.low, self.x.high), lane.y.low));
                (x, axis.map(&y, (floor, ceiling)))
            };
            let points: Vec<Pixel> = curve.points.iter().map(place).collect();
            if curve.is_dense() {
                let y = floor - (3 + 8 * strips) * SUBPIXELS;
                points
                    .into_iter()
                    .map(|(x, _)| x / SUBPIXELS)
                    .collect::<BTreeSet<i32>>()
                    .into_iter()
                    .try_for_each(|x| stroke_at(root, curve, (x * SUBPIXELS, y)))?;
                strips += 1;
            } else {
                draw_curve(root, curve, points)?;
            }
        }
        legend(root, lane, (left, ceiling - 16 * SUBPIXELS))
    }
}

const fn lane_height(i: usize) -> i32 {
    if i == 0 { LANE.0 } else { LANE.1 }
}

/// Draws an axis at `x` on the right, from `limit.0` up to `limit.1`.
fn right_axis(
    root: &DrawingArea<SVGBackend<'_>, Shift>,
    axis: &Axis,
    x: i32,
    limit: (i32, i32),
) -> Result<(), DrawError> {
    stroke(root, vec![(x, limit.0), (x, limit.1)], MUTED.into(), 1.0, None)?;
    for (value, name) in &axis.ticks {
        let y = axis.map(value, limit);
        stroke(root, vec![(x, y), (x + 4 * SUBPIXELS, y)], MUTED.into(), 1.0, None)?;
        write(root, name, (x + 8 * SUBPIXELS, y), &font(12, MUTED, false))?;
    }
    let middle = i32::midpoint(limit.0, limit.1);
    let turned = font(13, INK, false)
        .transform(FontTransform::Rotate90)
        .pos(Pos::new(HPos::Center, VPos::Bottom));
    write(root, &axis.label, (x + 46 * SUBPIXELS, middle), &turned)
}

fn draw_curve(root: &Area<'_>, curve: &Curve, points: Vec<Pixel>) -> Result<(), DrawError> {
    let look = style(curve.style);
    let color: RGBAColor = look.color.into();
    match curve.kind {
        CurveKind::Steps => stroke(root, steps(&points), color, 1.5, None),
        CurveKind::Thin => stroke(root, steps(&points), color, 1.2, Some((5, 3))),
        CurveKind::Dots => {
            let r = 3 * SUBPIXELS / 2;
            points.into_iter().try_for_each(|(x, y)| {
                root.draw(&Rectangle::new([(x - r, y - r), (x + r, y + r)], color.filled()))
            })
        }
        CurveKind::Ranges => {
            let r = 3 * SUBPIXELS / 2;
            points.chunk_by(|a, b| a.0 / SUBPIXELS == b.0 / SUBPIXELS).try_for_each(|column| {
                let ys = column.iter().map(|p| p.1);
                let (low, high) = (ys.clone().min().unwrap_or(0), ys.max().unwrap_or(0));
                let x = column.first().map_or(0, |p| p.0);
                let corners = [(x - r, low - r), (x + r, high + r)];
                root.draw(&Rectangle::new(corners, color.filled()))
            })
        }
        // Dense curves are drawn by the caller (`is_dense`).
        CurveKind::Strokes => Ok(()),
        CurveKind::Marks => drop_overlapping(points)
            .into_iter()
            .try_for_each(|at| draw_marker_sized(root, at, look, SIGN)),
    }
}

/// Draws a stroke of a strip, upwards from `at`.
fn stroke_at(root: &Area<'_>, curve: &Curve, (x, y): Pixel) -> Result<(), DrawError> {
    stroke(root, vec![(x, y), (x, y - 6 * SUBPIXELS)], style(curve.style).color.into(), 1.0, None)
}

/// Removes marks that would overlap the previous one.
fn drop_overlapping(points: Vec<Pixel>) -> Vec<Pixel> {
    let mut out: Vec<Pixel> = Vec::new();
    for (x, y) in points {
        let near = |(a, b): &Pixel| {
            (x - a).abs() < MIN_MARK_DISTANCE * SUBPIXELS
                && (y - b).abs() < MIN_MARK_DISTANCE * SUBPIXELS
        };
        if !out.last().is_some_and(near) {
            out.push((x, y));
        }
    }
    out
}

/// Draws the title and the names on one line above the lane.
fn legend(root: &Area<'_>, lane: &Lane, (left, y): Pixel) -> Result<(), DrawError> {
    let width =
        |text: &str, px: f64| (text.chars().count() as f64 * px * LETTER) as i32 * SUBPIXELS;
    write(root, &lane.title, (left, y), &font(13, INK, true))?;
    let mut x = left + width(&lane.title, 14.5) + 22 * SUBPIXELS;
    for curve in lane.curves.iter().filter(|c| !c.points.is_empty()) {
        let look = style(curve.style);
        let (from, to) = ((x, y), (x + 22 * SUBPIXELS, y));
        let middle = x + 11 * SUBPIXELS;
        match curve.kind {
            CurveKind::Steps => stroke(root, vec![from, to], look.color.into(), 1.5, None)?,
            CurveKind::Thin => {
                stroke(root, vec![from, to], look.color.into(), 1.2, Some((5, 3)))?;
            }
            CurveKind::Marks | CurveKind::Strokes if curve.is_dense() => {
                for x in [-3, 0, 3] {
                    stroke_at(root, curve, (middle + x * SUBPIXELS, y + 3 * SUBPIXELS))?;
                }
            }
            CurveKind::Dots | CurveKind::Ranges | CurveKind::Marks | CurveKind::Strokes => {
                draw_curve(root, curve, vec![(middle, y)])?;
            }
        }
        x += 28 * SUBPIXELS;
        write(root, curve.name, (x, y), &font(12, INK, false))?;
        x += width(curve.name, 12.5) + 16 * SUBPIXELS;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_marks_are_removed() {
        let points = vec![(0, 0), (5, 5), (40, 0), (41, 60)];
        assert_eq!(drop_overlapping(points), [(0, 0), (40, 0), (41, 60)]);
    }
}
