//! A plotting area with its two axes, and the legend above it.

use super::FigureError;
use super::axis::{Scale, that_fit};
use super::canvas::{Anchor, Canvas, Px};
use super::style::{FAINT_INK, GRID, INK, Marker, SMALL, Stroke, TITLE, WIDTH, text_width};

const TICK: f64 = 4.0;

/// A plotting area.
pub(super) struct Panel {
    /// Upper left corner, px.
    pub(super) from: Px,
    /// Lower right corner, px.
    pub(super) to: Px,
    /// Horizontal axis.
    pub(super) x: Scale,
    /// Vertical axis.
    pub(super) y: Scale,
}

impl Panel {
    /// Where a value stands on the sheet.
    pub(super) fn at(&self, (x, y): (f64, f64)) -> Px {
        (
            self.from.0 + self.x.share(x) * (self.to.0 - self.from.0),
            self.to.1 - self.y.share(y) * (self.to.1 - self.from.1),
        )
    }

    /// Draws grid, axes, ticks and titles. Without a title the horizontal
    /// axis has no labels: a panel below shares it.
    pub(super) fn frame(
        &self,
        canvas: &mut Canvas<'_>,
        x_title: Option<&str>,
        y_title: &str,
    ) -> Result<(), FigureError> {
        self.vertical_axis(canvas, y_title)?;
        self.horizontal_axis(canvas, x_title)
    }

    fn vertical_axis(&self, canvas: &mut Canvas<'_>, title: &str) -> Result<(), FigureError> {
        let ((left, top), (right, bottom)) = (self.from, self.to);
        let heights: Vec<f64> =
            self.y.ticks().iter().map(|(value, _)| self.y.share(*value) * (bottom - top)).collect();
        let shown = that_fit(&heights, &vec![SMALL; heights.len()], 3.0);
        for (((_, label), height), shown) in self.y.ticks().iter().zip(&heights).zip(shown) {
            let y = bottom - height;
            canvas.line(&[(left, y), (right, y)], Stroke::full(GRID, 1.0))?;
            if shown {
                let at = (left - 8.0, y);
                canvas.text(label, at, SMALL, INK, Anchor::Right)?;
            }
        }
        let at = (left - label_width(&self.y) - 24.0, f64::midpoint(top, bottom));
        canvas.text(title, at, TITLE, INK, Anchor::Upwards)
    }

    fn horizontal_axis(
        &self,
        canvas: &mut Canvas<'_>,
        title: Option<&str>,
    ) -> Result<(), FigureError> {
        let ((left, _), (right, bottom)) = (self.from, self.to);
        let ticks = self.x.ticks();
        let places: Vec<f64> =
            ticks.iter().map(|(value, _)| left + self.x.share(*value) * (right - left)).collect();
        let widths: Vec<f64> = ticks.iter().map(|(_, label)| text_width(label, SMALL)).collect();
        let shown = that_fit(&places, &widths, 5.0);
        canvas.line(&[(left, bottom), (right, bottom)], Stroke::full(INK, 1.0))?;
        for (((_, label), &x), shown) in ticks.iter().zip(&places).zip(shown) {
            canvas.line(&[(x, bottom), (x, bottom + TICK)], Stroke::full(INK, 1.0))?;
            if shown && title.is_some() {
                canvas.text(label, (x, bottom + 15.0), SMALL, INK, Anchor::Middle)?;
            }
        }
        match title {
            Some(title) => canvas.text(
                title,
                (f64::midpoint(left, right), bottom + 38.0),
                TITLE,
                INK,
                Anchor::Middle,
            ),
            None => Ok(()),
        }
    }

    /// A line through values.
    pub(super) fn line(
        &self,
        canvas: &mut Canvas<'_>,
        values: &[(f64, f64)],
        stroke: Stroke,
    ) -> Result<(), FigureError> {
        let points: Vec<Px> = values.iter().map(|&value| self.at(value)).collect();
        canvas.line(&points, stroke)
    }

    /// What the panel shows, small, in its upper left corner.
    pub(super) fn caption(&self, canvas: &mut Canvas<'_>, text: &str) -> Result<(), FigureError> {
        let at = (self.from.0, self.from.1 - 11.0);
        canvas.text(text, at, SMALL, FAINT_INK, Anchor::Left)
    }
}

/// Space that the labels and the title of a vertical axis take, px.
pub(super) fn left_margin(scales: &[&Scale]) -> f64 {
    let widest = scales.iter().map(|scale| label_width(scale)).fold(0.0, f64::max);
    widest + 36.0
}

/// Space below a panel with labels and title, px.
pub(super) const BOTTOM: f64 = 54.0;
/// Space to the right of a panel, px.
pub(super) const RIGHT: f64 = 24.0;

fn label_width(scale: &Scale) -> f64 {
    scale.ticks().iter().map(|(_, label)| text_width(label, SMALL)).fold(0.0, f64::max)
}

/// One entry of a legend.
pub(super) struct Entry {
    /// What is written.
    pub(super) label: String,
    /// The line beside it.
    pub(super) stroke: Stroke,
    /// The marker on that line.
    pub(super) marker: Option<Marker>,
}

/// Draws a legend above the panels, in as many rows as it needs, and returns
/// where the space below it begins (px from the top).
pub(super) fn legend(
    canvas: &mut Canvas<'_>,
    left: f64,
    entries: &[Entry],
) -> Result<f64, FigureError> {
    const SAMPLE: f64 = 34.0;
    const GAP: f64 = 26.0;
    let (mut x, mut y) = (left, 20.0);
    for entry in entries {
        let width = SAMPLE + 8.0 + text_width(&entry.label, SMALL);
        if x > left && x + width > WIDTH - RIGHT {
            (x, y) = (left, y + 20.0);
        }
        canvas.line(&[(x, y), (x + SAMPLE, y)], entry.stroke)?;
        if let Some(marker) = entry.marker {
            canvas.marker((x + SAMPLE / 2.0, y), marker, entry.stroke.colour, false)?;
        }
        let at = (x + SAMPLE + 8.0, y);
        canvas.text(&entry.label, at, SMALL, INK, Anchor::Left)?;
        x += width + GAP;
    }
    Ok(if entries.is_empty() { 20.0 } else { y + 18.0 })
}
