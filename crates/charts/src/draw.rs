//! Figures as SVG.
//!
//! Contract: no fonts are read (text is placed by its anchor), the file is self-contained, and
//! equal figures give equal bytes. The backend places on whole pixels, so everything is drawn four
//! times as large and the view box scales it back.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::axis::Scale;
use crate::error::ChartError;
use crate::frame::{self, Margins, PAGE_BOTTOM, Plots};
use crate::primitives::{
    Area, DrawError, GRID, INK, LEFT, MUTED, Pixel, draw_marker, draw_marker_sized, finish, steps,
    stroke, write,
};
use crate::sheet::{Canvas, LINE};
use crate::{Dot, Figure, Panel, PlotSeries, SeriesKind};

/// Height of the only panel, and of one of several, pixels of a page.
const HEIGHT: (f64, f64) = (390.0, 210.0);
/// Height of the plot over the width of a sheet, of the only panel and of one of several.
const ASPECT: (f64, f64) = (0.42, 0.27);
/// Vertical positions of title and legend on a page.
const TITLE_Y: f64 = 22.0;
const LEGEND_Y: f64 = 48.0;
/// Margin right of the plots of a page, for the labels of reference lines.
const RIGHT: f64 = 78.0;
/// Dash and gap of a thin line.
const THIN: Option<(i32, i32)> = Some((4, 3));
/// Distance between the series of a class, pixels.
const ASIDE: f64 = 12.0;
/// Markers on a trace.
const TRACE_MARKS: usize = 7;

const SHADE: RGBColor = RGBColor(0xf1, 0xf3, 0xf5);

/// Returns the figure as one SVG file.
pub(super) fn to_svg(figure: &Figure, canvas: Canvas<'_>) -> Result<String, ChartError> {
    let what = format!("figure `{}`", figure.id);
    let layout = Layout::new(figure, canvas, &what)?;
    let mut text = String::new();
    draw(figure, canvas, &layout, &mut text)
        .map_err(|e| ChartError { what, reason: e.to_string() })?;
    Ok(finish(&text, &figure.title, canvas, layout.height))
}

/// Positions of the parts of a figure, layout pixels.
struct Layout<'a> {
    title: Vec<String>,
    legend: Vec<Vec<(f64, &'a str, usize)>>,
    /// Positions of the first lines of the title and of the legend, and their line heights.
    title_y: f64,
    legend_y: f64,
    line: f64,
    /// Left edge of title and legend.
    left: f64,
    /// Top and height of the panels.
    panels: Vec<(f64, f64)>,
    margins: Margins,
    height: f64,
}

impl<'a> Layout<'a> {
    fn new(figure: &'a Figure, canvas: Canvas<'_>, what: &str) -> Result<Self, ChartError> {
        if canvas.is_fitted() { Self::sheet(figure, canvas, what) } else { Ok(Self::page(figure)) }
    }

    fn page(figure: &'a Figure) -> Self {
        let canvas = Canvas::PAGE;
        let legend = legend_rows(&figure.legend, canvas, LEFT, canvas.width - 10.0);
        let top = LEGEND_Y - 10.0 + 20.0 * legend.len() as f64;
        let each = if figure.panels.len() == 1 { HEIGHT.0 } else { HEIGHT.1 };
        Self {
            title: vec![figure.title.clone()],
            legend,
            title_y: TITLE_Y,
            legend_y: LEGEND_Y,
            line: 20.0,
            left: LEFT,
            panels: (0..figure.panels.len()).map(|i| (top + each * i as f64, each)).collect(),
            margins: Margins { left: LEFT, right: RIGHT, bottom: PAGE_BOTTOM },
            height: top + each * figure.panels.len() as f64 + 6.0,
        }
    }

    fn sheet(figure: &'a Figure, canvas: Canvas<'_>, what: &str) -> Result<Self, ChartError> {
        const EDGE: f64 = 4.0;
        let (width, panels) = (canvas.width, &figure.panels);
        let title = canvas.title(&figure.title);
        let title = title.map_or_else(Vec::new, |t| canvas.lines(t, width - 2.0 * EDGE, true));
        let legend = legend_rows(&figure.legend, canvas, EDGE, width);
        let title_y = EDGE + LINE / 2.0;
        let legend_y = title_y + LINE * title.len() as f64;
        let top = legend_y - LINE / 2.0 + LINE * legend.len() as f64;
        let greatest = |size: &dyn Fn(&Panel) -> f64| panels.iter().map(size).fold(0.0, f64::max);
        // The space for horizontal names follows from the width, which follows from the height.
        let bottom = greatest(&|p| frame::foot_height(canvas, &p.x, width - 80.0));
        let heads: f64 = panels.iter().map(|p| head(p, canvas)).sum();
        let aspect = if panels.len() == 1 { ASPECT.0 } else { ASPECT.1 };
        let rest = top + heads + bottom * panels.len() as f64;
        let plots = Plots { aspects: &vec![aspect; panels.len()], rest };
        let heights = plots.heights(canvas, what)?;
        let plot = heights.first().copied().unwrap_or_default();
        let margins = Margins {
            left: greatest(&|p| frame::side_width(canvas, &p.y, plot)),
            right: greatest(&|p| frame::end_width(canvas, &p.x).max(guide_width(p, canvas))),
            bottom,
        };
        frame::check_width(canvas, what, margins)?;
        let mut next = top;
        let panels = panels.iter().zip(&heights).map(|(panel, plot)| {
            let at = next;
            next += head(panel, canvas) + plot + bottom;
            (at, next - at)
        });
        let panels = panels.collect();
        let (line, left, height) = (LINE, EDGE, canvas.height().unwrap_or(next));
        Ok(Self { title, legend, title_y, legend_y, line, left, panels, margins, height })
    }
}

/// Returns the distance from the top of a panel to its plot.
fn head(panel: &Panel, canvas: Canvas<'_>) -> f64 {
    if !canvas.is_fitted() {
        return if panel.title.is_empty() { 14.0 } else { 28.0 };
    }
    let label = panel.guide_lines.iter().any(|rule| rule.vertical);
    let rows = title_lines(panel, canvas).len() + usize::from(label);
    if rows == 0 { 8.0 } else { rows as f64 * LINE + 8.0 }
}

fn title_lines(panel: &Panel, canvas: Canvas<'_>) -> Vec<String> {
    if canvas.is_fitted() {
        canvas.lines(&panel.title, canvas.width - 8.0, true)
    } else {
        Some(panel.title.clone()).filter(|t| !t.is_empty()).into_iter().collect()
    }
}

/// Returns the space for the labels of horizontal reference lines.
fn guide_width(panel: &Panel, canvas: Canvas<'_>) -> f64 {
    let labels = panel.guide_lines.iter().filter(|rule| !rule.vertical);
    labels.map(|rule| 10.0 + canvas.text_width(&rule.label, 12.0, false)).fold(0.0, f64::max)
}

fn draw(
    figure: &Figure,
    canvas: Canvas<'_>,
    layout: &Layout<'_>,
    text: &mut String,
) -> Result<(), DrawError> {
    let (width, height) = canvas.at(canvas.width, layout.height);
    let root = SVGBackend::with_string(text, (width as u32, height as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    for (i, line) in layout.title.iter().enumerate() {
        let at = canvas.at(layout.left, layout.title_y + layout.line * i as f64);
        write(&root, line, at, &canvas.font(15.0, INK, true))?;
    }
    // Traces are too dense for dashes, so the legend shows solid lines too.
    let traces =
        figure.panels.iter().flat_map(|p| &p.series).any(|s| matches!(s.kind, SeriesKind::Trace));
    for (i, row) in layout.legend.iter().enumerate() {
        let y = layout.legend_y + layout.line * i as f64;
        for (x, name, number) in row {
            let look = canvas.style(*number);
            let dash = look.dash.filter(|_| !traces || canvas.is_grey());
            let line = vec![canvas.at(*x, y), canvas.at(x + 30.0, y)];
            if !figure.is_drawn(*number) {
                write(&root, name, canvas.at(*x, y), &canvas.font(13.0, MUTED, false))?;
                continue;
            }
            if is_thin(figure, *number) {
                stroke(&root, canvas, line, RGBAColor::from(look.color).mix(0.85), 1.0, THIN)?;
            } else {
                stroke(&root, canvas, line, look.color.into(), 2.0, dash)?;
                draw_marker(&root, canvas, canvas.at(x + 15.0, y), look)?;
            }
            write(&root, name, canvas.at(x + 37.0, y), &canvas.font(13.0, INK, false))?;
        }
    }
    for (panel, (top, height)) in figure.panels.iter().zip(&layout.panels) {
        let size = canvas.at(canvas.width, *height);
        let area = root.clone().shrink(canvas.at(0.0, *top), size);
        draw_panel(&root, &area, canvas, (panel, layout, *height))?;
    }
    root.present()
}

/// Returns whether all series of style `number` are thin.
fn is_thin(figure: &Figure, number: usize) -> bool {
    let mut of_it = figure.panels.iter().flat_map(|p| &p.series).filter(|s| s.style == number);
    of_it.next().is_some_and(|s| s.kind == SeriesKind::Thin)
        && of_it.all(|s| s.kind == SeriesKind::Thin)
}

/// Returns the rows of the legend with the position of each name.
fn legend_rows<'a>(
    legend: &'a [(String, usize)],
    canvas: Canvas<'_>,
    left: f64,
    right: f64,
) -> Vec<Vec<(f64, &'a str, usize)>> {
    let mut rows: Vec<Vec<(f64, &str, usize)>> = Vec::new();
    let mut x = f64::INFINITY;
    // The gap behind the last name of a row may be outside.
    let gap = if canvas.is_fitted() { 14.0 } else { 0.0 };
    for (name, number) in legend {
        let width = 60.0 + canvas.text_width(name, 13.0, false).floor();
        if x + width - gap > right {
            rows.push(Vec::new());
            x = left;
        }
        if let Some(row) = rows.last_mut() {
            row.push((x, name, *number));
        }
        x += width;
    }
    rows
}

fn draw_panel(
    root: &Area<'_>,
    area: &Area<'_>,
    canvas: Canvas<'_>,
    (panel, layout, height): (&Panel, &Layout<'_>, f64),
) -> Result<(), DrawError> {
    let Margins { left, right, bottom } = layout.margins;
    let top = head(panel, canvas);
    let fitted = canvas.is_fitted();
    let width = |name: &str| canvas.text_width(name, 12.0, false);
    let (mut x, mut y) = (panel.x.clone(), panel.y.clone());
    let plot = height - top - bottom;
    if fitted {
        // The names of a sheet are drawn below.
        x.ticks.iter_mut().for_each(|(_, name)| name.clear());
        y = y.thin_decades(plot, &|_| LINE - 6.0);
    } else {
        x = x.thin_names(canvas.width - left - right, &width);
    }
    let (edge, names) = frame::left_parts(canvas, left);
    let mut chart = ChartBuilder::on(area)
        .margin_top(canvas.px(top))
        .margin_left(edge)
        .margin_right(canvas.px(right))
        .set_label_area_size(LabelAreaPosition::Left, names)
        .set_label_area_size(LabelAreaPosition::Bottom, canvas.px(bottom))
        .build_cartesian_2d(x, y)?;
    if let Some((from, to)) = panel.shade {
        let corners = [(from, panel.y.high), (to, panel.y.low)].map(|c| chart.backend_coord(&c));
        root.draw(&Rectangle::new(corners, canvas.color(SHADE).filled()))?;
    }
    let mut mesh = chart.configure_mesh();
    mesh.bold_line_style(canvas.color(GRID).stroke_width(canvas.line(1.0)))
        .light_line_style(TRANSPARENT)
        .axis_style(canvas.color(MUTED).stroke_width(canvas.line(1.0)))
        .set_all_tick_mark_size(canvas.px(4.0))
        .label_style(canvas.font(12.0, MUTED, false))
        .axis_desc_style(canvas.font(13.0, INK, false));
    if !fitted {
        mesh.x_desc(panel.x.label.clone()).y_desc(panel.y.label.clone());
    }
    mesh.draw()?;
    let place = |x: f64, y: f64| chart.backend_coord(&(x, y));
    let (start, floor) = place(panel.x.low, panel.y.low);
    let (end, ceiling) = place(panel.x.high, panel.y.high);
    if fitted {
        frame::foot(root, canvas, &panel.x, (start, end, floor))?;
        let lines = frame::label_lines(canvas, &panel.y.label, plot);
        let at = (frame::side_x(canvas), i32::midpoint(floor, ceiling));
        frame::side(root, canvas, &lines, at, &FontTransform::Rotate270)?;
    }
    let aside = aside(panel, canvas, canvas.width - left - right);
    for (i, series) in panel.series.iter().enumerate() {
        // The series of a class are side by side.
        let aside =
            canvas.px(aside * (2 * i as i32 - (panel.series.len() as i32 - 1)) as f64 / 2.0);
        let place = |x: f64, y: f64| {
            let (x, y) = place(x, y);
            (x + aside, y)
        };
        draw_series(root, canvas, panel, series, &place, i)?;
    }
    // A label that would cover the one to its left is below it.
    let mut free = [i32::MIN; 2];
    for rule in &panel.guide_lines {
        let along = |share: f64| if rule.vertical { (rule.at, share) } else { (share, rule.at) };
        let (low, high) =
            if rule.vertical { (panel.y.low, panel.y.high) } else { (panel.x.low, panel.x.high) };
        let ends = [along(low), along(high)].map(|(x, y)| place(x, y));
        stroke(root, canvas, ends.to_vec(), canvas.color(INK).mix(0.75), 1.0, Some((2, 3)))?;
        let end = ends[1];
        let (at, pos) = if rule.vertical {
            ((end.0, end.1 - canvas.px(9.0)), Pos::new(HPos::Center, VPos::Center))
        } else {
            ((end.0 + canvas.px(6.0), end.1), Pos::new(HPos::Left, VPos::Center))
        };
        let mut at = if rule.vertical && fitted { within(canvas, &rule.label, at) } else { at };
        if rule.vertical {
            let half = canvas.px(canvas.text_width(&rule.label, 12.0, false) / 2.0 + 3.0);
            let row = usize::from(at.0 - half < free[0]);
            free[row] = at.0 + half;
            at.1 += canvas.px(LINE * row as f64);
        }
        write(root, &rule.label, at, &canvas.font(12.0, INK, false).pos(pos))?;
    }
    for (i, line) in title_lines(panel, canvas).iter().enumerate() {
        let y = if fitted { (i as f64 + 0.5) * LINE + 1.0 } else { top - 14.0 };
        let at = canvas.at(layout.left, y);
        write(area, line, at, &canvas.font(13.0, INK, true))?;
    }
    Ok(())
}

/// Returns the distance between the series of a class.
fn aside(panel: &Panel, canvas: Canvas<'_>, plot: f64) -> f64 {
    if panel.x.scale != Scale::Categorical {
        return 0.0;
    }
    let each = plot / (panel.x.ticks.len() * (panel.series.len() + 1)).max(1) as f64;
    if canvas.is_fitted() { ASIDE.min(each) } else { ASIDE }
}

/// Moves the centre of a text so that it is within the sheet.
fn within(canvas: Canvas<'_>, text: &str, (x, y): Pixel) -> Pixel {
    let half = canvas.px(canvas.text_width(text, 12.0, false) / 2.0 + 1.0);
    (x.min(canvas.px(canvas.width) - half).max(half), y)
}

fn draw_series(
    root: &Area<'_>,
    canvas: Canvas<'_>,
    panel: &Panel,
    series: &PlotSeries,
    place: &dyn Fn(f64, f64) -> Pixel,
    number: usize,
) -> Result<(), DrawError> {
    let look = canvas.style(series.style);
    let color: RGBAColor = look.color.into();
    // Values beyond the axis are drawn at its end.
    let placed = |dots: &[Dot]| {
        let at = |d: &Dot| place(d.x, d.y.max(panel.y.low).min(panel.y.high));
        dots.iter().map(at).collect::<Vec<Pixel>>()
    };
    let points = match series.kind {
        SeriesKind::Measured | SeriesKind::Dots => placed(&series.points),
        SeriesKind::Trace | SeriesKind::Thin => canvas.reduced(&placed(&series.points)),
        SeriesKind::Steps => canvas.reduced(&placed(&series.risen())),
        SeriesKind::Scatter => canvas.one_per_cell(&placed(&series.points)),
    };
    match series.kind {
        SeriesKind::Measured => stroke(root, canvas, points.clone(), color, 2.0, look.dash)?,
        SeriesKind::Dots | SeriesKind::Scatter => {}
        SeriesKind::Trace => {
            let dash = look.dash.filter(|_| canvas.is_grey());
            stroke(root, canvas, points.clone(), color, 1.5, dash)?;
        }
        SeriesKind::Thin => stroke(root, canvas, points.clone(), color.mix(0.85), 1.0, THIN)?,
        SeriesKind::Steps => stroke(root, canvas, steps(&points), color, 2.0, look.dash)?,
    }
    for dot in &series.points {
        let Some(ends) = dot.interval else { continue };
        let [low, high] = ends.map(|v| place(dot.x, v.clamp(panel.y.low, panel.y.high)));
        let cap = |(x, y): Pixel| vec![(x - canvas.px(4.0), y), (x + canvas.px(4.0), y)];
        for line in [vec![low, high], cap(low), cap(high)] {
            stroke(root, canvas, line, color, 1.5, None)?;
        }
    }
    let marked: Vec<Pixel> = match series.kind {
        SeriesKind::Measured | SeriesKind::Dots => points,
        SeriesKind::Trace => {
            // Each series has its markers at other positions, which distinguishes overlapping
            // lines.
            let every = (points.len() / TRACE_MARKS).max(1);
            let first = (every * (1 + 2 * (number % 4)) / 8).min(points.len().saturating_sub(1));
            points.into_iter().skip(first).step_by(every).collect()
        }
        SeriesKind::Scatter => {
            let small = [canvas.px(2.5), canvas.px(2.0)];
            return points.into_iter().try_for_each(|at| draw_marker_sized(root, at, look, small));
        }
        SeriesKind::Thin | SeriesKind::Steps => Vec::new(),
    };
    marked.into_iter().try_for_each(|at| draw_marker(root, canvas, at, look))
}
