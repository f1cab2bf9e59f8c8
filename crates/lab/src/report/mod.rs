//! The report: one HTML file that works offline, without scripts, on paper
//! and in the dark.
//!
//! [`render`] puts figures and tables around one template. Every text that
//! comes from a file is escaped; only the SVG of [`Figure`] goes in as it is,
//! for [`figure`](crate::figure) escapes its own texts.

mod headline;
mod matrix;

use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, context};
use serde::Serialize;

use crate::figure::Figure;
use crate::figure::number::{MISSING, significant};
use crate::view::ReportData;

const TEMPLATE: &str = include_str!("report.html");

/// Why a report could not be written: the template and the data disagree.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the report: {0:#}")]
pub struct ReportError(#[from] minijinja::Error);

/// A figure as the template wants it.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    figure: &'a Figure,
    /// The data file as a link that needs no second file.
    link: String,
}

/// Renders the report. The first of `figures` is the headline; the same
/// input gives the same bytes.
///
/// # Errors
/// When the template cannot be rendered, which no data should cause.
pub fn render(data: &ReportData, figures: &[Figure]) -> Result<String, ReportError> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.add_filter("number", |value: Option<f64>| {
        value.map_or_else(|| MISSING.to_owned(), |value| significant(value, 4))
    });
    environment.add_filter("percent", |value: Option<f64>| {
        value.map_or_else(
            || MISSING.to_owned(),
            |value| format!("{} %", significant(value * 100.0, 3)),
        )
    });
    environment.add_template("report.html", TEMPLATE)?;
    let figures: Vec<Shown<'_>> =
        figures.iter().map(|figure| Shown { figure, link: data_link(&figure.csv) }).collect();
    let page = environment.get_template("report.html")?;
    Ok(page.render(context! {
        data => Serde(data),
        figures => Serde(&figures),
        lead => headline::sentence(data),
        matrix => Serde(&matrix::of(data)),
        swept => data.sweep.is_some(),
        tables => Serde(Columns::of(data)),
    })?)
}

/// Columns of the long tables that would say nothing are left out.
#[derive(Serialize)]
struct Columns {
    retransmitted: bool,
    marked: bool,
    groups: bool,
}

impl Columns {
    fn of(data: &ReportData) -> Self {
        let some = |value: Option<f64>| value.is_some();
        let rows = &data.summary;
        Self {
            retransmitted: rows.iter().any(|row| some(row.retransmitted_bytes)),
            marked: rows.iter().any(|row| some(row.marked_fraction)),
            groups: rows.windows(2).any(|pair| pair[0].group != pair[1].group),
        }
    }
}

/// A link that holds a CSV file.
fn data_link(csv: &str) -> String {
    let mut link = String::from("data:text/csv;charset=utf-8,");
    for byte in csv.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b',' | b'-' | b'_' | b'(' | b')' => {
                link.push(char::from(byte));
            }
            byte => link.push_str(&format!("%{byte:02X}")),
        }
    }
    link
}

#[cfg(test)]
mod tests;
