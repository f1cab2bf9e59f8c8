//! Figures as SVG.
//!
//! Contract: no fonts are read (text is placed by its anchor), the file is self-contained, and
//! equal figures give equal bytes. The backend places on whole pixels, so everything is drawn four
//! times as large and the view box scales it back.

use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::axis::Scale;
use crate::compact::compact;
use crate::error::ChartError;
use crate::palette::{MarkerShape, Style, style};
use crate::{Figure, Panel, PlotSeries, SeriesKind};

/// Drawn pixels per pixel of the figure.
pub(super) const SUBPIXELS: i32 = 4;
/// Width of every figure, pixels.
pub(super) const WIDTH: i32 = 800;
/// Height of the only panel, and of one of several, pixels.
const HEIGHT: (i32, i32) = (390, 210);
/// Vertical positions of title and legend.
const TITLE_Y: i32 = 22;
const LEGEND_Y: i32 = 48;
/// Left edge of the plots, the title and the legend.
pub(super) const LEFT: i32 = 74;
/// Margin right of the plots, for the labels of reference lines.
const RIGHT: i32 = 78;
/// Average width of a letter over its font size.
pub(super) const LETTER: f64 = 0.54;
/// Dash and gap of a thin line.
const THIN: Option<(i32, i32)> = Some((4, 3));
/// Distance between the series of a class, pixels.
const ASIDE: i32 = 12;
/// Markers on a trace.
const TRACE_MARKS: usize = 7;

pub(super) const INK: RGBColor = RGBColor(0x22, 0x26, 0x2b);
pub(super) const MUTED: RGBColor = RGBColor(0x5b, 0x63, 0x6d);
pub(super) const GRID: RGBColor = RGBColor(0xe3, 0xe6, 0xea);
const SHADE: RGBColor = RGBColor(0xf1, 0xf3, 0xf5);

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type DrawError = DrawingAreaErrorKind<std::io::Error>;
/// A position in drawn pixels.
pub(super) type Pixel = (i32, i32);

/// Returns the figure as one SVG file.
pub fn to_svg(figure: &Figure) -> Result<String, ChartError> {
    let rows = legend_rows(&figure.legend);
    let top = LEGEND_Y - 10 + 20 * rows.len() as i32;
    let each = if figure.panels.len() == 1 { HEIGHT.0 } else { HEIGHT.1 };
    let height = top + each * figure.panels.len() as i32 + 6;
    let mut text = String::new();
    draw(figure, &rows, (top, each, height), &mut text).map_err(|e| ChartError {
        what: format!("figure `{}`", figure.id),
        reason: e.to_string(),
    })?;
    Ok(finish(&text, &figure.title, height))
}

/// Replaces the head of the file: displayed size, smooth joints, fonts, a name for screen readers.
/// The rest becomes smaller.
pub(super) fn finish(text: &str, title: &str, height: i32) -> String {
    let body = text.find('>').map_or(text, |end| &text[end + 1..]);
    let title = title.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{title}\" stroke-linejoin=\"round\" \
         stroke-linecap=\"round\" font-family=\"{FACES}\">{}",
        WIDTH * SUBPIXELS,
        height * SUBPIXELS,
        compact(body),
    )
}

fn draw(
    figure: &Figure,
    rows: &[Vec<(i32, &str, usize)>],
    (top, each, height): (i32, i32, i32),
    text: &mut String,
) -> Result<(), DrawError> {
    let size = ((WIDTH * SUBPIXELS) as u32, (height * SUBPIXELS) as u32);
    let root = SVGBackend::with_string(text, size).into_drawing_area();
    root.fill(&WHITE)?;
    let at = |x: i32, y: i32| (x * SUBPIXELS, y * SUBPIXELS);
    write(&root, &figure.title, at(LEFT, TITLE_Y), &font(15, INK, true))?;
    // Traces are too dense for dashes, so the legend shows solid lines too.
    let traces =
        figure.panels.iter().flat_map(|p| &p.series).any(|s| matches!(s.kind, SeriesKind::Trace));
    for (i, row) in rows.iter().enumerate() {
        let y = LEGEND_Y + 20 * i as i32;
        for (x, name, number) in row {
            let look = style(*number);
            let dash = look.dash.filter(|_| !traces);
            let line = vec![at(*x, y), at(x + 30, y)];
            if is_thin(figure, *number) {
                stroke(&root, line, RGBAColor::from(look.color).mix(0.85), 1.0, THIN)?;
            } else {
                stroke(&root, line, look.color.into(), 2.0, dash)?;
                draw_marker(&root, at(x + 15, y), look)?;
            }
            write(&root, name, at(x + 37, y), &font(13, INK, false))?;
        }
    }
    for (i, panel) in figure.panels.iter().enumerate() {
        let area = root.clone().shrink(at(0, top + each * i as i32), at(WIDTH, each));
        draw_panel(&root, &area, panel)?;
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
fn legend_rows(legend: &[(String, usize)]) -> Vec<Vec<(i32, &str, usize)>> {
    let mut rows: Vec<Vec<(i32, &str, usize)>> = Vec::new();
    let mut x = WIDTH;
    for (name, number) in legend {
        let width = 60 + (name.chars().count() as f64 * 13.0 * LETTER) as i32;
        if x + width > WIDTH - 10 {
            rows.push(Vec::new());
            x = LEFT;
        }
        if let Some(row) = rows.last_mut() {
            row.push((x, name, *number));
        }
        x += width;
    }
    rows
}

/// Fonts of all text.
pub(crate) const FACES: &str = "system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif";

/// Returns a style for text that begins at its position and is vertically centred on it.
pub(super) fn font(px: i32, color: RGBColor, bold: bool) -> TextStyle<'static> {
    // The backend divides sizes by 1.24.
    let size = f64::from(px * SUBPIXELS) * 1.24;
    let style = if bold { FontStyle::Bold } else { FontStyle::Normal };
    let pos = Pos::new(HPos::Left, VPos::Center);
    FontDesc::new(FontFamily::Name(FACES), size, style).color(&color).pos(pos)
}

pub(super) fn write(
    area: &Area<'_>,
    text: &str,
    at: Pixel,
    style: &TextStyle<'_>,
) -> Result<(), DrawError> {
    area.draw(&Text::new(text, at, style.clone()))
}

fn draw_panel(root: &Area<'_>, area: &Area<'_>, panel: &Panel) -> Result<(), DrawError> {
    let top = if panel.title.is_empty() { 14 } else { 28 };
    let plot = f64::from(WIDTH - LEFT - RIGHT);
    let x = panel.x.clone().thin_names(plot, 12.0 * LETTER);
    let mut chart = ChartBuilder::on(area)
        .margin_top(top * SUBPIXELS)
        .margin_left(10 * SUBPIXELS)
        .margin_right(RIGHT * SUBPIXELS)
        .set_label_area_size(LabelAreaPosition::Left, (LEFT - 10) * SUBPIXELS)
        .set_label_area_size(LabelAreaPosition::Bottom, 48 * SUBPIXELS)
        .build_cartesian_2d(x, panel.y.clone())?;
    if let Some((from, to)) = panel.shade {
        let corners = [(from, panel.y.high), (to, panel.y.low)].map(|c| chart.backend_coord(&c));
        root.draw(&Rectangle::new(corners, SHADE.filled()))?;
    }
    chart
        .configure_mesh()
        .bold_line_style(GRID.stroke_width(SUBPIXELS as u32))
        .light_line_style(TRANSPARENT)
        .axis_style(MUTED.stroke_width(SUBPIXELS as u32))
        .set_all_tick_mark_size(4 * SUBPIXELS)
        .label_style(font(12, MUTED, false))
        .axis_desc_style(font(13, INK, false))
        .x_desc(panel.x.label.clone())
        .y_desc(panel.y.label.clone())
        .draw()?;
    let place = |x: f64, y: f64| chart.backend_coord(&(x, y));
    for (i, series) in panel.series.iter().enumerate() {
        // The series of a class are side by side.
        let aside = if panel.x.scale == Scale::Categorical {
            (2 * i as i32 - (panel.series.len() as i32 - 1)) * ASIDE * SUBPIXELS / 2
        } else {
            0
        };
        let place = |x: f64, y: f64| {
            let (x, y) = place(x, y);
            (x + aside, y)
        };
        draw_series(root, panel, series, &place, i)?;
    }
    for rule in &panel.guide_lines {
        let along = |share: f64| if rule.vertical { (rule.at, share) } else { (share, rule.at) };
        let (low, high) =
            if rule.vertical { (panel.y.low, panel.y.high) } else { (panel.x.low, panel.x.high) };
        let ends = [along(low), along(high)].map(|(x, y)| place(x, y));
        stroke(root, ends.to_vec(), INK.mix(0.75), 1.0, Some((2, 3)))?;
        let end = ends[1];
        let (at, pos) = if rule.vertical {
            ((end.0, end.1 - 9 * SUBPIXELS), Pos::new(HPos::Center, VPos::Center))
        } else {
            ((end.0 + 6 * SUBPIXELS, end.1), Pos::new(HPos::Left, VPos::Center))
        };
        write(root, &rule.label, at, &font(12, INK, false).pos(pos))?;
    }
    if !panel.title.is_empty() {
        let at = (LEFT * SUBPIXELS, (top - 14) * SUBPIXELS);
        write(area, &panel.title, at, &font(13, INK, true))?;
    }
    Ok(())
}

fn draw_series(
    root: &Area<'_>,
    panel: &Panel,
    series: &PlotSeries,
    place: &dyn Fn(f64, f64) -> Pixel,
    number: usize,
) -> Result<(), DrawError> {
    let look = style(series.style);
    let color: RGBAColor = look.color.into();
    let points: Vec<Pixel> = series.points.iter().map(|d| place(d.x, d.y)).collect();
    match series.kind {
        SeriesKind::Measured => stroke(root, points.clone(), color, 2.0, look.dash)?,
        SeriesKind::Dots | SeriesKind::Scatter => {}
        SeriesKind::Trace => stroke(root, points.clone(), color, 1.5, None)?,
        SeriesKind::Thin => stroke(root, points.clone(), color.mix(0.85), 1.0, THIN)?,
        SeriesKind::Steps => stroke(root, steps(&points), color, 2.0, look.dash)?,
    }
    for dot in &series.points {
        let Some(ends) = dot.interval else { continue };
        let [low, high] = ends.map(|v| place(dot.x, v.clamp(panel.y.low, panel.y.high)));
        let cap = |(x, y): Pixel| vec![(x - 4 * SUBPIXELS, y), (x + 4 * SUBPIXELS, y)];
        for line in [vec![low, high], cap(low), cap(high)] {
            stroke(root, line, color, 1.5, None)?;
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
            let small = [5 * SUBPIXELS / 2, 2 * SUBPIXELS];
            return points.into_iter().try_for_each(|at| draw_marker_sized(root, at, look, small));
        }
        SeriesKind::Thin | SeriesKind::Steps => Vec::new(),
    };
    marked.into_iter().try_for_each(|at| draw_marker(root, at, look))
}

/// Returns the corners of a staircase through `points`.
pub(super) fn steps(points: &[Pixel]) -> Vec<Pixel> {
    let mut out = Vec::with_capacity(points.len() * 2);
    for (i, &(x, y)) in points.iter().enumerate() {
        if let Some(&(_, before)) = i.checked_sub(1).and_then(|j| points.get(j)) {
            out.push((x, before));
        }
        out.push((x, y));
    }
    out
}

pub(super) fn stroke(
    area: &Area<'_>,
    points: Vec<Pixel>,
    color: RGBAColor,
    width: f64,
    dash: Option<(i32, i32)>,
) -> Result<(), DrawError> {
    let line = color.stroke_width((width * f64::from(SUBPIXELS)) as u32);
    match dash {
        None => area.draw(&PathElement::new(points, line)),
        Some((dash, gap)) => {
            area.draw(&DashedPathElement::new(points, dash * SUBPIXELS, gap * SUBPIXELS, line))
        }
    }
}

/// Draws a marker with a light edge, which separates it from lines.
pub(super) fn draw_marker(area: &Area<'_>, at: Pixel, look: Style) -> Result<(), DrawError> {
    draw_marker_sized(area, at, look, [6 * SUBPIXELS, 4 * SUBPIXELS])
}

/// Draws a marker with these radii, of the edge and of the marker itself.
pub(super) fn draw_marker_sized(
    area: &Area<'_>,
    (x, y): Pixel,
    look: Style,
    [edge, inner]: [i32; 2],
) -> Result<(), DrawError> {
    for (r, color) in [(edge, WHITE), (inner, look.color)] {
        let corners: &[Pixel] = match look.marker {
            MarkerShape::Circle => {
                area.draw(&Circle::new((x, y), r, color.filled()))?;
                continue;
            }
            MarkerShape::Square => &[(-9, -9), (9, -9), (9, 9), (-9, 9)],
            MarkerShape::Triangle => &[(0, -12), (11, 8), (-11, 8)],
            MarkerShape::Diamond => &[(0, -12), (12, 0), (0, 12), (-12, 0)],
        };
        let corners: Vec<Pixel> =
            corners.iter().map(|(dx, dy)| (x + dx * r / 10, y + dy * r / 10)).collect();
        area.draw(&Polygon::new(corners, color.filled()))?;
    }
    Ok(())
}
