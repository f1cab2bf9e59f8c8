//! Figures: [`ReportData`] in, SVG pictures and the data behind them out.
//!
//! Each kind of figure has its own file, from data to caption. A figure
//! without data does not exist; there is no blank one. The same data give the
//! same bytes. An SVG is one file without fonts, scripts or references, has a
//! title and a description for readers who cannot see it, and stays under
//! about 150 kB however long the series are: see `decimate`.

mod alpha;
mod axis;
mod canvas;
mod csv;
mod decimate;
pub(crate) mod number;
mod panel;
mod queue_cdf;
mod queue_time;
mod style;
mod traces;
mod transfer_time;
mod window;

use serde::Serialize;

use crate::view::ReportData;

/// A finished figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Figure {
    /// Name for files, without extension: lower-case letters, digits and
    /// dashes; no two figures of one report share it.
    pub name: String,
    /// What it shows, a few words.
    pub title: String,
    /// How to read it, a sentence or two.
    pub caption: String,
    /// A standalone SVG document.
    pub svg: String,
    /// Exactly the values that are drawn, with a header that names units.
    pub csv: String,
}

/// Why a figure could not be drawn: the drawing library refused.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw the figure: {0}")]
pub struct FigureError(String);

impl FigureError {
    fn new(cause: impl std::fmt::Display) -> Self {
        Self(cause.to_string())
    }
}

/// All figures that the data give, the headline first.
///
/// # Errors
/// When the drawing library refuses; data never cause it.
pub fn all(data: &ReportData) -> Result<Vec<Figure>, FigureError> {
    let mut figures = Vec::new();
    for curve in &data.curves {
        figures.extend(transfer_time::draw(data, curve)?);
    }
    figures.extend(queue_time::draw(data)?);
    figures.extend(queue_cdf::draw(data)?);
    figures.extend(window::draw(data)?);
    figures.extend(alpha::draw(data)?);
    let mut names: Vec<String> = Vec::with_capacity(figures.len());
    for figure in &mut figures {
        let own = figure.name.clone();
        let mut count = 1;
        while names.contains(&figure.name) {
            count += 1;
            figure.name = format!("{own}-{count}");
        }
        names.push(figure.name.clone());
    }
    Ok(figures)
}

/// A name for files: lower-case letters and digits, anything else one dash.
fn file_name(parts: &[&str]) -> String {
    let mut name = String::new();
    for character in parts.join("-").chars() {
        if character.is_ascii_alphanumeric() {
            name.push(character.to_ascii_lowercase());
        } else if !name.ends_with('-') && !name.is_empty() {
            name.push('-');
        }
    }
    name.trim_end_matches('-').to_owned()
}

/// A title with its unit, as axes carry it.
fn with_unit(title: &str, unit: &str) -> String {
    if unit.is_empty() { title.to_owned() } else { format!("{title} ({unit})") }
}

/// The first letter in upper case.
fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + characters.as_str()
    })
}

#[cfg(test)]
pub(crate) mod tests;
