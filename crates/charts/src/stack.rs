//! Stacked plots over one time axis, as papers show a flow: lanes with their own legends, one with
//! a second vertical axis on its right.
//!
//! Contract: see [`super::draw`].

use lowtide_output::csv;
use std::collections::BTreeSet;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use serde::Serialize;

use super::primitives::{
    Area, DrawError, GRID, INK, LEFT, MUTED, Pixel, draw_marker_sized, finish, steps, stroke, write,
};
use super::{Axis, Dot};
use crate::error::ChartError;
use crate::frame::{self, Margins, PAGE_BOTTOM, Plots};
use crate::sheet::{Canvas, LINE};

/// Heights of the title, and of the first and the other lanes, pixels of a page.
const TOP: f64 = 40.0;
const LANE: (f64, f64) = (300.0, 170.0);
/// Height of a lane's title and legend on a page.
const HEAD: f64 = 30.0;
/// Width of the right axis of a page.
const RIGHT: f64 = 66.0;
/// Heights of the first and the other lanes over the width of a sheet.
const ASPECT: (f64, f64) = (0.42, 0.24);
/// Left edge of titles and legends on a sheet, and the gap below a lane.
const EDGE: f64 = 4.0;
const GAP: f64 = 5.0;

/// Radii of a mark, with and without its edge.
const SIGN: [f64; 2] = [3.75, 3.25];

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
#[derive(Clone, PartialEq, Debug, Serialize)]
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

    /// Returns the kind: dense marks are strokes.
    pub(crate) fn drawn_kind(&self) -> CurveKind {
        if self.is_dense() { CurveKind::Strokes } else { self.kind }
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
    pub(crate) fn to_svg_on(&self, canvas: Canvas<'_>) -> Result<String, ChartError> {
        let what = format!("figure `{}`", self.id);
        let layout = if canvas.is_fitted() {
            Layout::sheet(self, canvas, &what)?
        } else {
            Layout::page(self)
        };
        let mut text = String::new();
        self.draw(canvas, &layout, &mut text)
            .map_err(|e| ChartError { what, reason: e.to_string() })?;
        Ok(finish(&text, &self.title, canvas, layout.height))
    }

    fn draw(
        &self,
        canvas: Canvas<'_>,
        layout: &Layout,
        text: &mut String,
    ) -> Result<(), DrawError> {
        let (width, height) = canvas.at(canvas.width, layout.height);
        let root = SVGBackend::with_string(text, (width as u32, height as u32)).into_drawing_area();
        root.fill(&WHITE)?;
        for (i, line) in layout.title.iter().enumerate() {
            let at = canvas.at(layout.left, layout.title_y + LINE * i as f64);
            write(&root, line, at, &canvas.font(15.0, INK, true))?;
        }
        for (i, (lane, place)) in self.lanes.iter().zip(&layout.lanes).enumerate() {
            let last = i + 1 == self.lanes.len();
            let size = canvas.at(canvas.width, place.height);
            let area = root.clone().shrink(canvas.at(0.0, place.top), size);
            self.draw_lane(&root, &area, canvas, (lane, place, layout.margins), last)?;
        }
        root.present()
    }

    fn draw_lane(
        &self,
        root: &Area<'_>,
        area: &Area<'_>,
        canvas: Canvas<'_>,
        (lane, at, margins): (&Lane, &LanePlace, Margins),
        last: bool,
    ) -> Result<(), DrawError> {
        let fitted = canvas.is_fitted();
        let bottom = if last { margins.bottom } else { at.gap };
        let plot = at.height - at.head - bottom;
        let (mut x, mut y) = (self.x.clone(), lane.y.clone());
        if fitted {
            // The names of a sheet are drawn below.
            x.ticks.iter_mut().for_each(|(_, name)| name.clear());
            y = y.thin_decades(plot, &|_| LINE - 6.0);
        } else {
            let width = canvas.width - margins.left - margins.right;
            x = x.thin_names(width, &|name| canvas.text_width(name, 12.0, false));
        }
        let (edge, names) = frame::left_parts(canvas, margins.left);
        let mut chart = ChartBuilder::on(area)
            .margin_top(canvas.px(at.head))
            .margin_left(edge)
            .margin_right(canvas.px(margins.right))
            .set_label_area_size(LabelAreaPosition::Left, names)
            .set_label_area_size(LabelAreaPosition::Bottom, canvas.px(bottom))
            .build_cartesian_2d(x, y)?;
        let mut mesh = chart.configure_mesh();
        mesh.bold_line_style(canvas.color(GRID).stroke_width(canvas.line(1.0)))
            .light_line_style(TRANSPARENT)
            .axis_style(canvas.color(MUTED).stroke_width(canvas.line(1.0)))
            .set_all_tick_mark_size(canvas.px(4.0))
            .label_style(canvas.font(12.0, MUTED, false))
            .axis_desc_style(canvas.font(13.0, INK, false));
        if !fitted {
            mesh.y_desc(lane.y.label.clone());
            if last {
                mesh.x_desc(self.x.label.clone());
            }
        }
        mesh.draw()?;
        let (left, floor) = chart.backend_coord(&(self.x.low, lane.y.low));
        let (edge, ceiling) = chart.backend_coord(&(self.x.high, lane.y.high));
        let limit = (floor, ceiling);
        if fitted {
            let lines = frame::label_lines(canvas, &lane.y.label, plot);
            let at = (frame::side_x(canvas), i32::midpoint(floor, ceiling));
            frame::side(root, canvas, &lines, at, &FontTransform::Rotate270)?;
            if last {
                frame::foot(root, canvas, &self.x, (left, edge, floor))?;
            }
        }
        if let Some(axis) = &lane.right {
            right_axis(root, canvas, axis, (edge, plot), limit)?;
        }
        let mut strips = 0;
        for curve in &lane.curves {
            let axis = lane.right.as_ref().filter(|_| curve.right).unwrap_or(&lane.y);
            let place = |dot: &Dot| {
                let y = dot.y.clamp(axis.low, axis.high);
                let (x, _) =
                    chart.backend_coord(&(dot.x.clamp(self.x.low, self.x.high), lane.y.low));
                (x, axis.map(&y, limit))
            };
            let points: Vec<Pixel> = curve.points.iter().map(place).collect();
            if curve.is_dense() {
                let y = floor - canvas.px(3.0 + 8.0 * f64::from(strips));
                let unit = canvas.px(1.0);
                points
                    .into_iter()
                    .map(|(x, _)| x / unit)
                    .collect::<BTreeSet<i32>>()
                    .into_iter()
                    .try_for_each(|x| stroke_at(root, canvas, curve, (x * unit, y)))?;
                strips += 1;
            } else {
                draw_curve(root, canvas, curve, &points)?;
            }
        }
        let start = if fitted {
            canvas.at(EDGE, at.top + LINE / 2.0 + 1.0)
        } else {
            (left, ceiling - canvas.px(16.0))
        };
        legend(root, canvas, lane, start)
    }
}

/// Position of a lane, layout pixels.
struct LanePlace {
    top: f64,
    height: f64,
    /// Height of title and legend, and of the gap below.
    head: f64,
    gap: f64,
}

/// Positions of the parts of a figure, layout pixels.
struct Layout {
    title: Vec<String>,
    title_y: f64,
    left: f64,
    lanes: Vec<LanePlace>,
    margins: Margins,
    height: f64,
}

impl Layout {
    fn page(stack: &StackedPlot) -> Self {
        let mut lanes = Vec::new();
        let mut top = TOP;
        for i in 0..stack.lanes.len() {
            let bottom = if i + 1 == stack.lanes.len() { PAGE_BOTTOM } else { 0.0 };
            let height = if i == 0 { LANE.0 } else { LANE.1 } + bottom;
            lanes.push(LanePlace { top, height, head: HEAD, gap: 0.0 });
            top += height;
        }
        let margins = Margins { left: LEFT, right: RIGHT, bottom: PAGE_BOTTOM };
        let title = vec![stack.title.clone()];
        Self { title, title_y: 22.0, left: LEFT, lanes, margins, height: top }
    }

    fn sheet(stack: &StackedPlot, canvas: Canvas<'_>, what: &str) -> Result<Self, ChartError> {
        let title = canvas.title(&stack.title);
        let title =
            title.map_or_else(Vec::new, |t| canvas.lines(t, canvas.width - 2.0 * EDGE, true));
        let head = |lane: &Lane| {
            let rows = legend_places(lane, canvas).last().map_or(0, |(row, _)| *row);
            (rows + 1) as f64 * LINE + 5.0
        };
        let heads: Vec<f64> = stack.lanes.iter().map(head).collect();
        let bottom = frame::foot_height(canvas, &stack.x, canvas.width - 80.0);
        let top = EDGE + LINE * title.len() as f64;
        let gaps = GAP * stack.lanes.len().saturating_sub(1) as f64;
        let aspects = (0..stack.lanes.len()).map(|i| if i == 0 { ASPECT.0 } else { ASPECT.1 });
        let aspects: Vec<f64> = aspects.collect();
        let rest = top + heads.iter().sum::<f64>() + gaps + bottom;
        let heights = Plots { aspects: &aspects, rest }.heights(canvas, what)?;
        let of = |size: &dyn Fn(&Lane, f64) -> f64| {
            stack
                .lanes
                .iter()
                .zip(&heights)
                .map(|(lane, plot)| size(lane, *plot))
                .fold(0.0, f64::max)
        };
        let margins = Margins {
            left: of(&|lane, plot| frame::side_width(canvas, &lane.y, plot)),
            right: of(&|lane, plot| {
                lane.right.as_ref().map_or(0.0, |axis| frame::side_width(canvas, axis, plot))
            })
            .max(frame::end_width(canvas, &stack.x)),
            bottom,
        };
        frame::check_width(canvas, what, margins)?;
        let mut lanes = Vec::new();
        let mut next = top;
        for (i, (head, plot)) in heads.iter().zip(&heights).enumerate() {
            let below = if i + 1 == heads.len() { bottom } else { GAP };
            let height = head + plot + below;
            lanes.push(LanePlace { top: next, height, head: *head, gap: GAP });
            next += height;
        }
        let height = canvas.height().unwrap_or(next);
        Ok(Self { title, title_y: EDGE + LINE / 2.0, left: EDGE, lanes, margins, height })
    }
}

/// Draws an axis at `x` on the right, from `limit.0` up to `limit.1`; its length is `plot`.
fn right_axis(
    root: &DrawingArea<SVGBackend<'_>, Shift>,
    canvas: Canvas<'_>,
    axis: &Axis,
    (x, plot): (i32, f64),
    limit: (i32, i32),
) -> Result<(), DrawError> {
    let muted = canvas.color(MUTED).into();
    stroke(root, canvas, vec![(x, limit.0), (x, limit.1)], muted, 1.0, None)?;
    let thin = axis.clone().thin_decades(plot, &|_| LINE - 6.0);
    let ticks = if canvas.is_fitted() { &thin.ticks } else { &axis.ticks };
    for (value, name) in ticks {
        let y = axis.map(value, limit);
        stroke(root, canvas, vec![(x, y), (x + canvas.px(4.0), y)], muted, 1.0, None)?;
        write(root, name, (x + canvas.px(8.0), y), &canvas.font(12.0, MUTED, false))?;
    }
    let middle = i32::midpoint(limit.0, limit.1);
    if canvas.is_fitted() {
        let lines = frame::label_lines(canvas, &axis.label, plot);
        let at = (x + canvas.px(frame::right_label(canvas, axis, plot)), middle);
        return frame::side(root, canvas, &lines, at, &FontTransform::Rotate90);
    }
    let turned = canvas
        .font(13.0, INK, false)
        .transform(FontTransform::Rotate90)
        .pos(Pos::new(HPos::Center, VPos::Bottom));
    write(root, &axis.label, (x + canvas.px(46.0), middle), &turned)
}

fn draw_curve(
    root: &Area<'_>,
    canvas: Canvas<'_>,
    curve: &Curve,
    points: &[Pixel],
) -> Result<(), DrawError> {
    let look = canvas.style(curve.style);
    let color: RGBAColor = look.color.into();
    let r = canvas.px(1.5);
    match curve.kind {
        CurveKind::Steps => stroke(root, canvas, steps(&canvas.reduced(points)), color, 1.5, None),
        CurveKind::Thin => {
            stroke(root, canvas, steps(&canvas.reduced(points)), color, 1.2, Some((5, 3)))
        }
        CurveKind::Dots => canvas.one_per_cell(points).into_iter().try_for_each(|(x, y)| {
            root.draw(&Rectangle::new([(x - r, y - r), (x + r, y + r)], color.filled()))
        }),
        CurveKind::Ranges => {
            let unit = canvas.px(1.0);
            points.chunk_by(|a, b| a.0 / unit == b.0 / unit).try_for_each(|column| {
                let ys = column.iter().map(|p| p.1);
                let (low, high) = (ys.clone().min().unwrap_or(0), ys.max().unwrap_or(0));
                let x = column.first().map_or(0, |p| p.0);
                let corners = [(x - r, low - r), (x + r, high + r)];
                root.draw(&Rectangle::new(corners, color.filled()))
            })
        }
        // Dense curves are drawn by the caller (`is_dense`).
        CurveKind::Strokes => Ok(()),
        CurveKind::Marks => canvas
            .one_per_cell(points)
            .into_iter()
            .try_for_each(|at| draw_marker_sized(root, at, look, SIGN.map(|r| canvas.px(r)))),
    }
}

/// Draws a stroke of a strip, upwards from `at`.
fn stroke_at(
    root: &Area<'_>,
    canvas: Canvas<'_>,
    curve: &Curve,
    (x, y): Pixel,
) -> Result<(), DrawError> {
    let color = canvas.style(curve.style).color.into();
    stroke(root, canvas, vec![(x, y), (x, y - canvas.px(6.0))], color, 1.0, None)
}

/// Returns the rows and the horizontal positions of the curves in the legend, relative to the
/// title of the lane.
fn legend_places(lane: &Lane, canvas: Canvas<'_>) -> Vec<(usize, f64)> {
    let (mut row, mut x) = (0, canvas.text_width(&lane.title, 14.5, true).floor() + 22.0);
    let mut out = Vec::new();
    for curve in shown(lane) {
        let width = 28.0 + canvas.text_width(curve.name, 12.5, false).floor();
        if canvas.is_fitted() && x > 0.0 && x + width > canvas.width - 2.0 * EDGE {
            (row, x) = (row + 1, 0.0);
        }
        out.push((row, x));
        x += width + 16.0;
    }
    out
}

/// Returns the curves of the legend.
fn shown(lane: &Lane) -> impl Iterator<Item = &Curve> {
    lane.curves.iter().filter(|c| !c.points.is_empty())
}

/// Draws the title and the names above the lane.
fn legend(
    root: &Area<'_>,
    canvas: Canvas<'_>,
    lane: &Lane,
    (left, top): Pixel,
) -> Result<(), DrawError> {
    write(root, &lane.title, (left, top), &canvas.font(13.0, INK, true))?;
    for (curve, (row, x)) in shown(lane).zip(legend_places(lane, canvas)) {
        let look = canvas.style(curve.style);
        let at = |along: f64| (left + canvas.px(x + along), top + canvas.px(LINE * row as f64));
        let line = vec![at(0.0), at(22.0)];
        let (middle, y) = at(11.0);
        match curve.kind {
            CurveKind::Steps => stroke(root, canvas, line, look.color.into(), 1.5, None)?,
            CurveKind::Thin => stroke(root, canvas, line, look.color.into(), 1.2, Some((5, 3)))?,
            CurveKind::Marks | CurveKind::Strokes if curve.is_dense() => {
                for x in [-3.0, 0.0, 3.0] {
                    let at = (middle + canvas.px(x), y + canvas.px(3.0));
                    stroke_at(root, canvas, curve, at)?;
                }
            }
            CurveKind::Dots | CurveKind::Ranges | CurveKind::Marks | CurveKind::Strokes => {
                draw_curve(root, canvas, curve, &[(middle, y)])?;
            }
        }
        write(root, curve.name, at(28.0), &canvas.font(12.0, INK, false))?;
    }
    Ok(())
}
