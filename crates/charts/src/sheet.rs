//! Sizes and look of a drawing: of a page, or of a sheet with the width and the font of a paper.
//!
//! Contract: positions are in layout pixels, of which the text of an axis has 12. On a sheet all
//! text has one size; margins, legends and line breaks follow from the widths of the texts.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::palette::{self, Style};
use crate::reduce::{one_per_cell, reduced};

/// Width of the figures of a page, pixels.
const PAGE_WIDTH: f64 = 800.0;
/// Drawn pixels per pixel of a page.
const PAGE_SUBPIXELS: f64 = 4.0;
/// Average width of a letter over its font size.
pub(crate) const LETTER: f64 = 0.54;
/// Fonts of the text of a page.
pub(crate) const PAGE_FACES: &str =
    "system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif";
/// Drawn pixels per point of a sheet.
const PER_POINT: f64 = 20.0;
/// Layout pixels of the text of an axis, and of a line of text on a sheet.
const TEXT: f64 = 12.0;
pub(crate) const LINE: f64 = 15.0;

/// A sheet for a figure of a paper.
pub struct Sheet<'a> {
    /// Width, points.
    pub width: f64,
    /// Height, points; `None` follows from the figure.
    pub height: Option<f64>,
    /// Size of all text, points.
    pub font_size: f64,
    /// Name of the font.
    pub family: &'a str,
    /// Returns the width of a text over its font size; `true` for the bold face.
    pub measure: &'a dyn Fn(&str, bool) -> f64,
    /// Whether the title is drawn.
    pub title: bool,
    /// Greys only; dashes, markers and texts distinguish the series.
    pub grey: bool,
}

/// Returns lengths in drawn pixels, texts and colours.
#[derive(Clone, Copy)]
pub(crate) struct Canvas<'a> {
    sheet: Option<&'a Sheet<'a>>,
    /// Drawn pixels per layout pixel.
    scale: f64,
    /// Width, layout pixels.
    pub(crate) width: f64,
}

impl<'a> Canvas<'a> {
    /// The canvas of pages.
    pub(crate) const PAGE: Canvas<'static> =
        Canvas { sheet: None, scale: PAGE_SUBPIXELS, width: PAGE_WIDTH };

    pub(crate) fn new(sheet: &'a Sheet<'a>) -> Self {
        let scale = sheet.font_size * PER_POINT / TEXT;
        Self { sheet: Some(sheet), scale, width: sheet.width * PER_POINT / scale }
    }

    /// Returns whether margins and line breaks follow from the texts.
    pub(crate) const fn is_fitted(&self) -> bool {
        self.sheet.is_some()
    }

    /// Returns the given height, layout pixels.
    pub(crate) fn height(&self) -> Option<f64> {
        Some(self.sheet?.height? * PER_POINT / self.scale)
    }

    pub(crate) fn is_grey(&self) -> bool {
        self.sheet.is_some_and(|s| s.grey)
    }

    /// Returns the title, if it is drawn.
    pub(crate) fn title<'t>(&self, title: &'t str) -> Option<&'t str> {
        Some(title).filter(|t| !t.is_empty() && self.sheet.is_none_or(|s| s.title))
    }

    pub(crate) fn family(&self) -> &'a str {
        self.sheet.map_or(PAGE_FACES, |s| s.family)
    }

    /// Converts layout pixels to points of a sheet.
    pub(crate) fn points(&self, length: f64) -> f64 {
        length * self.scale / PER_POINT
    }

    /// Converts layout pixels to drawn pixels.
    pub(crate) fn px(&self, length: f64) -> i32 {
        (length * self.scale).round() as i32
    }

    /// Converts a position to drawn pixels.
    pub(crate) fn at(&self, x: f64, y: f64) -> (i32, i32) {
        (self.px(x), self.px(y))
    }

    /// Returns the width of the columns to which curves are reduced, drawn pixels: half a pixel
    /// of a page; one on a sheet, where positions are drawn pixels.
    fn column(&self) -> i32 {
        if self.is_fitted() { 1 } else { self.px(0.5).max(1) }
    }

    /// Reduces a curve to the points that can be seen.
    pub(crate) fn reduced(&self, points: &[(i32, i32)]) -> Vec<(i32, i32)> {
        reduced(points, |(x, _)| x.div_euclid(self.column()))
    }

    /// Returns one of several marks at the same place.
    pub(crate) fn one_per_cell(&self, points: &[(i32, i32)]) -> Vec<(i32, i32)> {
        let width = self.column();
        one_per_cell(points, |(x, y)| (x.div_euclid(width), y.div_euclid(width)))
    }

    /// Returns the drawn pixels of a line of this width, at least one.
    pub(crate) fn line(&self, width: f64) -> u32 {
        ((width * self.scale) as u32).max(1)
    }

    /// Returns the displayed size as attributes of the root element.
    pub(crate) fn size(&self, height: f64) -> String {
        match self.sheet {
            None => format!("width=\"{}\" height=\"{height}\"", self.width),
            Some(sheet) => {
                let height = f64::from(self.px(height)) / PER_POINT;
                format!("width=\"{}pt\" height=\"{height}pt\"", sheet.width)
            }
        }
    }

    /// Returns the size of a text that has `px` on a page.
    pub(crate) const fn text_size(&self, px: f64) -> f64 {
        if self.is_fitted() { TEXT } else { px }
    }

    /// Returns the width of a text that has `px` on a page, in layout pixels.
    pub(crate) fn text_width(&self, text: &str, px: f64, bold: bool) -> f64 {
        match self.sheet {
            None => text.chars().count() as f64 * (px * LETTER),
            Some(sheet) => (sheet.measure)(text, bold) * TEXT,
        }
    }

    /// Breaks a text at blanks so that its lines have at most `width` if they can, and similar
    /// widths.
    pub(crate) fn lines(&self, text: &str, width: f64, bold: bool) -> Vec<String> {
        let wide = self.filled_lines(text, width, bold);
        let mut out = wide.clone();
        for part in 1..20 {
            let narrow = self.filled_lines(text, width * (1.0 - 0.05 * f64::from(part)), bold);
            if narrow.len() > wide.len() {
                break;
            }
            out = narrow;
        }
        out
    }

    /// Breaks a text at blanks; each line has as many words as `width` permits.
    fn filled_lines(&self, text: &str, width: f64, bold: bool) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in text.split(' ').filter(|w| !w.is_empty()) {
            let longer = lines.last().map(|line| format!("{line} {word}"));
            match longer.filter(|l| self.text_width(l, TEXT, bold) <= width) {
                Some(longer) => {
                    lines.pop();
                    lines.push(longer);
                }
                None => lines.push(word.to_owned()),
            }
        }
        lines
    }

    /// Returns a style for text that begins at its position and is vertically centred on it.
    pub(crate) fn font(&self, px: f64, color: RGBColor, bold: bool) -> TextStyle<'a> {
        // The backend divides sizes by 1.24.
        let size = self.text_size(px) * self.scale * 1.24;
        let style = if bold { FontStyle::Bold } else { FontStyle::Normal };
        let pos = Pos::new(HPos::Left, VPos::Center);
        FontDesc::new(FontFamily::Name(self.family()), size, style)
            .color(&self.color(color))
            .pos(pos)
    }

    /// Returns a colour, or the grey of its lightness.
    pub(crate) fn color(&self, color: RGBColor) -> RGBColor {
        if self.is_grey() { palette::grey_of(color) } else { color }
    }

    /// Returns the style of the `i`-th scheme.
    pub(crate) const fn style(&self, i: usize) -> Style {
        match self.sheet {
            Some(Sheet { grey: true, .. }) => palette::grey_style(i),
            _ => palette::style(i),
        }
    }
}
