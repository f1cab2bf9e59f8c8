//! The page layout of matrix results: sections, figures, `report.html`.

use lowtide_charts::{FigureFiles, number, page};
use lowtide_record::{Manifest, RunDir};
use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use lowtide_lab::{LabError, partition_settings};

use super::text_table::TextTable;

/// A table of the page.
#[derive(Serialize)]
pub(crate) struct PageTable {
    pub(crate) title: String,
    pub(crate) head: Vec<String>,
    /// Number of leading columns with names.
    pub(crate) names: usize,
    pub(crate) rows: Vec<Vec<String>>,
    /// Whether it is collapsed by default.
    pub(crate) folded: bool,
}

impl From<TextTable> for PageTable {
    fn from(TextTable { title, head, names, rows }: TextTable) -> Self {
        Self { title, head, names, rows, folded: false }
    }
}

/// A section of the page, with its rendered figures.
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) text: String,
    pub(crate) figures: Vec<FigureFiles>,
    pub(crate) tables: Vec<PageTable>,
}

/// Header and footer of a page.
pub(crate) struct PageMeta {
    pub(crate) lead: String,
    pub(crate) equivalent_schemes: Vec<String>,
    pub(crate) findings: Vec<[String; 4]>,
    pub(crate) thresholds: Option<String>,
    pub(crate) settings_note: String,
}

/// Writes the figures of `sections` and the page that contains them.
pub(crate) fn write(
    dir: &RunDir,
    manifest: &Manifest,
    frame: &PageMeta,
    sections: &[Section],
) -> Result<Vec<String>, LabError> {
    let mut files = Vec::new();
    for figure in sections.iter().flat_map(|s| &s.figures) {
        for (ending, content) in [("svg", &figure.svg), ("csv", &figure.csv)] {
            let path = format!("figures/{}.{ending}", figure.id);
            dir.write(&path, content)?;
            files.push(path);
        }
    }
    let figure =
        |figure: &FigureFiles| page::figure(figure, Some(&format!("figures/{}.csv", figure.id)));
    let parts: Vec<Value> = sections
        .iter()
        .map(|s| {
            context! {
                title => s.title.as_str(),
                text => s.text.as_str(),
                figures => s.figures.iter().map(figure).collect::<Vec<_>>(),
                tables => Serde(&s.tables),
            }
        })
        .collect();
    let (deciding, rest) = partition_settings(&manifest.settings);
    let values = context! {
        manifest => Serde(manifest),
        lead => frame.lead.as_str(),
        same => Serde(&frame.equivalent_schemes),
        findings => Serde(&frame.findings),
        parts,
        thresholds => frame.thresholds.as_deref(),
        place => frame.settings_note.as_str(),
        deciding => Serde(deciding),
        rest => Serde(rest),
    };
    dir.write("report.html", &page::fill(include_str!("page.html"), &values)?)?;
    files.push("report.html".to_owned());
    Ok(files)
}

/// Formats a number of a table with three decimals.
pub(crate) fn format_number(value: Option<f64>) -> String {
    value.map_or_else(|| "\u{2013}".to_owned(), |v| number((v * 1000.0).round() / 1000.0))
}

/// Pretty-printed JSON with a final newline.
pub(crate) fn json(value: &impl Serialize) -> Result<String, LabError> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|e| LabError::Draw { what: "the result".to_owned(), reason: e.to_string() })?;
    Ok(text + "\n")
}
