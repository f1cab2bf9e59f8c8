//! Primitives of all drawings: colours of texts and lines, strokes, markers, the head of the file.

use lowtide_output::terminal::printable;
use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;

use crate::compact::compact;
use crate::palette::{MarkerShape, Style};
use crate::sheet::Canvas;

/// Left edge of the plots, the title and the legend on a page.
pub(super) const LEFT: f64 = 74.0;
pub(super) const INK: RGBColor = RGBColor(0x22, 0x26, 0x2b);
pub(super) const MUTED: RGBColor = RGBColor(0x5b, 0x63, 0x6d);
pub(super) const GRID: RGBColor = RGBColor(0xe3, 0xe6, 0xea);

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type DrawError = DrawingAreaErrorKind<std::io::Error>;
/// A position in drawn pixels.
pub(super) type Pixel = (i32, i32);

/// Replaces the head of the file: displayed size, smooth joints, fonts, a name for screen readers.
/// The rest becomes smaller.
pub(super) fn finish(text: &str, title: &str, canvas: Canvas<'_>, height: f64) -> String {
    let body = text.find('>').map_or(text, |end| &text[end + 1..]);
    let title = title.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    let faces = canvas.family();
    let family = faces.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" {} \
         viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{title}\" stroke-linejoin=\"round\" \
         stroke-linecap=\"round\" font-family=\"{family}\">{}",
        canvas.size(height),
        canvas.px(canvas.width),
        canvas.px(height),
        compact(body, &family),
    )
}

pub(super) fn write(
    area: &Area<'_>,
    text: &str,
    at: Pixel,
    style: &TextStyle<'_>,
) -> Result<(), DrawError> {
    // XML allows no control characters, not even as references.
    area.draw(&Text::new(printable(text), at, style.clone()))
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
    canvas: Canvas<'_>,
    points: Vec<Pixel>,
    color: RGBAColor,
    width: f64,
    dash: Option<(i32, i32)>,
) -> Result<(), DrawError> {
    let line = color.stroke_width(canvas.line(width));
    match dash {
        None => area.draw(&PathElement::new(points, line)),
        Some((dash, gap)) => {
            let [dash, gap] = [dash, gap].map(|length| canvas.px(f64::from(length)));
            area.draw(&DashedPathElement::new(points, dash, gap, line))
        }
    }
}

/// Draws a marker with a light edge, which separates it from lines.
pub(super) fn draw_marker(
    area: &Area<'_>,
    canvas: Canvas<'_>,
    at: Pixel,
    look: Style,
) -> Result<(), DrawError> {
    draw_marker_sized(area, at, look, [canvas.px(6.0), canvas.px(4.0)])
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
