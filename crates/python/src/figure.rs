//! Figures of results, for pages and for papers.

use lowtide_charts::Chart;
use lowtide_typeset::{Fonts, Format, Length, PaperStyle, parse_length, render};
use pyo3::prelude::*;

use crate::exception;

/// Form of a figure, as the user gives it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Style {
    width: String,
    height: Option<String>,
    font: Option<String>,
    font_size: String,
    title: bool,
    grey: bool,
    outlines: bool,
    dpi: u32,
}

/// Returns a figure as a file of `format`: `svg`, `pdf` or `png`.
pub(crate) fn file(
    py: Python<'_>,
    chart: &Chart,
    format: &str,
    style: &Style,
) -> PyResult<Vec<u8>> {
    let format = Format::ALL.into_iter().find(|f| f.extension() == format).ok_or_else(|| {
        let message = format!("`{format}` is not a format of figures");
        exception::of_request(py, &message, Some("use svg, pdf or png"))
    })?;
    let length = |name: &str, text: &str| -> PyResult<Length> {
        let wrong = |e| exception::of_request(py, &format!("{name}=\"{text}\": {e}"), None);
        parse_length(text).map_err(wrong)
    };
    let paper = PaperStyle {
        width: length("width", &style.width)?,
        height: style.height.as_deref().map(|text| length("height", text)).transpose()?,
        font_size: length("font_size", &style.font_size)?,
        title: style.title,
        grey: style.grey,
        outlines: style.outlines,
        dpi: style.dpi,
    };
    let drawn = py.detach(|| {
        let fonts = style.font.as_deref().map_or_else(Fonts::built_in, Fonts::find)?;
        render(chart, &paper, &fonts, format)
    });
    drawn.map_err(|e| exception::of_typeset(py, e))
}
