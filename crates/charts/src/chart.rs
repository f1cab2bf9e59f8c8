//! A figure of any kind, before it is drawn.
//!
//! Contract: a page and a sheet show the same values.

use crate::error::ChartError;
use crate::form::Detail;
use crate::sheet::{Canvas, Sheet};
use crate::{Figure, HeatMap, StackedPlot, draw, form};

/// A figure of any kind.
#[derive(Clone, PartialEq, Debug)]
pub enum Chart {
    /// Panels with series.
    Panels(Figure),
    /// Stacked plots over one time axis.
    Lanes(StackedPlot),
    /// Heat maps.
    Grids(HeatMap),
}

impl Chart {
    /// Returns the name of its files, without an extension.
    pub fn id(&self) -> &str {
        match self {
            Self::Panels(figure) => &figure.id,
            Self::Lanes(stack) => &stack.id,
            Self::Grids(map) => &map.id,
        }
    }

    /// Returns the title.
    pub fn title(&self) -> &str {
        match self {
            Self::Panels(figure) => &figure.title,
            Self::Lanes(stack) => &stack.title,
            Self::Grids(map) => &map.title,
        }
    }

    /// Returns the reading instructions.
    pub fn caption(&self) -> &str {
        match self {
            Self::Panels(figure) => &figure.caption,
            Self::Lanes(stack) => &stack.caption,
            Self::Grids(map) => &map.caption,
        }
    }

    /// Returns the CSV file.
    pub fn to_csv(&self) -> String {
        match self {
            Self::Panels(figure) => figure.to_csv(),
            Self::Lanes(stack) => stack.to_csv(),
            Self::Grids(map) => map.to_csv(),
        }
    }

    /// Returns the form for the script of a page.
    pub(crate) fn to_json(&self) -> Result<String, ChartError> {
        self.form(Detail::FULL)
    }

    /// Returns the same form with every point as it is, for a program that draws the figure.
    ///
    /// # Errors
    /// The figure cannot be written as JSON.
    pub fn to_whole_json(&self) -> Result<String, ChartError> {
        self.form(Detail::WHOLE)
    }

    fn form(&self, detail: Detail) -> Result<String, ChartError> {
        match self {
            Self::Panels(figure) => form::of_panels(figure, detail),
            Self::Lanes(stack) => form::of_lanes(stack, detail),
            Self::Grids(map) => form::of_grids(map),
        }
    }

    /// Returns the drawing of a page, SVG.
    pub fn to_svg(&self) -> Result<String, ChartError> {
        self.draw(Canvas::PAGE)
    }

    /// Returns the drawing on a sheet, SVG with text in the font of the sheet.
    ///
    /// # Errors
    /// The sheet is too small for the texts.
    pub fn to_svg_on(&self, sheet: &Sheet<'_>) -> Result<String, ChartError> {
        self.draw(Canvas::new(sheet))
    }

    fn draw(&self, canvas: Canvas<'_>) -> Result<String, ChartError> {
        match self {
            Self::Panels(figure) => draw::to_svg(figure, canvas),
            Self::Lanes(stack) => stack.to_svg_on(canvas),
            Self::Grids(map) => map.to_svg_on(canvas),
        }
    }
}
