//! The sheet a figure is drawn on: lines, marks and text in px, written as
//! SVG by plotters.
//!
//! plotters places everything on whole pixels and knows no dashes. So the
//! sheet is ten times as large inside as it is shown, which gives tenths of a
//! pixel, and the dashes of the lines that want them are written in when the
//! drawing is done.

use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Polygon, Rectangle};
use plotters::prelude::SVGBackend;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{
    Color, FontDesc, FontFamily, FontStyle, FontTransform, RGBColor, ShapeStyle,
};

use super::FigureError;
use super::style::{CARD, Marker, Stroke};

/// Units of the drawing per px.
const UNITS: f64 = 10.0;
/// plotters divides the size of a text by this on its way into SVG.
const TEXT_SIZE: f64 = 1.24;
const FONT: &str = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif";

/// A point of the sheet, px from the upper left corner.
pub(super) type Px = (f64, f64);

/// Which part of a text stands at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    /// Its left end, at half its height.
    Left,
    /// Its middle.
    Middle,
    /// Its right end, at half its height.
    Right,
    /// Its middle, turned to read upwards.
    Upwards,
}

/// A sheet under the pen.
pub(super) struct Canvas<'a> {
    root: DrawingArea<SVGBackend<'a>, Shift>,
    polylines: usize,
    dashes: Vec<(usize, &'static str)>,
}

/// Draws a figure of the given size (px) and returns it as a standalone SVG
/// document. `title` and `description` are for readers who cannot see it.
pub(super) fn paint(
    (width, height): (f64, f64),
    title: &str,
    description: &str,
    draw: impl FnOnce(&mut Canvas<'_>) -> Result<(), FigureError>,
) -> Result<String, FigureError> {
    let mut drawn = String::new();
    let size = (units(width).unsigned_abs(), units(height).unsigned_abs());
    let dashes = {
        let root = SVGBackend::with_string(&mut drawn, size).into_drawing_area();
        let mut canvas = Canvas { root, polylines: 0, dashes: Vec::new() };
        canvas.rect((0.0, 0.0), (width, height), CARD)?;
        draw(&mut canvas)?;
        canvas.root.present().map_err(FigureError::new)?;
        canvas.dashes
    };
    // The first tag is the root that plotters wrote; ours replaces it.
    let body = drawn.split_once('>').map_or("", |(_, body)| body);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {} {}\" role=\"img\" stroke-linejoin=\"round\">\n\
         <title>{}</title>\n<desc>{}</desc>",
        size.0,
        size.1,
        escape(title),
        escape(description),
    );
    let mut dashes = dashes.into_iter().peekable();
    for (index, part) in body.split("<polyline ").enumerate() {
        if index > 0 {
            svg.push_str("<polyline ");
            if let Some((_, dash)) = dashes.next_if(|(line, _)| *line == index - 1) {
                svg.push_str(&format!("stroke-dasharray=\"{}\" ", dash_units(dash)));
            }
        }
        svg.push_str(part);
    }
    Ok(svg)
}

impl Canvas<'_> {
    /// A line through points; nothing for fewer than two.
    pub(super) fn line(&mut self, points: &[Px], stroke: Stroke) -> Result<(), FigureError> {
        if points.len() < 2 {
            return Ok(());
        }
        let style = ShapeStyle {
            color: stroke.colour.to_rgba(),
            filled: false,
            stroke_width: units(stroke.width).unsigned_abs(),
        };
        let points: Vec<_> = points.iter().map(|&point| place(point)).collect();
        self.root.draw(&PathElement::new(points, style)).map_err(FigureError::new)?;
        if let Some(dash) = stroke.dash {
            self.dashes.push((self.polylines, dash));
        }
        self.polylines += 1;
        Ok(())
    }

    /// A filled rectangle between two corners.
    pub(super) fn rect(&mut self, from: Px, to: Px, fill: RGBColor) -> Result<(), FigureError> {
        self.root
            .draw(&Rectangle::new([place(from), place(to)], fill.filled()))
            .map_err(FigureError::new)
    }

    /// A marker, 9 px wide; a hollow one shows the card inside its edge.
    pub(super) fn marker(
        &mut self,
        at: Px,
        marker: Marker,
        colour: RGBColor,
        hollow: bool,
    ) -> Result<(), FigureError> {
        // A rim in the colour of the card sets the marker off from lines.
        self.shape(at, marker, 5.8, CARD)?;
        self.shape(at, marker, 4.5, colour)?;
        if hollow {
            self.shape(at, marker, 2.7, CARD)?;
        }
        Ok(())
    }

    fn shape(
        &mut self,
        at: Px,
        marker: Marker,
        radius: f64,
        fill: RGBColor,
    ) -> Result<(), FigureError> {
        let corners: &[Px] = match marker {
            Marker::Circle => {
                return self
                    .root
                    .draw(&Circle::new(place(at), units(radius), fill.filled()))
                    .map_err(FigureError::new);
            }
            Marker::Square => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            Marker::Triangle => &[(0.0, -1.25), (1.15, 0.8), (-1.15, 0.8)],
            Marker::Diamond => &[(0.0, -1.3), (1.2, 0.0), (0.0, 1.3), (-1.2, 0.0)],
        };
        let corners: Vec<_> =
            corners.iter().map(|(x, y)| place((at.0 + x * radius, at.1 + y * radius))).collect();
        self.root.draw(&Polygon::new(corners, fill.filled())).map_err(FigureError::new)
    }

    /// A text.
    pub(super) fn text(
        &mut self,
        text: &str,
        at: Px,
        size: f64,
        colour: RGBColor,
        anchor: Anchor,
    ) -> Result<(), FigureError> {
        let (horizontal, transform) = match anchor {
            Anchor::Left => (HPos::Left, FontTransform::None),
            Anchor::Middle => (HPos::Center, FontTransform::None),
            Anchor::Right => (HPos::Right, FontTransform::None),
            Anchor::Upwards => (HPos::Center, FontTransform::Rotate270),
        };
        let font =
            FontDesc::new(FontFamily::Name(FONT), size * UNITS * TEXT_SIZE, FontStyle::Normal);
        let style =
            font.transform(transform).color(&colour).pos(Pos::new(horizontal, VPos::Center));
        self.root.draw_text(text, &style, place(at)).map_err(FigureError::new)
    }
}

fn units(px: f64) -> i32 {
    (px * UNITS).round() as i32
}

fn place((x, y): Px) -> (i32, i32) {
    (units(x), units(y))
}

/// Lengths in px as lengths of the drawing.
fn dash_units(dash: &str) -> String {
    let lengths: Vec<String> = dash
        .split_whitespace()
        .filter_map(|length| length.parse::<f64>().ok())
        .map(|length| (length * UNITS).to_string())
        .collect();
    lengths.join(" ")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::style::INK;
    use super::*;

    #[test]
    fn only_the_dashed_line_gets_dashes() {
        let svg = paint((100.0, 50.0), "a < b", "", |canvas| {
            canvas.line(&[(0.0, 0.0), (1.0, 1.0)], Stroke::full(INK, 1.0))?;
            canvas.text("<polyline points=''>", (5.0, 5.0), 12.0, INK, Anchor::Left)?;
            canvas.line(&[(0.0, 0.05), (1.26, 1.0)], Stroke::full(INK, 1.5).dashed("4 2.5"))?;
            canvas.line(&[(0.0, 0.0)], Stroke::full(INK, 1.0).dashed("9 9"))
        })
        .unwrap();
        assert_eq!(svg.matches("<polyline ").count(), 2);
        assert_eq!(svg.matches("stroke-dasharray").count(), 1);
        let (plain, dashed) = svg.split_once("stroke-dasharray=\"40 25\" ").unwrap();
        assert!(plain.contains("points=\"0,0 10,10 \""));
        assert!(dashed.contains("stroke-width=\"15\" points=\"0,1 13,10 \""), "{dashed}");
        assert!(svg.contains("<title>a &lt; b</title>"));
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100\""));
        assert!(svg.trim_end().ends_with("</svg>"));
    }
}
